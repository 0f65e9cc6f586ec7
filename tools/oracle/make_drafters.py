"""What the newest llama.cpp drafts with EAGLE-3, Gemma 4's assistants and DFlash: tests/fixtures/drafters/*.json.

    python tools/oracle/make_drafters.py [name ...]

Each drafter is of one of tests/fixtures/models, with tensors whose values follow from their names (`named_values.py`),
so that tests make it again in memory. `newest/drafter.cpp` runs llama.cpp (`LLAMA_DRAFTER` names another program), and
is fed as llama.cpp's own `common/speculative.cpp` feeds it: the token at p + 1 goes with the features of the token at
p, at position p. An assistant reads the caches of its model, and all tokens of its draft have the position of the first
one. DFlash keeps keys and values of the features at their positions, and drafts a block in one run: the last token and
masks, of one token to be drafted, of seven and of three. What the keys of the files mean is in `make_blocks.py`. Logits are of the drafter's own vocabulary.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType

from f32_twin import write_twin
from make_blocks import DRAFTS, LEAST_LEAD, LENGTH, MIDDLE, MODELS, Driver, largest, write_entry
from named_values import fnv1a, values_of

TARGET = MODELS.parent / "drafters"
DRIVER = Path(os.environ.get("LLAMA_DRAFTER", ".oracle/newest/drafter"))
TEXTS = 12_000
MASK = 7  # of DFlash
# Name of the model's file, then numbers of the drafter: its width, query heads, kv heads, values of a head, width of
# the feed-forward, layers that it reads, tokens of its own vocabulary (0: the model's), whether it has an embedding, a
# head and divisors of its own, whether it normalises what it reads, and whether its stream begins normalised.
CASES = {
    "qwen3": ("qwen3-q4_0", dict(width=96, heads=5, kv_heads=1, head=20, ffn=44, taps=[0, 1, 1], own_vocab=150,
                                 embedding=False, head_of_own=True, factors=False, norm_fc=False, normed=False)),
    "llama": ("llama-f32", dict(width=40, heads=4, kv_heads=2, head=12, ffn=52, taps=[0, 0, 0], own_vocab=0,
                                embedding=True, head_of_own=True, factors=True, norm_fc=True, normed=True)),
    "gpt-oss": ("gpt-oss-mxfp4", dict(width=64, heads=3, kv_heads=3, head=16, ffn=36, taps=[0, 1, 1], own_vocab=0,
                                      embedding=False, head_of_own=False, factors=False, norm_fc=True, normed=False)),
}
# The same of assistants: width, and of each layer whether it has a window, query heads, kv heads and the width of the
# feed-forward; values of a head without a window and with one, how many of the latter turn, the window. Texts of
# assistants are longer than windows.
ASSISTANTS = {
    "gemma4-e": ("gemma4-e-q8_0", dict(width=48, slides=[1, 1, 1, 0], heads=[4, 2, 6, 3], kv_heads=[2, 2, 2, 1],
                                       ffn=[40, 40, 40, 76], head=64, head_sliding=32, turned=32, window=40)),
    "gemma4": ("gemma4-bf16", dict(width=92, slides=[0, 1], heads=[2, 6], kv_heads=[1, 3], ffn=[52, 36], head=80,
                                   head_sliding=40, turned=28, window=33)),
}
LONG = 44
# The same of DFlash, which is as wide as its model: of each layer whether it has a window; whether values have a
# product of their own, tokens of a block see those behind them, blocks end normalised and scaled, heads have sinks,
# gates are GELUs; factors of embeddings and of what attention adds.
BLOCKS = {
    "dflash-qwen3": ("qwen3-q4_0", dict(slides=[0, 0], heads=5, kv_heads=1, head=20, ffn=44, taps=[0, 1], own_vocab=150,
                                        embedding=False, head_of_own=True, factors=False, window=0, values=True,
                                        causal=False, more=False, scales=[])),
    "dflash-gemma4": ("gemma4-bf16", dict(slides=[1, 0, 1], heads=6, kv_heads=3, head=12, ffn=52, taps=[0, 1, 1, 2],
                                          own_vocab=0, embedding=True, head_of_own=False, factors=True, window=9,
                                          values=False, causal=True, more=True, scales=[3.5, 0.25, 0.75])),
    "dflash-qwen35": ("qwen35-f32", dict(slides=[0], heads=3, kv_heads=3, head=8, ffn=68, taps=[0, 1, 2], own_vocab=0,
                                         embedding=False, head_of_own=False, factors=False, window=0, values=True,
                                         causal=False, more=False, scales=[])),
}
SIZES = [1, 7]


def shapes_of(of: dict, hidden: int, vocab: int) -> dict[str, tuple[int, ...]]:
    """The drafter's tensors but `d2t`, and their shapes in numpy's order."""
    width, q, kv = of["width"], of["heads"] * of["head"], of["kv_heads"] * of["head"]
    layer = {"attn_norm": (width,), "attn_norm_2": (width,), "attn_q": (q, 2 * width), "attn_k": (kv, 2 * width),
             "attn_v": (kv, 2 * width), "attn_output": (width, q), "ffn_norm": (width,), "ffn_gate": (of["ffn"], width),
             "ffn_up": (of["ffn"], width), "ffn_down": (width, of["ffn"])}
    shapes = {f"blk.0.{name}.weight": shape for name, shape in layer.items()}
    shapes |= {"fc.weight": (width, 3 * hidden), "output_norm.weight": (width,)}
    if of["norm_fc"]:
        shapes["enc.output_norm.weight"] = (3 * hidden,)
    if of["embedding"]:
        shapes["token_embd.weight"] = (vocab, width)
    if of["head_of_own"]:
        shapes["output.weight"] = (of["own_vocab"] or vocab, width)
    if of["factors"]:
        shapes["rope_freqs.weight"] = (of["head"] // 2,)
    return shapes


def assistant_shapes(of: dict, hidden: int, vocab: int) -> dict[str, tuple[int, ...]]:
    """The same of an assistant."""
    width, shapes = of["width"], {}
    for layer, slides in enumerate(of["slides"]):
        head, ffn = of["head_sliding"] if slides else of["head"], of["ffn"][layer]
        q = of["heads"][layer] * head
        own = {"attn_norm": (width,), "attn_q": (q, width), "attn_q_norm": (head,), "attn_output": (width, q),
               "post_attention_norm": (width,), "ffn_norm": (width,), "ffn_gate": (ffn, width), "ffn_up": (ffn, width),
               "ffn_down": (width, ffn), "post_ffw_norm": (width,), "layer_output_scale": (1,)}
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in own.items()}
    return shapes | {
        "nextn.pre_projection.weight": (width, 2 * hidden), "nextn.post_projection.weight": (hidden, width),
        "token_embd.weight": (vocab, width), "output_norm.weight": (width,), "rope_freqs.weight": (of["head"] // 2,)}


def assistant_keys(of: dict, hidden: int, writer: GGUFWriter) -> None:
    name, layers = "gemma4-assistant", len(of["slides"])
    numbers = {"context_length": 512, "embedding_length": of["width"], "embedding_length_out": hidden,
               "block_count": layers, "nextn_predict_layers": layers, "attention.shared_kv_layers": layers,
               "attention.key_length": of["head"], "attention.value_length": of["head"],
               "attention.key_length_swa": of["head_sliding"], "attention.value_length_swa": of["head_sliding"],
               "rope.dimension_count": of["head"], "rope.dimension_count_swa": of["turned"],
               "attention.sliding_window": of["window"]}
    for key, number in numbers.items():
        writer.add_uint32(f"{name}.{key}", number)
    for key, list_of in {"feed_forward_length": "ffn", "attention.head_count": "heads",
                         "attention.head_count_kv": "kv_heads"}.items():
        writer.add_array(f"{name}.{key}", of[list_of])
    writer.add_array(f"{name}.attention.sliding_window_pattern", [bool(slides) for slides in of["slides"]])
    writer.add_float32(f"{name}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{name}.rope.freq_base", 5000.0)
    writer.add_float32(f"{name}.rope.freq_base_swa", 700.0)


def block_shapes(of: dict, hidden: int, vocab: int) -> dict[str, tuple[int, ...]]:
    """The same of DFlash."""
    q, kv, shapes = of["heads"] * of["head"], of["kv_heads"] * of["head"], {}
    own = {"attn_norm": (hidden,), "attn_q": (q, hidden), "attn_k": (kv, hidden), "attn_v": (kv, hidden),
           "attn_q_norm": (of["head"],), "attn_k_norm": (of["head"],), "attn_output": (hidden, q), "ffn_norm": (hidden,),
           "ffn_gate": (of["ffn"], hidden), "ffn_up": (of["ffn"], hidden), "ffn_down": (hidden, of["ffn"])}
    if not of["values"]:
        del own["attn_v"]
    if of["more"]:
        own |= {"post_attention_norm": (hidden,), "post_ffw_norm": (hidden,), "layer_output_scale": (1,),
                "attn_sinks": (of["heads"],)}
    for layer in range(len(of["slides"])):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in own.items()}
    shapes |= {"fc.weight": (hidden, len(of["taps"]) * hidden), "output_norm.weight": (hidden,),
               "enc.output_norm.weight": (hidden,)}
    if of["embedding"]:
        shapes["token_embd.weight"] = (vocab, hidden)
    if of["head_of_own"]:
        shapes["output.weight"] = (of["own_vocab"] or vocab, hidden)
    if of["factors"]:
        shapes["rope_freqs.weight"] = (of["head"] // 2,)
    return shapes


def block_keys(of: dict, hidden: int, writer: GGUFWriter) -> None:
    numbers = {"context_length": 512, "embedding_length": hidden, "block_count": len(of["slides"]),
               "feed_forward_length": of["ffn"], "attention.head_count": of["heads"],
               "attention.head_count_kv": of["kv_heads"], "attention.key_length": of["head"],
               "attention.value_length": of["head"], "rope.dimension_count": of["head"], "block_size": 8}
    if of["window"]:
        numbers["attention.sliding_window"] = of["window"]
        writer.add_array("dflash.attention.sliding_window_pattern", [bool(slides) for slides in of["slides"]])
    for key, number in numbers.items():
        writer.add_uint32(f"dflash.{key}", number)
    for key, scale in zip(["embedding_scale", "attention.scale", "attention.value_scale"], of["scales"]):
        writer.add_float32(f"dflash.{key}", scale)
    writer.add_float32("dflash.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32("dflash.rope.freq_base", 5000.0)
    writer.add_array("dflash.target_layers", of["taps"])
    writer.add_bool("dflash.attention.causal", of["causal"])
    if of["more"]:
        writer.add_string("dflash.hidden_activation", "gelu_pytorch_tanh")
    writer.add_uint32("tokenizer.ggml.mask_token_id", MASK)


def eagle3_keys(of: dict, hidden: int, writer: GGUFWriter) -> None:
    numbers = {"context_length": 512, "embedding_length": of["width"], "block_count": 1,
               "feed_forward_length": of["ffn"], "attention.head_count": of["heads"],
               "attention.head_count_kv": of["kv_heads"], "attention.key_length": of["head"],
               "attention.value_length": of["head"], "rope.dimension_count": of["head"], "target_hidden_size": hidden}
    for key, number in numbers.items():
        writer.add_uint32(f"eagle3.{key}", number)
    writer.add_float32("eagle3.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32("eagle3.rope.freq_base", 5000.0)
    writer.add_array("eagle3.target_layers", of["taps"])
    writer.add_bool("eagle3.norm_before_fc", of["norm_fc"])
    writer.add_bool("eagle3.norm_before_residual", of["normed"])


def write_drafter(of: dict, model: GGUFReader, target: Path) -> dict[str, np.ndarray]:
    """A drafter of the model, with the model's tokens; the values of its tensors."""
    architecture = model.fields["general.architecture"].contents()
    hidden = model.fields[f"{architecture}.embedding_length"].contents()
    is_block, is_assistant = "causal" in of, "head_sliding" in of
    writer = GGUFWriter(target, "dflash" if is_block else "gemma4-assistant" if is_assistant else "eagle3")
    writer.add_file_type(LlamaFileType.ALL_F32)
    for field in model.fields.values():
        if field.name.startswith("tokenizer.ggml.") and "mask_token" not in field.name:
            is_array = field.types[0] == GGUFValueType.ARRAY
            writer.add_key_value(field.name, field.contents(), field.types[0], field.types[1] if is_array else None)
    (block_keys if is_block else assistant_keys if is_assistant else eagle3_keys)(of, hidden, writer)
    vocab = len(model.fields["tokenizer.ggml.tokens"].data)
    shapes = (block_shapes if is_block else assistant_shapes if is_assistant else shapes_of)(of, hidden, vocab)
    made = {name: values_of(name, shape) for name, shape in shapes.items()}
    if is_assistant:
        # Scores are not scaled.
        made = {name: values / np.float32(8 if "attn_q_norm" in name else 1) for name, values in made.items()}
    for name, values in made.items():
        writer.add_tensor(name, values, raw_dtype=Type.F32)
    if of.get("own_vocab"):
        writer.add_tensor("d2t", ids_of(of), raw_dtype=Type.I64)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made


