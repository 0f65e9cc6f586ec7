"""A small random model that speaks, its vocoder, and what llama.cpp makes of them: tests/fixtures/encoders/soprano*.

    python tools/oracle/make_voices.py

`newest/build_voice.sh` builds the program that is asked (`LLAMA_VOICE` names another): the ids that the model writes
greedily after Soprano's prompt, and the samples of the sound that becomes of their hidden states.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter, TokenType, quantize

from f32_twin import write_twin
from llamas import NEWEST

TARGET = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "encoders"
DRIVER = Path(os.environ.get("LLAMA_VOICE", ".oracle/newest/voice"))
WIDTH, LAYERS, HEADS, HEAD, FFN = 32, 2, 2, 16, 64
DIM, WIDE, BLOCKS, FFT = 32, 48, 2, 1024
CONTEXT = 64
"""Tokens of a prompt and what follows: some of the sentences end by themselves."""
TEXTS = ["hello there.", "is it two?", "words and more words, with 12 in them!", "ab"]
EVERY = 131
"""One of so many samples is kept."""


class File:
    """A GGUF in the making."""

    def __init__(self, path: Path, architecture: str, seed: int):
        self.writer, self.random = GGUFWriter(path, architecture), np.random.default_rng(seed)

    def tensor(self, name: str, *shape: int, mean=0.0, deviation=None, type=Type.F32):
        deviation = deviation or (1 / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 else 0.1)
        values = (mean + deviation * self.random.standard_normal(shape)).astype(np.float32)
        self.writer.add_tensor(name, quantize(values, type), raw_dtype=type)

    def linear(self, name: str, out: int, of: int, type=Type.F16):
        self.tensor(f"{name}.weight", out, of, type=type)
        self.tensor(f"{name}.bias", out)

    def norm(self, name: str, width: int, bias=True):
        self.tensor(f"{name}.weight", width, mean=1.0, deviation=0.2)
        if bias:
            self.tensor(f"{name}.bias", width)

    def finish(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def text_model(path: Path, seed: int) -> None:
    file = File(path, "qwen3", seed)
    characters = list(" !,.?abcdefghijklmnopqrstuvwxyz0123456789")
    merges = [("t", "h"), ("th", "e"), ("h", "e"), ("l", "l"), ("o", "r")]
    sounds = [f"[{number}]" for number in range(24)]
    tokens = ["[STOP]", "[UNK]", "[TEXT]", "[START]", *sounds, *characters, *[a + b for a, b in merges]]
    kinds = [TokenType.CONTROL] * 4 + [TokenType.CONTROL] * len(sounds)
    w = file.writer
    for key, value in {"context_length": CONTEXT, "embedding_length": WIDTH, "block_count": LAYERS,
                       "feed_forward_length": FFN, "attention.head_count": HEADS, "attention.head_count_kv": 1,
                       "attention.key_length": HEAD, "attention.value_length": HEAD}.items():
        w.add_uint32(f"qwen3.{key}", value)
    w.add_float32("qwen3.rope.freq_base", 10000.0)
    w.add_float32("qwen3.attention.layer_norm_rms_epsilon", 1e-6)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("soprano")
    w.add_token_list(tokens)
    w.add_token_types(kinds + [TokenType.NORMAL] * (len(tokens) - len(kinds)))
    w.add_token_merges([f"{a} {b}" for a, b in merges])
    w.add_unk_token_id(1)
    w.add_eos_token_id(0)
    file.tensor("token_embd.weight", len(tokens), WIDTH, deviation=1.0, type=Type.Q8_0)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        for name, out, of in [("attn_q", HEADS * HEAD, WIDTH), ("attn_k", HEAD, WIDTH), ("attn_v", HEAD, WIDTH),
                              ("attn_output", WIDTH, HEADS * HEAD), ("ffn_gate", FFN, WIDTH), ("ffn_up", FFN, WIDTH),
                              ("ffn_down", WIDTH, FFN)]:
            file.tensor(f"{at}{name}.weight", out, of, deviation=1.6 / np.sqrt(of), type=Type.Q8_0)
        for name, width in [("attn_norm", WIDTH), ("ffn_norm", WIDTH), ("attn_q_norm", HEAD), ("attn_k_norm", HEAD)]:
            file.norm(at + name, width, False)
    file.norm("output_norm", WIDTH, False)
    file.tensor("output.weight", len(tokens), WIDTH, deviation=0.6, type=Type.Q8_0)
    file.finish()


def vocoder(path: Path) -> None:
    file = File(path, "clip", 7)
    w = file.writer
    w.add_type("mmproj")
    w.add_bool("clip.has_gen_audio_encoder", True)
    w.add_string("clip.gen.audio.projector_type", "soprano")
    for key, value in {"embedding_length": DIM, "feed_forward_length": WIDE, "block_count": BLOCKS,
                       "projection_dim": WIDTH, "attention.head_count": 1}.items():
        w.add_uint32(f"clip.gen.audio.{key}", value)
    w.add_float32("clip.gen.audio.attention.layer_norm_epsilon", 1e-6)
    own = "a.gen.wav."
    file.tensor(f"{own}input.weight", DIM, WIDTH, 3, type=Type.F16)
    file.tensor(f"{own}input.bias", DIM)
    file.norm(f"{own}norm", DIM)
    for block in range(BLOCKS):
        at = f"{own}up.blk.{block}."
        file.tensor(f"{at}dwconv.weight", DIM, 1, 3)
        file.tensor(f"{at}dwconv.bias", DIM)
        file.norm(f"{at}norm", DIM)
        file.linear(f"{at}pw1", WIDE, DIM)
        file.linear(f"{at}pw2", DIM, WIDE)
        file.tensor(f"{at}gamma", DIM, mean=0.5, deviation=0.2)
    file.norm(f"{own}output_norm", DIM)
    file.tensor(f"{own}output.weight", FFT + 2, DIM, type=Type.Q4_0)
    file.tensor(f"{own}output.bias", FFT + 2, deviation=1.0)
    file.finish()


def ask(text: Path, voice: Path) -> list[dict]:
    """The answers; fewer where a sentence has less than two tokens."""
    run = subprocess.run([DRIVER, text, voice, str(CONTEXT), *TEXTS], capture_output=True, text=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def main() -> None:
    text, voice = TARGET / "soprano-text.gguf", TARGET / "soprano.gguf"
    vocoder(voice)
    with tempfile.TemporaryDirectory() as scratch:
        twins = [Path(scratch) / name for name in ("text.gguf", "voice.gguf")]
        write_twin([voice], twins[1])
        for seed in range(200):
            text_model(text, seed)
            write_twin([text], twins[0])
            answers = ask(twins[0], twins[1])
            if len(answers) < len(TEXTS):
                continue
            ended = [answer["ended"] for answer in answers]
            counts = [len(answer["ids"]) for answer in answers]
            lively = all(len(set(answer["ids"])) > len(answer["ids"]) / 2.5 for answer in answers)
            if min(counts) >= 4 and any(ended) and not all(ended) and lively:
                break
        else:
            raise SystemExit("no seed gives texts of which some end")
    cases = []
    for prompt, answer in zip(TEXTS, answers):
        samples = answer["samples"]
        cases.append({"text": prompt, "ids": answer["ids"], "ended": answer["ended"], "count": len(samples),
                      "peak": round(max(map(abs, samples)), 6),
                      "samples": [round(sample, 6) for sample in samples[::EVERY]]})
        print(prompt, len(answer["ids"]), answer["ended"], len(samples), cases[-1]["peak"])
    known = {"made_by": NEWEST, "every": EVERY, "rate": answers[0]["rate"], "cases": cases}
    (TARGET / "soprano.json").write_text(json.dumps(known, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
