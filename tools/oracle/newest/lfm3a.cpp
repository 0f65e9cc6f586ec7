// Asks llama.cpp's newest version for the speech of an LFM3: lfm3a TEXT.gguf ENCODERS.gguf CONTEXT
//
// Reads one JSON object per line from stdin and writes one per line to stdout:
// {"prompt": "ab<|audio_start|>", "orders": [[3, 0, …], …]}
// {"ids": […], "states": [[…], …], "logits": [[[…], …], …], "codes": [[…], …], "rows": [[…], …], "samples": […]}
// For each frame the order in which its codes become known, four in each of three passes, the likeliest code each time.
// The state that each frame starts from, the logits of all codebooks in each pass, the codes, and the row of the text
// model that becomes of them. A frame with the last code of a codebook ends the speech: it has no codes and no row.
//
// {"codes": [[…], …]} asks for the samples of frames alone.

#include <algorithm>
#include <cstring>

#include "media.h"

struct Oracle : Media {
    Oracle(const char * text, const char * encoders, int length) : Media(text, encoders, length, true) {}

    std::vector<llama_token> ids(const std::string & text) {
        std::vector<llama_token> found(text.size() + 8);
        const llama_vocab * vocab = llama_model_get_vocab(model);
        const int count = llama_tokenize(vocab, text.c_str(), text.size(), found.data(), found.size(), false, true);
        check(count > 0, "llama_tokenize");
        found.resize(count);
        return found;
    }

    std::vector<float> state() {
        const float * found = llama_get_embeddings_ith(context, -1);
        return {found, found + llama_model_n_embd(model)};
    }

    // Decodes ids, or one row.
    void decode(const std::vector<llama_token> & tokens, const float * row, int from) {
        const int count = row ? 1 : tokens.size(), width = llama_model_n_embd(model);
        llama_batch batch = llama_batch_init(count, row ? width : 0, 1);
        batch.n_tokens = count;
        if (row) memcpy(batch.embd, row, width * sizeof(float));
        for (int at = 0; at < count; at++) {
            if (!row) batch.token[at] = tokens[at];
            batch.pos[at] = from + at;
            batch.n_seq_id[at] = 1;
            batch.seq_id[at][0] = 0;
            batch.logits[at] = at == count - 1;
        }
        check(llama_decode(context, batch) == 0, "llama_decode");
        llama_batch_free(batch);
    }

    std::vector<float> samples(mtmd_gen_state * generator, const std::vector<std::vector<int32_t>> & frames) {
        std::vector<float> found;
        std::vector<int32_t> all;
        for (const auto & frame : frames) all.insert(all.end(), frame.begin(), frame.end());
        for (const bool is_rest : {false, true}) {
            mtmd_gen_inp step = mtmd_gen_inp_default(media);
            step.type = MTMD_GEN_PROCESS_TYPE_GEN_WAV;
            step.codes = is_rest ? nullptr : all.data();
            step.n_codes = is_rest ? 0 : all.size();
            mtmd_gen_out out{};
            check(mtmd_gen_audio_process(media, generator, &step, &out) == 0, "samples");
            found.insert(found.end(), out.audio, out.audio + out.n_samples);
        }
        return found;
    }

    json answer(const json & asked) {
        if (asked.contains("codes")) {
            mtmd_gen_state * generator = mtmd_gen_state_init(media, mtmd_gen_state_params_default());
            json found = {{"samples", samples(generator, asked["codes"])}};
            mtmd_gen_state_free(generator);
            return found;
        }
        const std::vector<llama_token> tokens = ids(asked["prompt"]);
        json found = {{"ids", tokens}, {"codes", json::array()}, {"rows", json::array()}};
        llama_memory_clear(llama_get_memory(context), true);
        decode(tokens, nullptr, 0);
        mtmd_gen_state * generator = mtmd_gen_state_init(media, mtmd_gen_state_params_default());
        std::vector<std::vector<int32_t>> frames;
        int at = tokens.size();
        for (const std::vector<int> order : asked["orders"]) {
            std::vector<float> hidden = state();
            std::vector<int32_t> codes(order.size(), -1);
            mtmd_gen_inp step = mtmd_gen_inp_default(media);
            step.type = MTMD_GEN_PROCESS_TYPE_GEN_CODE;
            step.embd = hidden.data();
            step.codes = codes.data();
            step.n_codes = codes.size();
            mtmd_gen_out out{};
            json passes = json::array();
            size_t kinds = 0;
            for (size_t known = 0; known < order.size();) {
                check(mtmd_gen_audio_process(media, generator, &step, &out) == 0, "a pass");
                kinds = out.n_feats / order.size();
                std::vector<float> logits(out.feats, out.feats + out.n_feats);
                passes.push_back(logits);
                for (int pick = 0; pick < 4; pick++) {
                    const int book = order[known++];
                    float * own = logits.data() + book * kinds;
                    for (size_t kind = 0; kind < kinds; kind++) {
                        const size_t first = frames.size() - std::min(frames.size(), size_t(step.penalty_last_n));
                        const bool is_known = std::any_of(frames.begin() + first, frames.end(),
                            [&](const std::vector<int32_t> & frame) { return frame[book] == int32_t(kind); });
                        if (is_known) own[kind] *= own[kind] > 0 ? 1 / step.penalty_repeat : step.penalty_repeat;
                    }
                    codes[book] = std::max_element(own, own + kinds) - own;
                }
            }
            found["states"].push_back(hidden);
            found["logits"].push_back(passes);
            if (std::find(codes.begin(), codes.end(), int32_t(kinds) - 1) != codes.end()) break;
            check(mtmd_gen_audio_process(media, generator, &step, &out) == 0, "the row of a frame");
            const std::vector<float> row(out.embd, out.embd + hidden.size());
            found["codes"].push_back(codes);
            found["rows"].push_back(row);
            frames.push_back(codes);
            decode({}, row.data(), at++);
        }
        found["samples"] = samples(generator, frames);
        mtmd_gen_state_free(generator);
        return found;
    }
};

int main(int argc, char ** argv) { return serve<Oracle>(argc, argv); }
