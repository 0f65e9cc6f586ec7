"""Ask the newest llama.cpp for the tokens of texts with pre-tokenizers that only it knows.

    python tools/oracle/make_pre_tokenizers.py    # writes tests/fixtures/tokenizer/newest.json and soprano.gguf

The vocabularies are those of tests/fixtures/tokenizer under another name in `tokenizer.ggml.pre`.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path

from gguf import GGUFReader, GGUFValueType, GGUFWriter, TokenType

from f32_twin import DROPPED
from llamas import NEWEST, Newest
from tiny_vocabulary import _train

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "tokenizer"
BYTES, CHARACTERS, SOPRANO, PLAMO = "bytes-llama-bpe.gguf", "characters.gguf", "soprano.gguf", "plamo.gguf"
NAMES = {"tekken-num3": BYTES, "nemotron-3.5-embed": BYTES, "k2-horizon": BYTES, "flint": BYTES,
         "domyn-small": CHARACTERS, "mmbert": CHARACTERS, "soprano": SOPRANO, "plamo3": PLAMO}
HARD = ["1 12 123 1234 12345 123456 1234567 x1234y 12a345 ½¾12345", "٣٤٥٦٧ ２３４５ Ⅷ 1.234.567,89 -1234",
        "a\u200cb \u200d x\u200dy [\u200c<\u200c[\u200c\u200c [ \u200c", "क्‍ष क्षि कि ि ्‍ a\u0301 \u0301a",
        "!\u200d! a!\u200d\n ?\u0301\u0301. $+<=>^`|~ ~\n\n x", "漢字かなカナ12漢 \u4e00a\u3040 你好，世界！ 第12章",
        "İstanbul ΣΑΣ Ωραία ǅungla ÀÉß STRASSE ﬁ Ⅷ ⅷ", "a  b \t c\u00a0\u3000d \u2003\n\ne\r\n f", "  two  spaces  ",
        "\n\n\n", "\n a\nb\n\nc \n \n d", "▁a▁ ▁▁b", "snake_case_ _x_ a-b--c ...,", "don't DON'T l'été 'Sx 'ſ I'LLx",
        "HTMLParser camelCase ABCdef XMLHttp2", "e\u0301e\u0301 cafe\u0301 \u0928\u092e\u0938\u094d\u0924\u0947",
        "👩‍👩‍👧 🇪🇺 👍🏽 ✅", "\u0001a\u007f\u0085b", "<b> [x] {y} (z) <\u200cb> [\u200cx]"]

CUT = ["a<|plamo:xyz|>b", "<|plamo:|>", "<|plamo: |>", "<|plamo:a\x1fb|>", f"<|plamo:{'ab' * 32}|>",
       f"<|plamo:{'ab' * 32}c|>", "<|plamo:<|plamo:ab|>の", "<|plamo:ab|", "<|plamo:ab|><|plamo:ba|>", "ab  ab", "aaa",
       "<|plamo:の|>ののの", "<|plamo:a|b|>ab", "ab ab   ab ", "aaaa", "baaaab", "ののの", "のののの", "ののののの", "...",
       "\n\n\n\n", "の\n\n\n\n\nab", "....", "<|plamo:aaaa|>aaaa", "aaaa<|plamo:aa|>aaa", "   <|plamo:a|>   ", "\uee00",
       "ab\uee00ab", "\uee00\uee00\uee00\uee00ab", "\ufeffab", "\ufeff\ufeff\ufeff\ufeff", "👍👍👍👍 👍👍👍",
       "abababab  ababab    abab"]
"""For PLaMo 3, which cuts texts around tags and runs of one character."""


def soprano(path: Path, corpus: list[str]) -> None:
    """Small letters, spaces as they are, and a token for everything else."""
    words = Counter(word for text in corpus for word in text.lower().split())
    # Neither marks, nor most letters of large scripts: they are unknown.
    characters = [" "] + sorted({c for word in words for c in word if ord(c) < 0x250 or c in "клюचाкει"})
    merges = _train(Counter({word: count for word, count in words.items() if set(word) <= set(characters)}), 150)
    tokens = ["[STOP]", "[UNK]", "[TEXT]"] + characters + list(dict.fromkeys(a + b for a, b in merges))
    writer = GGUFWriter(path, "qwen3")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("soprano")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL] * 3 + [TokenType.NORMAL] * (len(tokens) - 3))
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    writer.add_unk_token_id(1)
    writer.add_eos_token_id(0)
    finish(writer)


def finish(writer: GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def renamed(path: Path, pre: str, target: Path) -> None:
    """A copy of a vocabulary with another pre-tokenizer."""
    fields = GGUFReader(path).fields
    writer = GGUFWriter(target, fields["general.architecture"].contents())
    for field in fields.values():
        if field.name == "tokenizer.ggml.model":
            writer.add_tokenizer_model("plamo3" if pre == "plamo3" else "gpt2")
        elif not field.name.startswith(DROPPED) and field.name != "tokenizer.ggml.pre":
            sub_type = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type)
    writer.add_tokenizer_pre(pre)
    finish(writer)


def main() -> None:
    # A third of the texts of the other vocabularies.
    cases = json.loads((FOLDER / "cases.json").read_text())["vocabularies"][0]["cases"]
    texts = [text for text, *_ in cases][::3] + HARD
    soprano(FOLDER / SOPRANO, texts)
    entries = []
    with tempfile.TemporaryDirectory() as scratch:
        for name, vocabulary in NAMES.items():
            path = Path(scratch) / f"{name}.gguf"
            renamed(FOLDER / vocabulary, name, path)
            ask = Newest(path, context=0)
            cases = [[text, ask.ask(text=text, bos=False)["ids"], ask.ask(text=text, special=True)["ids"]]
                     for text in texts + CUT * (name == "plamo3")]
            entries.append({"pre": name, "vocabulary": vocabulary, "cases": cases})
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) for entry in entries)
    (FOLDER / "newest.json").write_text(f'{{"made_by": "{NEWEST}", "names": [\n{lines}]}}\n')


if __name__ == "__main__":
    main()
