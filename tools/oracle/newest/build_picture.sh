#!/bin/sh
# Builds the program that asks llama.cpp about pictures and sounds, .oracle/newest/picture, with the objects that
# build_voice.sh leaves: convolutions read f32 in it, which llama.cpp rounds to f16. Two files are compiled anew: the
# width of LFM2-Audio's encoder, 512 in llama.cpp, is what the file says.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd .oracle/newest
sources=$PWD/vendor/llama-cpp-sys-4/llama.cpp/tools/mtmd
flags="-std=c++17 -O1 -w -Isrc/include -Isrc/ggml/include -Isrc/ggml/src -Isrc/vendor -I$sources -I$sources/models"
mkdir -p picture-objects
sed 's/auto d_model = 512/auto d_model = hparams.n_embd/' "$sources/clip.cpp" > picture-objects/clip.cpp
sed 's/GGML_TYPE_F32, 512, n_pos_embd/GGML_TYPE_F32, n_embd, n_pos_embd/' "$sources/models/conformer.cpp" \
  > picture-objects/conformer.cpp
for name in clip conformer; do g++ $flags -c picture-objects/$name.cpp -o picture-objects/$name.cpp.o & done
wait
others=$(ls voice-objects/*.o | grep -v -e /clip.cpp.o -e /conformer.cpp.o)
g++ $flags "$here/picture.cpp" picture-objects/*.o $others \
  build/src/libllama.a build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a \
  -lpthread -ldl -o picture
