#!/usr/bin/env python3
"""Writes tests/fixtures/tokenizer/: small vocabularies with expected ids, and expected word splits.

Vocabularies are trained here, on the text below. All expected numbers come from the packages that the models' authors
use, `tokenizers` (Hugging Face) and `sentencepiece` (Google), never from webgguf.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf gguf==0.19.0
    python tools/make_tokenizer_fixtures.py
"""

import io
import json
import pathlib
import random
import tempfile

import gguf
import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HOME = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/tokenizer"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

CORPUS = """\
The small hedgehog found a silver key under the old oak tree, and it wasn't rusty at all.
"Who's lost this?" he asked. Nobody answered; they'd all gone home. He'll keep it, won't he? We've seen 1234 keys before.
In 2024 the river rose by 3.75 metres, 12,345 people watched it, and 678 of them took photographs of the bridge.
She'd been walking for hours when the rain began, so she stood below the roof of the station and waited.
The teacher said that the children were singing, that the song was old, and that nobody knew who had written it.
def merge(left, right):
    if left is None:
        return right
    return {"key": left.value + right.value, 'items': [x ** 2 for x in range(10)]}
fn main() { let mut total = 0u64; for (i, c) in text.chars().enumerate() { total += c as u64 * i as u64; } }
<div class="note">HTML &amp; CSS</div>  <!-- comment -->  https://example.org/path?query=1&other=two#part
Der Igel fand einen silbernen Schlüssel unter der alten Eiche. Über Nacht wurde es kühl, und Äpfel fielen ins Gras.
Le hérisson a trouvé une clé d'argent sous le vieux chêne; l'été, il fait chaud à l'ombre.
El erizo encontró una llave de plata debajo del roble. ¿Dónde está la puerta? ¡Aquí está!
Ёжик нашёл серебряный ключ под старым дубом. Никто не знал, чей это ключ.
Ο σκαντζόχοιρος βρήκε ένα ασημένιο κλειδί κάτω από τη βελανιδιά.
刺猬在老橡树下找到了一把银钥匙。没有人知道那是谁的。我想在家里工作。
ハリネズミは古い樫の木の下で銀の鍵を見つけました。だれのものでしょうか。
고슴도치는 오래된 참나무 아래에서 은열쇠를 발견했습니다.
साही को पुराने पेड़ के नीचे चाँदी की चाबी मिली।
وجد القنفذ مفتاحا فضيا تحت شجرة البلوط القديمة.
កាំប្រមាបានរកឃើញសោប្រាក់នៅក្រោមដើមឈើ។
เม่นพบกุญแจเงินใต้ต้นโอ๊กเก่า
Emoji: 🦔🔑🌳 👍🏽 👩‍👩‍👧 🇪🇺 ✅ — dashes – and … dots, ½ and Ⅷ and ２３ and x² too.
"""

# Texts on which pre-tokenizers differ, and on which mistakes show.
TEXTS = [
    "",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    " \n",
    "\n ",
    " \n \n  x",
    "a\n\n b",
    "a \n",
    "x  \t y",
    "\u00a0x\u3000 y\u2003",
    "Hello world",
    " Hello  World ",
    "Hello, y'all! I'll, I'LL, it's IT'S don't 've 'Re '' 's",
    "we'Ve a'lL 'tis 'd'd'd",
    "3 33 333 3333 33333 1234567 a1b22c333",
    "x² ½ Ⅷ ２３ ٣٤",
    " 12 345",
    "3.14,15",
    "CamelCaseHTMLParser iPhone ABCdef XMLHttp2 ǅungla ʰaʰ ÀÉß",
    "snake_case __init__ a+b=c a<b>c $x^2~|y`",
    "!!!???...;;; (a) [b] {c} 'd' \"e\" /f/ \\g",
    "a!\n\n!b?\r\n ?c /\n",
    "//\n/ /x",
    "-> => := && || ...",
    "été Äpfel Ёжик σκαντζόχοιρος",
    "Ё\u0301 e\u0301a\u0301 \u0301x a \u0301",
    "刺猬在老橡树下，找到了一把银钥匙。Hi",
    "だれのもの カタカナ",
    "고슴도치는 오래된",
    "साही को पुराने",
    "وجد القنفذ",
    "កាន់តែពិសេស",
    "เม่นพบกุญแจ",
    "🦔🔑 👍🏽👩‍👩‍👧🇪🇺 ✅ x🦔",
    "a\u200bb\u200d c\ufeffd",
    "\u0000\u0001 \u007f\u0085x",
    "\ufffd\U0010ffff",
    "    if x:\n        return  y\n\n\n",
    "end of line \nnext\t\n tab",
    "a\u2028b\u2029c",
    "http://a.b/c?d=e&f=1#g",
    "price: $12.50 (€9,99) 50%",
    "—dash–dash‘q’“q”„q‟…",
    "<|im_start|>user\nHi<|im_end|>",
    "①②③ ⅓ 〇 一二三",
    "one.two, three!four?five…six。seven、eight|nine(ten)",
    "𝐀𝐛 𝟏𝟐 ℝ ª º ſ 'ſ",
    "　全角　スペース　",
    "a\x0bb\x0cc",
]

