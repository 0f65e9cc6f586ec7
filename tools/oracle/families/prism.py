"""What Bonsai's files have: weights of one and two bits, and matrices that are rotated. Beside them F8_E4M3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from families import llama_like, qwen35
from new_types import F8_E4M3, Q1_0, Q2_0
from random_model import Model, bpe

BITS = {"token_embd.weight": F8_E4M3, "*.attn_output.weight": F8_E4M3, "output.weight": Q2_0, "*.attn_v.weight": Q2_0,
        "*.ffn_down.weight": Q2_0}

ROTATED = {0: "attn_qkv attn_gate ssm_out ffn_gate ffn_up ffn_down",
           1: "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down"}


def rotation(block: int, widths: list[int]) -> dict[str, object]:
    """The keys of a file with its embedding table rotated, which is the head, too."""
    signs = np.random.default_rng(28).choice([-1, 1], sum(widths))
    names = [f"blk.{layer}.{name}.weight" for layer, named in ROTATED.items() for name in named.split()]
    return {
        "prism.hadamard.version": 2, "prism.hadamard.block_size": block,
        "prism.hadamard.transform": "normalized-sylvester-walsh-hadamard",
        "prism.hadamard.axis": "input-last-dimension", "prism.hadamard.sign_mode": "explicit",
        "prism.hadamard.sign_widths": widths, "prism.hadamard.sign_values": signs.tolist(),
        "prism.hadamard.weight_names": names, "prism.hadamard.inverse_weight_names": ["token_embd.weight"],
        "prism.hadamard.tied_output": True, "prism.hadamard.gdn_v_grouped": True}


def bits() -> Model:
    spec = llama_like.Spec("llama-q1_0", Q1_0, 128, 4, 1, 32, 192, layers=2, tied=False, vocabulary=bpe(307, "gpt-2"))
    return replace(llama_like.model(spec), types=BITS, file_type=40, newest=True)


def rotated() -> Model:
    spec = qwen35.Spec("qwen35-hadamard", Q2_0, 128, heads=2, head_dim=64, rope_dims=16, ffn=192, k_heads=2, v_heads=4,
                       state=32, interval=2, layers=2)
    model = qwen35.model(spec)
    metadata = model.metadata | rotation(64, [128, 192])
    return replace(model, metadata=metadata, types={"*.ffn_up.weight": Q1_0}, file_type=41, newest=True)


MODELS = [bits(), rotated()]
