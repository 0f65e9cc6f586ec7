"""Models that give a vector or a score for a text: BERT, Nomic BERT, ModernBERT, EmbeddingGemma, Qwen 3.

They lie in tests/fixtures/embedders, and `make_embeddings.py` asks llama.cpp about them: they write no text, so
`MODELS` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from gguf import GGMLQuantizationType as Type

from random_model import (Model, Tensor, bias, bpe, constant, gemma, matrix, norm, stack, token_matrix)  # noqa: F401
from tiny_vocabulary import Vocabulary, gemma4_pieces, unigram, word_piece

MODELS: list[Model] = []

MEAN, CLS, LAST, RANK = 1, 2, 3, 4

BERT_TOKENS = {"tokenizer.ggml.token_type_count": 2, "tokenizer.ggml.padding_token_id": 0,
               "tokenizer.ggml.unknown_token_id": 1, "tokenizer.ggml.seperator_token_id": 3,
               "tokenizer.ggml.mask_token_id": 4}


def pieces(size: int):
    return lambda: word_piece(size)


def shape(hidden: int, heads: int, ffn: int, layers: int, pooling: int, **more: object) -> dict[str, object]:
    return {"embedding_length": hidden, "block_count": layers, "feed_forward_length": ffn,
            "attention.head_count": heads, "pooling_type": pooling} | more


def linear(name: str, rows: int, cols: int, gain: float = 1.0, with_bias: bool = True) -> Iterator[Tensor]:
    yield matrix(f"{name}.weight", rows, cols, gain / cols**0.5)
    if with_bias:
        yield bias(f"{name}.bias", rows, 0.2)


def layer_norm(name: str, size: int, with_bias: bool = True) -> Iterator[Tensor]:
    yield norm(f"{name}.weight", size)
    if with_bias:
        yield bias(f"{name}.bias", size, 0.1)


def bert(name: str, ty: Type, hidden: int, heads: int, ffn: int, layers: int, pooling: int, fused: bool = False,
         context: int = 512) -> Model:
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        yield matrix("position_embd.weight", context, hidden, 0.3, Type.F32 if ty == Type.F32 else Type.F16)
        yield matrix("token_types.weight", 2, hidden, 0.3, Type.F32)
        yield from layer_norm("token_embd_norm", hidden)
        for layer in range(layers):
            at = f"blk.{layer}."
            if fused:
                yield from linear(at + "attn_qkv", 3 * hidden, hidden, 1.5)
            else:
                for role in ("attn_q", "attn_k", "attn_v"):
                    yield from linear(at + role, hidden, hidden, 1.5)
            yield from linear(at + "attn_output", hidden, hidden)
            yield from layer_norm(at + "attn_output_norm", hidden)
            yield from linear(at + "ffn_up", ffn, hidden, 1.5)
            yield from linear(at + "ffn_down", hidden, ffn)
            yield from layer_norm(at + "layer_output_norm", hidden)
        if pooling == RANK:
            yield from linear("cls", hidden, hidden)
            yield from linear("cls.output", 1, hidden)

    keys = shape(hidden, heads, ffn, layers, pooling) | {
        "context_length": context, "attention.layer_norm_epsilon": 1e-12, "attention.causal": False} | BERT_TOKENS
    if pooling == RANK:
        keys["classifier.output_labels"] = ["LABEL_0"]
    return Model(name, "bert", ty, keys, tensors, pieces(191))


def nomic(name: str, ty: Type, hidden: int, heads: int, ffn: int, layers: int) -> Model:
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        yield matrix("token_types.weight", 2, hidden, 0.3, Type.F32)
        yield from layer_norm("token_embd_norm", hidden)
        for layer in range(layers):
            at = f"blk.{layer}."
            yield from linear(at + "attn_qkv", 3 * hidden, hidden, 1.5, with_bias=False)
            yield from linear(at + "attn_output", hidden, hidden, with_bias=False)
            yield from layer_norm(at + "attn_output_norm", hidden)
            for role in ("ffn_up", "ffn_gate"):
                yield from linear(at + role, ffn, hidden, 1.5, with_bias=False)
            yield from linear(at + "ffn_down", hidden, ffn, with_bias=False)
            yield from layer_norm(at + "layer_output_norm", hidden)

    keys = shape(hidden, heads, ffn, layers, MEAN) | {
        "attention.layer_norm_epsilon": 1e-12, "attention.causal": False, "rope.freq_base": 1000.0} | BERT_TOKENS
    return Model(name, "nomic-bert", ty, keys, tensors, pieces(187))


def modern(name: str, ty: Type, hidden: int, heads: int, ffn: int, layers: int, pooling: int,
           pooled: int | None = None) -> Model:
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        yield from layer_norm("token_embd_norm", hidden, with_bias=False)
        for layer in range(layers):
            at = f"blk.{layer}."
            if layer > 0:
                yield from layer_norm(at + "attn_norm", hidden, with_bias=False)
            yield from linear(at + "attn_qkv", 3 * hidden, hidden, 1.5, with_bias=False)
            yield from linear(at + "attn_output", hidden, hidden, with_bias=False)
            yield from layer_norm(at + "ffn_norm", hidden, with_bias=False)
            yield from linear(at + "ffn_up", 2 * ffn, hidden, 1.5, with_bias=False)
            yield from linear(at + "ffn_down", hidden, ffn, with_bias=False)
        yield from layer_norm("output_norm", hidden, with_bias=False)
        if pooling == RANK:
            yield from linear("cls", hidden, hidden, with_bias=False)
            yield from layer_norm("cls.norm", hidden, with_bias=False)
            yield from linear("cls.output", 1, hidden)

    keys = shape(hidden, heads, ffn, layers, pooling) | {
        "attention.layer_norm_epsilon": 1e-5, "attention.causal": False, "rope.freq_base": 160000.0,
        "rope.freq_base_swa": 10000.0, "attention.sliding_window": 12, "attention.sliding_window_pattern": 3}
    if pooling == RANK:
        keys["classifier.output_labels"] = ["LABEL_0"]
    if pooled is not None:
        keys["classifier.pooling_type"] = pooled
    return Model(name, "modern-bert", ty, keys, tensors, bpe(307, "gpt-2"))


def decoder_layer(at: str, hidden: int, q: int, kv: int, head_dim: int, ffn: int, post: bool) -> Iterator[Tensor]:
    yield norm(at + "attn_norm.weight", hidden)
    for role, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
        yield from linear(at + role, rows, hidden, with_bias=False)
    yield norm(at + "attn_q_norm.weight", head_dim, 1.5)
    yield norm(at + "attn_k_norm.weight", head_dim, 1.5)
    yield from linear(at + "attn_output", hidden, q, with_bias=False)
    if post:
        yield norm(at + "post_attention_norm.weight", hidden)
    yield norm(at + "ffn_norm.weight", hidden)
    for role in ("ffn_gate", "ffn_up"):
        yield from linear(at + role, ffn, hidden, 1.5, with_bias=False)
    yield from linear(at + "ffn_down", hidden, ffn, with_bias=False)
    if post:
        yield norm(at + "post_ffw_norm.weight", hidden)


def embedding_gemma(name: str, ty: Type, dense: int | None) -> Model:
    hidden, heads, head_dim, ffn, layers = 64, 3, 32, 96, 7

    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.1)
        for layer in range(layers):
            yield from decoder_layer(f"blk.{layer}.", hidden, heads * head_dim, head_dim, head_dim, ffn, True)
        yield norm("output_norm.weight", hidden)
        if dense:
            yield from linear("dense_2", dense, hidden, with_bias=False)
            yield from linear("dense_3", hidden, dense, with_bias=False)

    keys = shape(hidden, heads, ffn, layers, MEAN) | {
        "attention.head_count_kv": 1, "attention.key_length": head_dim, "attention.value_length": head_dim,
        "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6, "attention.sliding_window": 20}
    if dense:
        keys |= {"dense_2_feat_in": hidden, "dense_2_feat_out": dense, "dense_3_feat_in": dense,
                 "dense_3_feat_out": hidden}
    return Model(name, "gemma-embedding", ty, keys, tensors, gemma(331))


RERANK = ("<|im_start|>system\nJudge whether the Document meets the requirements.<|im_end|>\n"
          "<|im_start|>user\n<Query>: {query}\n<Document>: {document}<|im_end|>\n<|im_start|>assistant\n")


def qwen3(name: str, ty: Type, pooling: int) -> Model:
    hidden, heads, kv_heads, head_dim, ffn, layers = 96, 4, 2, 32, 128, 2

    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.3)
        for layer in range(layers):
            at = f"blk.{layer}."
            yield from decoder_layer(at, hidden, heads * head_dim, kv_heads * head_dim, head_dim, ffn, False)
        yield norm("output_norm.weight", hidden)
        if pooling == RANK:
            yield from linear("cls.output", 2, hidden, with_bias=False)

    keys = shape(hidden, heads, ffn, layers, pooling) | {
        "attention.head_count_kv": kv_heads, "attention.key_length": head_dim, "attention.value_length": head_dim,
        "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
    if pooling == RANK:
        keys |= {"classifier.output_labels": ["yes", "no"], "tokenizer.chat_template.rerank": RERANK,
                 "tokenizer.chat_templates": ["rerank"]}
    else:
        keys["tokenizer.ggml.add_eos_token"] = True
    return Model(name, "qwen3", ty, keys, tensors, bpe(319, "qwen2"))


def rotated(name: str, architecture: str, ty: Type, hidden: int, heads: int, ffn: int, layers: int, pooling: int,
            experts: int = 0) -> Model:
    """Nomic BERT with experts in every second layer, or Jina's of version 3: fused, GELU, biases everywhere."""
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        yield matrix("token_types.weight", 1, hidden, 0.3, Type.F32)
        yield from layer_norm("token_embd_norm", hidden)
        for layer in range(layers):
            at = f"blk.{layer}."
            yield from linear(at + "attn_qkv", 3 * hidden, hidden, 1.5)
            yield from linear(at + "attn_output", hidden, hidden)
            yield from layer_norm(at + "attn_output_norm", hidden)
            if experts and layer % 2 == 1:
                yield matrix(at + "ffn_gate_inp.weight", experts, hidden, 3 / hidden**0.5, Type.F32)
                yield stack(at + "ffn_up_exps.weight", experts, ffn, hidden, 1.5 / hidden**0.5)
                yield stack(at + "ffn_down_exps.weight", experts, hidden, ffn, 2 / ffn**0.5)
            else:
                yield from linear(at + "ffn_up", ffn, hidden, 1.5)
                yield from linear(at + "ffn_down", hidden, ffn)
            yield from layer_norm(at + "layer_output_norm", hidden)

    keys = shape(hidden, heads, ffn, layers, pooling) | {
        "attention.layer_norm_epsilon": 1e-5, "attention.causal": False, "rope.freq_base": 10000.0,
        **BERT_TOKENS, "tokenizer.ggml.token_type_count": 1}
    if experts:
        keys |= {"moe_every_n_layers": 2, "expert_count": experts, "expert_used_count": 2}
    return Model(name, architecture, ty, keys, tensors, pieces(189))


