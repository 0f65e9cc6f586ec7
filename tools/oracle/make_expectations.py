"""Ask llama.cpp what the models say, and write it down.

    python tools/oracle/make_expectations.py                  # tests/fixtures/models/*.gguf -> a JSON for each
    python tools/oracle/make_expectations.py --only phi3      # the models with this in their name
    python tools/oracle/make_expectations.py --storyteller    # www/models/storyteller.gguf -> storyteller.json

Every model is asked twice: `native` is the file itself, `exact` its F32 twin (see f32_twin.py). The meaning of each
field is in tests/fixtures/models/README.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGUFReader

from f32_twin import write_twin
from families import MODELS
from llamas import GGML_TYPE_F16, GGML_TYPE_F32, Llama, Llamas, Newest, Oracle, made_with, margins
from random_model import FIXTURES, Model

STORYTELLER = FIXTURES.parents[2] / "www" / "models" / "storyteller.gguf"
TEXT = "The river runs under 12 old bridges,\nand nobody knows why."
PROMPT_IDS, GREEDY_IDS = 24, 64
LEAST_LEAD = 0.02  # Greedy text of a random model must not hang on a near tie ...
NEAR_TIE, NEAR_TIES_ALLOWED = 0.005, 2  # ... and in forced text few positions may.
SPECIAL_TYPES = (2, 3, 5)  # unknown, control, unused

def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def rounded(values: np.ndarray | list[float], digits: int = 5) -> list[float]:
    return [round(float(value), digits) for value in values]


def varied_text(oracle: Llamas, rng: np.random.Generator, ordinary: list[int], count: int) -> list[int]:
    """`count` ids: two in three drawn from the model's own distribution, one in three at random."""
    ids = [int(rng.choice(ordinary))]
    logits = oracle.logits(ids)[-1]
    while len(ids) < count:
        chances = np.exp(log_softmax(logits[ordinary]))
        token = int(rng.choice(ordinary, p=None if rng.random() < 1 / 3 else chances / chances.sum()))
        ids.append(token)
        logits = oracle.next(token)
    return ids


def forced(logits: np.ndarray, ids: list[int]) -> dict:
    """What the model says at each position of a text it is given."""
    logprobs = [log_softmax(row)[token] for row, token in zip(logits, ids[1:])]
    return {"top1": logits.argmax(axis=-1).tolist(), "logprobs": rounded(logprobs),
            "margin": rounded([margins(row) for row in logits], 4)}


def clear_text(exact: Llamas, rng: np.random.Generator, ordinary: list[int], count: int) -> list[int]:
    """Draw texts of `count` ids until few positions are near ties."""
    for _ in range(100):
        ids = varied_text(exact, rng, ordinary, count)
        if (margins(exact.logits(ids)) < NEAR_TIE).sum() <= NEAR_TIES_ALLOWED:
            return ids
    raise SystemExit("no text with few near ties in 100 draws")


def clear_prompt(exact: Llamas, half_cache: Llamas, rng: np.random.Generator, ordinary: list[int]) -> list[int]:
    """Draw prompts until the greedy text is the same with an f16 KV cache and no choice in it is a near tie."""
    for _ in range(100):
        prompt = [int(token) for token in rng.choice(ordinary, PROMPT_IDS)]
        ids, lead = exact.greedy(prompt, GREEDY_IDS)
        if min(lead) >= LEAST_LEAD and half_cache.greedy(prompt, GREEDY_IDS)[0] == ids:
            return prompt
    raise SystemExit("no prompt with a clear greedy text in 100 draws")


@dataclass
class Question:
    """What a model is asked, and how."""
    seed: str
    greedy_ids: int = GREEDY_IDS
    forced_ids: int = 320
    context: int = 1024
    prompt: list[int] | None = None
    """Without one, it is drawn, and texts with near ties are passed over."""
    newest: bool = False


def expectations(parts: list[Path], twin: Path, question: Question) -> dict:
    """Everything expected of one model."""
    write_twin(parts, twin)
    ask, context = Newest if question.newest else Oracle, question.context
    oracles = {"exact": ask(twin, GGML_TYPE_F32, context), "native": ask(parts[0], GGML_TYPE_F16, context),
               "exact_f16_cache": ask(twin, GGML_TYPE_F16, context)}
    rng = np.random.default_rng(zlib.crc32(f"expectations of {question.seed}".encode()))
    ordinary, prompt = ordinary_ids(parts[0]), question.prompt
    if prompt is None:
        prompt = clear_prompt(oracles["exact"], oracles["exact_f16_cache"], rng, ordinary)
        ids = clear_text(oracles["exact"], rng, ordinary, question.forced_ids)
    else:
        ids = varied_text(oracles["exact"], rng, ordinary, question.forced_ids)
    logits = {name: oracle.logits(ids) for name, oracle in oracles.items()}
    said = {}
    for name, oracle in oracles.items():
        greedy, lead = oracle.greedy(prompt, question.greedy_ids)
        said[name] = {"greedy": greedy, "greedy_margin": rounded(lead, 4), **forced(logits[name], ids)}
    said["exact"]["prompt_logits"] = rounded(oracles["exact"].logits(prompt)[-1], 4)
    moved = {name: rounding(said["exact"], said[name], logits["exact"], logits[name])
             for name in ("native", "exact_f16_cache")}
    return {"made_with": made_with(question.newest), "files": [part.name for part in parts], "prompt": prompt,
            "text": TEXT, "text_ids": oracles["native"].tokenized(TEXT), "forced": ids,
            "exact": said["exact"], "native": said["native"], "rounding": moved}


