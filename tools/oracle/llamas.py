"""The two versions of llama.cpp that are asked, behind one interface."""

from __future__ import annotations

import json
import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import numpy as np

DRIVER = Path(os.environ.get("LLAMA_NEWEST", ".oracle/newest/driver"))
"""The newest llama.cpp: newest/build.sh makes it."""
NEWEST = "llama-cpp-sys-4 0.11.0"
# The numbers of YaRN are the file's: `Llama` has defaults of its own.
BY_FILE = {"yarn_attn_factor": -1.0, "yarn_beta_fast": -1.0, "yarn_beta_slow": -1.0}


def plain_model_params():
    """llama.cpp's defaults without repacked weight buffers.

    The same weights then take the same path on every x86 machine, and the AMX kernels stay out of it: on some virtual
    machines the processor announces AMX and then faults when its tiles are configured. `Llama` has no argument for it.
    """
    params = default_model_params()
    params.use_extra_bufts = False
    return params


try:
    from llama_cpp import GGML_TYPE_F16, GGML_TYPE_F32, Llama, llama_cpp

    default_model_params = llama_cpp.llama_model_default_params
    llama_cpp.llama_model_default_params = plain_model_params
except ModuleNotFoundError:  # Models that only the newest version knows do without it.
    GGML_TYPE_F16, GGML_TYPE_F32, Llama = 1, 0, None


def margins(logits: np.ndarray) -> np.ndarray:
    best = np.partition(logits, -2, axis=-1)
    return best[..., -1] - best[..., -2]


class Llamas:
    """One model in one version of llama.cpp."""

    def logits(self, ids: list[int]) -> np.ndarray:
        """The logits after every id of a fresh text, as doubles (positions, vocabulary)."""
        raise NotImplementedError

    def next(self, token: int) -> np.ndarray:
        """The logits after one more id."""
        raise NotImplementedError

    def tokenized(self, text: str, special: bool = False) -> list[int]:
        """The ids of a text, with BOS where the file asks for it; special tokens of the text parsed or not."""
        raise NotImplementedError

    def greedy(self, prompt: list[int], count: int) -> tuple[list[int], list[float]]:
        """`count` ids, each the best after the ones before; and its lead over the second."""
        logits, ids, lead = self.logits(prompt)[-1], [], []
        for _ in range(count):
            ids.append(int(logits.argmax()))
            lead.append(float(margins(logits)))
            logits = self.next(ids[-1])
        return ids, lead

    @staticmethod
    def checked(logits: np.ndarray) -> np.ndarray:
        if not np.isfinite(logits).all():
            raise SystemExit("llama.cpp gave logits that are not finite")
        return logits.astype(np.float64)


class Oracle(Llamas):
    """The version of the `llama-cpp-python` package, every position's logits kept."""

    def __init__(self, path: Path, kv_type: int, context: int = 1024):
        self.llama = Llama(str(path), n_ctx=context, n_batch=512, n_threads=2, n_threads_batch=2, n_gpu_layers=0,
                           logits_all=True, flash_attn=False, type_k=kv_type, type_v=kv_type, verbose=False, **BY_FILE)

    def logits(self, ids: list[int]) -> np.ndarray:
        self.llama.reset()
        self.llama.eval(ids)
        return self.checked(self.llama.scores[:len(ids)])

    def next(self, token: int) -> np.ndarray:
        self.llama.eval([token])
        return self.checked(self.llama.scores[self.llama.n_tokens - 1])

    def tokenized(self, text: str, special: bool = False) -> list[int]:
        return self.llama.tokenize(text.encode(), add_bos=True, special=special)


class Newest(Llamas):
    """The newest version, through newest/driver.cpp. Without a context it only tokenizes."""

    def __init__(self, path: Path, kv_type: int = GGML_TYPE_F32, context: int = 1024):
        cache = {GGML_TYPE_F16: "f16", GGML_TYPE_F32: "f32"}[kv_type] if context else "vocab"
        self.driver = subprocess.Popen([DRIVER, path, cache, str(context)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def __del__(self):
        self.driver.stdin.close()
        self.driver.wait()
        self.driver.stdout.close()

    def ask(self, **question: object) -> dict:
        try:
            self.driver.stdin.write(json.dumps(question) + "\n")
            self.driver.stdin.flush()
        except BrokenPipeError:
            raise SystemExit("the driver has ended")
        line = self.driver.stdout.readline()
        if not line:
            raise SystemExit("the driver has ended")
        return json.loads(line)

    def logits(self, ids: list[int]) -> np.ndarray:
        self.ask(clear=True)
        return self.checked(np.array(self.ask(ids=ids, all=True)["logits"], dtype=np.float64))

    def next(self, token: int) -> np.ndarray:
        return self.checked(np.array(self.ask(ids=[token])["logits"][0], dtype=np.float64))

    def tokenized(self, text: str, special: bool = False) -> list[int]:
        return self.ask(text=text, special=special)["ids"]

    def embedding(self, ids: list[int]) -> list[float]:
        """The pooled embedding of one input, not normalised."""
        return self.ask(embed=ids)["embedding"]


def made_with(is_newest: bool = False) -> dict:
    package = {"llama.cpp": NEWEST} if is_newest else {"llama-cpp-python": version("llama-cpp-python")}
    return {**package, "gguf": version("gguf"), "numpy": version("numpy"), "exact": "F32 twin, f32 KV cache",
            "native": "the file, f16 KV cache", "gelu": "computed in f32"}