def jina_v2(name: str, ty: Type, hidden: int, heads: int, ffn: int, layers: int, pooling: int, form: str) -> Model:
    """`form` of the feed-forward: `separate` gate and up, or, with norms of q and k, `fused` ones or `none`."""
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        yield matrix("token_types.weight", 2, hidden, 0.3, Type.F32)
        yield from layer_norm("token_embd_norm", hidden)
        for layer in range(layers):
            at = f"blk.{layer}."
            for role in ("attn_q", "attn_k", "attn_v"):
                yield from linear(at + role, hidden, hidden, 1.5)
            if form != "separate":
                yield from layer_norm(at + "attn_q_norm", hidden)
                yield from layer_norm(at + "attn_k_norm", hidden)
            yield from linear(at + "attn_output", hidden, hidden)
            yield from layer_norm(at + "attn_output_norm", hidden)
            if form != "separate":
                yield from layer_norm(at + "attn_norm_2", hidden)
            if form == "separate":
                yield from linear(at + "ffn_gate", ffn, hidden, 1.5, with_bias=False)
            yield from linear(at + "ffn_up", 2 * ffn if form == "fused" else ffn, hidden, 1.5, with_bias=form == "none")
            yield from linear(at + "ffn_down", hidden, ffn)
            yield from layer_norm(at + "layer_output_norm", hidden)
        if pooling == RANK:
            yield from linear("cls", 1, hidden)

    keys = shape(hidden, heads, ffn, layers, pooling) | {
        "attention.layer_norm_epsilon": 1e-12, "attention.causal": False} | BERT_TOKENS
    if pooling == RANK:
        keys["classifier.output_labels"] = ["LABEL_0"]
    return Model(name, "jina-bert-v2", ty, keys, tensors, pieces(183))


