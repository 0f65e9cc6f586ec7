#!/bin/sh
# Builds the newest llama.cpp for the CPU and the driver that asks it, into .oracle/newest: 8 minutes on two cores.
# Needs Rust's cargo, which fetches the sources as the crate llama-cpp-sys-4, Python 3, a C++ compiler.
set -e
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p .oracle/newest && cd .oracle/newest
[ -d fetch ] || cargo init -q --lib fetch
(cd fetch && cargo add -q llama-cpp-sys-4@0.11.0 && cargo vendor -q ../vendor)
[ -d src ] || cp -r vendor/llama-cpp-sys-4/llama.cpp src
python3 -m venv venv && venv/bin/pip install -q cmake ninja
PATH=$PWD/venv/bin:$PATH
# GELU exact, not from a table of f16 values.
sed -i '/^#define GGML_GELU_FP16/d; /^#define GGML_GELU_QUICK_FP16/d' src/ggml/src/ggml-cpu/vec.h
# Most of the time goes into files that only describe graphs: they need no optimisation.
grep -q O0 src/src/CMakeLists.txt || echo 'target_compile_options(llama PRIVATE -O0)' >> src/src/CMakeLists.txt
cmake -S src -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE='-O1 -DNDEBUG' \
  -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF \
  -DGGML_LLAMAFILE=OFF -DGGML_CPU_REPACK=OFF -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF \
  -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF
ninja -C build
g++ -std=c++17 -O1 -Isrc/include -Isrc/ggml/include -Isrc/vendor "$here/driver.cpp" build/src/libllama.a \
  build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a build/ggml/src/libggml-base.a -lpthread -o driver
