//! Tokens that are found in the text before anything else, and tokens that end an answer.

use super::index::{IndexTable, hash_bytes};
use super::vocab::{Kind, Vocab};
use crate::yielding::ITEMS;

/// A piece of input: text still to be encoded, or a token that stood there literally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    Text(&'t str),
    Token(u32),
}

/// Finds tokens that stand literally in a text: of those at one place the longest.
#[derive(Debug)]
pub(super) struct Matcher {
    /// For each first byte the lengths of the tokens, longest first.
    lengths: Vec<Vec<u32>>,
    ids: Vec<u32>,
    /// Positions in `ids`.
    by_text: IndexTable,
}

impl Matcher {
    /// Finds the tokens whose kind `wanted` accepts.
    pub async fn new(vocab: &Vocab, wanted: impl Fn(Kind) -> bool, yield_now: &mut impl AsyncFnMut()) -> Self {
        let mut matcher = Self { lengths: vec![Vec::new(); 256], ids: Vec::new(), by_text: IndexTable::with_room(0) };
        let text_of = |id| vocab.token(id).unwrap_or_default();
        for id in 0..vocab.len() as u32 {
            if (id as usize).is_multiple_of(ITEMS) {
                yield_now().await;
            }
            let text = text_of(id);
            let (Some(&first), Some(kind)) = (text.first(), vocab.kind(id)) else { continue };
            // A part of a character cannot stand in a text.
            if wanted(kind) && std::str::from_utf8(text).is_ok() && matcher.find(vocab, text).is_none() {
                matcher.ids.push(id);
                let ids = &matcher.ids;
                matcher.by_text.insert(ids.len() as u32 - 1, |at| hash_bytes(text_of(ids[at as usize])));
                let lengths = &mut matcher.lengths[usize::from(first)];
                if let Err(place) = lengths.binary_search_by(|len| text.len().cmp(&(*len as usize))) {
                    lengths.insert(place, text.len() as u32);
                }
            }
        }
        matcher
    }

    fn find(&self, vocab: &Vocab, text: &[u8]) -> Option<u32> {
        let is = |at: u32| vocab.token(self.ids[at as usize]) == Some(text);
        self.by_text.find(hash_bytes(text), is).map(|at| self.ids[at as usize])
    }

    /// Whether this text is one of the tokens.
    pub fn has(&self, vocab: &Vocab, text: &str) -> bool {
        self.find(vocab, text.as_bytes()).is_some()
    }

    /// The first token at or after `from`, and where it starts.
    fn next(&self, vocab: &Vocab, text: &str, from: usize) -> Option<(usize, u32)> {
        let bytes = text.as_bytes();
        (from..bytes.len()).find_map(|at| {
            let lengths = &self.lengths[usize::from(bytes[at])];
            let here = |&len: &u32| self.find(vocab, bytes.get(at..at + len as usize)?);
            lengths.iter().find_map(here).map(|id| (at, id))
        })
    }

    /// Calls `each` with the fragments of `text` in order; empty texts are left out.
    /// `eats_space` says whether a token takes the white space behind it with it.
    pub fn cut<'t>(
        &self,
        vocab: &Vocab,
        text: &'t str,
        eats_space: impl Fn(u32) -> bool,
        mut each: impl FnMut(Fragment<'t>),
    ) {
        let mut start = 0;
        while let Some((at, id)) = self.next(vocab, text, start) {
            if start < at {
                each(Fragment::Text(&text[start..at]));
            }
            each(Fragment::Token(id));
            start = at + vocab.token(id).map_or(1, <[u8]>::len);
            if eats_space(id) {
                start = text.len() - text[start..].trim_ascii_start().len();
            }
        }
        if start < text.len() {
            each(Fragment::Text(&text[start..]));
        }
    }
}

/// Texts that end a turn or an answer wherever they are tokens. Files often name only one of several.
static ENDS: &[&str] = &[
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "_<EOT>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<turn|>",
    "<|tool_response>",
    "<｜end▁of▁sentence｜>",
    "[e~[",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
];

/// Texts that end an answer only where the file says that they are control tokens: plain vocabularies have some of
/// them.
static ENDS_IF_CONTROL: &[&str] = &["</s>", "<eos>", "<EOT>", "[EOT]", "[EOS]"];

/// The tokens that end an answer: those the file names (`named`) and those known by their text. They become control
/// tokens. Sorted, each once.
pub(super) fn end_tokens(vocab: &mut Vocab, named: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut ends: Vec<u32> = named.into_iter().collect();
    let mut found = Vec::new();
    for id in 0..vocab.len() as u32 {
        let Some(text) = vocab.token(id) else { continue };
        let is = |list: &[&'static str]| list.iter().copied().find(|end| end.as_bytes() == text);
        let control = vocab.kind(id) == Some(Kind::Control);
        if let Some(text) = is(ENDS).or_else(|| is(ENDS_IF_CONTROL).filter(|_| control)) {
            found.push((id, text));
        }
    }
    let has = |text: &str| found.iter().any(|&(_, other)| other == text);
    // In the Harmony format `<|end|>` ends a message, not the answer; Gemma 4 answers with `</s>` in plain text.
    let harmony = has("<|call|>") && has("<|return|>") || has("<|calls|>") && has("<|flush|>");
    let gemma4 = has("<|tool_response>");
    let stays = |text: &str| !(harmony && text == "<|end|>" || gemma4 && text == "</s>");
    ends.extend(found.iter().filter(|(_, text)| stays(text)).map(|&(id, _)| id));
    ends.sort_unstable();
    ends.dedup();
    for &id in &ends {
        vocab.set_kind(id, Kind::Control);
    }
    ends
}