def pre_norm(name: str, architecture: str, ty: Type, hidden: int, heads: int, kv_heads: int, ffn: int, layers: int,
             pooling: int) -> Model:
    """EuroBERT, Llama as an embedder, or NeoBERT with q, k and v, and gate and up, in one tensor each."""
    is_neo = architecture == "neo-bert"

    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        kv = hidden // heads * kv_heads
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        for layer in range(layers):
            at = f"blk.{layer}."
            yield norm(at + "attn_norm.weight", hidden)
            separate = (("attn_q", hidden), ("attn_k", kv), ("attn_v", kv))
            for role, rows in (("attn_qkv", hidden + 2 * kv),) if is_neo else separate:
                yield from linear(at + role, rows, hidden, 1.5, with_bias=False)
            yield from linear(at + "attn_output", hidden, hidden, with_bias=False)
            yield norm(at + "ffn_norm.weight", hidden)
            for role, rows in (("ffn_up", 2 * ffn),) if is_neo else (("ffn_gate", ffn), ("ffn_up", ffn)):
                yield from linear(at + role, rows, hidden, 1.5, with_bias=False)
            yield from linear(at + "ffn_down", hidden, ffn, with_bias=False)
        yield norm("enc.output_norm.weight" if is_neo else "output_norm.weight", hidden)

    keys = shape(hidden, heads, ffn, layers, pooling) | {
        "attention.head_count_kv": kv_heads, "attention.layer_norm_rms_epsilon": 1e-5, "attention.causal": False,
        "rope.freq_base": 10000.0}
    return Model(name, architecture, ty, keys | (BERT_TOKENS if is_neo else {}), tensors,
                 pieces(185) if is_neo else bpe(303, "llama-bpe"))


