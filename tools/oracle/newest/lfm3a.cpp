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
//
// {"answer": "auto", "begun": "<|im_start|>user\n", "prompt": "ab<|im_end|>…", "seed": 1, "most": 60, "biases": {"5": 2}}
// {"ids": […], "slots": [17, -1, -1, …], "orders": [[…], …], "samples": […], "margin": 0.1}
// An answer of text and speech as llama.cpp's own pipeline makes it ("mixed" and "audio" begin with their tokens), with
// the likeliest text token each time. A slot is a text token, or -1 for a frame of sound; the last one may be a token
// that ends the answer. The generator's file must say that codes are chosen at temperature 0: then the random numbers
// of the seed are the orders alone, which are drawn here in the same way.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>

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

    // The likeliest token behind what was read, with these biases, and how far it is from the next one.
    std::pair<llama_token, float> likeliest(const std::vector<std::pair<llama_token, float>> & biases) {
        const int count = llama_vocab_n_tokens(llama_model_get_vocab(model));
        std::vector<float> logits(llama_get_logits_ith(context, -1), llama_get_logits_ith(context, -1) + count);
        for (const auto & [token, bias] : biases) logits[token] += bias;
        const auto best = std::max_element(logits.begin(), logits.end());
        const float most = *best;
        *best = -INFINITY;
        return {best - logits.begin(), most - *std::max_element(logits.begin(), logits.end())};
    }

    json mixed(const json & asked) {
        llama_memory_clear(llama_get_memory(context), true);
        std::vector<llama_token> read = ids(asked["begun"]);
        decode(read, nullptr, 0);
        std::unique_ptr<mtmd_helper_gen_audio, decltype(&mtmd_helper_gen_audio_free)> generator(
            mtmd_helper_gen_audio_init(context, media), mtmd_helper_gen_audio_free);
        check(generator != nullptr, "mtmd_helper_gen_audio_init");
        const std::string prompt = asked["prompt"], mode = asked["answer"];
        mtmd_helper_gen_audio_inp inp = mtmd_helper_gen_audio_inp_default();
        inp.seq_id = 0;
        inp.prompt = prompt.c_str();
        inp.prompt_len = prompt.size();
        inp.n_past = read.size();
        inp.seed = asked["seed"];
        inp.out_type = MTMD_HELPER_GEN_AUDIO_OUTTYPE_PCM;
        inp.out_mode = mode == "mixed" ? MTMD_HELPER_GEN_AUDIO_OUT_MIXED : mode == "audio" ? MTMD_HELPER_GEN_AUDIO_OUT_AUDIO
                     : mode == "text" ? MTMD_HELPER_GEN_AUDIO_OUT_TEXT : MTMD_HELPER_GEN_AUDIO_OUT_AUTO;
        check(mtmd_helper_gen_audio_set_input(generator.get(), &inp) == 0, "set_input");
        while (const int left = mtmd_helper_gen_audio_step_prompt(generator.get(), 4096)) check(left > 0, "step_prompt");
        const std::vector<llama_token> rest = ids(prompt);
        read.insert(read.end(), rest.begin(), rest.end());
        json found = {{"ids", read}, {"slots", json::array()}, {"orders", json::array()}};
        std::vector<std::pair<llama_token, float>> biases;
        size_t count = 0;
        const llama_logit_bias * own = mtmd_helper_gen_audio_get_logit_bias(generator.get(), &count);
        for (size_t at = 0; at < count; at++) biases.push_back({own[at].token, own[at].bias});
        for (const auto & [token, bias] : asked["biases"].items()) biases.push_back({std::stoi(token), bias});
        std::mt19937 random(inp.seed);
        const float * hidden = llama_get_embeddings_ith(context, -1);
        float margin = INFINITY;
        bool stops = false;
        for (int slot = 0; slot < asked["most"] && !stops; slot++) {
            const bool is_text = mtmd_helper_gen_audio_next_is_text(generator.get());
            llama_token token = -1;
            if (is_text) {
                const auto [best, apart] = likeliest(biases);
                token = best;
                margin = std::min(margin, apart);
            }
            found["slots"].push_back(token);
            if (!is_text) {
                std::vector<int> order(12);
                for (int book = 0; book < 12; book++) order[book] = book;
                std::shuffle(order.begin(), order.end(), random);
                found["orders"].push_back(order);
            }
            check(mtmd_helper_gen_audio_step_gen(generator.get(), token, hidden, &hidden, &stops) == 0, "step_gen");
        }
        int32_t rate = 0;
        const char * data = nullptr;
        size_t bytes = 0;
        check(mtmd_helper_gen_audio_get_output(generator.get(), &rate, &data, &bytes, nullptr) == 0, "get_output");
        std::vector<float> samples(bytes / 4);
        if (bytes) memcpy(samples.data(), data, bytes);
        found["samples"] = samples;
        found["margin"] = margin;
        return found;
    }

    json answer(const json & asked) {
        if (asked.contains("answer")) return mixed(asked);
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
