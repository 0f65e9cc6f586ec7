"""The encoder of images of Gemma 3n, MobileNetV5: the blocks of each stage as the shapes of their tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

from make_encoders import GELU, Encoder

Shapes = dict[str, tuple[int, ...]]
# From the width of rows that come in to the shapes of the tensors and the width of those that come out.
Block = Callable[[int], tuple[Shapes, int]]


def edge(wide: int, out: int) -> Block:
    return lambda of: ({"conv_exp.weight": (wide, of, 3, 3), "bn1.weight": (wide,),
                        "conv_pwl.weight": (out, wide, 1, 1), "bn2.weight": (out,)}, out)


def inverted(start: int, wide: int, middle: int, out: int, scale=False) -> Block:
    """Sides of kernels and widths; 0: the file has none."""
    def block(of: int) -> tuple[Shapes, int]:
        shapes: Shapes = {}
        if start:
            shapes |= {"dw_start.conv.weight": (of, 1, start, start), "dw_start.bn.weight": (of,)}
        if wide:
            shapes |= {"pw_exp.conv.weight": (wide, of, 1, 1), "pw_exp.bn.weight": (wide,)}
        width = wide or of
        if middle:
            shapes |= {"dw_mid.conv.weight": (width, 1, middle, middle), "dw_mid.bn.weight": (width,)}
        if out:
            shapes |= {"pw_proj.conv.weight": (out, width, 1, 1), "pw_proj.bn.weight": (out,)}
        if scale:
            shapes |= {"layer_scale.gamma": (1, out or width, 1, 1)}
        return shapes, out or width
    return block


def attention(heads: int, head: int, kernel: int, scale=False, out: int | None = None) -> Block:
    def block(of: int) -> tuple[Shapes, int]:
        width = out or of
        shapes: Shapes = {"norm.weight": (of,), "attn.query.proj.weight": (heads * head, of, 1, 1),
                          "attn.key.proj.weight": (head, of, 1, 1), "attn.value.proj.weight": (head, of, 1, 1),
                          "attn.output.proj.weight": (width, heads * head, 1, 1)}
        for part in ["key", "value"] if kernel else []:
            shapes |= {f"attn.{part}.down_conv.weight": (of, 1, kernel, kernel), f"attn.{part}.norm.weight": (of,)}
        return shapes | ({"layer_scale.gamma": (1, width, 1, 1)} if scale else {}), width
    return block


def gemma3nv(name: str, stem: int, stages: list[list[Block]], merged: tuple[int, int], **numbers) -> Encoder:
    """`merged`: widths of the two products behind the blocks. As converted, an encoder has made up numbers of layers."""
    sizes = [(60, 40), (24, 24)] if name == "gemma3nv" else [(98, 98), (60, 40), (21, 90)]
    e = Encoder(name, "gemma3nv", "gemma3n-q2_k", sizes, **{
        "embedding_length": 22, "projection_dim": 22, "feed_forward_length": 88, "block_count": 128,
        "attention__head_count": 1, "image_mean": [0.0, 0.0, 0.0], "image_std": [1.0, 1.0, 1.0]} | numbers)
    e.keys |= GELU

    def tensor(name: str, shape: tuple[int, ...]):
        if name.endswith("gamma"):
            return e.tensor(name, *shape, mean=0.7, deviation=0.3)
        if len(shape) == 1:
            return e.tensor(name, *shape, mean=1.0, deviation=0.2)
        e.tensor(name, *shape, deviation=1 / math.sqrt(math.prod(shape[1:])), half=shape[-1] == 1)

    tensor("v.conv_stem.conv.weight", (stem, 3, 3, 3))
    if stages[0]:
        e.tensor("v.conv_stem.conv.bias", 1, stem, 1, 1, deviation=0.3)
    tensor("v.conv_stem.bn.weight", (stem,))
    width, ends = stem, []
    for stage, blocks in enumerate(stages):
        for number, block in enumerate(blocks):
            shapes, width = block(width)
            for of, shape in shapes.items():
                tensor(f"v.blk.{stage}.{number}.{of}", shape)
        ends += [width] if blocks else []
    width = sum(ends[-2:]) if len(ends) == 4 else width
    for part, out in zip(["pw_exp", "pw_proj"], merged):
        if out:
            tensor(f"v.msfa.ffn.{part}.conv.weight", (out, width, 1, 1))
            tensor(f"v.msfa.ffn.{part}.bn.weight", (out,))
            width = out
    if len(ends) == 4:
        tensor("v.msfa.norm.weight", (width,))
    e.linear("mm.input_projection", 22, width, bias=False, half=True)
    tensor("mm.soft_emb_norm.weight", (width,))
    return e
