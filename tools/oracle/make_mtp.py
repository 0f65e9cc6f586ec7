"""What llama.cpp drafts with an MTP block of Qwen 3.5: tests/fixtures/qwen35-mtp.json.

    python tools/oracle/make_mtp.py                    # makes the model in a scratch folder, writes the JSON
    python tools/oracle/make_mtp.py --model FILE       # keeps the model, as this file
    python tools/oracle/make_mtp.py --target FILE      # another place for the JSON

The model is tests/fixtures/models/qwen35-f32.gguf with one block more, whose values follow from the tensors' names
(`named_values.py`), so tests make it again in memory. The trunk and its answers stay those of qwen35-f32.

How llama.cpp feeds the block (`common_speculative_impl_draft_mtp`), with x_p the token and h_p the trunk's row at
position p, the row AFTER `output_norm`:

- A text of n tokens gives the rows (x_p, h_{p-1}) at position p, for RoPE and in the block's own KV cache, for
  0 <= p < n. The first token's row is (x_0, zeros) at position 0: a row like the others, which later rows attend to.
  Row p predicts x_{p+1}.
- A draft begins with (c, h_{n-1}) at position n, where c is the token just sampled, not yet run by the trunk. It goes
  on with (d_1, g_1) at n + 1, (d_2, g_2) at n + 2, where d is the best token of the row before and g its row after
  `nextn.shared_head_norm`, which is also what the head gets.
- Before the trunk checks the drafts, their rows are removed. Once it has run c, d_1, .., the block runs the same tokens
  at the same positions again with the trunk's rows: (c, h_{n-1}), (d_1, h_n), ...; rows of drafts that were not
  accepted are then removed. So no row made with g outlives a draft.

The file has: `fnv1a`, FNV-1a (32 bits) of each new tensor's bytes; `next`, the trunk's best token after `text`, from
`trunk`; `middle_logits`, the block's of the text's row at position `middle`; `drafts` and the block's `draft_logits`
that they come from; `checked`, the trunk's best tokens behind `next` and each draft; `accepted`, how many drafts were
right; `drafts_again`, the drafts that begin with the row (checked[accepted], h_{n+accepted}) at n + accepted + 1, whose
logits are `draft_again`. Logits are those of all tokens, or the `LARGEST` ones and the sum of all squares.

The block in numpy must give the same logits, and every token here must lead clearly.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import tempfile
from pathlib import Path

import llama_cpp as package
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType
from llama_cpp import GGML_TYPE_F32, llama_cpp

from f32_twin import DROPPED
from llamas import margins, plain_model_params
from named_values import fnv1a, values_of
from random_model import FIXTURES

BASE, ARCHITECTURE = FIXTURES / "qwen35-f32.gguf", "qwen35"
# Ordinary ids: of 24,000 random texts, the one with the clearest leads among those with some but not all drafts right.
TEXT = [224, 192, 34, 92, 141, 257, 87, 72, 287, 251, 171, 233, 52, 266]
MIDDLE, DRAFTS, LARGEST, DIGITS = 6, 3, 32, 6
LEAST_LEAD = 0.1  # of a best token over the second, in standard deviations of its row's logits
AGREEMENT = 1e-4


def block(fields: dict) -> dict[str, tuple[int, ...]]:
    """The new tensors and their shapes in numpy's order: (rows, columns)."""
    def key(name: str) -> int:
        return fields[f"{ARCHITECTURE}.{name}"].contents()

    hidden, ffn, head = key("embedding_length"), key("feed_forward_length"), key("attention.key_length")
    width, kv = key("attention.head_count") * head, key("attention.head_count_kv") * head
    shapes = {
        "attn_norm": (hidden,), "attn_q": (2 * width, hidden), "attn_k": (kv, hidden), "attn_v": (kv, hidden),
        "attn_q_norm": (head,), "attn_k_norm": (head,), "attn_output": (hidden, width),
        "post_attention_norm": (hidden,), "ffn_gate": (ffn, hidden), "ffn_up": (ffn, hidden), "ffn_down": (hidden, ffn),
        "nextn.eh_proj": (hidden, 2 * hidden), "nextn.enorm": (hidden,), "nextn.hnorm": (hidden,),
        "nextn.shared_head_norm": (hidden,)}
    return {f"blk.{key('block_count')}.{name}.weight": shape for name, shape in shapes.items()}


