//! Which pre-tokenizer a file means: the names that `tokenizer.ggml.pre` has, as data.
//!
//! The names are llama.cpp's, since GGUF files are made for it; the patterns are those of the models' own tokenizers.

use super::classes::Classes;
use super::patterns::{
    before_threes, digit_groups, image, indent, is_asian, is_bopomofo, is_chinese_sign, is_east_asian, is_han_or_kana,
    is_korean, number_groups, same_kind, sentinel, sign, small_letters, spaced, spaced_lines, without_joiners,
};
use super::split::{Contractions, Letters, Numbers, Spaces, Stage, Words};

/// Words that merges do not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// None.
    None,
    /// Runs of line feeds.
    LineFeeds,
    /// All words.
    All,
}

/// A way to cut text into words, with the rules that come with it.
#[derive(Debug)]
pub(super) struct PreTokenizer {
    /// The values of `tokenizer.ggml.pre` that select it.
    pub names: &'static [&'static str],
    /// The patterns, each cutting the pieces of the one before.
    pub stages: &'static [Stage],
    /// Words that are taken as they are where they are tokens, whatever the merges say.
    pub whole_words: Whole,
    /// What happens to a text before it is cut.
    pub rewrite: Option<fn(&str) -> String>,
    /// A sequence starts with BOS unless the file says otherwise.
    pub add_bos: bool,
    /// The texts of a pair have a separator between them unless the file says otherwise.
    pub add_separator: bool,
}

const GPT2: Words = Words {
    contractions: Contractions::Small,
    letters: Letters::Spaced,
    numbers: Numbers::Spaced,
    not_punctuation: Classes::LETTER,
    only_signs: false,
    tail: b"",
    single_tail: false,
    spaces: Spaces::Runs,
};

/// The pattern of OpenAI's cl100k, with `digits` numbers to a piece.
const fn cl100k(digits: usize) -> Words {
    Words {
        contractions: Contractions::AnyCase,
        letters: Letters::Prefixed(Classes::LETTER),
        numbers: Numbers::UpTo(digits),
        not_punctuation: Classes::LETTER,
        only_signs: false,
        tail: b"\r\n",
        single_tail: false,
        spaces: Spaces::LineBreaks,
    }
}

/// Words that end where a small letter meets a capital, with `digits` numbers to a piece.
const fn cased(contractions: bool, digits: usize) -> Words {
    let letters = Letters::Cased { contractions };
    Words { contractions: Contractions::No, letters, tail: b"\r\n/", ..cl100k(digits) }
}

const LETTERS_AND_MARKS: Classes = Classes::LETTER.or(Classes::MARK);
const QWEN35: Words =
    Words { letters: Letters::Prefixed(LETTERS_AND_MARKS), not_punctuation: LETTERS_AND_MARKS, ..cl100k(1) };

/// Letters with marks and with signs that join them; as llama.cpp has it, marks may also be punctuation.
const JOINED: Words = Words { letters: Letters::Prefixed(LETTERS_AND_MARKS.or(Classes::JOINER)), ..cl100k(3) };
const FLINT: Words = Words { tail: b"\r\n", only_signs: true, ..cased(true, 3) };

const SENTENCES: Words = Words { letters: Letters::Sentences, tail: b"\r\n/", single_tail: true, ..cl100k(1) };
const KIMI: Words = Words { contractions: Contractions::No, letters: Letters::CasedWithoutHan, ..cl100k(3) };

const PLAIN: PreTokenizer = PreTokenizer {
    names: &[],
    stages: &[],
    whole_words: Whole::None,
    rewrite: None,
    add_bos: false,
    add_separator: false,
};

