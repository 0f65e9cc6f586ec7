"""AFMoE: gates of the values of heads, experts beside a shared one, norms of updates."""

from __future__ import annotations

from collections.abc import Iterator

from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, bias, bpe, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN, EXPERTS, EXPERT_FFN, DENSE = 36, 3, 1, 16, 52, 6, 20, 3
STREAM = 0.05 * HIDDEN**0.5

METADATA = {
    "embedding_length": HIDDEN, "block_count": DENSE + 1, "feed_forward_length": FFN, "attention.head_count": HEADS,
    "attention.head_count_kv": KV_HEADS, "attention.key_length": HEAD_DIM, "attention.value_length": HEAD_DIM,
    "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 1e4, "rope.dimension_count": HEAD_DIM,
    "attention.sliding_window": 37, "leading_dense_block_count": DENSE, "expert_count": EXPERTS, "expert_used_count": 2,
    "expert_feed_forward_length": EXPERT_FFN, "expert_shared_count": 2, "expert_weights_norm": True,
    "expert_weights_scale": 1.5, "expert_gating_func": 2}


def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
    yield token_matrix("token_embd.weight", len(vocabulary.tokens), HIDDEN, 0.05)
    for layer in range(DENSE + 1):
        for tensor in block(layer):
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor
    yield output_norm(HIDDEN, 1.0)
    yield token_matrix("output.weight", len(vocabulary.tokens), HIDDEN, 3.6 / HIDDEN**0.5)


def into(name: str, rows: int, gain: float = 1.5) -> Tensor:
    return matrix(name, rows, HIDDEN, gain / HIDDEN**0.5)


def block(layer: int) -> Iterator[Tensor]:
    q, kv, shared = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM, 2 * EXPERT_FFN
    yield norm("attn_norm.weight", HIDDEN)
    for role, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv), ("attn_gate", q)):
        yield into(f"{role}.weight", rows)
    yield norm("attn_q_norm.weight", HEAD_DIM, 1.5)
    yield norm("attn_k_norm.weight", HEAD_DIM, 1.5)
    yield matrix("attn_output.weight", HIDDEN, q, 2 / q**0.5)
    yield norm("post_attention_norm.weight", HIDDEN, 0.6 * STREAM)
    yield norm("ffn_norm.weight", HIDDEN)
    yield norm("post_ffw_norm.weight", HIDDEN, 0.6 * STREAM)
    if layer < DENSE:
        yield into("ffn_gate.weight", FFN)
        yield into("ffn_up.weight", FFN)
        yield matrix("ffn_down.weight", HIDDEN, FFN, 1 / FFN**0.5)
        return
    yield matrix("ffn_gate_inp.weight", EXPERTS, HIDDEN, 4 / HIDDEN**0.5, Type.F32)
    yield bias("exp_probs_b.bias", EXPERTS, 0.2)
    for role in ("ffn_gate_exps", "ffn_up_exps"):
        yield stack(f"{role}.weight", EXPERTS, EXPERT_FFN, HIDDEN, 1.5 / HIDDEN**0.5)
    yield stack("ffn_down_exps.weight", EXPERTS, HIDDEN, EXPERT_FFN, 1 / EXPERT_FFN**0.5)
    yield into("ffn_gate_shexp.weight", shared)
    yield into("ffn_up_shexp.weight", shared)
    yield matrix("ffn_down_shexp.weight", HIDDEN, shared, 1 / shared**0.5)


MODELS = [Model("afmoe-f16", "afmoe", Type.F16, METADATA, tensors, bpe(301, "afmoe"), newest=True)]
