"""Write a GGUF of random weights in the shape of a published model, for measurements of speed and memory.

    python tools/oracle/real_shapes.py --list
    python tools/oracle/real_shapes.py gemma3-1b Q4_0 VOCABULARY.gguf OUT.gguf

The tensors and keys are those of `families`, with the published sizes. Tokens are those of VOCABULARY.gguf, or `-` for a
small vocabulary, with fillers up to the published number. A few rows of each tensor are drawn and then repeated: the
speed of a kernel does not depend on what the weights are, and a file of ten gigabytes is written in a minute.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter

from families import dense, embedders, experts, gemma4, llama_like, qwen35, recurrent
from random_model import Model, Tensor, bpe, draw, type_of, write_keys
from tiny_vocabulary import Vocabulary, word_piece

DRAWN_ROWS = 64
PLAIN_TEXT = re.compile(r"[A-Za-z0-9 _<>Ġ▁]+")


@dataclass
class Shape:
    """A published model: its vocabulary, and the rest given a type of weights."""
    tokens: int
    model: Callable[[Type], Model]
    vocabulary: Callable[[], Vocabulary] = bpe(300, "llama-bpe", True)
    """The small one."""
    context: int = 8192


def gemma3_1b(ty: Type) -> Model:
    return llama_like.model(llama_like.Spec(
        "gemma3-1b", ty, 1152, 4, 1, 256, 6912, 26, "gemma3", rope_theta=1e6, window=512, rms_eps=1e-6))


def gemma4_e2b(ty: Type) -> Model:
    slides = [layer % 5 != 4 for layer in range(35)]
    ffn = [6144 if layer < 15 else 12288 for layer in range(35)]
    return gemma4.model(gemma4.Spec(
        "gemma4-e2b", ty, 1536, 8, [1] * 35, 512, 256, slides, ffn, 512, shared=20, per_layer=256, final_cap=30.0))


def phi_4_mini(ty: Type) -> Model:
    shape = dense.Shape(3072, 24, 8, 8192, layers=32, head_dim=128, tied=True, rope_dims=96,
                        rope_factors=dense.LONG_AND_SHORT, **dense.PHI3)
    return dense.model("phi3-4-mini", ty, bpe, shape, **dense.longrope(4096, 1.19))


def smollm3_3b(ty: Type) -> Model:
    shape = dense.Shape(2048, 16, 4, 11_008, layers=36, tied=True)
    return dense.model("smollm3-3b", ty, bpe, shape, rope__freq_base=5e6)


def lfm2_1_2b(ty: Type) -> Model:
    kv_heads = [8 if layer in (2, 5, 8, 10, 12, 14) else 0 for layer in range(16)]
    shape = recurrent.Shape(2048, kv_heads, heads=32, head_dim=64, ffn=8192, conv_kernel=3, **recurrent.LFM2)
    return recurrent.model("lfm2-1.2b", "lfm2", ty, bpe, shape)


def gpt_oss_20b(ty: Type) -> Model:
    """Experts in `ty`, the rest in Q8_0."""
    keys = {"rope.freq_base": 150_000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 32.0,
            "rope.scaling.original_context_length": 4096, "expert_feed_forward_length": 2880,
            "attention.sliding_window": 128}
    return experts.model(experts.Spec(
        "gpt-oss-20b", "gpt-oss", Type.Q8_0, 2880, 64, 8, 64, 2880, experts=32, used=4, layers=24, biases=True,
        sinks=True, ffn_norm="post_attention_norm", types={"*_exps.weight": ty}, keys=keys))


def qwen35_shape(name: str, hidden: int, ffn: int) -> Callable[[Type], Model]:
    return lambda ty: qwen35.model(qwen35.Spec(
        name, ty, hidden, heads=8, kv_heads=2, head_dim=256, rope_dims=64, ffn=ffn, k_heads=16, v_heads=16, state=128,
        interval=4, layers=24))


def granite_4_h_350m(ty: Type) -> Model:
    kv_heads = [4 if layer in (10, 13, 17, 27) else 0 for layer in range(32)]
    scales = {"embedding_scale": 12.0, "residual_scale": 0.246, "attention.scale": 1 / 64, "logit_scale": 3.0,
              "rope.scaling.finetuned": False}
    shape = recurrent.Shape(768, kv_heads, heads=12, head_dim=64, ffn=2048, ssm=recurrent.Ssm(48, 32, 128),
                            update_gain=1 / 0.246, embedding_scale=12.0, logit_scale=3.0)
    return recurrent.model("granite-4-h-350m", "granitehybrid", ty, bpe, shape, keys=scales)


def minilm(ty: Type) -> Model:
    return embedders.bert("minilm", ty, 384, 12, 1536, 6, embedders.MEAN)


SHAPES: dict[str, Shape] = {
    "gemma3-1b": Shape(262_144, gemma3_1b),
    "gemma4-e2b": Shape(262_144, gemma4_e2b),
    "phi-4-mini": Shape(200_064, phi_4_mini),
    "smollm3-3b": Shape(128_256, smollm3_3b),
    "lfm2-1.2b": Shape(65_536, lfm2_1_2b),
    "qwen3.5-0.8b": Shape(248_320, qwen35_shape("qwen3.5-0.8b", 1024, 3584)),
    "qwen3.5-2b": Shape(248_320, qwen35_shape("qwen3.5-2b", 2048, 6144)),
    "granite-4-h-350m": Shape(100_352, granite_4_h_350m),
    "gpt-oss-20b": Shape(201_088, gpt_oss_20b),
    "minilm": Shape(30_522, minilm, lambda: word_piece(191), context=512),
}


class Borrowed:
    """The vocabulary of another file, with fillers up to a size."""

    def __init__(self, path: str, size: int, small: Callable[[], Vocabulary]):
        self.fields = {}
        if path == "-":
            self.small = small()
            self.tokens = self.small.tokens + fillers(size - len(self.small.tokens))
        else:
            reader = GGUFReader(path)
            self.fields = {key: field for key, field in reader.fields.items() if key.startswith("tokenizer.")}
            known = self.fields["tokenizer.ggml.tokens"].contents()
            self.tokens = known[:size] + fillers(size - len(known))

    def ordinary_ids(self) -> list[int]:
        return list(range(len(self.tokens)))

    def write(self, writer: GGUFWriter) -> None:
        if not self.fields:
            kinds = self.sized("tokenizer.ggml.token_type", self.small.types)
            replace(self.small, tokens=self.tokens, types=kinds).write(writer)
        for key, field in self.fields.items():
            value = field.contents()
            if isinstance(value, list):
                writer.add_array(key, self.sized(key, value))
            else:
                writer.add_key_value(key, value, GGUFValueType(field.types[0]))

    def sized(self, key: str, values: list) -> list:
        """Lists with a value per token have as many as there are tokens."""
        of_tokens = {"tokenizer.ggml.tokens": None, "tokenizer.ggml.scores": 0.0, "tokenizer.ggml.token_type": 5}
        if key not in of_tokens:
            return values
        if key == "tokenizer.ggml.tokens":
            return self.tokens
        return (values + [of_tokens[key]] * len(self.tokens))[:len(self.tokens)]


def fillers(count: int) -> list[str]:
    return [f"<filler {number}>" for number in range(max(count, 0))]


def repeated(tensor: Tensor, model: Model, tokens: list[str], rng: np.random.Generator) -> tuple[np.ndarray, Type]:
    """The tensor from `DRAWN_ROWS` of its rows. Tokens that may be parts of characters are never the likeliest: engines
    that hand out JSON fail on them."""
    rows = int(np.prod(tensor.shape[:-1])) if len(tensor.shape) > 1 else 1
    if rows <= DRAWN_ROWS:
        return draw(tensor, model, rng, np.ones(rows))
    part = Tensor(tensor.name, (DRAWN_ROWS + 1, tensor.shape[-1]), tensor.std, type_of(tensor, model),
                  of_tokens=True)
    drawn, ty = draw(part, model, rng, np.append(np.ones(DRAWN_ROWS), 0.1))
    data = np.tile(drawn[:DRAWN_ROWS], (-(-rows // DRAWN_ROWS), 1))[:rows]
    if tensor.name in ("token_embd.weight", "output.weight"):
        data[[not PLAIN_TEXT.fullmatch(token) for token in tokens]] = drawn[DRAWN_ROWS]
    return data.reshape(*tensor.shape[:-1], -1), ty


def write(shape: Shape, ty: Type, vocabulary: str, out: Path) -> None:
    model = shape.model(ty)
    tokens = Borrowed(vocabulary, shape.tokens, shape.vocabulary)
    writer = GGUFWriter(out, model.architecture)
    model.metadata["context_length"] = shape.context
    write_keys(writer, model)
    tokens.write(writer)
    rng = np.random.default_rng(1)
    for tensor in model.tensors(tokens):
        data, of = repeated(tensor, model, tokens.tokens, rng)
        writer.add_tensor(tensor.name, data, raw_dtype=of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="the names of the shapes")
    parser.add_argument("shape", nargs="?", choices=SHAPES)
    parser.add_argument("type", nargs="?", help="of the weights: Q4_0, Q4_K, Q8_0, MXFP4 ...")
    parser.add_argument("vocabulary", nargs="?", help="a GGUF, or -")
    parser.add_argument("out", nargs="?", type=Path)
    args = parser.parse_args()
    if args.list or not args.out:
        print("\n".join(SHAPES))
        return
    write(SHAPES[args.shape], Type[args.type], args.vocabulary, args.out)
    print(f"{args.out}: {args.out.stat().st_size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