def ids_of(of: dict) -> np.ndarray:
    """The model's ids of the drafter's own."""
    return np.arange(of["own_vocab"], dtype=np.int64) * 2 + 1


class Asked(Driver):
    """llama.cpp with a model and a drafter. `pending` is the state that the next token of the text goes with."""

    def __init__(self, model: Path, drafter: Path, of: dict):
        super().__init__(DRIVER, model, drafter)
        self.vocab, self.hidden, self.width, self.taps = self.read(np.int32, 4)
        self.ids = ids_of(of) if of.get("own_vocab") else None

    def run(self, of: int, ids: list[int], start: int, states=None) -> tuple[np.ndarray, np.ndarray]:
        parts = [np.array(ids, np.int32)] + ([] if states is None else [np.asarray(states, np.float32)])
        self.ask(0, of, start, len(ids), parts=parts)
        values = self.width if of else self.taps * self.hidden
        rows = self.read(np.float32, len(ids) * (self.vocab + values)).reshape(len(ids), -1)
        logits = rows[:, : self.vocab]
        return logits[:, self.ids] if of and self.ids is not None else logits, rows[:, self.vocab :]

    def fused(self, features: np.ndarray) -> np.ndarray:
        self.ask(2, 1, 0, len(features), parts=[np.ascontiguousarray(features, np.float32)])
        return self.read(np.float32, len(features) * self.width).reshape(len(features), -1)

    def begin(self) -> None:
        for of in (0, 1):
            self.remove(of, 0)

    def process_text(self, ids: list[int], start: int) -> tuple[np.ndarray, np.ndarray]:
        """Run `ids` through the model, then through the drafter; the logits of both, of the drafter from the first
        token that has one before it."""
        logits, features = self.run(0, ids, start)
        self.states = self.fused(features)
        before = [] if start == 0 else [self.pending]
        tokens = ids[1:] if start == 0 else ids
        of_drafter, _ = self.run(1, tokens, max(start - 1, 0), np.vstack([*before, self.states[:-1]]))
        self.pending = self.states[-1]
        return logits, of_drafter

    def accept(self, accepted: int, start: int) -> None:
        self.pending = self.states[accepted]
        self.remove(1, start + accepted)

    def draft(self, token: int, start: int) -> tuple[list[int], list[np.ndarray]]:
        drafts, said, state = [], [], self.pending
        for k in range(DRAFTS):
            (logits,), (state,) = self.run(1, [token], start - 1 + k, state[None])
            best = int(logits.argmax())
            token = best if self.ids is None else int(self.ids[best])
            drafts.append(token)
            said.append(logits)
        self.remove(1, start - 1)
        return drafts, said


