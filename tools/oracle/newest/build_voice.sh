#!/bin/sh
# Builds the programs that ask llama.cpp's generators of speech, .oracle/newest/voice, pocket and lfm3a, after build.sh:
# 3 minutes on two cores. Convolutions read f32 in them, which llama.cpp rounds to f16. In lfm3a the codec has the sizes
# of make_lfm3a.py in place of what the source says, four layers of 32 values.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd .oracle/newest
sources=$PWD/vendor/llama-cpp-sys-4/llama.cpp/tools/mtmd
flags="-O1 -w -Isrc/include -Isrc/ggml/include -Isrc/ggml/src -Isrc/vendor -Ibuild/ggml/src -I$sources"
mkdir -p voice-objects
sed 's/a->type == GGML_TYPE_BF16 ? GGML_TYPE_F32 : GGML_TYPE_F16/GGML_TYPE_F32/' src/ggml/src/ggml.c > ggml-f32.c
gcc $flags -D_GNU_SOURCE -DGGML_VERSION='"0"' -DGGML_COMMIT='"0"' -c ggml-f32.c -o voice-objects/ggml-f32.o
ls "$sources"/mtmd.cpp "$sources"/mtmd-audio.cpp "$sources"/mtmd-image.cpp "$sources"/clip.cpp \
  "$sources"/mtmd-helper.cpp "$sources"/mtmd-helper-gen.cpp "$sources"/models/*.cpp |
  xargs -P 2 -I{} sh -c "g++ -std=c++17 $flags -c {} -o voice-objects/\$(basename {}).o"
for program in voice pocket; do
  g++ -std=c++17 $flags "$here/$program.cpp" voice-objects/*.o build/src/libllama.a build/ggml/src/libggml.a \
    build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a -lpthread -ldl -o $program
done
sed 's/wav_tfm_n_embd     = 512/wav_tfm_n_embd = 32/; s/wav_tfm_n_layer    = 8/wav_tfm_n_layer = 4/' "$sources/clip.cpp" \
  > clip-small.cpp
g++ -std=c++17 $flags -c clip-small.cpp -o clip-small.o
g++ -std=c++17 $flags "$here/lfm3a.cpp" clip-small.o $(ls voice-objects/*.o | grep -v /clip.cpp.o) build/src/libllama.a \
  build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a -lpthread -ldl -o lfm3a
