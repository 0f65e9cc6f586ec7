"""Small real vocabularies: byte-level BPE, SentencePiece in the manner of Llama 2 and of Gemma, and others.

They are trained here on a few lines so that merges and scores mean something. Fillers bring them to the size asked for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from gguf import GGUFWriter, TokenType

TEXT = """the river runs under the old stone bridge and the children throw small stones into the water
when the morning comes the baker opens the door and the street smells of warm bread
a grey cat sleeps on the wall and dreams of the other side of the garden
nobody knows where the train goes after the last station but everyone wants to ride it once"""

CHAT_TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
                 "'<|im_end|>' + '\\n' }}{% endfor %}"
                 "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

# As Gemma's: `model` is the assistant's role. A system message would be a turn of its own.
GEMMA_TEMPLATE = ("{{ bos_token }}{% for message in messages %}"
                  "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
                  "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
                  "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}")


@dataclass
class Vocabulary:
    """Tokens with their types, and what makes text into them: merges (BPE) or scores (SentencePiece)."""
    model: str
    pre: str | None
    tokens: list[str]
    types: list[int]
    scores: list[float] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)
    bos: int | None = None
    eos: int = 0
    add_bos: bool = False
    space_prefix: bool | None = None
    chat_template: str | None = None

    def ordinary_ids(self) -> list[int]:
        """Ids that stand for text: prompts are drawn from these."""
        return [i for i, ty in enumerate(self.types)
                if ty in (TokenType.NORMAL, TokenType.BYTE, TokenType.USER_DEFINED)]

    def write(self, writer: GGUFWriter) -> None:
        writer.add_tokenizer_model(self.model)
        if self.pre:
            writer.add_tokenizer_pre(self.pre)
        writer.add_token_list(self.tokens)
        if self.scores:
            writer.add_token_scores(self.scores)
        writer.add_token_types(self.types)
        if self.merges:
            writer.add_token_merges(self.merges)
        if self.bos is not None:
            writer.add_bos_token_id(self.bos)
        writer.add_eos_token_id(self.eos)
        writer.add_add_bos_token(self.add_bos)
        if self.space_prefix is not None:
            writer.add_add_space_prefix(self.space_prefix)
        if self.chat_template:
            writer.add_chat_template(self.chat_template)


def byte_level_bpe(size: int, pre: str, with_bos: bool, control: tuple[str, ...] = ()) -> Vocabulary:
    """A gpt-2 style vocabulary of `size` tokens: 256 bytes, merges, special tokens last."""
    letters = _byte_letters()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] + (["<|begin_of_text|>"] if with_bos else [])
    special += control
    words = Counter(letters[32] + word for word in TEXT.split())
    merges = _train(words, size - 256 - len(special))
    tokens = sorted(letters) + [left + right for left, right in merges]
    types = [TokenType.NORMAL] * len(tokens)
    assert len(set(tokens)) == len(tokens), "two merges spell the same token"
    fillers = size - len(tokens) - len(special)
    tokens += [f"<|unused_{i}|>" for i in range(fillers)] + special
    types += [TokenType.UNUSED] * fillers + [TokenType.CONTROL] * len(special)
    return Vocabulary("gpt2", pre, tokens, [int(ty) for ty in types], merges=[f"{a} {b}" for a, b in merges],
                      bos=tokens.index("<|begin_of_text|>") if with_bos else None, eos=tokens.index("<|im_end|>"),
                      add_bos=with_bos, chat_template=CHAT_TEMPLATE)


def sentence_piece(size: int) -> Vocabulary:
    """A Llama 2 style vocabulary of `size` tokens: unk, bos, eos, 256 byte tokens, then pieces with scores."""
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL] + [TokenType.BYTE] * 256
    scores = [0.0] * len(tokens)
    words = Counter("▁" + word for word in TEXT.split())
    characters = sorted({character for word in words for character in word})
    merged = [left + right for left, right in _train(words, size - len(tokens) - len(characters))]
    tokens += merged + characters
    types += [TokenType.NORMAL] * (len(merged) + len(characters))
    scores += [-float(rank) for rank in range(len(merged) + len(characters))]
    assert len(set(tokens)) == size, f"{len(set(tokens))} distinct tokens, {size} wanted"
    return Vocabulary("llama", None, tokens, [int(ty) for ty in types], scores=scores, bos=1, eos=2, add_bos=True)


def gemma_pieces(size: int, chat: bool) -> Vocabulary:
    """A Gemma style vocabulary of `size` tokens: no space in front of a text, runs of white space as added tokens."""
    control = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
    added = ["\n", "\n\n", "\n\n\n", "  ", "   ", "    ", "<b>", "</b>"]
    tokens = control + added + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [TokenType.CONTROL] * len(control) + [TokenType.USER_DEFINED] * len(added) + [TokenType.BYTE] * 256
    types[3] = TokenType.UNKNOWN
    scores = [-1000.0] * len(tokens)
    words = Counter("▁" + word for word in TEXT.split())
    characters = sorted({character for word in words for character in word})
    merged = [left + right for left, right in _train(words, size - len(tokens) - len(characters))]
    tokens += merged + characters
    types += [TokenType.NORMAL] * (len(merged) + len(characters))
    scores += [-float(rank) for rank in range(len(merged) + len(characters))]
    assert len(set(tokens)) == size, f"{len(set(tokens))} distinct tokens, {size} wanted"
    return Vocabulary("llama", "default", tokens, [int(ty) for ty in types], scores=scores, bos=2, eos=1, add_bos=True,
                      space_prefix=False, chat_template=GEMMA_TEMPLATE if chat else None)


def gemma4_pieces(size: int) -> Vocabulary:
    """A Gemma 4 style vocabulary of `size` tokens: merges over characters, single bytes for others."""
    control = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokens = control + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [TokenType.CONTROL] * 3 + [TokenType.UNKNOWN] + [TokenType.BYTE] * 256
    words = Counter("▁" + word for word in TEXT.split())
    characters = sorted({character for word in words for character in word})
    merges = _train(words, size - len(tokens) - len(characters))
    tokens += characters + [left + right for left, right in merges]
    types += [TokenType.NORMAL] * (len(characters) + len(merges))
    assert len(set(tokens)) == size, f"{len(set(tokens))} distinct tokens, {size} wanted"
    return Vocabulary("gemma4", None, tokens, [int(ty) for ty in types], merges=[f"{a} {b}" for a, b in merges], bos=2,
                      eos=1, add_bos=True)


def world(size: int) -> Vocabulary:
    """A vocabulary of `size` tokens in the manner of RWKV's "World": every byte, then longer tokens, which may be parts
    of characters; all are escaped as Python escapes bytes."""
    words = Counter(" " + word for word in TEXT.split())
    longer = ["\n\n", "  ", "\\n", "'s", "'\"", "é", "刺", "刺猬", "🦔"]
    found = [text.encode() for text in longer] + [b"\xe5\x88", b"\xf0\x9f\xa6", b"\x80\x81", b" \xe7"]
    found += [(left + right).encode() for left, right in _train(words, size)]
    tokens = list(dict.fromkeys([bytes([byte]) for byte in range(256)] + found))[:size - 1]
    types = [TokenType.CONTROL] + [TokenType.NORMAL] * len(tokens)
    assert len(types) == size, f"{len(types)} tokens, {size} wanted"
    return Vocabulary("rwkv", None, ["<s>"] + [repr(token)[2:-1] for token in tokens], [int(ty) for ty in types], bos=0,
                      eos=0)


def plamo(size: int, model: str = "plamo2") -> Vocabulary:
    """A vocabulary of `size` tokens in the manner of PLaMo 2 or 3."""
    words = Counter(" " + word for word in TEXT.split())
    characters = sorted({character for word in words for character in word})
    merged = [left + right for left, right in _train(words, size - 256 - len(PLAMO_CONTROL) - len(characters))]
    return plamo_of({piece: -float(rank) / 8 for rank, piece in enumerate(merged + characters)}, model=model)


PLAMO_CONTROL = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", "<|plamo:op|>"]


def plamo_of(pieces: dict[str, float], unused: int = 0, model: str = "plamo2") -> Vocabulary:
    """Control tokens, 256 byte tokens, these pieces with their scores, and tokens without a use, as converters write
    them."""
    tokens = PLAMO_CONTROL + [f"<0x{byte:02X}>" for byte in range(256)] + list(pieces)
    types = [TokenType.UNKNOWN] + [TokenType.CONTROL] * (len(PLAMO_CONTROL) - 1) + [TokenType.BYTE] * 256
    scores = [0.0] * len(types) + list(pieces.values()) + [-1000.0] * unused
    types += [TokenType.NORMAL] * len(pieces) + [TokenType.UNUSED] * unused
    tokens += [f"[PAD{i + 1}]" for i in range(unused)]
    assert len(set(tokens)) == len(tokens), "two pieces spell the same token"
    return Vocabulary(model, "default", tokens, [int(ty) for ty in types], scores=scores, bos=1, eos=2,
                      space_prefix=False)


def word_piece(size: int) -> Vocabulary:
    """A BERT style vocabulary of `size` tokens: special tokens, then pieces that begin a word (`▁` in front) and pieces
    that continue one."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = Counter("▁" + word for word in TEXT.split())
    characters = sorted({character for word in words for character in word if character != "▁"})
    single = [start + character for character in characters for start in ("", "▁")] + ["▁.", "▁,", "▁?"]
    merges = [left + right for left, right in _train(words, size) if left + right not in single]
    tokens = special + single + list(dict.fromkeys(merges))
    types = [TokenType.CONTROL] * len(special) + [TokenType.NORMAL] * (len(tokens) - len(special))
    assert len(tokens) >= size, f"{len(tokens)} tokens, {size} wanted"
    return Vocabulary("bert", None, tokens[:size], [int(ty) for ty in types[:size]], bos=2, eos=3, add_bos=True)