def write_model(target: Path) -> None:
    """The base with one block more."""
    reader = GGUFReader(BASE)
    fields = reader.fields
    writer = GGUFWriter(target, ARCHITECTURE)
    for field in fields.values():
        if not field.name.startswith(DROPPED):
            sub_type = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
            value = field.contents() + 1 if field.name == f"{ARCHITECTURE}.block_count" else field.contents()
            writer.add_key_value(field.name, value, field.types[0], sub_type)
    writer.add_file_type(LlamaFileType.ALL_F32)
    writer.add_uint32(f"{ARCHITECTURE}.nextn_predict_layers", 1)
    for tensor in reader.tensors:
        shape = tuple(int(size) for size in reversed(tensor.shape))
        writer.add_tensor(tensor.name, np.array(tensor.data).reshape(shape), raw_dtype=Type.F32)
    for name, shape in block(fields).items():
        writer.add_tensor(name, values_of(name, shape), raw_dtype=Type.F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@llama_cpp.llama_log_callback
def silent(level: int, text: bytes, user_data: int) -> None:
    pass


def extension(name: str, result: object, *arguments: object):
    """A function of llama-ext.h, which is C++."""
    function = getattr(llama_cpp._lib, name)
    function.restype, function.argtypes = result, [ctypes.c_void_p, *arguments]
    return function


set_embeddings_nextn = extension("_Z26llama_set_embeddings_nextnP13llama_contextbb", None, ctypes.c_bool, ctypes.c_bool)
get_embeddings_nextn_ith = extension("_Z30llama_get_embeddings_nextn_ithP13llama_contexti",
                                     ctypes.POINTER(ctypes.c_float), ctypes.c_int32)


class Context:
    """A context of llama.cpp with an F32 cache: the trunk's, or that of the MTP block."""

    def __init__(self, model: int, mtp: bool):
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_threads, params.n_threads_batch = 256, 64, 2, 2
        params.type_k = params.type_v = GGML_TYPE_F32
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.ctx_type = llama_cpp.LLAMA_CONTEXT_TYPE_MTP if mtp else llama_cpp.LLAMA_CONTEXT_TYPE_DEFAULT
        self.context = llama_cpp.llama_init_from_model(model, params)
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.tokens = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
        self.hidden = llama_cpp.llama_model_n_embd(model)
        set_embeddings_nextn(self.context, True, mtp)
        self.batch = llama_cpp.llama_batch_ext_init(self.context)

    def run(self, ids: list[int], start: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Run `ids` from position `start` on, in the MTP block with the hidden `rows`; the logits and hidden rows."""
        llama_cpp.llama_batch_ext_clear(self.batch)
        kept = None if rows is None else np.ascontiguousarray(rows, dtype=np.float32)
        for k, token in enumerate(ids):
            index = llama_cpp.llama_batch_ext_add_token(self.batch, 0, token)
            if kept is not None:
                data = kept[k].ctypes.data_as(ctypes.POINTER(ctypes.c_float))
                llama_cpp.llama_batch_ext_set_embd_token(self.batch, index, llama_cpp.llama_embd(data, 1, self.hidden))
            llama_cpp.llama_batch_ext_set_pos(self.batch, index, ctypes.byref(llama_cpp.llama_pos(start + k)))
            llama_cpp.llama_batch_ext_set_output_logits(self.batch, index, True)
        if llama_cpp.llama_process(self.context, llama_cpp.LLAMA_PROCESS_TYPE_DECODE, self.batch) != 0:
            raise SystemExit("llama.cpp did not run a batch")
        logits = [self.copied(llama_cpp.llama_get_logits_ith(self.context, k), self.tokens) for k in range(len(ids))]
        hidden = [self.copied(get_embeddings_nextn_ith(self.context, k), self.hidden) for k in range(len(ids))]
        return np.array(logits), np.array(hidden)

    @staticmethod
    def copied(values, count: int) -> np.ndarray:
        return np.ctypeslib.as_array(values, (count,)).copy()

    def remove(self, start: int) -> None:
        """Remove the rows from position `start` on."""
        if not llama_cpp.llama_memory_seq_rm(self.memory, 0, start, -1):
            raise SystemExit("llama.cpp did not remove rows")


class Block:
    """The MTP block in numpy, in f64, with a cache of its own."""

    def __init__(self, path: Path):
        reader = GGUFReader(path)
        self.tensors = {tensor.name: np.array(tensor.data, np.float64) for tensor in reader.tensors}
        self.fields = reader.fields
        self.heads, self.kv_heads = self.key("attention.head_count"), self.key("attention.head_count_kv")
        self.head, self.turning = self.key("attention.key_length"), self.key("rope.dimension_count")
        self.number = self.key("block_count") - self.key("nextn_predict_layers")
        self.cache: list[tuple[np.ndarray, np.ndarray]] = []

    def key(self, name: str):
        return self.fields[f"{ARCHITECTURE}.{name}"].contents()

    def weight(self, name: str) -> np.ndarray:
        return self.tensors[f"blk.{self.number}.{name}.weight"]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        mean = (x * x).mean(axis=-1, keepdims=True)
        return x / np.sqrt(mean + self.key("attention.layer_norm_rms_epsilon")) * self.weight(name)

    def turned(self, x: np.ndarray, position: int) -> np.ndarray:
        """x (heads, dims). In plain text the sections of M-RoPE all have the same position."""
        half = self.turning // 2
        angles = position * self.key("rope.freq_base") ** (-np.arange(half) / half)
        a, b = x[:, :half], x[:, half:self.turning]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, a * sin + b * cos, x[:, self.turning:]], axis=1)

    def row(self, token: int, hidden: np.ndarray, position: int) -> tuple[np.ndarray, np.ndarray]:
        """The logits of a row and its hidden row; its keys and values go behind those of the rows before."""
        embedding = self.tensors["token_embd.weight"]
        both = np.concatenate([self.norm(embedding[token], "nextn.enorm"), self.norm(hidden, "nextn.hnorm")])
        x = self.weight("nextn.eh_proj") @ both
        x = x + self.attention(self.norm(x, "attn_norm"), position)
        y = self.norm(x, "post_attention_norm")
        gate = self.weight("ffn_gate") @ y
        x = x + self.weight("ffn_down") @ (gate / (1 + np.exp(-gate)) * (self.weight("ffn_up") @ y))
        x = self.norm(x, "nextn.shared_head_norm")
        return self.tensors.get("output.weight", embedding) @ x, x

    def attention(self, x: np.ndarray, position: int) -> np.ndarray:
        """Every head of `attn_q` has its queries first, then what gates it."""
        q, gate = np.split((self.weight("attn_q") @ x).reshape(self.heads, 2 * self.head), 2, axis=1)
        k, v = ((self.weight(name) @ x).reshape(self.kv_heads, self.head) for name in ("attn_k", "attn_v"))
        q, k = (self.turned(self.norm(part, f"{name}_norm"), position) for part, name in ((q, "attn_q"), (k, "attn_k")))
        self.cache.append((k, v))
        keys, values = (np.repeat(np.array(part), self.heads // self.kv_heads, axis=1) for part in zip(*self.cache))
        scores = np.einsum("hd,phd->hp", q, keys) / np.sqrt(self.head)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        found = np.einsum("hp,phd->hd", scores / scores.sum(axis=1, keepdims=True), values)
        return self.weight("attn_output") @ (found / (1 + np.exp(-gate))).reshape(-1)


class Drafting:
    """A text and drafts, as llama.cpp's speculation has them. `rows` are all rows of the block in the order of their
    making: (token, hidden row, position, logits); `pending` is the hidden row that the next token goes with."""

    def __init__(self, trunk: Context, mtp: Context):
        self.trunk, self.mtp, self.rows = trunk, mtp, []
        self.hidden = np.zeros((0, trunk.hidden), np.float32)
        self.pending = np.zeros(trunk.hidden, np.float32)

    def process(self, ids: list[int], start: int) -> np.ndarray:
        """Run `ids` through the trunk, then through the block with the trunk's rows; the trunk's logits."""
        logits, self.hidden = self.trunk.run(ids, start)
        self.block(ids, start, np.vstack([self.pending, self.hidden[:-1]]))
        self.pending = self.hidden[-1]
        return logits

    def accept(self, accepted: int, start: int) -> None:
        """Of the drafts behind position `start`, which were processed, that many are right."""
        self.pending = self.hidden[accepted]
        self.mtp.remove(start + accepted + 1)

    def block(self, ids: list[int], start: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logits, hidden = self.mtp.run(ids, start, rows)
        self.rows += [(token, row, start + k, logits[k]) for k, (token, row) in enumerate(zip(ids, rows))]
        return logits, hidden

    def draft(self, token: int, start: int) -> list[np.ndarray]:
        """The logits of the drafts after `token`, which has position `start`."""
        said, row = [], self.pending
        for k in range(DRAFTS):
            (logits,), (row,) = self.block([token], start + k, row[None])
            token = int(logits.argmax())
            said.append(logits)
        self.mtp.remove(start)
        return said


def compare(path: Path, drafting: Drafting) -> float:
    """The largest relative difference between llama.cpp's logits and numpy's."""
    numpy_block, worst = Block(path), 0.0
    for token, hidden, position, logits in drafting.rows:
        del numpy_block.cache[position:]
        found, _ = numpy_block.row(token, hidden.astype(np.float64), position)
        worst = max(worst, float(np.linalg.norm(found - logits) / np.linalg.norm(found)))
    return worst


def rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def largest(logits: np.ndarray) -> dict:
    order = np.argsort(-logits, kind="stable")[:LARGEST]
    return {"ids": order.tolist(), "logits": rounded(logits[order]),
            "sum_of_squares": rounded([(logits.astype(np.float64) ** 2).sum()])[0]}


def answers(path: Path, text: list[int]) -> dict:
    llama_cpp.llama_log_set(silent, ctypes.c_void_p())
    params = plain_model_params()
    params.n_gpu_layers, params.load_mtp = 0, True
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    drafting = Drafting(Context(model, mtp=False), Context(model, mtp=True))
    n, leads = len(text), []

    def best(logits: np.ndarray) -> int:
        leads.append(float(margins(logits) / logits.std()))
        return int(logits.argmax())

    trunk_logits = drafting.process(text, 0)[-1]
    c, middle = best(trunk_logits), drafting.rows[MIDDLE][3]
    said = drafting.draft(c, n)
    drafts = [best(logits) for logits in said]
    checked = [best(logits) for logits in drafting.process([c, *drafts], n)]
    accepted = next((k for k in range(DRAFTS) if drafts[k] != checked[k]), DRAFTS)
    drafting.accept(accepted, n)
    said_again = drafting.draft(checked[accepted], n + accepted + 1)
    again = [best(logits) for logits in said_again]

    relative = compare(path, drafting)
    print(f"c {c}, drafts {drafts}, trunk {checked}, {accepted} accepted, then {again}; least lead {min(leads):.4f}; "
          f"numpy differs by {relative:.1e}")
    if relative > AGREEMENT or min(leads) < LEAST_LEAD:
        raise SystemExit("numpy does not agree, or a token does not lead clearly")
    return {"text": text, "next": c, "trunk": largest(trunk_logits), "middle": MIDDLE, "middle_logits": rounded(middle),
            "drafts": drafts, "draft_logits": [rounded(logits) for logits in said], "checked": checked,
            "accepted": accepted, "drafts_again": again, "draft_again": largest(said_again[0])}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", type=Path, help="where to keep the model")
    arguments.add_argument("--target", type=Path, default=FIXTURES.parent / "qwen35-mtp.json", help="the JSON")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = options.model or Path(scratch) / "qwen35-mtp.gguf"
        write_model(path)
        sums = {name: fnv1a(values_of(name, shape).astype("<f4").tobytes())
                for name, shape in block(GGUFReader(BASE).fields).items()}
        said = answers(path, TEXT)
    entry = {"made_with": {"llama-cpp-python": package.__version__, "numpy": np.__version__},
             "base": BASE.name, "fnv1a": sums, **said}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in entry.items())
    options.target.write_text(f"{{{lines}}}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
