// Runs a model and a drafter of it, EAGLE-3, DFlash or an assistant of Gemma 4: `drafter MODEL DRAFTER`. It writes the
// size of the vocabulary, the widths of the model and of the drafter's state (DFlash: 0), and how many layers the drafter
// reads (an assistant: the normalised output of the last); then it answers questions of four i32: what (0: run, 1:
// remove, 2: fuse), context (0: the model, 1: the drafter), first position, count. A run is followed by the ids and, for
// the drafter, the states that go with them; its answer is logits, then of the model what the drafter reads of layers,
// of the drafter its state, for each row. Inputs of layers are fused to states, of DFlash to keys and values that it
// keeps.
// All numbers are little-endian, i32 or f32. `make_drafters.py` asks it. Built as `block.cpp` is.

#include "llama-ext.h"
#include "llama.h"

#include <cstdio>
#include <cstring>
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
    auto of_model = llama_model_default_params();
    of_model.n_gpu_layers = 0; of_model.use_extra_bufts = false;
    llama_model * models[2]; llama_context * contexts[2]; llama_batch_ext * batches[2];
    for (int i : {0, 1}) {
        models[i] = llama_model_load_from_file(arguments[1 + i], of_model);
        if (!models[i]) return 1;
        auto params = llama_context_default_params();
        params.n_ctx = params.n_batch = params.n_ubatch = 256;
        params.n_threads = params.n_threads_batch = 1;
        params.type_k = params.type_v = GGML_TYPE_F32;
        params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        params.swa_full = true;
        if (i) params.ctx_other = contexts[0];
        const bool is_assistant = i && !llama_model_target_layer_ids_n(models[1]);
        if (is_assistant) params.ctx_type = LLAMA_CONTEXT_TYPE_MTP;
        contexts[i] = llama_init_from_model(models[i], params);
        if (!contexts[i]) return 2;
    }
    const int hidden = llama_model_n_embd(models[0]);
    const int layers = llama_model_n_layer(models[0]);
    const int vocab = llama_vocab_n_tokens(llama_model_get_vocab(models[0]));
    const int32_t * found = llama_model_target_layer_ids(models[1]);
    std::vector<int32_t> ids(found, found + llama_model_target_layer_ids_n(models[1]));
    const bool fuses = !ids.empty();
    if (!fuses) ids.push_back(layers);
    char text[32] = "";
    llama_model_meta_val_str(models[1], "general.architecture", text, sizeof(text));
    const bool keeps = !strcmp(text, "dflash");
    llama_model_meta_val_str(models[1], "dflash.attention.causal", text, sizeof(text));
    if (keeps) llama_set_causal_attn(contexts[1], !strcmp(text, "true"));
    const int n = ids.size(), own = keeps ? 0 : fuses ? llama_model_n_embd(models[1]) : llama_model_n_embd_out(models[1]);
    for (int k = 0; k < n; k++) {
        if (ids[k] < layers) llama_set_embeddings_layer_inp(contexts[0], ids[k], true);
        else llama_set_embeddings_nextn(contexts[0], true, false);
    }
    if (!keeps) llama_set_embeddings_nextn(contexts[1], true, true);
    for (int i : {0, 1}) batches[i] = llama_batch_ext_init(contexts[i]);
    int head[4] = {vocab, hidden, own, n};
    fwrite(head, 4, 4, stdout); fflush(stdout);
    for (int question[4]; take(question, 4, 4); fflush(stdout)) {
        const auto [what, of, start, count] = question;
        auto * context = contexts[of]; auto * batch = batches[of];
        if (what == 1) {
            const int removed = llama_memory_seq_rm(llama_get_memory(context), 0, start, -1);
            fwrite(&removed, 4, 1, stdout); continue;
        }
        llama_batch_ext_clear(batch);
        if (what == 2) {
            std::vector<float> features((size_t) count * n * hidden);
            if (!take(features.data(), 4, features.size())) return 3;
            llama_pos pos = keeps ? start : llama_memory_seq_pos_max(llama_get_memory(context), 0) + 1;
            for (int row = 0; row < count; row++, pos++) {
                const float * of_row = features.data() + (size_t) row * n * hidden;
                const int at = llama_batch_ext_add_embd(batch, 0, llama_embd{of_row, 1, (size_t) n * hidden});
                llama_batch_ext_set_pos(batch, at, &pos);
                llama_batch_ext_set_output_logits(batch, at, !keeps);
            }
            if (llama_process(context, keeps ? LLAMA_PROCESS_TYPE_DECODE : LLAMA_PROCESS_TYPE_ENCODE, batch)) return 6;
            if (own) fwrite(llama_get_embeddings_nextn(context), 4, (size_t) count * own, stdout);
            continue;
        }
        std::vector<int> tokens(count); std::vector<float> states(of ? (size_t) count * own : 0);
        if (!take(tokens.data(), 4, tokens.size()) || !take(states.data(), 4, states.size())) return 3;
        for (int row = 0; row < count; row++) {
            const int at = llama_batch_ext_add_token(batch, 0, tokens[row]);
            const llama_pos position = start + row;
            const float * state = states.data() + (size_t) row * own;
            const auto set_state = fuses ? llama_batch_ext_set_embd_token : llama_batch_ext_set_embd_state;
            if (of && own && !set_state(batch, at, llama_embd{state, 1, (size_t) own})) return 4;
            llama_batch_ext_set_pos(batch, at, &position);
            llama_batch_ext_set_output_logits(batch, at, true);
        }
        if (llama_process(context, LLAMA_PROCESS_TYPE_DECODE, batch)) return 5;
        for (int row = 0; row < count; row++) {
            fwrite(llama_get_logits_ith(context, row), 4, vocab, stdout);
            if (of && own) fwrite(llama_get_embeddings_nextn_ith(context, row), 4, own, stdout);
            if (of) continue;
            for (int k = 0; k < n; k++) {
                const float * layer = ids[k] < layers ? llama_get_embeddings_layer_inp(context, ids[k])
                                                           : llama_get_embeddings_nextn(context);
                fwrite(layer + (size_t) row * hidden, 4, hidden, stdout);
            }
        }
    }
}
