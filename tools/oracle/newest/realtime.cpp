// Asks llama.cpp's newest version what a model hears as it goes: realtime TEXT.gguf ENCODER.gguf CONTEXT
//
// Reads one JSON object per line from stdin and writes one per line to stdout:
// {"sound": "FILE", "step": 320, "chunk": 1000}    f32 samples at 16 kHz, milliseconds of an encoder call, samples of a push
// {"rows": [[…], …], "ids": […], "logprobs": […], "lead": 0.1}
// Rows of the sound, and what is chosen greedily behind each from the last one of the prompt on, until the sound or the
// text ends; by how much the likeliest token is ahead of the next one, at least.

#include <cmath>

#include "llama-ext.h"
#include "media.h"

struct Oracle : Media {
    Oracle(const char * text, const char * encoder, int length) : Media(text, encoder, length, false) {}

    void read(const float * rows, int count, llama_pos past) {
        const int width = llama_model_n_embd_inp(model);
        llama_batch batch = llama_batch_init(count, width, 1);
        batch.n_tokens = count;
        std::copy(rows, rows + size_t(count) * width, batch.embd);
        for (int i = 0; i < count; i++) {
            batch.pos[i] = past + i;
            batch.n_seq_id[i] = 1;
            batch.seq_id[i][0] = 0;
            batch.logits[i] = i + 1 == count;
        }
        check(llama_decode(context, batch) == 0, "llama_decode");
        llama_batch_free(batch);
    }

    json answer(const json & question) {
        const llama_vocab * vocab = llama_model_get_vocab(model);
        const std::string bytes = contents(question.at("sound"));
        const float * samples = reinterpret_cast<const float *>(bytes.data());
        const size_t count = bytes.size() / 4, chunk = question.value("chunk", int(count));
        mtmd_audio_stream_params params = mtmd_audio_stream_params_default();
        params.step_ms = question.value("step", 320);
        mtmd_audio_stream * stream = mtmd_audio_stream_init(media, params);
        check(stream != nullptr, "mtmd_audio_stream_init");
        llama_memory_clear(llama_get_memory(context), true);
        const int width = llama_model_n_embd_inp(model), most = llama_vocab_n_tokens(vocab);
        json rows = json::array(), ids = json::array(), logprobs = json::array();
        llama_token token = LLAMA_TOKEN_NULL;
        llama_pos past = 0;
        float lead = INFINITY;
        for (size_t fed = 0;;) {
            const int found = mtmd_audio_stream_step(stream, token);
            check(found != -2, "mtmd_audio_stream_step");
            if (found < 0) break;
            if (found == 0) {
                if (fed < count) {
                    const size_t more = std::min(chunk, count - fed);
                    mtmd_audio_stream_push(stream, samples + fed, more);
                    fed += more;
                } else if (mtmd_audio_stream_flush(stream, true) != 0) {
                    break;
                }
                continue;
            }
            const float * values = mtmd_audio_stream_get_output_embd(stream);
            std::vector<llama_token> with(found, token);
            if (past == 0) {
                const llama_token pad = padding(vocab);
                with.assign(found, pad);
                with[0] = llama_vocab_bos(vocab);
            }
            std::vector<float> embedded(size_t(found) * width);
            check(llama_model_get_tok_embd_rows(model, with.data(), found, embedded.data()) != 0, "tok_embd_rows");
            for (int row = 0; row < found; row++) {
                std::vector<float> own(width);
                for (int i = 0; i < width; i++) own[i] = values[row * width + i] - embedded[row * width + i];
                rows.push_back(own);
            }
            read(values, found, past);
            past += found;
            const float * logits = llama_get_logits_ith(context, -1);
            token = 0;
            for (int id = 1; id < most; id++) if (logits[id] > logits[token]) token = id;
            for (int id = 0; id < most; id++) if (id != token) lead = std::min(lead, logits[token] - logits[id]);
            double sum = 0;
            for (int id = 0; id < most; id++) sum += std::exp(double(logits[id]) - logits[token]);
            ids.push_back(token);
            logprobs.push_back(-std::log(sum));
            if (llama_vocab_is_eog(vocab, token)) break;
        }
        mtmd_audio_stream_free(stream);
        return {{"rows", rows}, {"ids", ids}, {"logprobs", logprobs}, {"lead", lead}};
    }

    static llama_token padding(const llama_vocab * vocab) {
        const std::string text = "[STREAMING_PAD]";
        llama_token found[8];
        check(llama_tokenize(vocab, text.data(), text.size(), found, 8, false, true) == 1, "no token for silence");
        return found[0];
    }
};

int main(int argc, char ** argv) { return serve<Oracle>(argc, argv); }
