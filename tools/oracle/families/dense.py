"""Dense decoders beside Llama, Qwen and Gemma, each with the options that its family has; and every scaling of RoPE."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from gguf import GGMLQuantizationType as Type

from random_model import Model, Rng, Tensor, bias, bpe, constant, matrix, norm, output_norm, spm, token_matrix
from tiny_vocabulary import Vocabulary


@dataclass
class Shape:
    """What the tensors of a layer look like."""
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    layers: int = 2
    head_dim: int = 0
    fused_qkv: bool = False
    gate: str = "separate"
    """`separate`: ffn_gate and ffn_up; `fused`: both in ffn_up; `none`."""
    norms: tuple[str, ...] = ("attn_norm", "ffn_norm")
    """Over the hidden state; those that begin with post come after their block."""
    centred: bool = False
    """LayerNorm with a bias in place of RMS norm."""
    unbiased: bool = False
    """LayerNorm without a bias."""
    bare: bool = False
    """LayerNorm without tensors; `norms` is empty."""
    qk_norm: str = ""
    """`whole`: over all heads together; `each`: a weight for each head; `one`: a weight for all heads."""
    biases: tuple[str, ...] = ()
    tied: bool = False
    output_bias: bool = False
    positions: int = 0
    """Rows of position_embd."""
    position_type: Type = Type.F32
    rope_factors: tuple[str, ...] = ()
    rope_freqs: bool = False
    rope_dims: int = 0
    embedding_norm: bool = False
    """A LayerNorm of the embeddings, after which they have the size of the stream."""
    sinks: bool = False
    head_gates: bool = False
    condition: int = 0
    """Values between the products that condition the norm of the feed-forward."""
    inner_norms: bool = False
    """Norms before the products back to the stream."""
    embedding_std: float = 0.05
    stream_std: float = 0.05
    """The size of the hidden state where the first layer reads it, if something multiplies the embedding."""
    update_gain: float = 1.0
    """What comes before the residual stream is larger by this, where something divides it again."""
    logit_std: float = 3.6

    def __post_init__(self) -> None:
        self.head_dim = self.head_dim or self.hidden // self.heads

    @property
    def q(self) -> int:
        return self.heads * self.head_dim

    @property
    def kv(self) -> int:
        return self.kv_heads * self.head_dim


def tensors(shape: Shape, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), shape.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, shape.embedding_std)
    if shape.embedding_norm:
        yield norm("token_embd_norm.weight", hidden, shape.stream_std)
        yield bias("token_embd_norm.bias", hidden, 0.2 * shape.stream_std)
    if shape.positions:
        yield matrix("position_embd.weight", shape.positions, hidden, shape.embedding_std, shape.position_type)
    for which in shape.rope_factors:
        slowest = 1.3 if which == "short" else 9.0
        yield constant(f"rope_factors_{which}.weight", np.linspace(1.0, slowest, shape.rope_dims // 2))
    if shape.rope_freqs:
        yield constant("rope_freqs.weight", np.geomspace(1.0, 6.0, (shape.rope_dims or shape.head_dim) // 2))
    for layer in range(shape.layers):
        for tensor in [*attention(shape), *feed_forward(shape)]:
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor
    head_std = shape.embedding_std if shape.tied else shape.logit_std / hidden**0.5
    if not shape.bare:
        yield output_norm(hidden, shape.logit_std / hidden**0.5 / head_std)
    if shape.centred:
        yield bias("output_norm.bias", hidden, 0.2)
    if not shape.tied:
        yield token_matrix("output.weight", tokens, hidden, head_std)
    if shape.output_bias:
        yield Tensor("output.bias", (tokens,), 0.3, of_tokens=True)


def norms(shape: Shape, name: str, level: float) -> Iterator[Tensor]:
    if name in shape.norms:
        yield norm(f"{name}.weight", shape.hidden, level)
        if shape.centred:
            yield bias(f"{name}.bias", shape.hidden, 0.15)


def biases(shape: Shape, name: str, size: int, std: float) -> Iterator[Tensor]:
    if name in shape.biases:
        yield bias(f"{name}.bias", size, std)


def attention(shape: Shape) -> Iterator[Tensor]:
    hidden, q, kv = shape.hidden, shape.q, shape.kv
    # Without a norm before, rows of the stream are as small as embeddings.
    after_norm = 1 / hidden**0.5 / (1.0 if shape.bare or "attn_norm" in shape.norms else shape.stream_std)
    yield from norms(shape, "attn_norm", 1.0)
    yield from norms(shape, "attn_norm_2", 1.0)
    if shape.fused_qkv:
        yield matrix("attn_qkv.weight", q + 2 * kv, hidden, 1.3 * after_norm)
        yield from biases(shape, "attn_qkv", q + 2 * kv, 0.3)
    else:
        for name, rows, std in (("attn_q", q, 1.5), ("attn_k", kv, 1.5), ("attn_v", kv, 1.0)):
            yield matrix(f"{name}.weight", rows, hidden, std * after_norm)
            yield from biases(shape, name, rows, 0.3)
    if shape.qk_norm == "whole":
        yield norm("attn_q_norm.weight", q, 1.5)
        yield norm("attn_k_norm.weight", kv, 1.5)
    if shape.qk_norm == "one":
        yield norm("attn_q_norm.weight", shape.head_dim, 1.5)
        yield norm("attn_k_norm.weight", shape.head_dim, 1.5)
    if shape.qk_norm == "each":
        for name, heads in (("attn_q_norm", shape.heads), ("attn_k_norm", shape.kv_heads)):
            weight = norm(f"{name}.weight", heads * shape.head_dim, 1.5)
            draw = weight.values
            weight.values = lambda rng, draw=draw, heads=heads: draw(rng).reshape(heads, -1)
            yield weight
    if shape.head_gates:
        yield matrix("attn_gate.weight", shape.heads, hidden, 2.0 * after_norm)
    if shape.sinks:
        yield bias("attn_sinks.weight", shape.heads, 1.5, mean=1.0)
    if shape.inner_norms:
        yield norm("attn_sub_norm.weight", q, 0.7)
    yield matrix("attn_output.weight", hidden, q, 1.5 * shape.update_gain * shape.stream_std / q**0.5)
    yield from biases(shape, "attn_output", hidden, 0.2 * shape.stream_std)
    yield from norms(shape, "post_attention_norm", 0.6 * shape.stream_std)


def feed_forward(shape: Shape) -> Iterator[Tensor]:
    hidden, ffn = shape.hidden, shape.ffn
    yield from norms(shape, "ffn_norm", 1.0)
    if shape.condition:
        yield matrix("ffn_norm_ada_down.weight", shape.condition, hidden, 1.5 / hidden**0.5, Type.F16)
        yield matrix("ffn_norm_ada_up.weight", hidden, shape.condition, 1.0 / shape.condition**0.5, Type.F16)
    normed = shape.bare or {"attn_norm", "ffn_norm"} & set(shape.norms)
    std = 1.5 / hidden**0.5 / (1.0 if normed else shape.stream_std)
    if shape.gate == "fused":
        yield matrix("ffn_up.weight", 2 * ffn, hidden, std)
    else:
        for name in ("ffn_gate", "ffn_up") if shape.gate == "separate" else ("ffn_up",):
            yield matrix(f"{name}.weight", ffn, hidden, std)
            yield from biases(shape, name, ffn, 0.3)
    if shape.inner_norms:
        yield norm("ffn_sub_norm.weight", ffn, 0.7)
    down = matrix("ffn_down.weight", hidden, ffn, shape.update_gain * shape.stream_std / ffn**0.5)
    yield centred(down) if shape.gate == "none" else down
    yield from biases(shape, "ffn_down", hidden, 0.2 * shape.stream_std)
    yield from norms(shape, "post_ffw_norm", 0.4 * shape.stream_std)


def centred(weight: Tensor) -> Tensor:
    """Rows of mean 0: what comes from an activation without a gate is positive on average."""
    def values(rng: Rng) -> np.ndarray:
        drawn = weight.std * rng.standard_normal(weight.shape, dtype=np.float32)
        return drawn - drawn.mean(axis=1, keepdims=True)
    return Tensor(weight.name, weight.shape, values=values)


def model(name: str, ty: Type, vocabulary, shape: Shape, eps: float = 1e-5, **more: object) -> Model:
    """`more`: metadata, with `__` for a dot."""
    keys: dict[str, object] = {
        "embedding_length": shape.hidden, "block_count": shape.layers, "feed_forward_length": shape.ffn,
        "attention.head_count": shape.heads, "attention.head_count_kv": shape.kv_heads,
        f"attention.layer_norm_{'' if shape.centred or shape.unbiased or shape.bare else 'rms_'}epsilon": eps}
    if shape.q != shape.hidden:
        keys |= {"attention.key_length": shape.head_dim, "attention.value_length": shape.head_dim}
    if shape.rope_dims:
        keys["rope.dimension_count"] = shape.rope_dims
    keys |= {key.replace("__", "."): value for key, value in more.items()}
    start = name.rsplit("-", 1)[0] if name.startswith(("hunyuan-", "command", "pangu")) else name.split("-")[0]
    architecture = {"olmo3": "olmo2", "stablelm2": "stablelm"}.get(start, start)
    # A name with phi3 in it makes llama.cpp look for tokens of that family.
    title = name.replace("phi3", "phi 3")
    return Model(name, architecture, ty, keys, lambda tokens: tensors(shape, tokens), vocabulary, title=title)


def yarn(factor: float, original: int, **more: object) -> dict[str, object]:
    keys = {"rope__scaling__type": "yarn", "rope__scaling__factor": factor,
            "rope__scaling__original_context_length": original}
    return keys | {f"rope__scaling__{key}": value for key, value in more.items()}


def longrope(original: int, attention_factor: float) -> dict[str, object]:
    # As converters write it: without a type.
    return {"rope__scaling__original_context_length": original, "rope__scaling__attn_factor": attention_factor}


LONG_AND_SHORT = ("long", "short")
PHI3 = dict(fused_qkv=True, gate="fused")
POST = ("post_attention_norm", "post_ffw_norm")
PRE_AND_POST = ("attn_norm", "ffn_norm", *POST)
PHI2 = dict(centred=True, norms=("attn_norm",), gate="none", output_bias=True)
GPT2 = dict(centred=True, gate="none", fused_qkv=True, tied=True,
            biases=("attn_qkv", "attn_output", "ffn_up", "ffn_down"))

def openelm(vocabulary: Vocabulary) -> Iterator[Tensor]:
    """Layers with numbers of heads, and feed-forwards, of their own."""
    yield token_matrix("token_embd.weight", len(vocabulary.tokens), 20, 0.05)
    for layer, (heads, kv_heads, ffn) in enumerate([(2, 1, 28), (3, 3, 36)]):
        shape = Shape(20, heads, kv_heads, ffn, head_dim=12, fused_qkv=True, qk_norm="one")
        for tensor in [*attention(shape), *feed_forward(shape)]:
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor
    yield output_norm(20, 3.6 / 20**0.5 / 0.05)


MODELS = [
    model("phi3-f16", Type.F16, bpe(307, "gpt-2"), Shape(48, 2, 2, 72, **PHI3)),
    model("phi3-q8_0", Type.Q8_0, bpe(311, "gpt-2"),
          Shape(96, 3, 1, 96, layers=1, **PHI3, rope_factors=LONG_AND_SHORT, rope_dims=24),
          attention__sliding_window=40, **longrope(64, 1.19)),
    model("phi3-q4_0", Type.Q4_0, bpe(307, "gpt-2"),
          Shape(96, 2, 1, 96, **PHI3, tied=True, rope_factors=LONG_AND_SHORT, rope_dims=48),
          rope__freq_base=50000.0, **longrope(4096, 1.08)),
    model("smollm3-q4_0", Type.Q4_0, bpe(307, "llama-bpe", with_bos=True), Shape(64, 4, 1, 96, layers=5, tied=True),
          rope__freq_base=5e5),
    model("granite-q8_0", Type.Q8_0, bpe(309, "gpt-2"),
          Shape(96, 3, 1, 96, layers=1, tied=True, stream_std=0.6, update_gain=1 / 0.22, logit_std=3.6 * 8,
                biases=("attn_output", "ffn_gate", "ffn_up", "ffn_down")),
          embedding_scale=12.0, residual_scale=0.22, attention__scale=0.25, logit_scale=8.0, rope__freq_base=1e6),
    model("granite-q4_0", Type.Q4_0, bpe(307, "gpt-2"), Shape(64, 2, 2, 96, logit_std=7.2), logit_scale=2.0,
          rope__scaling__finetuned=False),
    model("mistral3-q8_0", Type.Q8_0, bpe(307, "llama-bpe", with_bos=True), Shape(64, 3, 1, 96, head_dim=32),
          rope__freq_base=1e5, attention__temperature_scale=0.5,
          **yarn(16.0, 64, yarn_beta_fast=8.0, yarn_beta_slow=0.5, yarn_log_multiplier=1.0)),
    model("mistral3-q4_0", Type.Q4_0, spm(309), Shape(96, 4, 2, 96, head_dim=48, tied=True),
          rope__freq_base=1e6, **yarn(4.0, 128, yarn_beta_fast=4.0, attn_factor=1.1)),
    replace(
        model("mistral3-realtime-f16", Type.F16, bpe(311, "tekken", True, ("[STREAMING_PAD]", "[STREAMING_WORD]")),
              Shape(26, 3, 1, 36, head_dim=10, tied=True, condition=7), realtime_delay_tokens=6, rope__freq_base=1e6),
        newest=True),
    model("llama-yarn-q4_0", Type.Q4_0, bpe(307, "gpt-2"), Shape(64, 1, 1, 96, tied=True), **yarn(8.0, 256)),
    model("olmo2-q4_0", Type.Q4_0, bpe(307, "gpt-2"), Shape(96, 3, 3, 96, norms=POST, qk_norm="whole"), eps=1e-6,
          rope__freq_base=5e5),
    model("olmo3-q4_0", Type.Q4_0, bpe(309, "gpt-2"), Shape(64, 4, 2, 96, layers=5, norms=POST, qk_norm="whole"),
          eps=1e-6, rope__freq_base=5e5, attention__sliding_window=37, **yarn(8.0, 64)),
    model("stablelm-q8_0", Type.Q8_0, bpe(307, "gpt-2"),
          Shape(96, 3, 3, 96, layers=1, centred=True, rope_dims=8, biases=("attn_q", "attn_k", "attn_v"))),
    model("stablelm2-q4_0", Type.Q4_0, bpe(309, "gpt-2"),
          Shape(64, 4, 2, 96, centred=True, rope_dims=4, norms=("attn_norm",), qk_norm="each"),
          use_parallel_residual=True),
    model("phi2-q4_0", Type.Q4_0, bpe(307, "gpt-2"),
          Shape(96, 3, 3, 128, rope_dims=12, fused_qkv=True,
                biases=("attn_qkv", "attn_output", "ffn_up", "ffn_down"), **PHI2)),
    model("phi2-f16", Type.F16, bpe(309, "gpt-2"),
          Shape(40, 2, 1, 72, rope_dims=16,
                biases=("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"), **PHI2)),
    model("gpt2-f16", Type.F16, bpe(307, "gpt-2"), Shape(36, 3, 3, 100, positions=512, **GPT2)),
    model("gpt2-q8_0", Type.Q8_0, bpe(309, "gpt-2"),
          Shape(64, 1, 1, 96, layers=1, positions=512, position_type=Type.Q8_0, **{**GPT2, "tied": False})),
    model("starcoder2-f16", Type.F16, bpe(307, "gpt-2"),
          Shape(48, 2, 1, 76, centred=True, gate="none",
                biases=("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"))),
    model("internlm2-f16", Type.F16, spm(307), Shape(40, 2, 1, 68)),
    model("ernie4_5-f16", Type.F16, spm(309), Shape(40, 3, 1, 60, head_dim=16, tied=True), rope__freq_base=5e5),
    model("exaone-f16", Type.F16, bpe(307, "gpt-2"),
          Shape(44, 2, 2, 60, tied=True), rope__freq_base=1e6),
    model("minicpm-f16", Type.F16, spm(307),
          Shape(36, 3, 1, 52, tied=True, stream_std=0.6, logit_std=3.6 * 256 / 36)),
    # llama.cpp 0.3.36 does not read this family's epsilon and takes 0.
    model("qwen2vl-f16", Type.F16, bpe(307, "qwen2"),
          Shape(40, 2, 1, 60, layers=1, biases=("attn_q", "attn_k", "attn_v")), eps=1e-10, rope__freq_base=1e6,
          rope__dimension_sections=[4, 3, 3, 0]),
    model("qwen3vl-f16", Type.F16, bpe(309, "qwen2"),
          Shape(44, 3, 1, 60, layers=1, head_dim=20, qk_norm="one", tied=True), eps=1e-6, rope__freq_base=5e6,
          rope__dimension_sections=[4, 3, 3, 0]),
    model("glm4-f16", Type.F16, bpe(307, "glm4"),
          Shape(40, 3, 1, 52, head_dim=16, gate="fused", norms=PRE_AND_POST, rope_dims=10,
                biases=("attn_q", "attn_k", "attn_v"))),
    model("glm4-axes-f16", Type.F16, bpe(309, "glm4"),
          Shape(40, 2, 1, 52, layers=1, gate="fused", norms=PRE_AND_POST, tied=True),
          rope__dimension_sections=[4, 3, 3, 0]),
    model("exaone4-f16", Type.F16, bpe(307, "exaone4"),
          Shape(44, 2, 1, 60, norms=POST, qk_norm="one", tied=True, rope_freqs=True), rope__freq_base=1e6,
          attention__sliding_window=37),
    model("hunyuan-dense-f16", Type.F16, bpe(307, "hunyuan-dense"),
          Shape(40, 3, 1, 52, head_dim=16, qk_norm="one", tied=True), rope__freq_base=1e5, rope__scaling__alpha=3.0),
    model("maincoder-f16", Type.F16, bpe(307, "gpt-2"), Shape(36, 2, 1, 52, qk_norm="one", tied=True)),
    model("nanbeige-f16", Type.F16, spm(307), Shape(36, 3, 1, 44), num_loops=2),
    model("cohere2-f16", Type.F16, bpe(307, "gpt-4o"),
          Shape(32, 4, 2, 44, layers=4, unbiased=True, norms=("attn_norm",), tied=True, logit_std=3.6 * 8),
          logit_scale=0.125, attention__sliding_window=37, rope__freq_base=5e4),
    model("command-r-f16", Type.F16, bpe(309, "command-r"),
          Shape(36, 3, 1, 52, unbiased=True, norms=("attn_norm",), tied=True, logit_std=3.6 * 16), logit_scale=0.0625),
    model("olmo-f16", Type.F16, bpe(307, "olmo"), Shape(36, 2, 2, 52, bare=True, norms=()), attention__clamp_kqv=1.5),
    model("arcee-f16", Type.F16, bpe(307, "llama-bpe", with_bos=True), Shape(40, 2, 1, 76, gate="none", tied=True),
          **yarn(4.0, 128)),
    model("apertus-f16", Type.F16, bpe(307, "tekken", with_bos=True),
          Shape(40, 2, 1, 76, gate="none", qk_norm="one", rope_freqs=True, biases=("attn_output",)),
          xielu__alpha_p=[0.4, -0.3], xielu__alpha_n=[0.2, 0.9], xielu__beta=[0.5, 0.3], xielu__eps=[-1e-6, -1e-6]),
    model("nemotron-f16", Type.F16, spm(307),
          Shape(40, 2, 1, 76, centred=True, gate="none", rope_dims=10, biases=("attn_q", "attn_output", "ffn_up"))),
    model("starcoder-f16", Type.F16, bpe(307, "starcoder"), Shape(36, 3, 1, 60, layers=1, positions=512, **GPT2)),
    model("gptneox-f16", Type.F16, bpe(307, "olmo"),
          Shape(36, 3, 3, 60, rope_dims=4, **{**GPT2, "tied": False}), use_parallel_residual=True),
    model("falcon-f16", Type.F16, bpe(307, "falcon"),
          Shape(44, 2, 1, 76, layers=1, centred=True, norms=("attn_norm",), gate="none", fused_qkv=True)),
    model("falcon-two-norms-f16", Type.F16, bpe(309, "falcon"),
          Shape(36, 3, 1, 60, layers=1, centred=True, norms=("attn_norm", "attn_norm_2"), gate="none", fused_qkv=True)),
    # llama.cpp 0.3.36 gives Baichuan slopes where it has 40 layers.
    model("baichuan-f16", Type.F16, spm(303), Shape(16, 2, 2, 12, layers=40, stream_std=0.005)),
    model("bloom-f16", Type.F16, bpe(307, "bloom"),
          Shape(36, 3, 3, 60, embedding_norm=True, stream_std=0.3, **{**GPT2, "tied": False})),
    model("mpt-f16", Type.F16, bpe(309, "mpt"),
          Shape(40, 5, 1, 60, unbiased=True, gate="none", fused_qkv=True, tied=True), attention__clamp_kqv=1.5,
          attention__max_alibi_bias=6.0),
    model("jais-f16", Type.F16, bpe(307, "jais-2"),
          Shape(24, 3, 3, 36, centred=True, fused_qkv=True, layers=1,
                biases=("attn_qkv", "attn_output", "ffn_gate", "ffn_up", "ffn_down")), attention__max_alibi_bias=8.0),
    model("chatglm-f16", Type.F16, bpe(307, "chatglm-bpe"),
          Shape(24, 2, 1, 36, layers=1, gate="fused", fused_qkv=True, rope_dims=6, biases=("attn_qkv",))),
    # The file says twice the width of the feed-forward.
    model("qwen-f16", Type.F16, bpe(307, "qwen2"), Shape(24, 2, 2, 36, layers=1, fused_qkv=True, biases=("attn_qkv",)),
          feed_forward_length=72),
    model("refact-f16", Type.F16, bpe(307, "refact"), Shape(24, 3, 3, 36, layers=1)),
    model("xverse-f16", Type.F16, spm(301), Shape(20, 2, 1, 28, layers=1)),
    model("orion-f16", Type.F16, spm(301), Shape(20, 2, 1, 28, layers=1, centred=True)),
    model("codeshell-f16", Type.F16, bpe(307, "codeshell"),
          Shape(20, 2, 1, 28, layers=1, centred=True, gate="none",
                biases=("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"))),
    model("pangu-embedded-f16", Type.F16, bpe(307, "gpt-2"),
          Shape(20, 2, 1, 28, layers=1, tied=True, biases=("attn_q", "attn_k", "attn_v", "attn_output"))),
    model("jais2-f16", Type.F16, bpe(309, "jais-2"),
          Shape(24, 2, 1, 40, layers=1, tied=True, centred=True, gate="none",
                biases=("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"))),
    model("spark2_5-f16", Type.F16, bpe(307, "gpt-2"), Shape(20, 2, 1, 28, layers=2, tied=True, head_gates=True),
          rope__freq_base=5e4, rope__freq_base_swa=5e3, attention__sliding_window=37,
          attention__sliding_window_pattern=[True, False]),
    Model("openelm-f16", "openelm", Type.F16,
          {"embedding_length": 20, "block_count": 2, "feed_forward_length": [28, 36], "attention.head_count": [2, 3],
           "attention.head_count_kv": [1, 3], "attention.key_length": 12, "attention.value_length": 12,
           "rope.dimension_count": 12, "attention.layer_norm_rms_epsilon": 1e-5}, openelm, spm(307)),
    model("paddleocr-f16", Type.F16, spm(307), Shape(36, 3, 1, 52, head_dim=16, tied=True), rope__freq_base=5e5,
          rope__dimension_sections=[3, 2, 3, 0]),
    model("hunyuan_vl-f16", Type.F16, bpe(307, "hunyuan-dense"),
          Shape(40, 2, 1, 60, qk_norm="one", tied=True), rope__freq_base=1e4,
          rope__dimension_sections=[4, 2, 2, 2]),
    model("bitnet-f16", Type.F16, spm(309), Shape(36, 3, 1, 52, inner_norms=True, tied=True)),
    model("granite_swa-f16", Type.F16, bpe(307, "gpt-2"),
          Shape(36, 3, 1, 44, layers=3, tied=True, sinks=True, stream_std=0.3, update_gain=1 / 0.4,
                logit_std=3.6 * 4, biases=("attn_output", "ffn_up")),
          embedding_scale=6.0, residual_scale=0.4, attention__scale=0.3, logit_scale=4.0, rope__freq_base=1e4,
          attention__sliding_window=37, attention__sliding_window_pattern=[True, False, True],
          attention__rope_pattern=[True, False, False]),
]
