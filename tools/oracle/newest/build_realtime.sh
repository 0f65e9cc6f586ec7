#!/bin/sh
# Builds the program that asks what a model hears as it goes, .oracle/newest/realtime, with the objects that
# build_voice.sh leaves. Keys and values of the encoder are f32 in it, which llama.cpp rounds to f16.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd .oracle/newest
sources=$PWD/vendor/llama-cpp-sys-4/llama.cpp/tools/mtmd
flags="-std=c++17 -O1 -w -Isrc/include -Isrc/ggml/include -Isrc/ggml/src -Isrc/src -Isrc/vendor -I$sources -I$sources/models"
sed '/clip_enc_state_init/,/^}/s/GGML_TYPE_F16/GGML_TYPE_F32/' "$sources/clip.cpp" > clip-realtime.cpp
g++ $flags -c clip-realtime.cpp -o clip-realtime.o
g++ $flags "$here/realtime.cpp" clip-realtime.o $(ls voice-objects/*.o | grep -v /clip.cpp.o) \
  build/src/libllama.a build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a \
  -lpthread -ldl -o realtime
