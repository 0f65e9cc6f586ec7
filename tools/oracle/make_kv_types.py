"""Ask llama.cpp what models say with a KV cache of Q8_0 and Q4_0: tests/fixtures/kv_types.json.

    python tools/oracle/make_kv_types.py

The models are F32 twins (see f32_twin.py), the texts those of the models' own expectations. llama.cpp takes such
caches with flash attention alone, whose CPU kernel also rounds each query to 8 bits; it is told not to rotate keys and
values first, which webgguf does not do either.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

os.environ["LLAMA_ATTN_ROT_DISABLE"] = "1"  # read when a cache is made

import numpy as np
from llama_cpp import GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, Llama

from f32_twin import write_twin
from llamas import BY_FILE
from make_expectations import log_softmax, rounded
from random_model import FIXTURES

# Heads of 32 to 256 values, and sliding windows.
MODELS = ["llama-f32", "qwen3-q4_0", "gemma3-f16"]
TYPES = {"f16": GGML_TYPE_F16, "q8_0": GGML_TYPE_Q8_0, "q4_0": GGML_TYPE_Q4_0}
TOKENS = 160


def logits(path: Path, kv_type: int, ids: list[int]) -> np.ndarray:
    llama = Llama(str(path), n_ctx=512, n_batch=512, n_threads=2, n_gpu_layers=0, logits_all=True,
                  flash_attn=True, type_k=kv_type, type_v=kv_type, verbose=False,
                  **BY_FILE)
    llama.eval(ids)
    return llama.scores[:len(ids)].astype(np.float64)


def main() -> None:
    said = {}
    for name in MODELS:
        expected = json.loads((FIXTURES / f"{name}.json").read_text())
        ids = expected["forced"][:TOKENS]
        with tempfile.TemporaryDirectory() as folder:
            twin = Path(folder) / "twin.gguf"
            write_twin([FIXTURES / f"{name}.gguf"], twin)
            of_types = {key: log_softmax(logits(twin, kv_type, ids)) for key, kv_type in TYPES.items()}
        said[name] = {key: rounded(found[np.arange(TOKENS - 1), ids[1:]]) for key, found in of_types.items()}
        exact = np.array(expected["exact"]["logprobs"][:TOKENS - 1])
        print(name, {key: float(np.abs(np.array(found) - exact).mean()) for key, found in said[name].items()})
    (FIXTURES.parent / "kv_types.json").write_text(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
