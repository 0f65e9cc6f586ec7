"""PLaMo 2's tokenizer on a small vocabulary: tests/fixtures/tokenizer/plamo.gguf, and what llama.cpp makes of the texts
of cases.json and of some more, in plamo.json.

    python tools/oracle/make_plamo.py
"""

from __future__ import annotations

import random

from gguf import GGUFWriter

from tiny_vocabulary import Vocabulary, plamo_of
from tokenizer_cases import FOLDER, texts, write_cases, write_vocabulary

END_OF_TURN = 4
MORE = [
    "今日は良い天気ですね。明日も晴れるでしょうか？", "東京都渋谷区で会議があります。", "𠮷野家の𩸽定食、髙橋さん",
    "ｶﾀｶﾅとﾊﾝｶｸ、ＡＢＣ１２３", "が か\u3099 ぱ は\u309a", "「こんにちは」と言いました……", "〜ー―‐－",
    "\ufeff先頭の印", "\ufeff", "\ufeff\ufeffab\ufeff", "👨\u200d👩\u200d👧\u200d👦🏳️\u200d🌈", "<0x41><0xE3>", "</s>",
    "日本語とEnglishと한국어", "の" * 40, "ab" * 40,
]
"""Without [PAD1]: llama.cpp takes such a token for the end of a list, and nothing before it is found."""
KEPT = ["の", "のの", "のののの", "ab", "ba", "aba", "bab", "abab", *"[PAD]12"]


def pieces(texts: list[str]) -> dict[str, float]:
    """Characters, words, and random parts of texts, with scores of which many are the same. Some are so low that bytes
    are better, some such that a token is never taken."""
    draw = random.Random(11)
    everything = " ".join(texts)
    words = sorted({start + word for text in texts for word in text.split() for start in ("", " ")})
    found = draw.sample(sorted(set(everything) - {"\x00"}), 280) + draw.sample(words, 180)
    for _ in range(420):
        at = draw.randrange(len(everything) - 8)
        found.append(everything[at:at + draw.randint(2, 6)])
    scores = {piece: round(draw.uniform(-14, -4), 1) for piece in found if "\x00" not in piece}
    for score in (-1000.5, -1500.0, -1999.9, -2000.0, -2500.0, float("nan"), 0.5):
        scores |= {piece: score for piece in draw.sample(sorted(scores), 4)}
    return scores | {piece: round(draw.uniform(-14, -4), 1) for piece in KEPT}


def keys(writer: GGUFWriter, vocabulary: Vocabulary) -> None:
    vocabulary.write(writer)
    writer.add_eot_token_id(END_OF_TURN)


def main() -> None:
    all_texts, path = texts() + MORE, FOLDER / "plamo.gguf"
    vocabulary = plamo_of(pieces(all_texts), unused=2)
    write_vocabulary(path, lambda writer: keys(writer, vocabulary))
    write_cases(path, all_texts)


if __name__ == "__main__":
    main()
