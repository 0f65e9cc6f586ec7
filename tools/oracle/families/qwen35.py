"""Qwen 3.5 and Qwen 3 Next: layers with a gated delta rule, and gated attention between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gguf import GGMLQuantizationType as Type

from random_model import Model, Rng, Tensor, bpe, drawn, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary

STREAM = 0.05


@dataclass
class Spec:
    """One model. A delta rule has `k_heads` and `v_heads` of `state` values; `interval` is a number, or says for every
    block whether it has one. `ffn` is that of an expert where there are `experts`, of which a token has two."""
    name: str
    type: Type
    hidden: int
    heads: int
    head_dim: int
    rope_dims: int
    ffn: int
    k_heads: int
    v_heads: int
    state: int
    interval: int | list[bool]
    layers: int = 3
    kernel: int = 4
    nextn: int = 0
    vocabulary: int = 307
    pre: str = "qwen35"
    tied: bool = True
    architecture: str = "qwen35"
    experts: int = 0
    shared_ffn: int = 0
    kv_heads: int = 1

    def has_delta_rule(self, layer: int) -> bool:
        if layer >= self.layers:
            return False
        if isinstance(self.interval, list):
            return self.interval[layer]
        return (layer + 1) % self.interval != 0


SPECS = [
    Spec("qwen35-f32", Type.F32, 40, heads=3, head_dim=20, rope_dims=8, ffn=44, k_heads=2, v_heads=4, state=12,
         interval=2, vocabulary=301),
    Spec("qwen35-q8_0", Type.Q8_0, 64, heads=2, head_dim=32, rope_dims=16, ffn=96, k_heads=1, v_heads=2, state=48,
         interval=[True, False, True, False], kernel=3, nextn=1, pre="qwen2", tied=False),
    Spec("qwen35moe-f32", Type.F32, 32, heads=2, head_dim=16, rope_dims=8, ffn=20, k_heads=2, v_heads=4, state=8,
         interval=2, layers=2, architecture="qwen35moe", experts=5, shared_ffn=28),
    Spec("qwen3next-q8_0", Type.Q8_0, 64, heads=2, head_dim=32, rope_dims=16, ffn=32, k_heads=2, v_heads=6, state=16,
         interval=2, layers=2, architecture="qwen3next", experts=4, shared_ffn=64, pre="qwen2"),
]


def metadata(spec: Spec) -> dict[str, object]:
    half = spec.rope_dims // 2
    keys: dict[str, object] = {
        "embedding_length": spec.hidden, "block_count": spec.layers + spec.nextn, "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.head_count_kv": spec.kv_heads,
        "attention.key_length": spec.head_dim,
        "attention.value_length": spec.head_dim, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e7,
        "rope.dimension_count": spec.rope_dims, "rope.dimension_sections": [(half + 2) // 3, (half + 1) // 3, half // 3, 0],
        "ssm.conv_kernel": spec.kernel, "ssm.state_size": spec.state, "ssm.group_count": spec.k_heads,
        "ssm.time_step_rank": spec.v_heads, "ssm.inner_size": spec.v_heads * spec.state}
    if spec.experts:
        del keys["feed_forward_length"]
        keys |= {"expert_count": spec.experts, "expert_used_count": 2, "expert_feed_forward_length": spec.ffn,
                 "expert_shared_feed_forward_length": spec.shared_ffn}
    if spec.architecture == "qwen3next":
        del keys["rope.dimension_sections"]
    if spec.nextn:
        keys["nextn_predict_layers"] = spec.nextn
    key = "attention.recurrent_layers" if isinstance(spec.interval, list) else "full_attention_interval"
    return keys | {key: spec.interval}


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, STREAM)
    for layer in range(spec.layers + spec.nextn):
        yield norm(f"blk.{layer}.attn_norm.weight", hidden)
        yield from delta_rule(spec, layer) if spec.has_delta_rule(layer) else attention(spec, layer)
        yield norm(f"blk.{layer}.post_attention_norm.weight", hidden)
        if spec.experts:
            yield from experts(spec, layer)
        else:
            yield from feed_forward(layer, "", hidden, spec.ffn)
    for layer in range(spec.layers, spec.layers + spec.nextn):
        yield from next_token(spec, layer)
    head = STREAM if spec.tied else 3.6 / hidden**0.5
    yield output_norm(hidden, 3.6 / hidden**0.5 / head)
    if not spec.tied:
        yield token_matrix("output.weight", tokens, hidden, head)


def feed_forward(layer: int, kind: str, hidden: int, ffn: int) -> Iterator[Tensor]:
    yield matrix(f"blk.{layer}.ffn_gate{kind}.weight", ffn, hidden, 1.5 / hidden**0.5)
    yield matrix(f"blk.{layer}.ffn_up{kind}.weight", ffn, hidden, 1.5 / hidden**0.5)
    yield matrix(f"blk.{layer}.ffn_down{kind}.weight", hidden, ffn, STREAM / ffn**0.5)


def experts(spec: Spec, layer: int) -> Iterator[Tensor]:
    """Experts, and one for all tokens with a gate of its own."""
    hidden, count = spec.hidden, spec.experts
    yield matrix(f"blk.{layer}.ffn_gate_inp.weight", count, hidden, 4.0 / hidden**0.5, Type.F32)
    yield stack(f"blk.{layer}.ffn_gate_exps.weight", count, spec.ffn, hidden, 1.5 / hidden**0.5)
    yield stack(f"blk.{layer}.ffn_up_exps.weight", count, spec.ffn, hidden, 1.5 / hidden**0.5)
    yield stack(f"blk.{layer}.ffn_down_exps.weight", count, hidden, spec.ffn, 2 * STREAM / spec.ffn**0.5)
    yield drawn(f"blk.{layer}.ffn_gate_inp_shexp.weight", lambda rng: 2 / hidden**0.5 * rng.standard_normal(hidden))
    yield from feed_forward(layer, "_shexp", hidden, spec.shared_ffn)


def attention(spec: Spec, layer: int) -> Iterator[Tensor]:
    """q and what gates the heads are in one tensor."""
    after_norm, width, kv = 1 / spec.hidden**0.5, spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    yield matrix(f"blk.{layer}.attn_q.weight", 2 * width, spec.hidden, after_norm)
    yield matrix(f"blk.{layer}.attn_k.weight", kv, spec.hidden, after_norm)
    yield matrix(f"blk.{layer}.attn_v.weight", kv, spec.hidden, after_norm)
    yield norm(f"blk.{layer}.attn_q_norm.weight", spec.head_dim, 1.5)
    yield norm(f"blk.{layer}.attn_k_norm.weight", spec.head_dim, 1.5)
    yield matrix(f"blk.{layer}.attn_output.weight", spec.hidden, width, 3 * STREAM / width**0.5)


def delta_rule(spec: Spec, layer: int) -> Iterator[Tensor]:
    """Decays from a few tokens to some hundred."""
    def decays(rng: Rng):
        return -rng.uniform(0.02, 0.5, spec.v_heads)

    after_norm, inner = 1 / spec.hidden**0.5, spec.v_heads * spec.state
    channels = inner + 2 * spec.k_heads * spec.state
    name = f"blk.{layer}."
    yield matrix(name + "attn_qkv.weight", channels, spec.hidden, 1.5 * after_norm)
    yield matrix(name + "attn_gate.weight", inner, spec.hidden, 1.5 * after_norm)
    yield drawn(name + "ssm_conv1d.weight", lambda rng: 0.7 * rng.standard_normal((channels, spec.kernel)))
    yield drawn(name + "ssm_dt.bias", lambda rng: 0.5 * rng.standard_normal(spec.v_heads))
    yield drawn(name + "ssm_a", decays)
    if spec.architecture == "qwen3next":
        yield matrix(name + "ssm_ba.weight", 2 * spec.v_heads, spec.hidden, after_norm)
    else:
        yield matrix(name + "ssm_beta.weight", spec.v_heads, spec.hidden, after_norm)
        yield matrix(name + "ssm_alpha.weight", spec.v_heads, spec.hidden, after_norm)
    yield norm(name + "ssm_norm.weight", spec.state)
    yield matrix(name + "ssm_out.weight", spec.hidden, inner, 1.5 * STREAM / inner**0.5)


def next_token(spec: Spec, layer: int) -> Iterator[Tensor]:
    """What the prediction of the token after the next has besides a layer."""
    yield matrix(f"blk.{layer}.nextn.eh_proj.weight", spec.hidden, 2 * spec.hidden, 1.0)
    yield norm(f"blk.{layer}.nextn.enorm.weight", spec.hidden)
    yield norm(f"blk.{layer}.nextn.hnorm.weight", spec.hidden)


def model(spec: Spec) -> Model:
    return Model(spec.name, spec.architecture, spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 bpe(spec.vocabulary, spec.pre))


MODELS = [model(spec) for spec in SPECS]