# For pre-tokenizers only: runs of spaces of many lengths, numbers beside letters, words with single spaces.
SPLIT_TEXTS = [
    "".join(" " * n + "x" for n in (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 600)) + " " * 12,
    "1234567 1234567a a1234567 12345678_ 1234.5678 ½12345 ２３４５６ x12 345 ",
    "one two  three four' five-six e\u0301 e\u0301 f 'sister dog's",
    "中文 中文  中 Abc中文def 々〇 ～，。！「」 ㄅㄆ ㄱㄴ 가나 ﹏︰",
    "<sentinel:12> <sentinel:> IMGIMGABZ IMGIMGABCDEZ  a\tb    c      d",
]

APOSTROPHES = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
BEFORE = r"[^\r\n\p{L}\p{N}]?"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def cl100k(digits):
    return rf"{APOSTROPHES}|{BEFORE}\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"


def cased(suffix, digits):
    words = rf"{BEFORE}{UPPER}*{LOWER}+{suffix}|{BEFORE}{UPPER}+{LOWER}*{suffix}"
    return rf"{words}|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}"


# The patterns as the models' own tokenizer.json files have them, each stage isolating its matches.
PATTERNS = {
    "gpt-2": [GPT2],
    "llama-bpe": [cl100k(r"\p{N}{1,3}")],
    "qwen2": [cl100k(r"\p{N}")],
    "qwen35": [rf"{APOSTROPHES}|{BEFORE}[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{SPACES}"],
    "ufakzeka": [rf"{BEFORE}\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"],
    "seed-coder": [rf"{APOSTROPHES}|{BEFORE}\p{{L}}+|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{SPACES}"],
    "bailingmoe": [
        rf"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{{L}}\p{{N}}]?+\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "laguna": [r"[^\n]+|[\n]+", cl100k(r"\p{N}")],
    "smollm": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"],
    "default": [r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
    "tekken": [cased("", r"\p{N}")],
    "gpt-4o": [cased(f"{APOSTROPHES}?", r"\p{N}{1,3}")],
    "deepseek-v3": [
        r"\p{N}{1,3}",
        r"[一-龥぀-ゟ゠-ヿ]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
        + SPACES,
    ],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "deepseek-llm": [
        r"[\r\n]",
        # Their list of the letters that have two cases, in short.
        r"\s?(?:(?![\x{1d400}-\x{1d7ff}])[\p{Lu}\p{Ll}\p{Lt}])+",
        r"\s?[!-/:-~！-／：-～‘-‟　-。]+",
        r"\s+$",
        r"[一-龥ࠀ-一가-퟿]+",
        r"\p{N}+",
    ],
    "jais-2": [
        cl100k(r"\p{N}{1,3}").removesuffix(r"\s+(?!\S)|\s+")
        + "|".join(rf"\s{{{n}}}(?!\S)" for n in ("512", "256", "128", "64", "32", "16", "8", "4", "1,2")) + r"|\s{1}"
    ],
    "exaone-moe": [
        rf"{APOSTROPHES}|{BEFORE}(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "kimi-k2": [
        r"[\p{Han}]+|"
        rf"{BEFORE}[{UPPER}&&[^\p{{Han}}]]*[{LOWER}&&[^\p{{Han}}]]+{APOSTROPHES}?|"
        rf"{BEFORE}[{UPPER}&&[^\p{{Han}}]]+[{LOWER}&&[^\p{{Han}}]]*{APOSTROPHES}?|"
        rf"\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}"
    ],
    "spark2_5": [
        r"\p{N}{1,3}",
        r"[一-龥぀-ゟ゠-ヿ]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+",
        r"\p{N}",
    ],
    "afmoe": [
        # The run of numbers whole, then in threes from its end.
        r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
        r"[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+",
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
        + SPACES,
    ],
    "youtu": [
        r"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
        cased(f"{APOSTROPHES}?", r"\p{N}"),
    ],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", cased(f"{APOSTROPHES}?", r"\p{N}{1,3}")],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "chameleon": [
        r"<sentinel:[0-9]+>", r"(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", r"([\t\n]|    |  )", r"\p{N}",
        r"[\p{P}!-/:-@\[-`{-~]", GPT2,
    ],  # fmt: skip
    "bloom": [r" ?[^(\s|.,!?…。，、।۔،)]+"],
    "viking": [r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}"],
}


def splitter(patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns])


