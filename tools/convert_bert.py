"""Write a BERT embedder of sentence-transformers as a GGUF.

    python tools/convert_bert.py FOLDER OUT.gguf    # FOLDER has config.json, vocab.txt, model.safetensors, 1_Pooling/

Matrices become F16, vectors and the tables of positions and segments stay F32. Needs the packages gguf and numpy.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter, LlamaFileType, PoolingType, TokenType

MODEL = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
         "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm"}
LAYER = {"attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
         "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
         "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm"}
KEPT_F32 = ("position_embd.weight", "token_types.weight")
SPECIAL = {"[PAD]": "padding", "[UNK]": "unknown", "[CLS]": "bos", "[SEP]": "seperator", "[MASK]": "mask"}


def tensors(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """The F32 and F16 tensors of a safetensors file: 8 bytes of length, a JSON header, the data."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    length = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8:8 + length].tobytes())
    for name, entry in header.items():
        dtype = {"F32": np.float32, "F16": np.float16}.get(entry.get("dtype"))
        if dtype is not None:
            start, end = entry["data_offsets"]
            values = data[8 + length + start:8 + length + end].view(dtype)
            yield name.removeprefix("bert."), values.reshape(entry["shape"]).astype(np.float32)


def gguf_name(name: str) -> str | None:
    """`None` for what an embedder does not use."""
    stem, _, kind = name.rpartition(".")
    if stem in MODEL:
        return f"{MODEL[stem]}.{kind}"
    parts = stem.split(".", 3)
    if parts[:2] == ["encoder", "layer"] and parts[3] in LAYER:
        return f"blk.{parts[2]}.{LAYER[parts[3]]}.{kind}"
    return None


def write_keys(writer: GGUFWriter, folder: Path, name: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text())
    writer.add_name(name)
    writer.add_file_type(LlamaFileType.MOSTLY_F16)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(PoolingType.CLS if pooling["pooling_mode_cls_token"] else PoolingType.MEAN)
    writer.add_token_type_count(config["type_vocab_size"])


def write_vocabulary(writer: GGUFWriter, folder: Path) -> None:
    """Pieces that begin a word get `▁` in front, those that continue one lose their `##`."""
    lines = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    spelled = [line if line in SPECIAL else line[2:] if line.startswith("##") else "▁" + line for line in lines]
    writer.add_tokenizer_model("bert")
    writer.add_token_list(spelled)
    writer.add_token_types([TokenType.CONTROL if line in SPECIAL else TokenType.NORMAL for line in lines])
    for line, kind in SPECIAL.items():
        writer.add_uint32(f"tokenizer.ggml.{kind}_token_id", lines.index(line))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("out", type=Path)
    options = arguments.parse_args()
    writer = GGUFWriter(options.out, "bert")
    write_keys(writer, options.folder, options.out.stem)
    write_vocabulary(writer, options.folder)
    for name, values in tensors(options.folder / "model.safetensors"):
        renamed = gguf_name(name)
        if renamed is None:
            continue
        if values.ndim == 2 and renamed not in KEPT_F32:
            writer.add_tensor(renamed, values.astype(np.float16), raw_dtype=Type.F16)
        else:
            writer.add_tensor(renamed, values, raw_dtype=Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
