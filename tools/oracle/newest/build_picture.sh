#!/bin/sh
# Builds the program that asks llama.cpp about pictures, .oracle/newest/picture, with the objects that build_voice.sh
# leaves: convolutions read f32 in it, which llama.cpp rounds to f16.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd .oracle/newest
sources=$PWD/vendor/llama-cpp-sys-4/llama.cpp/tools/mtmd
g++ -std=c++17 -O1 -w -Isrc/include -Isrc/ggml/include -Isrc/vendor -I"$sources" "$here/picture.cpp" voice-objects/*.o \
  build/src/libllama.a build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a \
  -lpthread -ldl -o picture