def splits():
    result = {"made_by": f"tokenizers {tokenizers.__version__}", "texts": TEXTS + SPLIT_TEXTS, "splits": {}}
    for name, patterns in PATTERNS.items():
        split = splitter(patterns)
        # Pieces by the number of characters in each: shorter than the pieces themselves.
        result["splits"][name] = [[len(piece) for piece, _ in split.pre_tokenize_str(text)] for text in TEXTS + SPLIT_TEXTS]
    return result


class Gguf:
    """A GGUF file with a vocabulary and nothing else."""

    def __init__(self, name, model, tokens, kinds, **keys):
        self.path = HOME / f"{name}.gguf"
        self.writer = gguf.GGUFWriter(self.path, "llama")
        self.writer.add_name(name)
        self.writer.add_tokenizer_model(model)
        self.writer.add_token_list(tokens)
        self.writer.add_token_types(kinds)
        for key, value in keys.items():
            getattr(self.writer, f"add_{key}")(value)

    def write(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def texts_for(special):
    around = [f"{s}{t}" for s in special for t in ("", "x", " x")] + [f"a {s}b{s} c" for s in special]
    return TEXTS + CORPUS.splitlines() + [CORPUS] + around + ["".join(special)]


def expectations(name, texts, plain, special, decode=None, pairs=()):
    # The text, its ids, its ids with special tokens read where they differ, the text they give where it differs.
    def case(text):
        both = [plain(text), special(text)]
        decoded = [] if decode is None else [both[1] if both[1] != both[0] else None, decode(both[0])]
        return [text, both[0], *(decoded or both[1:] if both[1] != both[0] or decoded else [])]

    fixture = {"vocabulary": f"{name}.gguf", "cases": [case(text) for text in texts]}
    return {**fixture, "pairs": pairs} if pairs else fixture


SPECIAL = ["<|begin|>", "<|end_of_text|>", "<|im_start|>", "<|im_end|>"]
ADDED = ["<tool>", "  \t", "hedgehogs"]


def byte_level(name, pre, whole_words):
    """Byte-level BPE. A tenth of the merges is left out, so that some tokens are only found as whole words."""
    tokenizer = Tokenizer(models.BPE())
    byte_pieces = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([splitter(PATTERNS[pre]), byte_pieces])
    trainer = trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    state = json.loads(tokenizer.to_str())["model"]
    rng = random.Random(1)
    merges = [tuple(merge) for merge in state["merges"] if rng.random() > 0.1]
    model = models.BPE(vocab=state["vocab"], merges=merges, ignore_merges=whole_words)
    pre_tokenizer = tokenizer.pre_tokenizer
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in SPECIAL])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ADDED])

    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id)
    kinds = [CONTROL if t in SPECIAL else USER_DEFINED if t in ADDED else NORMAL for t in vocabulary]
    file = Gguf(name, "gpt2", vocabulary, kinds, tokenizer_pre=pre, token_merges=[" ".join(m) for m in merges])
    file.writer.add_bos_token_id(tokenizer.token_to_id("<|begin|>"))
    file.writer.add_eos_token_id(tokenizer.token_to_id("<|end_of_text|>"))
    file.write()

    def encode(text, special):
        tokenizer.encode_special_tokens = not special
        return tokenizer.encode(text, add_special_tokens=False).ids

    texts = texts_for(SPECIAL + ADDED)
    return expectations(name, texts, lambda text: encode(text, False), lambda text: encode(text, True))


