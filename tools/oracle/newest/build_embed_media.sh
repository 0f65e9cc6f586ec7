#!/bin/sh
# Builds the program that asks llama.cpp for embeddings of pictures and sounds, .oracle/newest/embed_media, with the
# objects that build_voice.sh leaves, but for its ggml: convolutions round to f16 here, as they do in llama.cpp.
set -e
here=$(cd "$(dirname "$0")" && pwd)
cd .oracle/newest
sources=$PWD/vendor/llama-cpp-sys-4/llama.cpp/tools/mtmd
g++ -std=c++17 -O1 -w -Isrc/include -Isrc/ggml/include -Isrc/vendor -I"$sources" "$here/embed_media.cpp" \
  $(ls voice-objects/*.o | grep -v ggml-f32) build/src/libllama.a build/ggml/src/libggml.a \
  build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a -lpthread -ldl -o embed_media