class AskedAssistant(Asked):
    """The same with an assistant, which runs in steps of drafts alone: its model has read the tokens before them."""

    def process_text(self, ids: list[int], start: int) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        logits, of_drafter = [], {}
        for part in [ids[:MIDDLE], ids[MIDDLE:]] if start == 0 else [ids]:
            if start == MIDDLE:
                of_drafter[MIDDLE - 1] = self.run(1, [part[0]], MIDDLE, self.pending[None])[0][0]
            found, self.states = self.run(0, part, start)
            self.pending, start = self.states[-1], start + len(part)
            logits.append(found)
        return np.vstack(logits), of_drafter

    def accept(self, accepted: int, start: int) -> None:
        self.pending = self.states[accepted]
        self.remove(0, start + accepted + 1)

    def draft(self, token: int, start: int) -> tuple[list[int], list[np.ndarray]]:
        drafts, said, state = [], [], self.pending
        for _ in range(DRAFTS):
            (logits,), (state,) = self.run(1, [token], start, state[None])
            token = int(logits.argmax())
            drafts.append(token)
            said.append(logits)
        return drafts, said


class AskedBlock(Asked):
    """The same with DFlash, which keeps keys and values of what its model has read."""

    def fused(self, features: np.ndarray, start: int) -> None:
        self.ask(2, 1, start, len(features), parts=[np.ascontiguousarray(features, np.float32)])

    def process_text(self, ids: list[int], start: int) -> tuple[np.ndarray, dict[int, list[np.ndarray]]]:
        logits, of_drafter = [], {}
        for part in [ids[:MIDDLE], ids[MIDDLE:]] if start == 0 else [ids]:
            if start == MIDDLE:
                of_drafter[MIDDLE - 1] = self.block(part[0], MIDDLE, DRAFTS)
            found, features = self.run(0, part, start)
            self.fused(features, start)
            start += len(part)
            logits.append(found)
        return np.vstack(logits), of_drafter

    def accept(self, accepted: int, start: int) -> None:
        self.remove(1, start + accepted + 1)

    def block(self, token: int, start: int, count: int) -> list[np.ndarray]:
        rows, _ = self.run(1, [token, *[MASK] * count], start)
        self.remove(1, start)
        return list(rows[1:])

    def draft(self, token: int, start: int) -> tuple[list[int], list[np.ndarray]]:
        said = self.block(token, start, DRAFTS)
        best = [int(of.argmax()) for of in said]
        return [of if self.ids is None else int(self.ids[of]) for of in best], said