def unigram(size: int) -> Vocabulary:
    """A vocabulary of `size` tokens in the manner of T5: `</s>` behind a text, pieces with logarithms of shares."""
    tokens = ["<pad>", "</s>", "<unk>"]
    types = [TokenType.CONTROL, TokenType.CONTROL, TokenType.UNKNOWN]
    words = Counter("▁" + word for word in TEXT.split())
    characters = sorted({character for word in words for character in word})
    merged = [left + right for left, right in _train(words, size - len(tokens) - len(characters))]
    tokens += merged + characters
    types += [TokenType.NORMAL] * (len(merged) + len(characters))
    scores = [0.0] * 3 + [-2.0 - 0.05 * rank for rank in range(len(merged))] + [-9.0] * len(characters)
    assert len(set(tokens)) == size, f"{len(set(tokens))} distinct tokens, {size} wanted"
    return Vocabulary("t5", None, tokens, [int(ty) for ty in types], scores=scores, eos=1, space_prefix=True)


def _byte_letters() -> list[str]:
    """The printable character that stands for each byte in a byte-level vocabulary."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def _train(words: Counter[str], count: int) -> list[tuple[str, str]]:
    """The `count` merges of plain BPE training: the most frequent pair each time, ties by spelling."""
    splits = {word: list(word) for word in words}
    merges: list[tuple[str, str]] = []
    for _ in range(count):
        pairs: Counter[tuple[str, str]] = Counter()
        for word, parts in splits.items():
            for pair in zip(parts, parts[1:]):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        splits = {word: _merge(parts, best) for word, parts in splits.items()}
    return merges


def _merge(parts: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    for part in parts:
        if out and (out[-1], part) == pair:
            out[-1] += part
        else:
            out.append(part)
    return out