/// The table. The first row is also the fallback for names that are not here.
static PRE_TOKENIZERS: &[PreTokenizer] = &[
    PreTokenizer {
        names: &["default"],
        stages: &[Stage::Run(is_default_sign), Stage::Words(GPT2), Stage::Run(is_number), Stage::ThreeLimbs],
        ..PLAIN
    },
    PreTokenizer {
        names: &[
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "exaone4",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de",
        ],
        stages: &[Stage::Words(GPT2)],
        ..PLAIN
    },
    PreTokenizer {
        names: &["jina-v1-en", "jina-v2-code", "roberta-bpe"],
        stages: &[Stage::Words(GPT2)],
        add_separator: true,
        ..PLAIN
    },
    PreTokenizer {
        names: &[
            "llama-bpe",
            "llama3",
            "llama-v3",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        stages: &[Stage::Words(cl100k(3))],
        whole_words: Whole::All,
        add_bos: true,
        ..PLAIN
    },
    PreTokenizer { names: &["dbrx", "smaug-bpe", "chatglm-bpe"], stages: &[Stage::Words(cl100k(3))], ..PLAIN },
    PreTokenizer { names: &["glm4", "glm5"], stages: &[Stage::Words(cl100k(3))], whole_words: Whole::All, ..PLAIN },
    PreTokenizer {
        names: &["jais-2"],
        stages: &[Stage::Words(Words { spaces: Spaces::Powers, ..cl100k(3) })],
        ..PLAIN
    },
    PreTokenizer { names: &["exaone-moe"], stages: &[Stage::Words(SENTENCES)], ..PLAIN },
    PreTokenizer { names: &["kimi-k2"], stages: &[Stage::Words(KIMI)], ..PLAIN },
    PreTokenizer {
        names: &[
            "qwen2",
            "deepseek-r1-qwen",
            "kormo",
            "f2llmv2",
            "megrez",
            "stablelm2",
            "hunyuan",
            "solar-open",
            "grok-2",
            "bailingmoe",
            "bailingmoe2",
            "llada-moe",
        ],
        stages: &[Stage::Words(cl100k(1))],
        ..PLAIN
    },
    PreTokenizer { names: &["qwen35"], stages: &[Stage::Words(QWEN35)], ..PLAIN },
    PreTokenizer {
        names: &["ufakzeka"],
        stages: &[Stage::Words(Words { contractions: Contractions::No, ..cl100k(1) })],
        ..PLAIN
    },
    PreTokenizer { names: &["seed-coder"], stages: &[Stage::Words(Words { tail: b"", ..cl100k(1) })], ..PLAIN },
    PreTokenizer { names: &["laguna"], stages: &[Stage::Lines, Stage::Words(cl100k(1))], ..PLAIN },
    PreTokenizer {
        names: &["minicpm5"],
        stages: &[Stage::Numbers(3), Stage::Words(cl100k(3))],
        whole_words: Whole::All,
        ..PLAIN
    },
    PreTokenizer {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"],
        stages: &[Stage::Numbers(1), Stage::Words(GPT2)],
        ..PLAIN
    },
    PreTokenizer {
        names: &["falcon"],
        stages: &[Stage::Run(is_falcon_sign), Stage::Words(GPT2), Stage::ThreeLimbs],
        ..PLAIN
    },
    PreTokenizer {
        names: &["tekken"],
        stages: &[Stage::Words(cased(false, 1))],
        whole_words: Whole::All,
        add_bos: true,
        ..PLAIN
    },
    PreTokenizer {
        names: &["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"],
        stages: &[Stage::Words(cased(true, 3))],
        ..PLAIN
    },
    PreTokenizer {
        names: &["granite-embed-multi-97m"],
        stages: &[Stage::Words(cased(true, 3))],
        whole_words: Whole::All,
        ..PLAIN
    },
    PreTokenizer {
        names: &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        stages: &[Stage::Numbers(3), Stage::Run(is_han_or_kana), Stage::DeepSeekWords { single_breaks: false }],
        ..PLAIN
    },
    PreTokenizer {
        names: &["spark2_5"],
        stages: &[
            Stage::Numbers(3),
            Stage::Run(is_han_or_kana),
            Stage::DeepSeekWords { single_breaks: true },
            Stage::Numbers(1),
        ],
        ..PLAIN
    },
    PreTokenizer {
        names: &["afmoe"],
        stages: &[Stage::Cuts(number_groups), Stage::Run(is_asian), Stage::DeepSeekWords { single_breaks: false }],
        ..PLAIN
    },
    PreTokenizer {
        names: &["youtu"],
        stages: &[
            Stage::Run(is_korean),
            Stage::Run(is_chinese_sign),
            Stage::Run(is_bopomofo),
            Stage::Run(is_han_or_kana),
            Stage::Words(cased(true, 1)),
        ],
        whole_words: Whole::All,
        ..PLAIN
    },
    PreTokenizer {
        names: &["tiny_aya", "cohere2moe"],
        stages: &[Stage::Cuts(digit_groups), Stage::Words(cased(true, 3))],
        ..PLAIN
    },
    PreTokenizer { names: &["superbpe"], stages: &[Stage::Run(is_number), Stage::Cuts(before_threes)], ..PLAIN },
    PreTokenizer {
        names: &["chameleon"],
        stages: &[
            Stage::Custom(sentinel),
            Stage::Custom(image),
            Stage::Custom(indent),
            Stage::Numbers(1),
            Stage::Custom(sign),
            Stage::Words(GPT2),
        ],
        add_bos: true,
        ..PLAIN
    },
    PreTokenizer {
        names: &["deepseek-llm"],
        stages: &[
            Stage::LineBreak,
            Stage::SpacedRun(is_cased_letter),
            Stage::SpacedRun(is_deep_seek_sign),
            Stage::SpaceAtEnd,
            Stage::Run(is_east_asian),
            Stage::Run(is_number),
        ],
        ..PLAIN
    },
    PreTokenizer {
        names: &["deepseek-coder"],
        stages: &[
            Stage::LineBreak,
            Stage::SpacedRun(is_letter),
            Stage::SpacedRun(is_punctuation),
            Stage::Run(is_east_asian),
            Stage::Numbers(1),
        ],
        ..PLAIN
    },
    PreTokenizer {
        names: &["bloom", "poro-chat", "gpt3-finnish"],
        stages: &[Stage::PlainSpacedRun(is_bloom_word)],
        ..PLAIN
    },
    PreTokenizer { names: &["viking"], stages: &[Stage::PlainSpacedRun(is_bloom_word), Stage::Numbers(1)], ..PLAIN },
    PreTokenizer {
        names: &["tekken-num3"],
        stages: &[Stage::Words(Words { numbers: Numbers::Threes, ..cased(false, 3) })],
        whole_words: Whole::All,
        add_bos: true,
        ..PLAIN
    },
    PreTokenizer {
        names: &["nemotron-3.5-embed"],
        stages: &[Stage::Words(cased(false, 1))],
        whole_words: Whole::All,
        rewrite: Some(without_joiners),
        add_bos: true,
        ..PLAIN
    },
    PreTokenizer { names: &["k2-horizon"], stages: &[Stage::Words(JOINED)], ..PLAIN },
    PreTokenizer {
        names: &["flint"],
        stages: &[Stage::Numbers(3), Stage::Run(is_han_or_kana), Stage::Words(FLINT)],
        ..PLAIN
    },
    // Over characters: `gemma4` is a value of `tokenizer.ggml.model`, too.
    PreTokenizer {
        names: &["gemma4", "granite-embed-multi-311m"],
        stages: &[Stage::Lines],
        whole_words: Whole::LineFeeds,
        add_bos: true,
        ..PLAIN
    },
    PreTokenizer { names: &["sarvam-moe", "domyn-small"], stages: &[Stage::Lines], ..PLAIN },
    PreTokenizer {
        names: &["mmbert"],
        stages: &[Stage::Lines, Stage::Custom(spaced)],
        whole_words: Whole::LineFeeds,
        rewrite: Some(spaced_lines),
        ..PLAIN
    },
    PreTokenizer {
        names: &["soprano"],
        stages: &[Stage::Numbers(1), Stage::Custom(same_kind)],
        rewrite: Some(small_letters),
        ..PLAIN
    },
];

/// The pre-tokenizer of this name, or `None` for an unknown one.
pub(super) fn by_name(name: &str) -> Option<&'static PreTokenizer> {
    PRE_TOKENIZERS.iter().find(|row| row.names.contains(&name))
}

