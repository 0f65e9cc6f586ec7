"""What the newest llama.cpp drafts with blocks of multi-token prediction: tests/fixtures/mtp/*.json.

    python tools/oracle/make_blocks.py [name ...]

Each model is one of tests/fixtures/models with one block more. The block has the tensors of one or two of its layers
(`LAYERS`), and what joins the embedding and the hidden state; their values follow from the tensors' names, as in
`make_mtp.py`, which says how llama.cpp feeds a block and what the keys of the files mean. So tests make it again in
memory. `newest/block.cpp` runs llama.cpp (`LLAMA_BLOCK` names another program).

Logits are the `LARGEST` ones and the sum of all squares.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType, dequantize

from f32_twin import DROPPED
from named_values import fnv1a, values_of

MODELS = Path(__file__).parents[2] / "tests/fixtures/models"
TARGET = MODELS.parent / "mtp"
DRIVER = Path(os.environ.get("LLAMA_BLOCK", ".oracle/newest/block"))
# Layers whose tensors the block has. A name that the first one has, too, is the norm between the two.
LAYERS = {"qwen35moe-f32": [1], "deepseek2-f16": [1], "mellum-f16": [0], "nemotron_h_moe-f16": [1, 2]}
BETWEEN = "post_attention_norm.weight"
LENGTH, MIDDLE, DRAFTS, LARGEST, DIGITS, TEXTS = 14, 6, 3, 32, 6, 24_000
LEAST_LEAD = 0.1  # of a best token over the second, in standard deviations of its row's logits


def block(reader: GGUFReader, name: str, layers: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """The new tensors and their shapes in numpy's order."""
    shapes = {}
    for layer in LAYERS[name]:
        prefix = f"blk.{layer}."
        for tensor in reader.tensors:
            if tensor.name.startswith(prefix):
                rest = tensor.name.removeprefix(prefix)
                rest = BETWEEN if rest in shapes else rest
                shapes[rest] = tuple(int(size) for size in reversed(tensor.shape))
    shapes["nextn.eh_proj.weight"] = (hidden, 2 * hidden)
    shapes |= {f"nextn.{norm}.weight": (hidden,) for norm in ("enorm", "hnorm", "shared_head_norm")}
    return {f"blk.{layers}.{rest}": shape for rest, shape in shapes.items()}


def write_model(name: str, target: Path) -> dict[str, np.ndarray]:
    """The F32 twin of the model with one block more; the values of the new tensors."""
    reader = GGUFReader(MODELS / f"{name}.gguf")
    architecture = reader.fields["general.architecture"].contents()
    keys = {field: of.contents() for field, of in reader.fields.items()}
    layers, hidden = (keys[f"{architecture}.{key}"] for key in ("block_count", "embedding_length"))
    writer = GGUFWriter(target, architecture)
    for field in reader.fields.values():
        if field.name.startswith(DROPPED):
            continue
        value = field.contents()
        is_array = field.types[0] == GGUFValueType.ARRAY
        if field.name == f"{architecture}.block_count":
            value += 1
        if is_array and field.name.startswith(architecture) and len(value) == layers:
            value = [*value, value[LAYERS[name][0 if ".attention." in field.name else -1]]]
            # llama.cpp's block takes the number of the first layer, which has no experts.
            if field.name.endswith("expert_used_count"):
                value[0] = value[-1]
        writer.add_key_value(field.name, value, field.types[0], field.types[1] if is_array else None)
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_uint32(f"{architecture}.nextn_predict_layers", 1)
    for tensor in reader.tensors:
        shape = tuple(int(size) for size in reversed(tensor.shape))
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32).reshape(shape)
        writer.add_tensor(tensor.name, values, raw_dtype=Type.F32)
    new = {of: values_of(of, shape) for of, shape in block(reader, name, layers, hidden).items()}
    for of, values in new.items():
        writer.add_tensor(of, values, raw_dtype=Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return new


class Driver:
    """A program that runs llama.cpp, and reads and writes numbers of 32 bits."""

    def __init__(self, *command: Path):
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, kind, count: int) -> np.ndarray:
        return np.frombuffer(self.process.stdout.read(4 * int(count)), kind)

    def ask(self, *numbers: int, parts=()) -> None:
        self.process.stdin.write(np.array(numbers, np.int32).tobytes() + b"".join(part.tobytes() for part in parts))
        self.process.stdin.flush()

    def remove(self, of: int, start: int) -> None:
        self.ask(1, of, start, 0)
        if not self.read(np.int32, 1)[0]:
            raise SystemExit("llama.cpp did not remove rows")