def embedding_gemma2(name: str, ty: Type, hidden: int, heads: int, kv_heads: list[int], head_dims: tuple[int, int],
                     pattern: int | list[bool], out: int) -> Model:
    """`head_dims` are those of layers without and with a window, which may rotate only a part."""
    layers, (per_layer, ffn) = len(kv_heads), (24, 56) if ty == Type.F16 else (32, 64)

    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        yield matrix("per_layer_model_proj.weight", layers * per_layer, hidden, 1.0, Type.F16)
        yield norm("per_layer_proj_norm.weight", per_layer)
        for layer, kv in enumerate(kv_heads):
            at = f"blk.{layer}."
            slides = pattern[layer] if isinstance(pattern, list) else layer % pattern < pattern - 1
            head_dim = head_dims[slides]
            yield norm(at + "attn_norm.weight", hidden)
            for role, rows in (("attn_q", heads), ("attn_k", kv), ("attn_v", kv)):
                yield from linear(at + role, rows * head_dim, hidden, with_bias=False)
            for role in ("attn_q_norm", "attn_k_norm"):
                yield norm(f"{at}{role}.weight", head_dim, 1.5 / head_dim**0.25)
            yield from linear(at + "attn_output", hidden, heads * head_dim, with_bias=False)
            yield from linear(at + "ffn_gate", ffn, hidden, 1.5, with_bias=False)
            yield from linear(at + "ffn_up", ffn, hidden, 1.5, with_bias=False)
            yield from linear(at + "ffn_down", hidden, ffn, with_bias=False)
            yield from linear(at + "inp_gate", per_layer, hidden, 0.3, with_bias=False)
            yield from linear(at + "proj", hidden, per_layer, with_bias=False)
            for role in ("post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"):
                yield norm(f"{at}{role}.weight", hidden, 2.0)
            yield constant(f"{at}layer_output_scale.weight", [0.7 + 0.2 * layer])
        yield norm("output_norm.weight", hidden)
        yield from linear("output", out, hidden, with_bias=False)

    full, sliding = head_dims
    keys = shape(hidden, heads, ffn, layers, MEAN) | {
        "attention.head_count_kv": kv_heads, "attention.key_length": full, "attention.value_length": full,
        "attention.key_length_swa": sliding, "attention.value_length_swa": sliding, "rope.dimension_count": full,
        "rope.dimension_count_swa": sliding, "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4,
        "attention.sliding_window": 40, "attention.sliding_window_pattern": pattern,
        "attention.layer_norm_rms_epsilon": 1e-6, "embedding_length_per_layer_input": per_layer,
        "embedding_length_out": out}
    return Model(name, "gemma-embedding2", ty, keys, tensors, lambda: gemma4_pieces(331), newest=True)


