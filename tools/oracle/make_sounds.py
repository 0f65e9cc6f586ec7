"""Small random encoders of sounds that only the newest llama.cpp knows, or has mended, and what it makes of sounds with
them: tests/fixtures/encoders/.

    python tools/oracle/make_sounds.py [name ...]

Some rows, positions behind the prompt, and what a text model writes greedily after it, each with its log-probability.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from asked import Asked, expect, some
from make_encoders import Listener, Whisper, sound


def convolutions(e: Listener, channels: int) -> None:
    """Three convolutions over frames and bins, the second and the third depthwise with a product behind them."""
    bins = e.numbers["num_mel_bins"]
    for _ in range(3):
        bins = (bins + 1) // 2
    for number, of in [(0, 1), (2, None), (3, channels), (5, None), (6, channels)]:
        side = 1 if number in (3, 6) else 3
        e.tensor(f"a.conv1d.{number}.weight", channels, of or 1, side, side, deviation=1.2 / side / (of or 1) ** 0.5)
        e.tensor(f"a.conv1d.{number}.bias", 1, channels, 1, 1, deviation=0.3)
    e.linear("a.pre_encode.out", e.width, channels * bins)


def projector(e: Listener, between: int) -> None:
    e.norm("mm.a.mlp.0", e.width)
    e.linear("mm.a.mlp.1", between, e.width)
    e.linear("mm.a.mlp.3", e.numbers["projection_dim"], between)


def lfm2a() -> Listener:
    e = Listener("lfm2a", "lfm2-bf16", [8219, 30011, 70123], embedding_length=36, projection_dim=60, num_mel_bins=27,
                 attention__head_count=3)
    d, ff = e.width, e.numbers["feed_forward_length"]
    convolutions(e, 10)
    for layer in range(e.numbers["block_count"]):
        at = f"a.blk.{layer}."
        for name in ["ffn_norm", "ffn_norm_1", "ln1", "ln2", "norm_conv", "conv_norm"]:
            e.norm(at + name, d)
        for half in ["", "_1"]:
            e.linear(f"{at}ffn_up{half}", ff, d, half=True)
            e.linear(f"{at}ffn_down{half}", d, ff)
        for part in [*"qkv", "out"]:
            e.linear(f"{at}attn_{part}", d, d, half=part == "q")
        e.tensor(f"{at}linear_pos.weight", d, d, half=True)
        for name in "uv":
            e.tensor(f"{at}pos_bias_{name}", 3, d // 3, deviation=0.5)
        e.linear(f"{at}conv_pw1", 2 * d, d)
        e.linear(f"{at}conv_dw", d, 9)
        e.linear(f"{at}conv_pw2", d, d)
    projector(e, 41)
    # Published files have embeddings of codes under this name, of which llama.cpp reads the width.
    e.tensor("a.position_embd.weight", 1500, 60, half=True)
    return e


def lfm3a() -> Listener:
    e = Listener("lfm3a", "lfm3-bf16", [8219, 30011, 70123], embedding_length=48, projection_dim=52, num_mel_bins=24,
                 block_count=4, attention__head_count=4, attention__head_count_kv=2, window_size=5)
    d, ff = e.width, e.numbers["feed_forward_length"]
    convolutions(e, 11)
    for layer in range(e.numbers["block_count"]):
        at = f"a.blk.{layer}."
        e.norm(at + "ln1", d, False)
        e.norm(at + "ln2", d, False)
        if layer in (1, 3):
            for part, width in [("q", d), ("k", d // 2), ("v", d // 2)]:
                e.linear(f"{at}attn_{part}", width, d, False, half=True)
            for part in "qk":
                e.norm(f"{at}attn_{part}_norm", d // 4, False)
            e.linear(at + "attn_out", d, d, False)
        else:
            e.linear(at + "conv_pw1", 3 * d, d, False, half=True)
            e.tensor(at + "conv_dw.weight", d, 4)
            e.linear(at + "conv_pw2", d, d, False)
        e.linear(at + "ffn_gate", ff, d, False)
        e.linear(at + "ffn_up", ff, d, False, half=True)
        e.linear(at + "ffn_down", d, ff, False)
    e.norm("a.post_ln", d, False)
    projector(e, 37)
    return e


def meralion() -> Listener:
    """Fifteen rows side by side in published files, here six."""
    e = Whisper("meralion", "gemma2-bf16", [8219, 30011], embedding_length=24, projection_dim=64,
                projector__stack_factor=6)
    e.norm("mm.a.norm_pre", 144)
    for number, (out, of) in enumerate([(31, 144), (31, 31), (31, 31), (64, 31)]):
        e.linear(f"mm.a.mlp.{number}", out, of)
    return e


def musicflamingo() -> Listener:
    e = Whisper("musicflamingo", "../encoders/qwen2a-text", [8219, 30011], embedding_length=32, projection_dim=40)
    e.linear("mm.a.mlp.1", 45, 32)
    e.linear("mm.a.mlp.2", 40, 45)
    return e


def glma() -> Listener:
    """The rows enter MiniCPM times a factor."""
    e = Whisper("glma", "minicpm-f16", [8219, 30011], embedding_length=24, projection_dim=36,
                projector__stack_factor=5)
    e.tensors = [tensor for tensor in e.tensors if not tensor[0].startswith("a.post_ln")]
    e.norm("mm.a.norm_pre", 24)
    e.linear("mm.a.mlp.1", 31, 5 * 24)
    e.linear("mm.a.mlp.2", 36, 31)
    for name in ["v.boi", "v.eoi"]:
        e.tensor(name, 36, deviation=0.5)
    return e


def parakeet(name: str, text: str, **numbers) -> Listener:
    """NeMo's window and filters are in the file, as its converter writes them."""
    e = Listener("parakeet", text, [8219, 30011, 70123], **{
        "embedding_length": 36, "num_mel_bins": 27, "attention__head_count": 3, "subsampling_factor": 8,
        "conv_kernel_size": 9} | numbers)
    e.name, e.path = name, e.path.with_name(f"{name}.gguf")
    d, ff, heads, bins = e.width, e.numbers["feed_forward_length"], e.numbers["attention__head_count"], e.numbers["num_mel_bins"]
    convolutions(e, 10)
    for layer in range(e.numbers["block_count"]):
        at = f"a.blk.{layer}."
        for norm in ["ffn_norm", "ffn_norm_1", "ln1", "ln2", "norm_conv", "conv_norm"]:
            e.norm(at + norm, d)
        e.tensor(at + "conv_norm_mean", d, deviation=0.3)
        e.tensors.append((at + "conv_norm_var", e.random.uniform(0.3, 2.0, d).astype(np.float32), False))
        for half in ["", "_1"]:
            e.linear(f"{at}ffn_up{half}", ff, d, False, half=True)
            e.linear(f"{at}ffn_down{half}", d, ff, False)
        for part in [*"qkv", "out"]:
            e.linear(f"{at}attn_{part}", d, d, False, half=part == "q")
        e.tensor(f"{at}linear_pos.weight", d, d, half=True)
        for bias in "uv":
            e.tensor(f"{at}pos_bias_{bias}", heads, d // heads, deviation=0.5)
        e.linear(f"{at}conv_pw1", 2 * d, d, False)
        e.tensor(f"{at}conv_dw.weight", d, e.numbers["conv_kernel_size"])
        e.linear(f"{at}conv_pw2", d, d, False)
    e.norm("mm.a.norm_pre", d, False)
    e.linear("mm.a.mlp.1", 41, d, False)
    e.linear("mm.a.mlp.2", e.numbers["projection_dim"], 41, False)
    e.tensors.append(("a.mel_filters", slaney(bins), False))
    e.tensors.append(("a.window", np.hanning(400).astype(np.float32), False))
    # Of the encoder of images that published files have, too: llama.cpp asks for them and does not read them.
    for number in [0, 1, 3]:
        e.tensor(f"mm.model.mlp.{number}.weight", 4, 4)
    return e


def slaney(bins: int) -> np.ndarray:
    """Triangles of area 1, of equal width on Slaney's scale, from 0 to 8 kHz: [bins, 257]."""
    step = np.log(6.4) / 27
    top = 15 + np.log(8) / step
    pitch = top * np.arange(bins + 2) / (bins + 1)
    edge = np.where(pitch < 15, pitch / 0.015, 1000 * np.exp((pitch - 15) * step))
    here = np.arange(257) * 16000 / 512
    left, middle, right = (edge[at:bins + at, None] for at in range(3))
    height = np.minimum((here - left) / (middle - left), (right - here) / (right - middle))
    return (np.maximum(height, 0) * 2 / (right - left)).astype(np.float32)


def granite_speech(name: str, **numbers) -> Listener:
    """Blocks of seven rows, windows of five; the file says which layers' rows the projector takes, too."""
    e = Listener("granite_speech", "granite-q8_0", [8219, 30011, 70123], embedding_length=36, projection_dim=96,
                 num_mel_bins=46, attention__head_count=3, chunk_size=7, conv_kernel_size=5, max_pos_emb=9,
                 projector__window_size=5, projector__downsample_rate=2, projector__head_count=2, **numbers)
    e.name, e.path = name, e.path.with_name(f"{name}.gguf")
    d, ff, classes = e.width, e.numbers["feed_forward_length"], 11
    e.linear("a.input_projection", d, 46, half=True)
    for layer in range(e.numbers["block_count"]):
        at = f"a.blk.{layer}."
        for norm in ["ffn_norm", "ffn_norm_1", "ln1", "ln2", "norm_conv", "conv_norm"]:
            e.norm(at + norm, d)
        for half in ["", "_1"]:
            e.linear(f"{at}ffn_up{half}", ff, d, half=True)
            e.linear(f"{at}ffn_down{half}", d, ff)
        for part in "qkv":
            e.linear(f"{at}attn_{part}", d, d, False, half=part == "q")
        e.linear(f"{at}attn_out", d, d)
        e.tensor(f"{at}attn_rel_pos_emb", 19, d // 3, deviation=0.6)
        e.linear(f"{at}conv_pw1", 2 * d, d)
        e.tensor(f"{at}conv_dw.weight", d, 5)
        e.linear(f"{at}conv_pw2", d, d)
    e.tensor("a.enc_ctc_out.weight", classes, d, deviation=0.5)
    e.tensor("a.enc_ctc_out.bias", classes, deviation=1.0)
    e.linear("a.enc_ctc_out_mid", d, classes)
    e.tensor("a.proj_query", 2, d, deviation=1.0)
    e.norm("a.proj_norm", d)
    for layer in range(2):
        at = f"a.proj_blk.{layer}."
        for kind in ["self_attn", "cross_attn"]:
            for part in [*"qkv", "out"]:
                wide = d * (1 + len(e.numbers.get("feature_layer", [])))
                of = wide if kind == "cross_attn" and part in "kv" else d
                e.linear(f"{at}{kind}_{part}", d, of, half=part == "v")
            e.norm(f"{at}{kind}_norm", d)
        e.linear(at + "ffn_up", 31, d)
        e.linear(at + "ffn_down", d, 31)
        e.norm(at + "ffn_norm", d)
    e.linear("a.proj_linear", 96, d)
    return e


def encoders():
    yield parakeet("parakeet", "nemotron_h_moe-f16", projection_dim=26)
    yield parakeet("parakeet-odd", "nemotron_h-f16", projection_dim=40, embedding_length=40, num_mel_bins=18,
                   attention__head_count=5, block_count=3, conv_kernel_size=5)
    yield granite_speech("granite_speech")
    yield granite_speech("granite_speech-taken", block_count=4, feature_layer=[0, 2])
    yield glma()
    yield meralion()
    yield musicflamingo()
    yield lfm2a()
    yield lfm3a()


def cases(encoder: Listener, asked: Asked, folder: Path) -> list[dict]:
    return [{"samples": count, **some(asked.hear(sound(count), folder), 5)} for count in encoder.sounds]


if __name__ == "__main__":
    expect(encoders(), cases)
