// Asks llama.cpp's newest version about pictures and sounds: picture TEXT.gguf ENCODER.gguf CONTEXT
//
// Reads one JSON object per line from stdin and writes one per line to stdout:
// {"image": "FILE", "width": 60, "height": 40, "prompt": "ab <__media__> cd", "predict": 8}    file: width · height · 3 bytes
// {"sound": "FILE", "prompt": "ab <__media__> cd", "predict": 8}    f32 samples at 16 kHz
// {"rows": [[[…], …], …], "texts": [[…], …], "positions": 90, "generated": […], "logprobs": […]}
// Rows of each piece, ids of each text, the position behind the prompt, and what follows greedily.
// Where a mark around it is no token of the vocabulary, there are rows and texts alone.

#include <cmath>

#include "media.h"

struct Oracle : Media {
    int most;

    Oracle(const char * text, const char * encoder, int length) : Media(text, encoder, length, false), most(length) {}

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
        const mtmd_bitmap * bitmap = medium(question);
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

int main(int argc, char ** argv) { return serve<Oracle>(argc, argv); }
