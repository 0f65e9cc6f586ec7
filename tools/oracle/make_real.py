"""Ask llama.cpp what two published models say, and write it down for the suite `real`.

    python tools/oracle/make_real.py [SMOLLM2.gguf] [GEMMA3.gguf]    # tests/fixtures/real/texts.json -> NAME.json

`node tools/real-models.mjs` fetches the models and prints their paths. Each runs as its F32 twin with an f32 KV cache
(see make_expectations.py); only the ids of texts come from the file itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from jinja2.sandbox import ImmutableSandboxedEnvironment
from llama_cpp import GGML_TYPE_F16, GGML_TYPE_F32, Llama

from f32_twin import write_twin
from llamas import Oracle, made_with
from make_expectations import forced

TESTS = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "real"
CONTEXT = 1536
GREEDY_IDS, GREEDY_TEXTS = 40, 3
LEAST_LEAD = 0.05  # Greedy text must not hang on a near tie.
MESSAGES = [{"role": "user", "content": "Name the three primary colours."}]


def field(reader: GGUFReader, key: str):
    return reader.fields[key].contents() if key in reader.fields else None


def texts_as_ids(llama: Llama, texts: list[str]) -> list[list]:
    """For each text its ids, and its ids with special tokens read where these differ."""
    rows = []
    for text in texts:
        plain, special = (llama.tokenize(text.encode(), add_bos=False, special=flag) for flag in (False, True))
        rows.append([text, plain] + ([special] if special != plain else []))
    return rows


def clear_greedy(exact: Oracle, half_cache: Oracle, prompts: list[str]) -> list[dict]:
    """Greedy texts of the first prompts whose choices are all clear and the same with an f16 KV cache."""
    rows: list[dict] = []
    for text in prompts:
        if len(rows) == GREEDY_TEXTS:
            break
        prompt = exact.llama.tokenize(text.encode(), add_bos=True, special=False)
        ids, lead = exact.greedy(prompt, GREEDY_IDS)
        clear = min(lead) >= LEAST_LEAD and half_cache.greedy(prompt, GREEDY_IDS)[0] == ids
        print(f"{text[:40]!r}: least lead {min(lead):.3f}{'' if clear else ', passed over'}", flush=True)
        if clear:
            written = exact.llama.detokenize(ids, prev_tokens=prompt).decode()
            rows.append({"prompt": text, "prompt_ids": prompt, "ids": ids, "text": written,
                         "least_lead": round(min(lead), 3)})
    return rows


def chat(llama: Llama, reader: GGUFReader) -> dict | None:
    """A conversation as the file's template writes it, and its ids."""
    template = field(reader, "tokenizer.chat_template")
    if template is None:
        return None
    tokens = field(reader, "tokenizer.ggml.tokens")
    names = {f"{name}_token": tokens[field(reader, f"tokenizer.ggml.{name}_token_id")] for name in ("bos", "eos")}
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    text = environment.from_string(template).render(messages=MESSAGES, add_generation_prompt=True, **names)
    return {"messages": MESSAGES, "text": text, "ids": llama.tokenize(text.encode(), add_bos=False, special=True)}


def expectations(path: Path, given: dict, twin: Path) -> dict:
    write_twin([path], twin)
    reader = GGUFReader(path)
    exact, half_cache = (Oracle(twin, ty, CONTEXT) for ty in (GGML_TYPE_F32, GGML_TYPE_F16))
    file = Llama(str(path), vocab_only=True, verbose=False)
    document = "\n\n".join(given["documents"].values())
    ids = file.tokenize(document.encode(), add_bos=True, special=False)
    logits = exact.logits(ids)
    said = forced(logits, ids)
    moved = np.abs(np.array(forced(half_cache.logits(ids), ids)["logprobs"]) - np.array(said["logprobs"]))
    print(f"{len(ids)} ids, mean logprob {np.mean(said['logprobs']):.3f}, f16 cache alone moves {moved.mean():.5f}; "
          f"{sum(margin < LEAST_LEAD for margin in said['margin'])} near ties")
    return {"made_with": {**made_with(), "n_ctx": CONTEXT}, "file": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "texts": texts_as_ids(file, given["texts"]),
            "ids": ids, **said, "greedy": clear_greedy(exact, half_cache, given["prompts"]), "chat": chat(file, reader)}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("files", nargs="+", type=Path)
    given = json.loads((TESTS / "texts.json").read_text())
    for path in arguments.parse_args().files:
        with tempfile.TemporaryDirectory() as scratch:
            entry = expectations(path, given, Path(scratch) / "twin.gguf")
        target = TESTS / f"{path.stem}.json"
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'), ensure_ascii=False)}"
                           for key, value in entry.items())
        target.write_text(f"{{\n{lines}\n}}\n")
        print(f"{target.stat().st_size} bytes in {target.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