/// The pre-tokenizer of files that name none, or an unknown one.
pub(super) fn fallback() -> &'static PreTokenizer {
    &PRE_TOKENIZERS[0]
}

fn is_letter(c: char) -> bool {
    Classes::of(c).meets(Classes::LETTER)
}

fn is_number(c: char) -> bool {
    Classes::of(c).meets(Classes::NUMBER)
}

fn is_punctuation(c: char) -> bool {
    Classes::of(c).meets(Classes::PUNCTUATION)
}

/// `[\p{P}$+<=>^~|]`
fn is_default_sign(c: char) -> bool {
    is_punctuation(c) || matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '~' | '|')
}

/// `[\p{P}$+<=>^~|`]`
fn is_falcon_sign(c: char) -> bool {
    is_default_sign(c) || c == '`'
}

/// DeepSeek LLM lists the letters of scripts with two cases one by one, which leaves out the mathematical alphabets.
fn is_cased_letter(c: char) -> bool {
    Classes::of(c).meets(Classes::UPPER.or(Classes::LOWER)) && !matches!(c, '\u{1d400}'..='\u{1d7ff}')
}

/// `[!-/:-~！-／：-～‘-‟　-。]`, where `:-~` takes in all ASCII letters too
fn is_deep_seek_sign(c: char) -> bool {
    matches!(c, '!'..='/' | ':'..='~' | '！'..='／' | '：'..='～' | '‘'..='‟' | '\u{3000}'..='。')
}

