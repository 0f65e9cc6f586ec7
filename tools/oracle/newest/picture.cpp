// Asks llama.cpp's newest version about pictures: picture TEXT.gguf ENCODER.gguf CONTEXT
//
// Reads one JSON object per line from stdin and writes one per line to stdout:
// {"width": 60, "height": 40, "file": "…", "prompt": "ab <__media__> cd", "predict": 8}    file: width · height · 3 bytes
// {"rows": [[[…], …], …], "texts": [[…], …], "positions": 90, "generated": […], "logprobs": […]}
// Rows of each piece of the picture, ids of each text, the position behind the prompt, and what follows greedily.
// Where a mark of the picture is no token of the vocabulary, there are rows and texts alone.

#include <cmath>
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

struct Oracle {
    llama_model * model;
    llama_context * context;
    mtmd_context * media;
    int most;

    Oracle(const char * text, const char * encoder, int length) : most(length) {
        llama_model_params loading = llama_model_default_params();
        loading.n_gpu_layers = 0;
        loading.use_extra_bufts = false;
        model = llama_model_load_from_file(text, loading);
        check(model != nullptr, std::string("llama.cpp does not open ") + text);
        llama_context_params params = llama_context_default_params();
        params.n_ctx = params.n_batch = params.n_ubatch = length;
        params.n_threads = params.n_threads_batch = 1;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        params.type_k = params.type_v = GGML_TYPE_F32;
        context = llama_init_from_model(model, params);
        check(context != nullptr, "llama.cpp makes no context");
        mtmd_context_params media_params = mtmd_context_params_default();
        media_params.use_gpu = media_params.print_timings = media_params.warmup = false;
        media_params.n_threads = 1;
        media_params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        media = mtmd_init_from_file(encoder, model, media_params);
        check(media != nullptr, std::string("mtmd does not open ") + encoder);
    }

    json rows(const mtmd_input_chunk * chunk) {
        check(mtmd_encode_chunk(media, chunk) == 0, "mtmd_encode_chunk");
        const float * values = mtmd_get_output_embd(media);
        const int width = llama_model_n_embd_inp(model);
        json found = json::array();
        for (size_t row = 0; row < mtmd_input_chunk_get_n_tokens(chunk); row++, values += width) {
            found.push_back(std::vector<float>(values, values + width));
        }
        return found;
    }

    json greedy(llama_pos past, int count) {
        const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
        json ids = json::array(), logprobs = json::array();
        for (int step = 0; step < count; step++) {
            const float * logits = llama_get_logits_ith(context, -1);
            int best = 0;
            for (int id = 1; id < vocab; id++) if (logits[id] > logits[best]) best = id;
            double sum = 0;
            for (int id = 0; id < vocab; id++) sum += std::exp(double(logits[id]) - logits[best]);
            ids.push_back(best);
            logprobs.push_back(-std::log(sum));
            llama_batch batch = llama_batch_init(1, 0, 1);
            batch.n_tokens = batch.n_seq_id[0] = batch.logits[0] = 1;
            batch.token[0] = best;
            batch.pos[0] = past + step;
            batch.seq_id[0][0] = 0;
            check(llama_decode(context, batch) == 0, "llama_decode");
            llama_batch_free(batch);
        }
        return {ids, logprobs};
    }

    json answer(const json & question) {
        const unsigned width = question.at("width"), height = question.at("height");
        std::ifstream file(question.at("file").get<std::string>(), std::ios::binary);
        const std::string pixels((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        check(pixels.size() == size_t(3) * width * height, "the file has another size");
        const auto * bytes = reinterpret_cast<const unsigned char *>(pixels.data());
        const mtmd_bitmap * bitmap = mtmd_bitmap_init(width, height, bytes);
        const std::string prompt = question.at("prompt");
        const mtmd_input_text text = {prompt.data(), prompt.size(), true, true};
        mtmd_input_chunks * chunks = mtmd_input_chunks_init();
        check(mtmd_tokenize(media, chunks, &text, &bitmap, 1) == 0, "mtmd_tokenize");
        json found = {{"rows", json::array()}, {"texts", json::array()}};
        bool is_whole = true;
        for (size_t at = 0; at < mtmd_input_chunks_size(chunks); at++) {
            const mtmd_input_chunk * chunk = mtmd_input_chunks_get(chunks, at);
            if (mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_TEXT) {
                found["rows"].push_back(rows(chunk));
                continue;
            }
            size_t count = 0;
            const llama_token * ids = mtmd_input_chunk_get_tokens_text(chunk, &count);
            found["texts"].push_back(std::vector<llama_token>(ids, ids + count));
            for (size_t i = 0; i < count; i++) is_whole = is_whole && ids[i] >= 0;
        }
        if (is_whole && mtmd_helper_get_n_tokens(chunks) + 32 < size_t(most)) {
            llama_memory_clear(llama_get_memory(context), true);
            llama_pos past = 0;
            check(mtmd_helper_eval_chunks(media, context, chunks, 0, 0, most, true, &past) == 0, "eval_chunks");
            const json written = greedy(past, question.value("predict", 8));
            found["positions"] = past;
            found["generated"] = written[0];
            found["logprobs"] = written[1];
        }
        mtmd_input_chunks_free(chunks);
        return found;
    }
};

int main(int argc, char ** argv) {
    try {
        const auto log = [](ggml_log_level level, const char * text, void *) {
            if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
        };
        llama_log_set(log, nullptr);
        mtmd_helper_log_set(log, nullptr);
        llama_backend_init();
        check(argc == 4, "usage: picture TEXT.gguf ENCODER.gguf CONTEXT");
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

// only names pictures
std::string hash_sha256_hex(const void *, size_t) { return ""; }
