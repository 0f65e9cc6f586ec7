// Answers questions about one model in llama.cpp's newest version.
//
//   driver FILE f32|f16 CONTEXT     reads one JSON object per line from stdin, writes one per line to stdout
//   driver twin FILE COPY           copies a file with every tensor as F32
//
// {"clear": true}                   begins a new text
// {"ids": [1, 2], "all": false}     goes on with these ids: {"logits": [[…], …]} after the last id, or after all
// {"embed": [1, 2]}                 {"embedding": […]} of a whole input, as the file pools it
// {"text": "…", "bos": true, "special": false}    {"ids": […]}

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ggml.h"
#include "gguf.h"
#include "llama.h"
#include "nlohmann/json.hpp"

using nlohmann::json;

static void check(bool is_good, const std::string & what) {
    if (!is_good) throw std::runtime_error(what);
}

struct Oracle {
    llama_model * model;
    llama_context * context;
    const llama_vocab * vocab;
    int position = 0;

    Oracle(const char * path, ggml_type cache, int length, bool vocab_only) {
        llama_model_params loading = llama_model_default_params();
        loading.n_gpu_layers = 0;
        loading.use_extra_bufts = false;
        loading.vocab_only = vocab_only;
        model = llama_model_load_from_file(path, loading);
        check(model != nullptr, std::string("llama.cpp does not open ") + path);
        vocab = llama_model_get_vocab(model);
        context = vocab_only ? nullptr : begin(cache, length);
    }

    llama_context * begin(ggml_type cache, int length) {
        llama_context_params params = llama_context_default_params();
        // Encoders and hybrid models want a text in one batch.
        params.n_ctx = params.n_batch = params.n_ubatch = length;
        params.n_threads = params.n_threads_batch = 1;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        params.type_k = params.type_v = cache;
        llama_context * found = llama_init_from_model(model, params);
        check(found != nullptr, "llama.cpp makes no context");
        return found;
    }

    void clear() {
        llama_memory_t memory = llama_get_memory(context);
        if (memory) llama_memory_clear(memory, true);
        position = 0;
    }

    void decode(const std::vector<llama_token> & ids, bool all) {
        llama_batch batch = llama_batch_init(ids.size(), 0, 1);
        batch.n_tokens = ids.size();
        for (size_t i = 0; i < ids.size(); i++) {
            batch.token[i] = ids[i];
            batch.pos[i] = position + i;
            batch.n_seq_id[i] = 1;
            batch.seq_id[i][0] = 0;
            batch.logits[i] = all || i + 1 == ids.size();
        }
        const int status = llama_decode(context, batch);
        llama_batch_free(batch);
        check(status == 0, "llama_decode says " + std::to_string(status));
        position += ids.size();
    }

    json logits(const std::vector<llama_token> & ids, bool all) {
        decode(ids, all);
        json rows = json::array();
        for (size_t i = all ? 0 : ids.size() - 1; i < ids.size(); i++) {
            const float * row = llama_get_logits_ith(context, i);
            rows.push_back(std::vector<float>(row, row + llama_vocab_n_tokens(vocab)));
        }
        return rows;
    }

    json embedding(const std::vector<llama_token> & ids) {
        llama_set_embeddings(context, true);
        clear();
        decode(ids, true);
        const float * row = llama_get_embeddings_seq(context, 0);
        check(row != nullptr, "no embedding: the file names no pooling");
        const bool is_rank = llama_pooling_type(context) == LLAMA_POOLING_TYPE_RANK;
        return std::vector<float>(row, row + (is_rank ? llama_model_n_cls_out(model) : llama_model_n_embd_out(model)));
    }

    json tokens(const std::string & text, bool bos, bool special) {
        std::vector<llama_token> ids(text.size() + 16);
        const int count = llama_tokenize(vocab, text.data(), text.size(), ids.data(), ids.size(), bos, special);
        check(count >= 0, "the text has too many tokens");
        ids.resize(count);
        return ids;
    }

    json answer(const json & question) {
        if (question.contains("clear")) return clear(), json::object();
        if (question.contains("ids")) return {{"logits", logits(question["ids"], question.value("all", false))}};
        if (question.contains("embed")) return {{"embedding", embedding(question["embed"])}};
        return {{"ids", tokens(question.at("text"), question.value("bos", true), question.value("special", false))}};
    }
};

static void write_twin(const char * from, const char * to) {
    ggml_context * tensors = nullptr;
    gguf_context * file = gguf_init_from_file(from, {false, &tensors});
    check(file != nullptr, std::string("ggml does not open ") + from);
    gguf_context * twin = gguf_init_empty();
    gguf_set_kv(twin, file);
    const size_t count = gguf_get_n_tensors(file);
    size_t bytes = (count + 1) * ggml_tensor_overhead();
    for (size_t i = 0; i < count; i++) {
        bytes += ggml_nelements(ggml_get_tensor(tensors, gguf_get_tensor_name(file, i))) * 4 + 64;
    }
    ggml_context * copies = ggml_init({bytes, nullptr, false});
    for (size_t i = 0; i < count; i++) {
        const ggml_tensor * tensor = ggml_get_tensor(tensors, gguf_get_tensor_name(file, i));
        ggml_tensor * copy = ggml_new_tensor(copies, GGML_TYPE_F32, ggml_n_dims(tensor), tensor->ne);
        ggml_set_name(copy, tensor->name);
        const auto convert = ggml_get_type_traits(tensor->type)->to_float;
        if (tensor->type == GGML_TYPE_F32) memcpy(copy->data, tensor->data, ggml_nbytes(tensor));
        else convert(tensor->data, static_cast<float *>(copy->data), ggml_nelements(tensor));
        gguf_add_tensor(twin, copy);
    }
    check(gguf_write_to_file(twin, to, false), std::string("cannot write ") + to);
}

static void serve(char ** argv) {
    const std::string cache = argv[2];
    Oracle oracle(argv[1], cache == "f16" ? GGML_TYPE_F16 : GGML_TYPE_F32, std::stoi(argv[3]), cache == "vocab");
    for (std::string line; std::getline(std::cin, line);) std::cout << oracle.answer(json::parse(line)) << std::endl;
}

int main(int argc, char ** argv) {
    try {
        llama_log_set([](ggml_log_level level, const char * text, void *) {
            if (level == GGML_LOG_LEVEL_ERROR) fputs(text, stderr);
        }, nullptr);
        llama_backend_init();
        check(argc == 4, "usage: driver FILE f32|f16|vocab CONTEXT, or driver twin FILE COPY");
        if (std::string(argv[1]) == "twin") write_twin(argv[2], argv[3]);
        else serve(argv);
        return 0;
    } catch (const std::exception & error) {
        fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