def t5_layer(at: str, hidden: int, heads: int, head_dim: int, ffn: int, gated: bool) -> Iterator[Tensor]:
    """Scores are not scaled, so queries and keys are small."""
    yield norm(at + "attn_norm.weight", hidden)
    for role, gain in (("attn_q", 0.7), ("attn_k", 0.7), ("attn_v", 1.5)):
        yield from linear(at + role, heads * head_dim, hidden, gain, with_bias=False)
    yield from linear(at + "attn_o", hidden, heads * head_dim, with_bias=False)
    yield norm(at + "ffn_norm.weight", hidden)
    for role in ("ffn_gate", "ffn_up") if gated else ("ffn_up",):
        yield from linear(at + role, ffn, hidden, 1.5, with_bias=False)
    yield from linear(at + "ffn_down", hidden, ffn, with_bias=False)


def t5_encoder(name: str, ty: Type, hidden: int, heads: int, head_dim: int, ffn: int, buckets: int, gated: bool,
               pooling: int) -> Model:
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        for layer in range(2):
            if layer == 0:
                yield matrix("enc.blk.0.attn_rel_b.weight", buckets, heads, 1.5, Type.F16 if ty == Type.F16 else Type.F32)
            yield from t5_layer(f"enc.blk.{layer}.", hidden, heads, head_dim, ffn, gated)
        yield norm("enc.output_norm.weight", hidden)

    keys = shape(hidden, heads, ffn, 2, pooling) | {
        "attention.key_length": head_dim, "attention.value_length": head_dim, "attention.layer_norm_epsilon": 1e-6,
        "attention.layer_norm_rms_epsilon": 1e-6, "attention.relative_buckets_count": buckets, "attention.causal": False,
        "tokenizer.ggml.padding_token_id": 0, "tokenizer.ggml.unknown_token_id": 2,
        "tokenizer.ggml.remove_extra_whitespaces": True}
    return Model(name, "t5encoder", ty, keys, tensors, lambda: unigram(141))


EMBEDDERS = [
    t5_encoder("t5encoder-f16", Type.F16, 36, 3, 20, 52, 32, True, MEAN),
    t5_encoder("t5encoder-q8_0", Type.Q8_0, 64, 2, 32, 96, 11, False, LAST),
    embedding_gemma2("gemma-embedding2-f16", Type.F16, 44, 3, [1, 3, 1], (36, 20), 2, 28),
    embedding_gemma2("gemma-embedding2-q8_0", Type.Q8_0, 64, 2, [2, 1, 2, 1], (64, 32), [True, False, False, True], 96),
    rotated("nomic-bert-moe-f16", "nomic-bert-moe", Type.F16, 36, 3, 44, 4, MEAN, experts=5),
    rotated("jina-bert-v3-f16", "jina-bert-v3", Type.F16, 36, 3, 52, 2, MEAN),
    jina_v2("jina-bert-v2-f16", Type.F16, 36, 3, 52, 2, MEAN, "separate"),
    jina_v2("jina-bert-v2-rank-f16", Type.F16, 40, 2, 44, 2, RANK, "fused"),
    pre_norm("eurobert-f16", "eurobert", Type.F16, 48, 4, 2, 60, 2, LAST),
    pre_norm("llama-embed-f16", "llama-embed", Type.F16, 24, 3, 1, 36, 1, MEAN),
    pre_norm("neo-bert-f16", "neo-bert", Type.F16, 40, 2, 2, 52, 2, CLS),
    bert("bert-f16", Type.F16, 96, 3, 130, 2, MEAN),
    bert("bert-q8_0", Type.Q8_0, 128, 2, 160, 3, CLS, fused=True),
    bert("bert-rank-f32", Type.F32, 60, 2, 100, 2, RANK, context=200),
    nomic("nomic-bert-f16", Type.F16, 80, 1, 120, 2),
    modern("modern-bert-q5_0", Type.Q5_0, 64, 2, 96, 4, CLS),
    modern("modern-bert-rank-f16", Type.F16, 64, 1, 70, 3, RANK, pooled=MEAN),
    embedding_gemma("gemma-embedding-f16", Type.F16, 100),
    embedding_gemma("gemma-embedding-q8_0", Type.Q8_0, None),
    qwen3("qwen3-embedding-q4_0", Type.Q4_0, LAST),
    qwen3("qwen3-rerank-q8_0", Type.Q8_0, RANK),
]
