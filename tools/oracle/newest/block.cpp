// Runs a model and its block for multi-token prediction: `block MODEL`. It writes the sizes of the vocabulary and of a
// hidden state, then answers questions of four i32: what (0: run, 1: remove), context (0: the model, 1: the block),
// first position, count. A run is followed by the ids and, for the block, the hidden states; its answer is logits and
// hidden state of each row. All numbers are little-endian, i32 or f32. `make_blocks.py` asks it.
//
// Built beside the driver of build.sh, in .oracle/newest: g++ -std=c++17 -O1 -Isrc/include -Isrc/src -Isrc/ggml/include
//   ../../tools/oracle/newest/block.cpp build/src/libllama.a build/ggml/src/libggml.a build/ggml/src/libggml-cpu.a
//   build/ggml/src/libggml-base.a -lpthread -o block

#include "llama-ext.h"
#include "llama.h"

#include <cstdio>
#include <vector>

static void errors(ggml_log_level level, const char * text, void *) {
    if (level >= GGML_LOG_LEVEL_ERROR) {
        fputs(text, stderr);
    }
}

static bool take(void * to, size_t size, size_t count) {
    return fread(to, size, count, stdin) == count;
}

int main(int, char ** arguments) {
    llama_log_set(errors, nullptr);
    auto of_model         = llama_model_default_params();
    of_model.n_gpu_layers = 0;
    of_model.use_extra_bufts = false;
    of_model.load_mtp        = true;
    auto * model = llama_model_load_from_file(arguments[1], of_model);
    if (!model) {
        return 1;
    }
    const int hidden = llama_model_n_embd(model), vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_context *   contexts[2];
    llama_batch_ext * batches[2];
    for (int is_block : {0, 1}) {
        auto params  = llama_context_default_params();
        params.n_ctx = params.n_batch = params.n_ubatch = 256;
        params.n_threads = params.n_threads_batch = 1;
        params.type_k = params.type_v = GGML_TYPE_F32;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        params.swa_full        = true;
        params.ctx_type        = is_block ? LLAMA_CONTEXT_TYPE_MTP : LLAMA_CONTEXT_TYPE_DEFAULT;
        contexts[is_block]     = llama_init_from_model(model, params);
        if (!contexts[is_block]) {
            return 2;
        }
        llama_set_embeddings_nextn(contexts[is_block], true, is_block);
        batches[is_block] = llama_batch_ext_init(contexts[is_block]);
    }
    fwrite(&vocab, 4, 1, stdout);
    fwrite(&hidden, 4, 1, stdout);
    fflush(stdout);
    for (int question[4]; take(question, 4, 4); fflush(stdout)) {
        const auto [what, of, start, count] = question;
        auto *     context                  = contexts[of];
        if (what == 1) {
            const int removed = llama_memory_seq_rm(llama_get_memory(context), 0, start, -1);
            fwrite(&removed, 4, 1, stdout);
            continue;
        }
        std::vector<int>   ids(count);
        std::vector<float> states(of ? (size_t) count * hidden : 0);
        if (!take(ids.data(), 4, ids.size()) || !take(states.data(), 4, states.size())) {
            return 3;
        }
        auto * batch = batches[of];
        llama_batch_ext_clear(batch);
        for (int row = 0; row < count; row++) {
            const int       at       = llama_batch_ext_add_token(batch, 0, ids[row]);
            const llama_pos position = start + row;
            const float *   state    = states.data() + (size_t) row * hidden;
            if (of && !llama_batch_ext_set_embd_state(batch, at, llama_embd{state, 1, (size_t) hidden})) {
                return 4;
            }
            llama_batch_ext_set_pos(batch, at, &position);
            llama_batch_ext_set_output_logits(batch, at, true);
        }
        if (llama_process(context, LLAMA_PROCESS_TYPE_DECODE, batch)) {
            return 5;
        }
        for (int row = 0; row < count; row++) {
            fwrite(llama_get_logits_ith(context, row), 4, vocab, stdout);
            fwrite(llama_get_embeddings_nextn_ith(context, row), 4, hidden, stdout);
        }
    }
}