def answers(asked: Asked, text: list[int]) -> tuple[float, dict]:
    """What follows the text, and the least lead of a token over the second; 0 where the model takes no draft or all."""
    asked.begin()
    leads = []

    def best(logits: np.ndarray) -> int:
        second, first = np.partition(logits, -2)[-2:]
        leads.append(float((first - second) / logits.std()))
        return int(logits.argmax())

    n = len(text)
    logits, of_drafter = asked.process_text(text, 0)
    c, middle = best(logits[-1]), of_drafter[MIDDLE - 1]
    if leads[0] < LEAST_LEAD:
        return 0.0, {}
    drafts, said = asked.draft(c, n)
    for of in said:
        best(of)
    if min(leads) < LEAST_LEAD:
        return 0.0, {}
    is_block = isinstance(asked, AskedBlock)
    of_sizes = [[largest(of) for of in asked.block(c, n, size)] for size in SIZES] if is_block else []
    checked = [best(of) for of in asked.process_text([c, *drafts], n)[0]]
    accepted = next((k for k in range(DRAFTS) if drafts[k] != checked[k]), DRAFTS)
    if not 0 < accepted < DRAFTS:
        return 0.0, {}
    asked.accept(accepted, n)
    again, said_again = asked.draft(checked[accepted], n + accepted + 1)
    for of in said_again:
        best(of)
    return min(leads), {
        "text": text, "next": c, "middle": MIDDLE,
        "middle_logits": [largest(of) for of in middle] if is_block else largest(middle), "drafts": drafts,
        **({"of_sizes": of_sizes} if is_block else {}),
        "draft_logits": [largest(of) for of in said], "checked": checked, "accepted": accepted, "drafts_again": again,
        "draft_again": [largest(of) for of in said_again] if is_block else largest(said_again[0])}


