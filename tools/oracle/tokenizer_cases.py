"""A vocabulary as a GGUF without a model, and what llama.cpp makes of texts with it: files of tests/fixtures/tokenizer.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from gguf import GGUFWriter
from llama_cpp import Llama, llama_cpp

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "tokenizer"


def texts() -> list[str]:
    """Those of cases.json."""
    cases = json.loads((FOLDER / "cases.json").read_text())["vocabularies"][0]["cases"]
    return [text for text, *_ in cases]


def write_vocabulary(path: Path, keys: Callable[[GGUFWriter], None]) -> None:
    writer = GGUFWriter(path, "llama")
    writer.add_name(path.stem)
    keys(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def detokenized(llama: Llama, ids: list[int]) -> str:
    """`Llama.detokenize` cuts tokens of more than 32 bytes."""
    room = 4096
    buffer, tokens = (ctypes.c_char * room)(), (llama_cpp.llama_token * len(ids))(*ids)
    length = llama_cpp.llama_detokenize(llama._model.vocab, tokens, len(ids), buffer, room, False, False)
    assert 0 <= length <= room
    return buffer[:length].decode()


def write_cases(path: Path, texts: list[str]) -> None:
    """The ids of each text, those with special tokens read, and the text that the former give where it is another, into
    a file beside the vocabulary."""
    llama = Llama(str(path), vocab_only=True, verbose=False)

    def case(text: str) -> list[object]:
        plain, special = (llama.tokenize(text.encode(), add_bos=False, special=special) for special in (False, True))
        decoded = detokenized(llama, plain)
        return [text, plain, special] + ([] if decoded == text else [decoded])

    entry = {"made_by": f"llama-cpp-python {version('llama-cpp-python')}", "vocabulary": path.name,
             "cases": [case(text) for text in texts]}
    path.with_suffix(".json").write_text(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{path.stat().st_size} bytes, {len(entry['cases'])} texts")
