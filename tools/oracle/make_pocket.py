"""A small random Pocket TTS and what llama.cpp makes of it: tests/fixtures/encoders/pocket*.

    python tools/oracle/make_pocket.py

`newest/build_voice.sh` builds the program that is asked (`LLAMA_POCKET` names another): the rows of a voice, what each
step starts from and the latent that it gives, and samples.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from itertools import zip_longest
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import TokenType

from f32_twin import write_twin
from llamas import NEWEST
from make_voices import File
from pocket_twin import Tensors, speak
from tiny_vocabulary import unigram

TARGET = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "encoders"
DRIVER = Path(os.environ.get("LLAMA_POCKET", ".oracle/newest/pocket"))
WIDTH, LAYERS, HEADS, FFN = 32, 2, 2, 64
LATENT, FLOW, BLOCKS, FREQUENCIES = 8, 20, 3, 6
CODEC, CODEC_LAYERS, CODEC_HEADS, CODEC_FFN = 24, 2, 2, 40
CHANNELS = [16, 12, 8, 6]
"""Of the convolutions, from frames to samples."""
STRIDES = [6, 5, 4]
CONTEXT = 512
SAMPLES = 50_001
"""Of the voice: 2.08 seconds."""
CASES = [("hello there, how do you do", 1), ("Is it two?", 2), ("ab", 3),
         ("one; two; three words and more words in them, they follow each other and go on until it is more than fifty "
          "tokens long. then another sentence follows; it has some more words for a second part, too", 4)]
EVERY = 131
"""One of so many samples is kept."""
SPOKEN = ["Hello there, how do you do.", "Is it two?", "Ab."]
"""The texts of one chunk as llama.cpp tokenizes them."""


def text_model(path: Path, seed: int) -> None:
    file = File(path, "pockettts", seed)
    vocabulary = unigram(180)
    tokens = [*vocabulary.tokens, "<|pad|>", "<|bos_before_voice|>", "<|audio_bos|>"]
    w = file.writer
    for key, value in {"context_length": 4096, "embedding_length": WIDTH, "block_count": LAYERS,
                       "feed_forward_length": FFN, "attention.head_count": HEADS,
                       "attention.head_count_kv": HEADS}.items():
        w.add_uint32(f"pockettts.{key}", value)
    w.add_float32("pockettts.rope.freq_base", 10000.0)
    w.add_float32("pockettts.attention.layer_norm_epsilon", 1e-5)
    w.add_tokenizer_model("t5")
    w.add_tokenizer_pre("default")
    w.add_token_list(tokens)
    w.add_token_scores([*vocabulary.scores, *[-1000.0] * 3])
    w.add_token_types([*vocabulary.types, *[TokenType.CONTROL] * 3])
    w.add_unk_token_id(2)
    w.add_eos_token_id(1)
    w.add_add_space_prefix(True)
    w.add_remove_extra_whitespaces(True)
    w.add_add_bos_token(False)
    w.add_add_eos_token(False)
    file.tensor("token_embd.weight", len(tokens), WIDTH, deviation=1.0, type=Type.Q8_0)
    for layer in range(LAYERS):
        at = f"blk.{layer}."
        for name, out, of in [("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, WIDTH), ("attn_v", WIDTH, WIDTH),
                              ("attn_output", WIDTH, WIDTH), ("ffn_up", FFN, WIDTH), ("ffn_down", WIDTH, FFN)]:
            file.tensor(f"{at}{name}.weight", out, of, deviation=1.4 / np.sqrt(of), type=Type.Q8_0)
        for name in ("attn_norm", "ffn_norm"):
            file.norm(at + name, WIDTH)
    file.norm("output_norm", WIDTH)
    file.finish()


def layers(file: File, group: str) -> None:
    for layer in range(CODEC_LAYERS):
        at = f"{group}.blk.{layer}."
        for name, out, of in [("attn_q", CODEC, CODEC), ("attn_k", CODEC, CODEC), ("attn_v", CODEC, CODEC),
                              ("attn_out", CODEC, CODEC), ("ffn_up", CODEC_FFN, CODEC), ("ffn_down", CODEC, CODEC_FFN)]:
            file.tensor(f"{at}{name}.weight", out, of, deviation=1.4 / np.sqrt(of), type=Type.F16)
        for name in ("ln1", "ln2"):
            file.norm(at + name, CODEC)
        for name in ("ls1", "ls2"):
            file.tensor(f"{at}{name}.weight", CODEC, mean=0.5, deviation=0.2)


def seanet(file: File, group: str, decodes: bool) -> None:
    """Convolutions of frames to samples, or the other way round."""

    def conv(name: str, out: int, of: int, kernel: int) -> None:
        gain = 0.02 if out == 1 else 1.2
        file.tensor(f"{group}.{name}.weight", out, of, kernel, deviation=gain / np.sqrt(of * kernel), type=Type.F16)
        file.tensor(f"{group}.{name}.bias", out)

    def unit(at: str, width: int) -> None:
        conv(f"{at}.res_conv1", width // 2, width, 3)
        conv(f"{at}.res_conv2", width, width // 2, 1)

    if decodes:
        conv("conv_in", CHANNELS[0], CODEC, 7)
        for stage, stride in enumerate(STRIDES):
            of, out = CHANNELS[stage], CHANNELS[stage + 1]
            name = f"blk.{stage}.scale_conv"
            shape = (of, out, 2 * stride)
            file.tensor(f"{group}.{name}.weight", *shape, deviation=1.2 / np.sqrt(2 * of), type=Type.F16)
            file.tensor(f"{group}.{name}.bias", out)
            unit(f"blk.{stage}", out)
        conv("conv_out", 1, CHANNELS[-1], 3)
        return
    conv("conv_in", CHANNELS[-1], 1, 7)
    for stage, stride in enumerate(reversed(STRIDES)):
        of, out = CHANNELS[-1 - stage], CHANNELS[-2 - stage]
        unit(f"blk.{stage}", of)
        conv(f"blk.{stage}.scale_conv", out, of, 2 * stride)
    conv("conv_out", CODEC, CHANNELS[0], 3)


def encoders(path: Path, seed: int, ends: float) -> None:
    file = File(path, "clip", seed)
    w = file.writer
    w.add_type("mmproj")
    for name, kind in [("audio", "spkenc"), ("gen.audio", "gen")]:
        w.add_bool(f"clip.has_{name.replace('.', '_')}_encoder", True)
        w.add_string(f"clip.{name}.projector_type", f"pockettts_{kind}")
        for key, value in {"embedding_length": CODEC, "feed_forward_length": CODEC_FFN, "block_count": CODEC_LAYERS,
                           "projection_dim": WIDTH, "attention.head_count": CODEC_HEADS}.items():
            w.add_uint32(f"clip.{name}.{key}", value)
        w.add_float32(f"clip.{name}.attention.layer_norm_epsilon", 1e-5)
    w.add_uint32("clip.audio.num_mel_bins", 1)
    w.add_string("clip.gen.audio.model_variant", "tiny")
    seanet(file, "a.seanet", False)
    layers(file, "a")
    file.tensor("a.downsample.conv.weight", LATENT, CODEC, 32, deviation=1 / np.sqrt(32 * CODEC), type=Type.F16)
    file.tensor("a.speaker_proj.weight", WIDTH, LATENT, type=Type.F16)
    flow = "a.gen.flow."
    file.linear(f"{flow}input_proj", FLOW, LATENT)
    # A state weighs little in a latent, so that keys and values of 16 bits move samples by less than a thousandth.
    file.tensor(f"{flow}cond_embd.weight", FLOW, WIDTH, deviation=0.04, type=Type.F16)
    file.tensor(f"{flow}cond_embd.bias", FLOW)
    file.linear(f"{flow}final.ada", 2 * FLOW, FLOW)
    file.linear(f"{flow}final.proj", LATENT, FLOW)
    for number in range(2):
        at = f"{flow}time.{number}."
        file.tensor(f"{at}freqs", FREQUENCIES, mean=1.0, deviation=0.7)
        file.linear(f"{at}up", FLOW, 2 * FREQUENCIES)
        file.linear(f"{at}down", FLOW, FLOW)
        file.tensor(f"{at}norm", FLOW, mean=0.8, deviation=0.2)
    for block in range(BLOCKS):
        at = f"{flow}blk.{block}."
        file.norm(f"{at}norm", FLOW)
        file.linear(f"{at}up", FLOW + 4, FLOW)
        file.linear(f"{at}down", FLOW, FLOW + 4)
        file.linear(f"{at}ada", 3 * FLOW, FLOW)
    file.tensor("a.gen.out_eos.weight", 1, WIDTH, deviation=0.3, type=Type.F16)
    file.tensor("a.gen.out_eos.bias", 1, mean=ends, deviation=1e-3)
    # Little of a latent comes back, so that roundings do not grow from step to step.
    file.tensor("a.gen.input_linear.weight", WIDTH, LATENT, deviation=0.08, type=Type.F16)
    file.tensor("a.gen.emb_mean", LATENT, deviation=0.5)
    file.tensor("a.gen.emb_std", LATENT, mean=1.0, deviation=0.3)
    file.tensor("a.gen.wav.quant_out.weight", CODEC, LATENT, type=Type.F16)
    file.tensor("a.gen.wav.upsample.weight", CODEC, 1, 32, deviation=0.8, type=Type.F16)
    seanet(file, "a.gen.wav.seanet", True)
    layers(file, "a.gen.wav.tfm")
    file.finish()


def voice() -> np.ndarray:
    """A sound that a test can make, too."""
    at = np.arange(SAMPLES, dtype=np.float64)
    return (0.4 * np.sin(0.05 * at + 3 * np.sin(0.0007 * at)) + 0.2 * np.sin(0.31 * at)).astype(np.float32)


def ask(text: Path, codec: Path, sound: Path) -> list[dict]:
    lines = [json.dumps({"voice": str(sound), "prompt": prompt, "seed": seed, "spoken": spoken})
             for (prompt, seed), spoken in zip_longest(CASES, SPOKEN, fillvalue="")]
    command = [DRIVER, text, codec, str(CONTEXT)]
    run = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def roundings(twins: list[Path], answers: list[dict]) -> float:
    """How far keys and values of 16 bits move samples, in parts of the peak; llama.cpp must agree with the twin."""
    text, codec = map(Tensors, twins)
    begin = len(text["token_embd.weight"]) - 1
    sizes = {"heads": HEADS, "codec_heads": CODEC_HEADS, "eps": 1e-5}
    far = []
    for answer in answers[:len(SPOKEN)]:
        asked = {**answer, "before": begin - 1, "begin": begin}
        for is_half in (False, True):
            made = speak(text, codec, asked, sizes, is_half)
            known = [np.array(answer[name]) for name in ("latents", "samples")]
            far.append(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(made, known)))
    if max(far[::2]) > 1e-4:
        raise SystemExit(f"llama.cpp and numpy differ by {max(far[::2])}")
    return max(far[1::2])


def rounded(rows: list[list[float]], digits: int) -> list[list[float]]:
    return [[round(value, digits) for value in row] for row in rows]


def main() -> None:
    text, codec = TARGET / "pocket-text.gguf", TARGET / "pocket.gguf"
    with tempfile.TemporaryDirectory() as scratch:
        twins = [Path(scratch) / name for name in ("text.gguf", "codec.gguf")]
        sound = Path(scratch) / "voice.f32"
        voice().tofile(sound)
        for seed in range(39, 100):
            text_model(text, seed)
            encoders(codec, 1000 + seed, -6.0)
            write_twin([text], twins[0])
            write_twin([codec], twins[1])
            answers = ask(*twins, sound)
            counts = [len(answer["latents"]) for answer in answers]
            peaks = [max(map(abs, answer["samples"])) for answer in answers]
            ended = [any(answer["ends"]) for answer in answers]
            far = roundings(twins, answers)
            print(seed, counts, ended, [round(peak, 3) for peak in peaks], f"{far:.1e}")
            if min(counts) > 6 and max(counts) < 400 and all(0.15 < peak < 0.95 for peak in peaks) and any(ended) \
                    and not all(ended) and far < 4e-4:
                break
        else:
            raise SystemExit("no seed gives texts of which some end")
    cases = []
    for (prompt, seed), answer in zip(CASES, answers):
        samples = answer["samples"]
        cases.append({"text": prompt, "ids": answer["ids"], "states": rounded(answer["states"][:2], 6),
                      "noise": rounded(answer["noise"], 7), "latents": rounded(answer["latents"], 5),
                      "ends": [at for at, is_end in enumerate(answer["ends"]) if is_end], "count": len(samples),
                      "peak": round(max(map(abs, samples)), 6),
                      "samples": [round(sample, 6) for sample in samples[::EVERY]]})
    known = {"made_by": NEWEST, "every": EVERY, "rate": answers[0]["rate"], "voice": SAMPLES,
             "rows": rounded(answers[0]["rows"], 5), "cases": cases}
    (TARGET / "pocket.json").write_text(json.dumps(known, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
