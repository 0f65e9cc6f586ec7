"""Writes the trained model as GGUF: weights Q8_0, norms F32, with vocabulary and chat template.

    python3 export.py TRAINED_DIR ../../www/models/storyteller.gguf

TRAINED_DIR holds model.npz and tokenizer.json of train.py. The Q and K rows need no permutation: train.py rotates
neighbouring pairs of a head, as GGUF's `llama` does (converters permute because other formats rotate its halves).
"""

import json
import os
import sys

import gguf
import numpy as np

from chat import BEGIN, END, SPECIAL_TOKENS

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def write_tokenizer(writer, path):
    """Vocabulary in the order of the ids; special tokens are control tokens."""
    with open(path, encoding="utf-8") as file:
        model = json.load(file)["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    assert [model["vocab"][token] for token in tokens] == list(range(len(tokens)))
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    kinds = [gguf.TokenType.CONTROL if token in SPECIAL_TOKENS else gguf.TokenType.NORMAL for token in tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(model["vocab"][BEGIN])
    writer.add_eos_token_id(model["vocab"][END])
    writer.add_eot_token_id(model["vocab"][END])
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_chat_template(TEMPLATE)


def write_metadata(writer, config):
    writer.add_name("Storyteller")
    writer.add_author("webgguf")
    writer.add_license("MIT OR Apache-2.0")
    writer.add_description("A very small storyteller for children's stories, trained on a story grammar.")
    writer.add_languages(["en"])
    writer.add_context_length(config["context"])
    writer.add_embedding_length(config["hidden"])
    writer.add_block_count(config["layers"])
    writer.add_feed_forward_length(config["ffn"])
    writer.add_head_count(config["heads"])
    writer.add_head_count_kv(config["kv_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def write_weights(writer, path):
    """Matrices [rows, cols] in blocks of 32 along the row; cols is a multiple of 32 everywhere."""
    weights = np.load(path)
    for name in weights.files:
        data = weights[name].astype(np.float32)
        if data.ndim == 1:
            writer.add_tensor(name, data)
            continue
        blocks = gguf.quants.quantize(data, gguf.GGMLQuantizationType.Q8_0)
        writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)


def main():
    trained, target = sys.argv[1:3]
    with open(os.path.join(trained, "log.json")) as file:
        config = json.load(file)["config"]
    writer = gguf.GGUFWriter(target, "llama")
    write_metadata(writer, config)
    write_tokenizer(writer, os.path.join(trained, "tokenizer.json"))
    write_weights(writer, os.path.join(trained, "model.npz"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{target}: {os.path.getsize(target)} bytes")


if __name__ == "__main__":
    main()