class Asked(Driver):
    """llama.cpp with a model and its block. `pending` is the hidden state that the next token of the text goes with."""

    def __init__(self, path: Path):
        super().__init__(DRIVER, path)
        self.vocab, self.hidden = self.read(np.int32, 2)

    def run(self, of: int, ids: list[int], start: int, states=None) -> tuple[np.ndarray, np.ndarray]:
        parts = [np.array(ids, np.int32)] + ([] if states is None else [np.asarray(states, np.float32)])
        self.ask(0, of, start, len(ids), parts=parts)
        rows = self.read(np.float32, len(ids) * (self.vocab + self.hidden)).reshape(len(ids), -1)
        return rows[:, : self.vocab], rows[:, self.vocab :]

    def begin(self) -> None:
        for of in (0, 1):
            self.remove(of, 0)
        self.pending = np.zeros(self.hidden, np.float32)

    def process_text(self, ids: list[int], start: int) -> tuple[np.ndarray, np.ndarray]:
        """Run `ids` through the model, then through the block; the logits of both."""
        logits, self.states = self.run(0, ids, start)
        of_block, _ = self.run(1, ids, start, np.vstack([self.pending, self.states[:-1]]))
        self.pending = self.states[-1]
        return logits, of_block

    def accept(self, accepted: int, start: int) -> None:
        self.pending = self.states[accepted]
        self.remove(1, start + accepted + 1)

    def draft(self, token: int, start: int) -> list[np.ndarray]:
        said, state = [], self.pending
        for k in range(DRAFTS):
            (logits,), (state,) = self.run(1, [token], start + k, state[None])
            token = int(logits.argmax())
            said.append(logits)
        self.remove(1, start)
        return said


def rounded(values) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def largest(logits: np.ndarray) -> dict:
    order = np.argsort(-logits, kind="stable")[:LARGEST]
    return {"ids": order.tolist(), "logits": rounded(logits[order]),
            "sum_of_squares": rounded([(logits.astype(np.float64) ** 2).sum()])[0]}


def answers(asked: Asked, text: list[int]) -> tuple[float, dict]:
    """What follows the text, and the least lead of a token over the second."""
    asked.begin()
    leads = []

    def best(logits: np.ndarray) -> int:
        second, first = np.partition(logits, -2)[-2:]
        leads.append(float((first - second) / logits.std()))
        return int(logits.argmax())

    n = len(text)
    logits, of_block = asked.process_text(text, 0)
    c, middle = best(logits[-1]), of_block[MIDDLE]
    said = asked.draft(c, n)
    drafts = [best(of) for of in said]
    checked = [best(of) for of in asked.process_text([c, *drafts], n)[0]]
    accepted = next((k for k in range(DRAFTS) if drafts[k] != checked[k]), DRAFTS)
    asked.accept(accepted, n)
    said_again = asked.draft(checked[accepted], n + accepted + 1)
    again = [best(of) for of in said_again]
    lead = min(leads) if 0 < accepted < DRAFTS else 0.0
    return lead, {"text": text, "next": c, "middle": MIDDLE, "middle_logits": largest(middle), "drafts": drafts,
                  "draft_logits": [largest(of) for of in said], "checked": checked, "accepted": accepted,
                  "drafts_again": again, "draft_again": largest(said_again[0])}


def write_entry(path: Path, entry: dict) -> None:
    """A line for each key."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(of, separators=(',', ':'))}" for key, of in entry.items())
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{{{lines}}}\n")


def main() -> int:
    for name in sys.argv[1:] or LAYERS:
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.gguf"
            new = write_model(name, path)
            asked, rng = Asked(path), np.random.default_rng(fnv1a(name.encode()))
            texts = rng.integers(10, asked.vocab - 10, (TEXTS, LENGTH)).tolist()
            lead, found = max((answers(asked, text) for text in texts), key=lambda answer: answer[0])
        print(f"{name}: drafts {found['drafts']}, model {found['checked']}, least lead {lead:.3f}", flush=True)
        if lead < LEAST_LEAD:
            raise SystemExit("a token does not lead clearly")
        sums = {of: fnv1a(values.astype("<f4").tobytes()) for of, values in new.items()}
        entry = {"made_with": "llama-cpp-sys-4 0.11.0", "base": f"{name}.gguf", "fnv1a": sums, **found}
        write_entry(TARGET / f"{name.rsplit('-', 1)[0]}.json", entry)
    return 0


if __name__ == "__main__":
    sys.exit(main())
