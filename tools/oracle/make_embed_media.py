"""A small random EmbeddingGemma 2 with encoders of images and sounds, and llama.cpp's embeddings of texts, pictures and
sounds together: tests/fixtures/embed-media/.

    python tools/oracle/make_embed_media.py

llama.cpp is its newest version, asked by newest/embed_media.cpp (EMBED_MEDIA names the program), with F32 twins of all
files. Media are the pictures and sounds of tests/fixtures/encoders. `embedding` is not normalised.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import gguf
import numpy as np
from families.embedders import embedding_gemma2
from gguf import GGUFWriter, TokenType
from make_encoders import Encoder, Listener, picture, sound
from random_blocks import Type
from random_model import write_model
from tiny_vocabulary import Vocabulary, gemma4_pieces

TARGET = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "embed-media"
PROGRAM = os.environ.get("EMBED_MEDIA", ".oracle/newest/embed_media")
DRIVER = os.environ.get("LLAMA_NEWEST", ".oracle/newest/driver")
MARKS = ["<|image>", "<image|>", "<|audio>", "<audio|>"]
WIDTH = 44
# Text between media, which the prompts of tasks may stand before.
CASES: list[list] = [
    [(60, 40)],
    ["the old stone bridge ", (70, 90), " and a grey cat"],
    [8219],
    ["warm bread: ", 30011, "water"],
    ["task: search result | query: ", (20, 22), (60, 40), " sleeps ", 8219],
    ["nobody knows"],
]


@dataclass
class Ended(Vocabulary):
    """A vocabulary whose texts end with a token, as EmbeddingGemma's do."""

    def write(self, writer: GGUFWriter) -> None:
        super().write(writer)
        writer.add_add_eos_token(True)


def vocabulary() -> Vocabulary:
    """Gemma's, with the marks around media in the place of the last merges."""
    plain = gemma4_pieces(331)
    count = len(MARKS)
    control = [int(TokenType.CONTROL)] * count
    return Ended(**vars(replace(plain, tokens=plain.tokens[:-count] + MARKS, types=plain.types[:-count] + control,
                                merges=plain.merges[:-count])))


def text_model():
    model = embedding_gemma2("embed-media", Type.F16, WIDTH, 3, [1, 3, 1], (36, 20), 2, 28)
    return replace(model, vocabulary=vocabulary)


def hearing() -> Listener:
    """A conformer of one layer; see `make_encoders.conformer`."""
    e = Listener("gemma4a", "", [], embedding_length=24, projection_dim=WIDTH, num_mel_bins=29, block_count=1,
                 feed_forward_length=28, attention__head_count=2)
    d, channels = 24, [5, 3]
    for number, (of, out) in enumerate(zip([1, *channels], channels)):
        e.tensor(f"a.conv1d.{number}.weight", out, of, 3, 3)
        e.tensor(f"a.conv1d.{number}.norm.weight", out, mean=1.0, deviation=0.2)
    e.tensor("a.input_projection.weight", d, channels[1] * 8, deviation=0.014)
    e.tensor("a.input_projection.bias", d, deviation=1.0)
    at = "a.blk.0."
    for name in ["ffn_norm", "ffn_post_norm", "ffn_norm_1", "ffn_post_norm_1", "attn_pre_norm", "attn_post_norm",
                 "conv_norm", "norm_conv", "ln2"]:
        e.norm(at + name, d, False)
    for half in ["", "_1"]:
        e.tensor(f"{at}ffn_up{half}.weight", 28, d)
        e.tensor(f"{at}ffn_down{half}.weight", d, 28)
    for part in [*"qkv", "out", "k_rel"]:
        e.tensor(f"{at}attn_{part}.weight", d, d)
    e.tensor(f"{at}per_dim_scale.weight", d // 2, mean=2.0, deviation=0.4)
    e.tensor(f"{at}conv_pw1.weight", 2 * d, d)
    e.tensor(f"{at}conv_dw.weight", d, 5)
    e.tensor(f"{at}conv_pw2.weight", d, d)
    e.linear("a.pre_encode.out", 40, d)
    e.tensor("mm.a.input_projection.weight", WIDTH, 40)
    return e


def seeing() -> Encoder:
    e = Encoder("gemma4v", "gemma4v", "", [], image_size=24, patch_size=2, embedding_length=24, feed_forward_length=20,
                block_count=1, projection_dim=WIDTH, image_mean=[0.0, 0.0, 0.0], image_std=[1.0, 1.0, 1.0])
    e.start((2, 48), False)
    e.blocks(bias=False, gate=True, sandwich=True)
    e.tensor("mm.input_projection.weight", WIDTH, 24)
    return e


def write_encoders(path: Path) -> None:
    """Both in one file, as they are published, in F32."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_type("mmproj")
    for encoder, kind in [(seeing(), "vision"), (hearing(), "audio")]:
        writer.add_bool(f"clip.has_{kind}_encoder", True)
        for key, value in encoder.keys.items():
            key = key.replace("clip.projector_type", f"clip.{kind}.projector_type")
            add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
            add.get(type(value), writer.add_array)(key, value)
        for name, values, _ in encoder.tensors:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def medium(part: int | tuple[int, int], folder: Path) -> dict:
    path = folder / f"medium-{part}".replace(" ", "")
    if isinstance(part, int):
        path.write_bytes((sound(part) / 32768).astype("<f4").tobytes())
        return {"sound": str(path)}
    path.write_bytes(picture(*part).tobytes())
    return {"image": str(path), "width": part[0], "height": part[1]}


def named(part: str | int | tuple[int, int]) -> dict:
    if isinstance(part, str):
        return {"text": part}
    return {"audio": f"sound-{part}.wav"} if isinstance(part, int) else {"image": f"picture-{part[0]}x{part[1]}.png"}


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(text_model(), TARGET)
        write_encoders(TARGET / "encoders.gguf")
        twin = folder / "twin.gguf"
        subprocess.run([DRIVER, "twin", TARGET / "embed-media.gguf", twin], check=True)
        media = [[medium(part, folder) for part in case if not isinstance(part, str)] for case in CASES]
        prompts = ["".join(part if isinstance(part, str) else "<__media__>" for part in case) for case in CASES]
        lines = [json.dumps({"prompt": prompt, "media": of}) for prompt, of in zip(prompts, media)]
        command = [PROGRAM, twin, TARGET / "encoders.gguf", "1024"]
        asked = subprocess.run(command, input="\n".join(lines), stdout=subprocess.PIPE, text=True, check=True)
        found = [json.loads(line) for line in asked.stdout.splitlines()]
    vectors = np.array([one["embedding"] for one in found])
    assert np.isfinite(vectors).all() and np.ptp(vectors, axis=0).min() > 0.01, "all inputs get the same"
    cases = [{"parts": [named(part) for part in case], "pieces": one["pieces"],
              "embedding": [float(f"{value:.8g}") for value in one["embedding"]]} for case, one in zip(CASES, found)]
    text = ",\n".join("  " + json.dumps(case, separators=(",", ":")) for case in cases)
    (TARGET / "embed-media.json").write_text("[\n" + text + "\n]\n")
    print([case["pieces"] for case in cases])


if __name__ == "__main__":
    main()
