"""A small random LFM3 that speaks and what llama.cpp makes of it: tests/fixtures/encoders/lfm3a-gen*.

    python tools/oracle/make_lfm3a.py

`newest/build_voice.sh` builds the program that is asked (`LLAMA_LFM3A` names another), for a codec of the sizes here:
the state that each frame of a sound starts from, its codes and what they are chosen by, the row that becomes of them,
and samples.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, TokenType

from f32_twin import write_twin
from llamas import NEWEST
from make_voices import File
from tiny_vocabulary import byte_level_bpe

TARGET = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "encoders"
DRIVER = Path(os.environ.get("LLAMA_LFM3A", ".oracle/newest/lfm3a"))
WIDTH, HEADS, HEAD, FFN = 52, 2, 16, 48
LAYERS = [0, 1, 0, 2]
"""KV heads of the layers of the text model: those without are convolutions."""
CODE, CODE_LAYERS, CODE_HEADS, CODE_KV, CODE_HEAD, CODE_FFN = 24, 2, 4, 2, 12, 40
BOOKS, KINDS, LEVELS = 12, 41, 5
CODEC, CODEC_HEADS, CODEC_KV, CODEC_HEAD, CODEC_FFN, BINS = 32, 4, 2, 16, 40, 641
CODEC_LAYERS = ["conv", "attention", "attention", "conv"]
CONTEXT = 256
CASES = [("hello there, how do you do", 20), ("is it two?", 7), ("ab", 9)]
"""Texts, and frames at most."""
LONG = 90
"""Frames of a sound."""
EVERY = 67
"""One of so many samples is kept."""
SPECIAL = ["<|audio_start|>", "<|mixed_start|>", "<|text_end|>"]
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
            "'<|im_end|>' + '\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n<|audio_start|>' }}")


def attention(file: File, at: str, of: int, heads: int, kv: int, head: int, out: str, gain: float) -> None:
    for name, rows in [("attn_q", heads * head), ("attn_k", kv * head), ("attn_v", kv * head), ("attn_gate", heads)]:
        file.tensor(f"{at}{name}.weight", rows, of, deviation=1.4 / np.sqrt(of), type=Type.F16)
    file.tensor(f"{at}{out}.weight", of, heads * head, deviation=gain / np.sqrt(heads * head), type=Type.F16)
    for name in ("attn_q_norm", "attn_k_norm"):
        file.norm(at + name, head, False)


def feed_forward(file: File, at: str, of: int, ffn: int, gain: float) -> None:
    for name, out, inner in [("ffn_gate", ffn, of), ("ffn_up", ffn, of), ("ffn_down", of, ffn)]:
        deviation = (gain if name == "ffn_down" else 1.4) / np.sqrt(inner)
        file.tensor(f"{at}{name}.weight", out, inner, deviation=deviation, type=Type.F16)


def text_model(path: Path, seed: int) -> None:
    file = File(path, "lfm3", seed)
    vocabulary = byte_level_bpe(320, "lfm2", False)
    vocabulary.tokens += SPECIAL
    vocabulary.types += [int(TokenType.CONTROL)] * len(SPECIAL)
    vocabulary.chat_template = TEMPLATE
    w = file.writer
    for key, value in {"context_length": 4096, "embedding_length": WIDTH, "block_count": len(LAYERS),
                       "feed_forward_length": FFN, "attention.head_count": HEADS, "attention.key_length": HEAD,
                       "attention.value_length": HEAD, "attention.sliding_window": 64, "rope.dimension_count": HEAD,
                       "rope.dimension_count_swa": HEAD, "shortconv.l_cache": 3}.items():
        w.add_uint32(f"lfm3.{key}", value)
    w.add_array("lfm3.attention.head_count_kv", LAYERS)
    w.add_array("lfm3.attention.sliding_window_pattern", [kv == 1 for kv in LAYERS])
    w.add_float32("lfm3.attention.layer_norm_rms_epsilon", 1e-5)
    w.add_float32("lfm3.rope.freq_base", 1e6)
    w.add_float32("lfm3.rope.freq_base_swa", 1e4)
    vocabulary.write(w)
    file.tensor("token_embd.weight", len(vocabulary.tokens), WIDTH, deviation=1.0, type=Type.F16)
    file.norm("output_norm", WIDTH, False)
    file.writer.add_tensor("rope_freqs.weight", (1 + 0.5 * np.arange(HEAD // 2) / HEAD).astype(np.float32))
    for layer, kv in enumerate(LAYERS):
        at = f"blk.{layer}."
        for name in ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm"):
            file.norm(at + name, WIDTH, False)
        if kv:
            attention(file, at, WIDTH, HEADS, kv, HEAD, "attn_output", 1.0)
        else:
            file.tensor(f"{at}shortconv.in_proj.weight", 3 * WIDTH, WIDTH, type=Type.F16)
            file.tensor(f"{at}shortconv.conv.weight", WIDTH, 3, deviation=0.6)
            file.tensor(f"{at}shortconv.out_proj.weight", WIDTH, WIDTH, type=Type.F16)
        feed_forward(file, at, WIDTH, FFN, 1.0)
    file.finish()


def copy_encoder(file: File) -> None:
    """The encoder of sounds that has a fixture of its own, since llama.cpp opens no file without one."""
    encoder = GGUFReader(TARGET / "lfm3a.gguf")
    for field in encoder.fields.values():
        if field.name.startswith("clip.audio.") or field.name == "clip.has_audio_encoder":
            file.writer.add_key_value(field.name, field.contents(), field.types[0])
    file.writer.add_string("clip.audio.projector_type", "lfm3a")
    for tensor in encoder.tensors:
        file.writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)


def generator(path: Path, seed: int, ends: float) -> None:
    file = File(path, "clip", seed)
    w = file.writer
    w.add_type("mmproj")
    copy_encoder(file)
    w.add_bool("clip.has_gen_audio_encoder", True)
    w.add_string("clip.gen.audio.projector_type", "lfm3a_gen")
    for key, value in {"embedding_length": CODE, "feed_forward_length": CODE_FFN, "block_count": CODE_LAYERS,
                       "projection_dim": WIDTH, "attention.head_count": CODE_HEADS,
                       "attention.head_count_kv": CODE_KV}.items():
        w.add_uint32(f"clip.gen.audio.{key}", value)
    w.add_float32("clip.gen.audio.attention.layer_norm_epsilon", 1e-5)
    own = "a.gen.code."
    file.linear(f"{own}proj_in", BOOKS * CODE, WIDTH)
    embeddings = file.random.standard_normal((BOOKS, KINDS, CODE)) / np.sqrt(CODE)
    embeddings[:, -1] *= 0.75  # the code that ends a speech is seldom the likeliest
    file.writer.add_tensor(f"{own}embd.weight", embeddings.astype(np.float16))
    file.tensor(f"{own}out_embd.weight", BOOKS * KINDS, WIDTH, deviation=0.3 / np.sqrt(BOOKS), type=Type.F16)
    file.tensor(f"{own}mask_embd", CODE, deviation=0.5)
    file.norm(f"{own}output_norm", CODE, False)
    file.tensor(f"{own}head_norm.weight", BOOKS, CODE, mean=2.0, deviation=0.4)
    for layer in range(CODE_LAYERS):
        at = f"{own}blk.{layer}."
        for name in ("ln1", "ln2"):
            file.norm(at + name, CODE, False)
        attention(file, at, CODE, CODE_HEADS, CODE_KV, CODE_HEAD, "attn_out", 1.0)
        feed_forward(file, at, CODE, CODE_FFN, 1.0)
    own = "a.gen.wav."
    file.tensor(f"{own}quant.first.codebook.weight", KINDS - 1, LEVELS, deviation=1.0)
    file.linear(f"{own}quant.first.out_proj", CODEC + 4, BOOKS * LEVELS)
    file.linear(f"{own}tfm.in_proj", CODEC, CODEC + 4)
    file.norm(f"{own}tfm.output_norm", CODEC, False)
    file.tensor(f"{own}tfm.out_proj.weight", 2 * BINS, CODEC, type=Type.F16)
    file.tensor(f"{own}tfm.out_proj.bias", 2 * BINS, mean=ends, deviation=0.5)
    for layer, kind in enumerate(CODEC_LAYERS):
        at = f"{own}tfm.blk.{layer}."
        for name in ("ln1", "ln2", "attn_post_norm", "ffn_post_norm"):
            file.norm(at + name, CODEC, False)
        if kind == "conv":
            file.tensor(f"{at}conv_pw1.weight", 3 * CODEC, CODEC, type=Type.F16)
            file.tensor(f"{at}conv_dw.weight", CODEC, 3, deviation=0.6)
            file.tensor(f"{at}conv_pw2.weight", CODEC, CODEC, type=Type.F16)
        else:
            attention(file, at, CODEC, CODEC_HEADS, CODEC_KV, CODEC_HEAD, "attn_out", 1.0)
        feed_forward(file, at, CODEC, CODEC_FFN, 1.0)
    file.finish()


def orders(seed: int, count: int) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [[int(book) for book in random.permutation(BOOKS)] for _ in range(count)]


def long_sound() -> list[list[int]]:
    """Codes of more frames than a frame depends on."""
    return np.random.default_rng(LONG).integers(0, KINDS - 1, (LONG, BOOKS)).tolist()


def ask(text: Path, codec: Path) -> list[dict]:
    lines = [json.dumps({"prompt": f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n<|audio_start|>",
                         "orders": orders(number, count)}) for number, (prompt, count) in enumerate(CASES)]
    lines.append(json.dumps({"codes": long_sound()}))
    run = subprocess.run([DRIVER, text, codec, str(CONTEXT)], input="\n".join(lines), capture_output=True, text=True,
                         check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def rounded(values: list, digits: int) -> list:
    return [rounded(value, digits) if isinstance(value, list) else round(value, digits) for value in values]


def margin(answer: dict) -> float:
    """How far the likeliest code is from the next one, at least, in parts of the largest logit."""
    least = 1.0
    for passes in answer["logits"]:
        for logits in passes:
            books = np.sort(np.array(logits).reshape(BOOKS, KINDS), axis=1)
            least = min(least, float((books[:, -1] - books[:, -2]).min() / np.abs(books).max()))
    return least


def main() -> None:
    text, codec = TARGET / "lfm3a-gen-text.gguf", TARGET / "lfm3a-gen.gguf"
    with tempfile.TemporaryDirectory() as scratch:
        twins = [Path(scratch) / name for name in ("text.gguf", "codec.gguf")]
        for seed in range(1, 100):
            text_model(text, seed)
            generator(codec, 1000 + seed, -1.0)
            write_twin([text], twins[0])
            write_twin([codec], twins[1])
            *answers, sound = ask(*twins)
            counts = [len(answer["codes"]) for answer in answers]
            peaks = [max(map(abs, answer["samples"] or [0])) for answer in answers]
            ended = [len(answer["codes"]) < count for answer, (_, count) in zip(answers, CASES)]
            print(seed, counts, ended, [round(peak, 3) for peak in peaks], f"{min(map(margin, answers)):.1e}")
            if min(counts) > 2 and all(0.05 < peak < 0.95 for peak in peaks) and any(ended) and not all(ended) \
                    and min(map(margin, answers)) > 5e-4:
                break
        else:
            raise SystemExit("no seed gives texts of which some end")
    cases = []
    for number, ((prompt, count), answer) in enumerate(zip(CASES, answers)):
        samples = answer["samples"]
        cases.append({"text": prompt, "ids": answer["ids"], "orders": orders(number, count),
                      "states": rounded(answer["states"][:2], 6), "logits": rounded(answer["logits"][:1], 5),
                      "codes": answer["codes"], "rows": rounded(answer["rows"][:2], 6), "count": len(samples),
                      "peak": round(max(map(abs, samples)), 6),
                      "samples": [round(sample, 6) for sample in samples[::EVERY]]})
    samples = [round(sample, 6) for sample in sound["samples"][::EVERY]]
    known = {"made_by": NEWEST, "every": EVERY, "rate": 24000, "cases": cases,
             "long": {"codes": long_sound(), "count": len(sound["samples"]), "samples": samples}}
    (TARGET / "lfm3a-gen.json").write_text(json.dumps(known, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