def rounding(exact: dict, other: dict, exact_logits: np.ndarray, other_logits: np.ndarray) -> dict:
    """How far the answers are from the exact ones."""
    moved = np.array(other["logprobs"]) - np.array(exact["logprobs"])
    same = [a == b for a, b in zip(exact["greedy"], other["greedy"])]
    relative = np.linalg.norm(other_logits - exact_logits) / np.linalg.norm(exact_logits)
    return {"top1_agreement": round(float(np.mean(np.array(exact["top1"]) == other["top1"])), 4),
            "mean_abs_logprob": round(float(np.abs(moved).mean()), 5),
            "mean_logprob_shift": round(float(moved.mean()), 5),
            "relative_logits": round(float(relative), 6),
            "greedy_same_until": same.index(False) if False in same else len(same)}


def ordinary_ids(path: Path) -> list[int]:
    """Ids that stand for text."""
    types = GGUFReader(path).fields["tokenizer.ggml.token_type"].contents()
    return [token for token, kind in enumerate(types) if kind not in SPECIAL_TYPES]


def check_sanity(name: str, entry: dict, special: set[int]) -> str:
    """Refuse a model whose answers would test little; return a line that describes it."""
    exact = entry["exact"]
    logits = np.array(exact["prompt_logits"])
    problems = []
    if len(set(exact["greedy"])) < 12:
        problems.append(f"greedy text has only {len(set(exact['greedy']))} different ids")
    if len(set(exact["top1"])) < 40:
        problems.append(f"top-1 has only {len(set(exact['top1']))} different ids")
    if special & set(exact["greedy"] + exact["top1"] + entry["native"]["greedy"] + entry["native"]["top1"]):
        problems.append("a special token is a best one")
    if len(exact["top1"]) != len(entry["forced"]) or len(exact["logprobs"]) != len(entry["forced"]) - 1:
        problems.append("wrong number of positions")
    if problems:
        raise SystemExit(f"{name}: {'; '.join(problems)}")
    near = sum(margin < 0.01 for margin in exact["margin"])
    return (f"{name:18} greedy {len(set(exact['greedy'])):2} ids, least lead {min(exact['greedy_margin']):.4f}; "
            f"forced top-1 {len(set(exact['top1'])):3} ids, {near} leads < 0.01, mean logprob "
            f"{np.mean(exact['logprobs']):.2f}; best chance after the prompt {np.exp(log_softmax(logits)).max():.2f}; "
            f"native top-1 {entry['rounding']['native']['top1_agreement']}, "
            f"|logprob| {entry['rounding']['native']['mean_abs_logprob']}")


def random_model(model: Model, scratch: Path) -> dict:
    """What is expected of a committed model."""
    parts = sorted(FIXTURES.glob(f"{model.name}-0*-of-*.gguf")) or [FIXTURES / f"{model.name}.gguf"]
    question = Question(model.seed_name or model.name, forced_ids=model.forced_ids, context=model.context,
                        newest=model.newest)
    entry = expectations(parts, scratch / f"{model.name}.gguf", question)
    tokens = model.vocabulary()
    special = set(range(len(tokens.tokens))) - set(tokens.ordinary_ids())
    print(check_sanity(model.name, entry, special), flush=True)
    return entry


def random_models(scratch: Path, only: str) -> None:
    """Write what is expected of the committed models; a copy in another wrapping must say exactly what its original
    says."""
    for model in (model for model in MODELS if only in model.name):
        entry = random_model(model, scratch)
        if model.seed_name:
            original = json.loads((FIXTURES / f"{model.seed_name}.json").read_text())
            if any(entry[key] != original[key] for key in entry if key != "files"):
                raise SystemExit(f"{model.name} differs from {model.seed_name}")
            entry = {"made_with": entry["made_with"], "files": entry["files"], "same_as": model.seed_name}
        dump(entry, FIXTURES / f"{model.name}.json")
    write_lists()


def storyteller(scratch: Path) -> None:
    text = "Once upon a time"
    llama = Llama(str(STORYTELLER), vocab_only=True, verbose=False)
    prompt = llama.tokenize(text.encode(), add_bos=True, special=False)
    entry = expectations([STORYTELLER], scratch / "storyteller.gguf", Question("storyteller", 100, prompt=prompt))
    entry["prompt_text"] = text
    entry["greedy_text"] = llama.detokenize(entry["exact"]["greedy"]).decode("utf-8", "replace")
    print(entry["rounding"], entry["greedy_text"], sep="\n")
    dump(entry, FIXTURES / "storyteller.json")


def dump(entry: dict, path: Path) -> None:
    """One line per field: small, and a change shows where it is."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"
                       for key, value in entry.items())
    path.write_text(f"{{{lines}}}\n")


def write_lists() -> None:
    """The names of all models for the tests: a line each in models.txt, and a test each in models.rs."""
    paths = sorted(FIXTURES.glob("*.json"), key=lambda path: path.stem)
    paths = [path for path in paths if path.name != "storyteller.json"]
    names = [path.stem for path in paths]
    (FIXTURES / "models.txt").write_text("".join(f"{name}\n" for name in names))
    tests = [f"{'copy' if 'same_as' in json.loads(path.read_text()) else 'model'}!"
             f"({re.sub('[-.]', '_', path.stem)}, \"{path.stem}\");\n" for path in paths]
    (FIXTURES / "models.rs").write_text("".join(tests))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--storyteller", action="store_true", help="the built-in model instead of the random ones")
    arguments.add_argument("--only", default="", help="a part of the names of the models to ask")
    arguments.add_argument("--lists", action="store_true", help="only write models.txt and models.rs anew")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if options.lists:
            write_lists()
        elif options.storyteller:
            storyteller(Path(scratch))
        else:
            random_models(Path(scratch), options.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
