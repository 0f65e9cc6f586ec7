//! WordPiece (BERT): each word is cut, from its start, into the longest pieces that are tokens.
//!
//! Origin: Devlin et al., <https://arxiv.org/abs/1810.04805>, and its published tokenizer. In GGUF the tokens that
//! begin a word have U+2581 in front; those that go on with one have lost their `##`.

use super::classes::{Classes, is_control_or_format, is_nonspacing_mark};
use super::normal::decomposed;
use super::special::Matcher;
use super::vocab::Vocab;
use super::words::{WordCache, for_each_word};

/// Words of more characters are the unknown token, as in BERT's own tokenizer.
const LONGEST_WORD: usize = 100;

/// The normalisation of a text before it is split into words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Normalizer {
    pub lowercase: bool,
    pub strip_accents: bool,
}

/// A WordPiece encoder.
#[derive(Debug)]
pub(super) struct WordPiece {
    pub pieces: Matcher,
    pub normalizer: Normalizer,
    /// For words that are not made of pieces; without it they are left out.
    pub unknown: Option<u32>,
}

impl WordPiece {
    /// Appends the tokens of plain text.
    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let words = self.normalizer.words(text);
        let mut seen = WordCache::new();
        for_each_word(&words, |word| seen.encode(word, out, |out| self.encode_word(vocab, word, out)));
    }

    /// `word` begins with a space.
    fn encode_word(&self, vocab: &Vocab, word: &str, out: &mut Vec<u32>) {
        let start = out.len();
        let mut rest = word.as_bytes();
        let fits = word.chars().count() - 1 <= LONGEST_WORD;
        while fits && let Some(id) = self.pieces.longest(vocab, rest) {
            out.push(id);
            rest = &rest[vocab.token(id).map_or(rest.len(), <[u8]>::len)..];
        }
        if !rest.is_empty() {
            out.truncate(start);
            out.extend(self.unknown);
        }
    }
}

impl Normalizer {
    /// The words of `text`, each with one space in front. White space separates words; signs and Chinese characters are
    /// words of their own.
    fn words(&self, text: &str) -> String {
        let mut words = String::with_capacity(text.len() + text.len() / 4);
        let mut in_word = false;
        let push = |character: char| {
            if character.is_whitespace() {
                in_word = false;
                return;
            }
            let alone = is_sign(character) || is_chinese(character);
            if alone || !in_word {
                words.push(' ');
            }
            in_word = !alone;
            words.push(character);
        };
        let kept = text.chars().filter(|&character| !is_dropped(character));
        if self.strip_accents {
            let decomposed = decomposed(&kept.collect::<String>());
            decomposed.chars().filter(|&character| !is_nonspacing_mark(character)).for_each(push);
        } else {
            kept.for_each(push);
        }
        if self.lowercase { lowered(words) } else { words }
    }
}

/// `text` with each character in lower case, by itself: a sigma at the end of a word is one like others. The tables are
/// those of JavaScript.
#[cfg(target_arch = "wasm32")]
pub(super) fn lowered(text: String) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        // It is the one letter that depends on its neighbours.
        false => js_sys::JsString::from(text.replace('Σ', "σ")).to_lower_case().into(),
    }
}

/// The same where there is no JavaScript.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn lowered(text: String) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Control characters and what stands for a broken character.
fn is_dropped(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        char::REPLACEMENT_CHARACTER => true,
        _ => is_control_or_format(character),
    }
}

fn is_sign(character: char) -> bool {
    character.is_ascii_punctuation() || Classes::of(character).meets(Classes::PUNCTUATION)
}

/// The blocks of Chinese characters that BERT's tokenizer names. Extension E begins later than it does in Unicode, by
/// a slip in the tokenizers that models are trained with.
fn is_chinese(character: char) -> bool {
    matches!(character,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2b73f}' | '\u{2b740}'..='\u{2b81f}' | '\u{2b920}'..='\u{2ceaf}' | '\u{2f800}'..='\u{2fa1f}')
}
