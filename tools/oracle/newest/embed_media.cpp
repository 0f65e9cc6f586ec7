// Asks llama.cpp's newest version for embeddings of prompts with pictures and sounds:
// embed_media TEXT.gguf ENCODERS.gguf CONTEXT
//
// Reads one JSON object per line from stdin and writes one per line to stdout:
// {"prompt": "a <__media__> b <__media__>", "media": [{"image": "FILE", "width": 60, "height": 40}, {"sound": "FILE"}]}
//     an image file has width · height · 3 bytes, a sound file f32 samples at 16 kHz
// {"embedding": […], "pieces": [[2, 97], 40, [98]]}
//     as the file pools it, not normalised; and ids of texts and numbers of rows, in the order of the prompt

#include "media.h"

struct Oracle : Media {
    Oracle(const char * text, const char * encoders, int length) : Media(text, encoders, length, true) {}

    // Adds a chunk to a batch; gives its ids, or the number of its rows.
    json add(llama_batch_ext * batch, const mtmd_input_chunk * chunk, llama_pos & position) {
        const bool is_text = mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT;
        size_t count = mtmd_input_chunk_get_n_tokens(chunk);
        const llama_token * ids = is_text ? mtmd_input_chunk_get_tokens_text(chunk, &count) : nullptr;
        check(is_text || mtmd_encode_chunk(media, chunk) == 0, "mtmd_encode_chunk");
        const float * rows = is_text ? nullptr : mtmd_get_output_embd(media);
        const size_t width = llama_model_n_embd_inp(model);
        for (size_t i = 0; i < count; i++, position++) {
            const llama_embd row = {rows + i * width, 1, width};
            const int at = is_text ? llama_batch_ext_add_token(batch, 0, ids[i]) : llama_batch_ext_add_embd(batch, 0, row);
            check(at >= 0, "a batch takes no more");
            llama_batch_ext_set_pos(batch, at, &position);
            llama_batch_ext_set_output_embd(batch, at, true);
        }
        return is_text ? json(std::vector<llama_token>(ids, ids + count)) : json(count);
    }

    json answer(const json & question) {
        std::vector<mtmd_bitmap *> bitmaps;
        for (const json & found : question.at("media")) bitmaps.push_back(medium(found));
        const std::string prompt = question.at("prompt");
        const mtmd_input_text text = {prompt.data(), prompt.size(), true, true};
        mtmd_input_chunks * chunks = mtmd_input_chunks_init();
        const int status = mtmd_tokenize(media, chunks, &text, (const mtmd_bitmap **) bitmaps.data(), bitmaps.size());
        check(status == 0, "mtmd_tokenize says " + std::to_string(status));
        llama_batch_ext * batch = llama_batch_ext_init(context);
        json pieces = json::array();
        llama_pos position = 0;
        for (size_t at = 0; at < mtmd_input_chunks_size(chunks); at++) {
            pieces.push_back(add(batch, mtmd_input_chunks_get(chunks, at), position));
        }
        if (llama_memory_t memory = llama_get_memory(context)) llama_memory_clear(memory, true);
        check(llama_process(context, LLAMA_PROCESS_TYPE_DECODE, batch) == 0, "llama_process");
        const float * row = llama_get_embeddings_seq(context, 0);
        check(row != nullptr, "no embedding");
        const std::vector<float> embedding(row, row + llama_model_n_embd_out(model));
        llama_batch_ext_free(batch);
        mtmd_input_chunks_free(chunks);
        for (mtmd_bitmap * bitmap : bitmaps) mtmd_bitmap_free(bitmap);
        return {{"embedding", embedding}, {"pieces", pieces}};
    }
};

int main(int argc, char ** argv) { return serve<Oracle>(argc, argv); }
