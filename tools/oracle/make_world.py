"""RWKV's tokenizer on a small vocabulary: tests/fixtures/tokenizer/world.gguf, and what llama.cpp makes of the texts of
cases.json, in world.json.

    python tools/oracle/make_world.py
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from pathlib import Path

from gguf import GGUFWriter, TokenType
from llama_cpp import Llama

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "tokenizer"
BLANK_LINE = b"\n\n"
UNUSED = 3


def vocabulary(texts: list[str]) -> list[bytes]:
    """Every byte, words of the texts, and random parts of them, most of which are no whole characters."""
    draw = random.Random(7)
    everything = " ".join(texts).encode()
    words = sorted({b" " + word.encode() for text in texts for word in text.split()})
    tokens = [bytes([byte]) for byte in range(256)] + [BLANK_LINE, b"\\\\", b"'\"", b"\t\t", b"\r\n", b"    "]
    tokens += draw.sample(words, 120)
    for _ in range(260):
        at = draw.randrange(len(everything) - 8)
        tokens.append(everything[at:at + draw.randint(2, 7)])
    return list(dict.fromkeys(tokens))


def write(path: Path, tokens: list[bytes]) -> None:
    writer = GGUFWriter(path, "llama")
    writer.add_name("world")
    writer.add_tokenizer_model("rwkv")
    pads = [f"[PAD{len(tokens) + 1 + i}]" for i in range(UNUSED)]
    writer.add_token_list(["<s>", *(repr(token)[2:-1] for token in tokens), *pads])
    kinds = [TokenType.CONTROL, *[TokenType.NORMAL] * len(tokens), *[TokenType.UNUSED] * UNUSED]
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_eot_token_id(1 + tokens.index(BLANK_LINE))
    writer.add_chat_template("rwkv-world")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main() -> None:
    cases = json.loads((FOLDER / "cases.json").read_text())["vocabularies"][0]["cases"]
    texts = [text for text, *_ in cases]
    path = FOLDER / "world.gguf"
    write(path, vocabulary(texts))
    llama = Llama(str(path), vocab_only=True, verbose=False)
    texts += ["a\n\nb\n\n\nc\r\n\r\n", "\\n \\x00 \\\\ '\"", "[PAD1]"]

    def ids(text: str, special: bool) -> list[int]:
        return llama.tokenize(text.encode(), add_bos=False, special=special)

    found = [[text, ids(text, False), ids(text, True)] for text in texts]
    assert all(llama.detokenize(plain).decode() == text for text, plain, _ in found)
    made_by = f"llama-cpp-python {version('llama-cpp-python')}"
    entry = {"made_by": made_by, "vocabulary": path.name, "cases": found}
    (FOLDER / "world.json").write_text(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
    print(f"{path.stat().st_size} bytes, {len(entry['cases'])} texts")


if __name__ == "__main__":
    main()
