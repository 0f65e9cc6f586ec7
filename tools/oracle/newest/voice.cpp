// Asks llama.cpp's generator of Soprano what it makes of prompts: voice TEXT.gguf VOCODER.gguf CONTEXT PROMPT...
// A line of JSON for each: the ids that follow greedily while a context of so many tokens has room, and the samples.
#include "llama.h"
#include "mtmd.h"
#include "mtmd-helper.h"
#include <cstdio>
#include <cstring>
#include <vector>
#include <string>
int main(int argc, char ** argv) {
    llama_backend_init();
    llama_log_set([](ggml_log_level l, const char * t, void *) { if (l >= GGML_LOG_LEVEL_ERROR) fputs(t, stderr); }, nullptr);
    auto mp = llama_model_default_params(); mp.n_gpu_layers = 0;
    llama_model * model = llama_model_load_from_file(argv[1], mp);
    if (!model) return 1;
    auto cp = llama_context_default_params();
    cp.n_ctx = 512; cp.n_batch = cp.n_ubatch = 512; cp.n_threads = cp.n_threads_batch = 1; cp.embeddings = true;
    cp.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED; cp.type_k = cp.type_v = GGML_TYPE_F32;
    cp.pooling_type = LLAMA_POOLING_TYPE_NONE;
    llama_context * ctx = llama_init_from_model(model, cp);
    auto tp = mtmd_context_params_default(); tp.use_gpu = false; tp.n_threads = 1; tp.warmup = false; tp.print_timings = false;
    mtmd_context * m = mtmd_init_from_file(argv[2], model, tp);
    if (!m) return 2;
    const llama_vocab * vocab = llama_model_get_vocab(model);
    const int n_vocab = llama_vocab_n_tokens(vocab), n_embd = llama_model_n_embd(model);
    for (int a = 4; a < argc; a++) {
        mtmd_helper_gen_audio * gen = mtmd_helper_gen_audio_init(ctx, m);
        auto inp = mtmd_helper_gen_audio_inp_default();
        inp.prompt = argv[a]; inp.prompt_len = strlen(argv[a]); inp.seed = 1; inp.seq_id = 0;
        inp.out_type = MTMD_HELPER_GEN_AUDIO_OUTTYPE_PCM;
        if (mtmd_helper_gen_audio_set_input(gen, &inp)) return 3;
        // [STOP], [TEXT] and [START] are around the text.
        const int most = atoi(argv[3]) - 3 + llama_tokenize(vocab, argv[a], strlen(argv[a]), nullptr, 0, false, false);
        int left; while ((left = mtmd_helper_gen_audio_step_prompt(gen, 512)) > 0) {}
        if (left < 0) return 4;
        std::vector<float> h(llama_get_embeddings_ith(ctx, -1), llama_get_embeddings_ith(ctx, -1) + n_embd);
        std::vector<int> ids; bool ended = false;
        for (int step = 0; step < most; step++) {
            const float * logits = llama_get_logits_ith(ctx, -1);
            int best = 0; for (int i = 1; i < n_vocab; i++) if (logits[i] > logits[best]) best = i;
            const float * next = nullptr; bool stop = false;
            if (mtmd_helper_gen_audio_step_gen(gen, best, h.data(), &next, &stop)) return 5;
            if (stop) { ended = true; break; }
            ids.push_back(best);
            h.assign(next, next + n_embd);
        }
        int32_t rate; const char * data; size_t len; int64_t n;
        if (mtmd_helper_gen_audio_flush(gen) || mtmd_helper_gen_audio_get_output(gen, &rate, &data, &len, &n)) return 6;
        const float * pcm = (const float *) data;
        printf("{\"ended\":%s,\"rate\":%d,\"ids\":[", ended ? "true" : "false", rate);
        for (size_t i = 0; i < ids.size(); i++) printf("%s%d", i ? "," : "", ids[i]);
        printf("],\"samples\":[");
        for (int64_t i = 0; i < n; i++) printf("%s%.7g", i ? "," : "", pcm[i]);
        printf("]}\n");
        mtmd_helper_gen_audio_free(gen);
    }
}
// only names pictures
std::string hash_sha256_hex(const void *, size_t) { return ""; }
