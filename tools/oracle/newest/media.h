// What programs share that ask llama.cpp's newest version about pictures and sounds: a text model and its encoders, and
// a loop over questions, one JSON object per line of stdin, each answered by one line of stdout.

#pragma once

#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "llama.h"
#include "mtmd-helper.h"
#include "mtmd.h"
#include "nlohmann/json.hpp"

using nlohmann::json;

static void check(bool is_good, const std::string & what) {
    if (!is_good) throw std::runtime_error(what);
}

static std::string contents(const std::string & name) {
    std::ifstream file(name, std::ios::binary);
    check(file.good(), "no file " + name);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

// A picture of a file of width · height · 3 bytes.
static mtmd_bitmap * picture(const std::string & name, unsigned width, unsigned height) {
    const std::string pixels = contents(name);
    check(pixels.size() == size_t(3) * width * height, "the file has another size");
    return mtmd_bitmap_init(width, height, reinterpret_cast<const unsigned char *>(pixels.data()));
}

// A picture or a sound: {"image": "FILE", "width": 60, "height": 40} or {"sound": "FILE"}, whose file has f32 samples
// at 16 kHz.
static mtmd_bitmap * medium(const json & found) {
    if (found.contains("sound")) {
        const std::string samples = contents(found["sound"]);
        return mtmd_bitmap_init_from_audio(samples.size() / 4, reinterpret_cast<const float *>(samples.data()));
    }
    return picture(found.at("image"), found.at("width"), found.at("height"));
}

struct Media {
    llama_model * model;
    llama_context * context;
    mtmd_context * media;

    Media(const char * text, const char * encoders, int length, bool embeddings, ggml_type cache = GGML_TYPE_F32) {
        llama_model_params loading = llama_model_default_params();
        loading.n_gpu_layers = 0;
        loading.use_extra_bufts = false;
        model = llama_model_load_from_file(text, loading);
        check(model != nullptr, std::string("llama.cpp does not open ") + text);
        llama_context_params params = llama_context_default_params();
        params.n_ctx = params.n_batch = params.n_ubatch = length;
        params.n_threads = params.n_threads_batch = 1;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        params.type_k = params.type_v = cache;
        params.embeddings = embeddings;
        context = llama_init_from_model(model, params);
        check(context != nullptr, "llama.cpp makes no context");
        mtmd_context_params of_media = mtmd_context_params_default();
        of_media.use_gpu = of_media.print_timings = of_media.warmup = false;
        of_media.n_threads = 1;
        of_media.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        media = mtmd_init_from_file(encoders, model, of_media);
        check(media != nullptr, std::string("mtmd does not open ") + encoders);
    }
};

// Answers what stdin asks with an `Oracle` of the arguments TEXT.gguf ENCODERS.gguf CONTEXT; the exit status.
template <typename Oracle> int serve(int argc, char ** argv) {
    try {
        const auto log = [](ggml_log_level level, const char * text, void *) {
            if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
        };
        llama_log_set(log, nullptr);
        mtmd_helper_log_set(log, nullptr);
        llama_backend_init();
        check(argc == 4, std::string("usage: ") + argv[0] + " TEXT.gguf ENCODERS.gguf CONTEXT");
        Oracle oracle(argv[1], argv[2], std::stoi(argv[3]));
        for (std::string line; std::getline(std::cin, line);) {
            std::cout << oracle.answer(json::parse(line)) << std::endl;
        }
        return 0;
    } catch (const std::exception & error) {
        fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

// mtmd only names pictures with it.
std::string hash_sha256_hex(const void *, size_t) { return ""; }
