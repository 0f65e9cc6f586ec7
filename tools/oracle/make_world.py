"""RWKV's tokenizer on a small vocabulary: tests/fixtures/tokenizer/world.gguf, and what llama.cpp makes of the texts of
cases.json, in world.json.

    python tools/oracle/make_world.py
"""

from __future__ import annotations

import random

from gguf import GGUFWriter, TokenType

from tokenizer_cases import FOLDER, texts, write_cases, write_vocabulary

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


def keys(writer: GGUFWriter, tokens: list[bytes]) -> None:
    writer.add_tokenizer_model("rwkv")
    pads = [f"[PAD{len(tokens) + 1 + i}]" for i in range(UNUSED)]
    writer.add_token_list(["<s>", *(repr(token)[2:-1] for token in tokens), *pads])
    kinds = [TokenType.CONTROL, *[TokenType.NORMAL] * len(tokens), *[TokenType.UNUSED] * UNUSED]
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_eot_token_id(1 + tokens.index(BLANK_LINE))
    writer.add_chat_template("rwkv-world")


def main() -> None:
    tokens, path = vocabulary(texts()), FOLDER / "world.gguf"
    write_vocabulary(path, lambda writer: keys(writer, tokens))
    write_cases(path, [*texts(), "a\n\nb\n\n\nc\r\n\r\n", "\\n \\x00 \\\\ '\"", "[PAD1]"])


if __name__ == "__main__":
    main()