def sentence_piece(name, prefix):
    """SentencePiece's own BPE, with byte fallback."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS.splitlines()), model_writer=model, model_type="bpe", vocab_size=800,
        character_coverage=0.98, byte_fallback=True, add_dummy_prefix=prefix, remove_extra_whitespaces=False,
        normalization_rule_name="identity", user_defined_symbols=["<tool>", "hedgehogs"],
        allow_whitespace_only_pieces=True, minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    kinds = []
    defined = {processor.piece_to_id(text) for text in ("<tool>", "hedgehogs")}
    for token in range(processor.vocab_size()):
        if processor.is_byte(token):
            kinds.append(BYTE)
        elif processor.is_unknown(token):
            kinds.append(UNKNOWN)
        elif processor.is_control(token):
            kinds.append(CONTROL)
        else:
            kinds.append(USER_DEFINED if token in defined else NORMAL)
    pieces = [processor.id_to_piece(token) for token in range(processor.vocab_size())]
    scores = [processor.get_score(token) for token in range(processor.vocab_size())]
    Gguf(name, "llama", pieces, kinds, token_scores=scores, bos_token_id=1, eos_token_id=2, unk_token_id=0,
         add_bos_token=True, add_eos_token=False, add_space_prefix=prefix).write()  # fmt: skip
    # SentencePiece drops NUL, cuts the prefix before added symbols in a way of its own and knows no control tokens in text.
    texts = [text for text in texts_for([]) if "\0" not in text and "\u2581" not in text]
    return expectations(name, texts, processor.encode, processor.encode)


def characters(name):
    """BPE over characters with U+2581 for spaces and byte fallback, as Gemma 4 has it."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    # For training only: words, runs of line feeds, no merges across them.
    tokenizer.pre_tokenizer = splitter([r"\n+", r"\x{2581}+[^\x{2581}]*"])
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        show_progress=False,
        special_tokens=["<pad>", "<eos>", "<bos>", "<unk>", *bytes_],
        limit_alphabet=120,
    )
    tokenizer.train_from_iterator([CORPUS, "\n\n\n\n   \n\n  " * 4], trainer)
    state = json.loads(tokenizer.to_str())["model"]
    trained = tokenizer
    model = models.BPE(
        vocab=state["vocab"], merges=[tuple(m) for m in state["merges"]], unk_token="<unk>", byte_fallback=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = trained.normalizer
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in ("<pad>", "<eos>", "<bos>", "<unk>")])
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id)
    kinds = [BYTE if t in bytes_ else UNKNOWN if t == "<unk>" else CONTROL if t in ("<pad>", "<eos>", "<bos>") else NORMAL
             for t in vocabulary]  # fmt: skip
    merges = [" ".join(merge) for merge in state["merges"]]
    Gguf(name, "gemma4", vocabulary, kinds, token_merges=merges, token_scores=[0.0] * len(vocabulary), bos_token_id=2,
         eos_token_id=1, unk_token_id=3, pad_token_id=0, add_bos_token=True, add_space_prefix=False).write()  # fmt: skip

    def encode(text, special):
        tokenizer.encode_special_tokens = not special
        return tokenizer.encode(text, add_special_tokens=False).ids

    texts = texts_for(["<eos>", "<bos>"])
    return expectations(name, texts, lambda text: encode(text, False), lambda text: encode(text, True))


PAIRS = [("What did the hedgehog find?", "A silver key, under the old oak."), ("", "x"), ("key", "")]


def clean_up(text):
    """The spaces that `transformers` takes out of English text (`clean_up_tokenization`)."""
    for before in (" .", " ?", " !", " ,"):
        text = text.replace(before, before[1:])
    text = text.replace(" ' ", "'")
    for before in (" n't", " 'm", " 's", " 've", " 're"):
        text = text.replace(before, before[1:])
    return text


