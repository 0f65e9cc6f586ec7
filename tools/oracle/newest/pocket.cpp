// Asks llama.cpp's newest version for the speech of a Pocket TTS: pocket TEXT.gguf ENCODERS.gguf CONTEXT
//
// Reads one JSON object per line from stdin and writes one per line to stdout:
// {"voice": "…", "prompt": "ab", "seed": 1, "spoken": "Ab."}    voice: a file of f32 samples, 24000 of them a second
// {"rows": [[…], …], "ids": […], "states": [[…], …], "noise": [[…], …], "latents": [[…], …], "ends": [false, …],
//  "rate": 24000, "samples": […]}
// `ids` are those of `spoken`, the prompt as it is prepared.
// Rows of the voice; the state and the noise that each step starts from, the latent that it gives, and whether it says
// that the speech ends. A step after the end of a chunk has no latent among the samples.

#include <cmath>
#include <cstring>
#include <random>

#include "media.h"

struct Oracle : Media {
    // Beside keys and values of f16 llama.cpp rounds queries, too, which webgguf does not: here they are f32.
    Oracle(const char * text, const char * encoders, int length) : Media(text, encoders, length, true) {}

    std::vector<llama_token> ids(const std::string & text) {
        std::vector<llama_token> found(text.size() + 8);
        const llama_vocab * vocab = llama_model_get_vocab(model);
        const int count = llama_tokenize(vocab, text.c_str(), text.size(), found.data(), found.size(), false, false);
        check(count >= 0, "llama_tokenize");
        found.resize(count);
        return found;
    }

    json rows(const mtmd_bitmap * bitmap) {
        const std::string marker = mtmd_get_marker(media);
        mtmd_input_text text{marker.c_str(), marker.size(), false, true};
        mtmd_input_chunks * chunks = mtmd_input_chunks_init();
        check(mtmd_tokenize(media, chunks, &text, &bitmap, 1) == 0, "mtmd_tokenize");
        json found = json::array();
        for (size_t at = 0; at < mtmd_input_chunks_size(chunks); at++) {
            const mtmd_input_chunk * chunk = mtmd_input_chunks_get(chunks, at);
            if (mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_AUDIO) continue;
            check(mtmd_encode_chunk(media, chunk) == 0, "mtmd_encode_chunk");
            const float * values = mtmd_get_output_embd(media);
            const int width = llama_model_n_embd_inp(model);
            for (size_t row = 0; row < mtmd_input_chunk_get_n_tokens(chunk); row++, values += width) {
                found.push_back(std::vector<float>(values, values + width));
            }
        }
        mtmd_input_chunks_free(chunks);
        return found;
    }

    json answer(const json & asked) {
        const std::string prompt = asked["prompt"], file = contents(asked["voice"]);
        const uint32_t seed = asked["seed"];
        const float * sound = reinterpret_cast<const float *>(file.data());
        mtmd_bitmap * voice = mtmd_bitmap_init_from_audio(file.size() / sizeof(float), sound);
        json found = {{"rows", rows(voice)}, {"ids", ids(asked["spoken"])}};
        llama_memory_clear(llama_get_memory(context), true);
        mtmd_helper_gen_audio * speech = mtmd_helper_gen_audio_init(context, media);
        mtmd_helper_gen_audio_inp input = mtmd_helper_gen_audio_inp_default();
        input.prompt = prompt.c_str();
        input.prompt_len = prompt.size();
        input.seed = seed;
        input.seq_id = 0;
        input.speaker_ref = voice;
        input.out_type = MTMD_HELPER_GEN_AUDIO_OUTTYPE_PCM;
        check(mtmd_helper_gen_audio_set_input(speech, &input) == 0, "mtmd_helper_gen_audio_set_input");
        int left;
        while ((left = mtmd_helper_gen_audio_step_prompt(speech, 512)) > 0) {}
        check(left == 0, "mtmd_helper_gen_audio_step_prompt");
        const int width = llama_model_n_embd(model);
        const float * first = llama_get_embeddings_ith(context, -1);
        std::vector<float> state(first, first + width);
        // The same steps with a generator of their own, whose latents can be read.
        mtmd_gen_state_params params = mtmd_gen_state_params_default();
        params.seed = seed;
        mtmd_gen_state * own = mtmd_gen_state_init(media, params);
        std::mt19937 random(seed);
        for (bool stop = false; !stop;) {
            mtmd_gen_inp step = mtmd_gen_inp_default(media);
            step.type = MTMD_GEN_PROCESS_TYPE_GEN_CODE;
            step.embd = state.data();
            mtmd_gen_out out{};
            check(mtmd_gen_audio_process(media, own, &step, &out) == 0, "mtmd_gen_audio_process");
            std::normal_distribution<float> normal(0.0f, std::sqrt(step.temp));
            std::vector<float> noise(out.n_feats);
            for (float & value : noise) value = normal(random);
            found["states"].push_back(state);
            found["noise"].push_back(noise);
            found["latents"].push_back(std::vector<float>(out.feats, out.feats + out.n_feats));
            found["ends"].push_back(bool(out.is_eos));
            const float * next = nullptr;
            check(mtmd_helper_gen_audio_step_gen(speech, LLAMA_TOKEN_NULL, state.data(), &next, &stop) == 0, "a step");
            if (!stop) state.assign(next, next + width);
        }
        int32_t rate;
        const char * data;
        size_t bytes;
        int64_t count;
        check(mtmd_helper_gen_audio_flush(speech) == 0, "mtmd_helper_gen_audio_flush");
        check(mtmd_helper_gen_audio_get_output(speech, &rate, &data, &bytes, &count) == 0, "the samples");
        const float * samples = reinterpret_cast<const float *>(data);
        found["rate"] = rate;
        found["samples"] = std::vector<float>(samples, samples + count);
        mtmd_gen_state_free(own);
        mtmd_helper_gen_audio_free(speech);
        mtmd_bitmap_free(voice);
        return found;
    }
};

int main(int argc, char ** argv) { return serve<Oracle>(argc, argv); }