def main() -> int:
    cases = CASES | ASSISTANTS | BLOCKS
    for name in sys.argv[1:] or cases:
        base, of = cases[name]
        with tempfile.TemporaryDirectory() as scratch:
            model, drafter = Path(scratch) / "model.gguf", Path(scratch) / "drafter.gguf"
            write_twin([MODELS / f"{base}.gguf"], model)
            made = write_drafter(of, GGUFReader(model), drafter)
            kind = AskedAssistant if name in ASSISTANTS else AskedBlock if name in BLOCKS else Asked
            asked = kind(model, drafter, of)
            rng = np.random.default_rng(fnv1a(name.encode()))
            texts = rng.integers(10, asked.vocab - 10, (TEXTS, LONG if name in ASSISTANTS else LENGTH)).tolist()
            lead, found = max((answers(asked, text) for text in texts), key=lambda answer: answer[0])
        if lead < LEAST_LEAD:
            raise SystemExit("a token does not lead clearly")
        print(f"{name}: drafts {found['drafts']}, model {found['checked']}, lead {lead:.3f}", flush=True)
        sums = {tensor: fnv1a(values.astype("<f4").tobytes()) for tensor, values in made.items()}
        entry = {"made_with": "llama-cpp-sys-4 0.11.0", "base": f"{base}.gguf", "of": of, "fnv1a": sums, **found}
        write_entry(TARGET / f"{name}.json", entry)
    return 0


if __name__ == "__main__":
    sys.exit(main())