def word_piece(name, lowercase):
    """WordPiece, as BERT has it. GGUF marks the tokens that begin a word instead of the others."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=500, special_tokens=special, show_progress=False, limit_alphabet=150
    )
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainer)
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id)
    spelled = [t if t in special else t[2:] if t.startswith("##") else f"\u2581{t}" for t in vocabulary]
    kinds = [CONTROL if token in special else NORMAL for token in vocabulary]
    unknown, cls, sep = (tokenizer.token_to_id(token) for token in ("[UNK]", "[CLS]", "[SEP]"))
    file = Gguf(name, "bert", spelled, kinds, unk_token_id=unknown, sep_token_id=sep, pad_token_id=0)
    file.writer.add_uint32("tokenizer.ggml.cls_token_id", cls)
    if not lowercase:
        file.writer.add_bool("tokenizer.ggml.normalizer.lowercase", False)
    file.write()

    def encode(text, special):
        tokenizer.encode_special_tokens = not special
        return tokenizer.encode(text, add_special_tokens=False).ids

    def pair(left, right):
        first, second = encode(left, False), encode(right, False)
        single = [cls, *first, sep]
        return [left, right, [*single, *second, sep], len(single), single]

    texts = [*texts_for(special), *WORD_PIECE_TEXTS]
    decode = lambda ids: clean_up(tokenizer.decode(ids, skip_special_tokens=False))
    pairs = [pair(*texts) for texts in PAIRS]
    return expectations(name, texts, lambda text: encode(text, False), lambda text: encode(text, True), decode, pairs)


# A table of replacements with all that NFKC's has: one character to one, to several and to none, several to one, and
# matches of which one is the start of the other.
RULES = {
    "\t": " ", "\n": " ", "\r": " ", "\u00a0": " ", "\u3000": " ", "\u2003": " ", "\u200b": "", "\ufb01": "fi", "\u00bd": "1/2",
    "e\u0301": "\u00e9", "a\u0301": "\u00e1", "e\u0301\u0323": "\u1eb9\u0301", "\u337f": "\u682a\u5f0f\u4f1a\u793e", "\u2026": "...",
    **{chr(0xFF01 + n): chr(0x21 + n) for n in range(94)},
}  # fmt: skip


def unigram(name, prefix, merge):
    """SentencePiece's unigram model, with a table of replacements."""
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        code_points = lambda text: " ".join(f"{ord(character):X}" for character in text)
        rules.writelines(f"{code_points(before)}\t{code_points(after)}\n" for before, after in RULES.items())
        rules.flush()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS.splitlines()), model_writer=model, model_type="unigram", vocab_size=420,
            character_coverage=0.98, add_dummy_prefix=prefix, remove_extra_whitespaces=merge,
            normalization_rule_tsv=rules.name, minloglevel=2,
        )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    ids = range(processor.vocab_size())
    kinds = [UNKNOWN if processor.is_unknown(id) else CONTROL if processor.is_control(id) else NORMAL for id in ids]
    pieces = [processor.id_to_piece(id) for id in ids]
    scores = [processor.get_score(id) for id in ids]
    Gguf(name, "t5", pieces, kinds, token_scores=scores, bos_token_id=1, eos_token_id=2, sep_token_id=2, unk_token_id=0,
         add_bos_token=True, add_eos_token=True, add_sep_token=True, add_space_prefix=prefix,
         remove_extra_whitespaces=merge, precompiled_charsmap=proto.normalizer_spec.precompiled_charsmap).write()  # fmt: skip
    texts = [text for text in [*texts_for([]), *UNIGRAM_TEXTS] if "\0" not in text]

    def pair(left, right):
        single = [1, *processor.encode(left), 2]
        return [left, right, [*single, 2, *processor.encode(right), 2], len(single) + 1, single]

    # What the unknown token stands for is lost; sentencepiece writes a sign of its own.
    decode = lambda ids: None if 0 in ids else processor.decode(ids)
    return expectations(name, texts, processor.encode, processor.encode, decode, [pair(*texts) for texts in PAIRS])


UNIGRAM_TEXTS = [
    "\uff21\uff42\uff43 \ufb01re\u200bfly \u337f", "e\u0301 e\u0301\u0323 a\u0301x", "  two  spaces \n\n and lines ", "x\u2581a \u2581b",
    "unknown: \u16a0\u16a1 \u16a2 x\u16a3",
]  # fmt: skip

# Accents, a word that is as long as a word may be and one that is longer, and apostrophes.
WORD_PIECE_TEXTS = ["ÄÖÜ äöü Ñ Å İ ﬁ Ω", "e\u0301le\u0301ment", "고슴도치", "x" * 100, "x" * 101, "it's the dog's, isn ' t it ?", "'a' 'b'"]


def main():
    HOME.mkdir(parents=True, exist_ok=True)
    write = lambda name, value: (HOME / name).write_text(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
    )
    write("splits.json", splits())
    fixtures = [
        byte_level("bytes-llama-bpe", "llama-bpe", True),
        byte_level("bytes-smollm", "smollm", False),
        sentence_piece("spm", True),
        sentence_piece("spm-no-prefix", False),
        characters("characters"),
        word_piece("wordpiece", True),
        word_piece("wordpiece-cased", False),
        unigram("unigram", True, True),
        unigram("unigram-spaces", False, False),
        unigram("unigram-no-prefix", False, True),
    ]
    versions = f"tokenizers {tokenizers.__version__}, sentencepiece {sentencepiece.__version__}"
    write("cases.json", {"made_by": versions, "vocabularies": fixtures})


if __name__ == "__main__":
    main()