/// `[^(\s|.,!?…。，、।۔،)]`
fn is_bloom_word(c: char) -> bool {
    !c.is_whitespace() && !"(|.,!?…。，、।۔،)".contains(c)
}

#[cfg(test)]
mod tests {
    use super::super::split::split;
    use super::*;

    fn pieces<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        split(text, by_name(name).expect(name).stages, &mut |piece| pieces.push(piece));
        assert_eq!(pieces.concat(), text, "{name}");
        pieces
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = PRE_TOKENIZERS.iter().flat_map(|row| row.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    /// How the models' own patterns split many texts: see `tests/fixtures/tokenizer/README.md`.
    #[test]
    fn splits_as_the_regular_expressions_do() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/tokenizer/splits.json");
        let fixture: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).expect("splits.json")).expect("JSON");
        let texts: Vec<&str> =
            fixture["texts"].as_array().expect("texts").iter().filter_map(|text| text.as_str()).collect();
        for (name, splits) in fixture["splits"].as_object().expect("splits") {
            for (text, expected) in texts.iter().zip(splits.as_array().expect("lists")) {
                let lengths: Vec<usize> = pieces(name, text).iter().map(|piece| piece.chars().count()).collect();
                let expected: Vec<usize> =
                    expected.as_array().expect("lengths").iter().filter_map(|n| Some(n.as_u64()? as usize)).collect();
                assert_eq!(lengths, expected, "{name}: {text:?} is {:?}", pieces(name, text));
            }
        }
    }

    #[test]
    fn gpt2_words() {
        assert_eq!(
            pieces("gpt-2", "I'll  go, 'LL\n\n x12é "),
            ["I", "'ll", " ", " go", ",", " '", "LL", "\n\n", " x", "12", "é", " "]
        );
    }

    #[test]
    fn llama3_and_qwen2_differ_in_digits() {
        assert_eq!(pieces("llama-bpe", " a12345.\n\n  \n y"), [" a", "123", "45", ".\n\n", "  \n", " y"]);
        assert_eq!(pieces("qwen2", " a123'LL"), [" a", "1", "2", "3", "'LL"]);
    }

    #[test]
    fn marks_belong_to_words_in_qwen35_only() {
        assert_eq!(pieces("qwen2", "កាន់"), ["ក", "ាន", "់"]);
        assert_eq!(pieces("qwen35", "កាន់"), ["កាន់"]);
    }

    #[test]
    fn case_ends_words_in_tekken_and_gpt4o() {
        assert_eq!(
            pieces("tekken", "HTMLParser'll do camelCase ABC"),
            ["HTMLParser", "'ll", " do", " camel", "Case", " ABC"]
        );
        assert_eq!(pieces("gpt-4o", "HTMLParser'LL 我A"), ["HTMLParser'LL", " 我", "A"]);
    }

    #[test]
    fn default_isolates_signs_and_groups_digits() {
        assert_eq!(pieces("default", "a+b 1234567"), ["a", "+", "b", " ", "123", "456", "7"]);
    }

    #[test]
    fn deepseek_words() {
        assert_eq!(pieces("deepseek-v3", "我是A .net 1234!\n"), ["我是", "A", " .", "net", " ", "123", "4", "!\n"]);
        assert_eq!(pieces("deepseek-coder", "a b\r\n,12"), ["a", " b", "\r", "\n", ",", "1", "2"]);
        // The class of signs includes ASCII letters, which cuts words with other letters.
        assert_eq!(pieces("deepseek-llm", "été 12 我們 "), ["é", "t", "é", " ", "12", " ", "我們", " "]);
    }

    #[test]
    fn bloom_keeps_signs_apart() {
        assert_eq!(pieces("bloom", "a b, c-d"), ["a", " b", ",", " c-d"]);
        assert_eq!(pieces("viking", "a 12"), ["a", " ", "1", "2"]);
    }
}
