//! Tokens that are found in the text before anything else, and tokens that end an answer.

use std::collections::BTreeMap;

use super::vocab::{Kind, Spelling, Vocab};
use crate::sort::sort_by;
use crate::yielding::ITEMS;

/// A piece of input: text still to be encoded, or a special token that was written in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fragment<'t> {
    Text(&'t str),
    Token(u32),
}

/// The sides of a special token on which it swallows white space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Sides {
    pub left: bool,
    pub right: bool,
}

/// Longer tokens are not looked for: a search takes as many steps as the text agrees with a token, at each place.
const LONGEST: usize = 256;

/// Finds tokens that are written in a text: at each place the longest.
///
/// The tokens are sorted by their bytes, so those with a common beginning are neighbours. A search narrows the list
/// byte by byte, and takes as many steps as the text agrees with some token, however many tokens there are.
#[derive(Debug)]
pub(super) struct Matcher {
    /// Token ids in the order of their bytes, each text once.
    ids: Vec<u32>,
    /// For each first byte where its tokens begin in `ids`; the last is the end of the list.
    starts: Box<[u32; 257]>,
}

impl Matcher {
    /// Finds the tokens whose kind `wanted` accepts. Of several with one text, the first id counts.
    pub async fn new(vocab: &Vocab, wanted: impl Fn(Kind) -> bool, yield_now: &mut impl AsyncFnMut()) -> Self {
        // Tokens that are parts of characters cannot be written in a text.
        Self::of(vocab, |kind, text| wanted(kind) && std::str::from_utf8(text).is_ok(), yield_now).await
    }

    /// The same of tokens that may be parts of characters, for texts that are cut into tokens alone.
    pub async fn of(vocab: &Vocab, wanted: impl Fn(Kind, &[u8]) -> bool, yield_now: &mut impl AsyncFnMut()) -> Self {
        let text_of = |id: u32| vocab.token(id).unwrap_or_default();
        let mut ids = BTreeMap::new();
        for id in 0..vocab.len() as u32 {
            if (id as usize).is_multiple_of(ITEMS) {
                yield_now().await;
            }
            let text = text_of(id);
            if (1..=LONGEST).contains(&text.len()) && vocab.kind(id).is_some_and(|kind| wanted(kind, text)) {
                ids.entry(text).or_insert(id);
            }
        }
        let mut matcher = Self { ids: ids.into_values().collect(), starts: Box::new([0; 257]) };
        matcher.index(vocab);
        matcher
    }

    fn index(&mut self, vocab: &Vocab) {
        let first = |id: u32| vocab.token(id).and_then(|text| text.first()).map_or(0, |&byte| usize::from(byte));
        for (byte, start) in self.starts.iter_mut().enumerate() {
            *start = self.ids.partition_point(|&id| first(id) < byte) as u32;
        }
    }

    /// Whether this text is one of the tokens.
    pub fn has(&self, vocab: &Vocab, text: &str) -> bool {
        self.ids.binary_search_by(|&id| vocab.token(id).unwrap_or_default().cmp(text.as_bytes())).is_ok()
    }

    /// The longest token that `text` begins with.
    pub fn longest(&self, vocab: &Vocab, text: &[u8]) -> Option<u32> {
        let mut ids = self.with_first_byte(text)?;
        let text_of = |id: u32| vocab.token(id).unwrap_or_default();
        let mut best = None;
        // All of `ids` begin with the first `depth` bytes of the text.
        for depth in 1.. {
            match *ids {
                [] => break,
                [id] => return if text.starts_with(text_of(id)) { Some(id) } else { best },
                [id, ref longer @ ..] if text_of(id).len() == depth => (best, ids) = (Some(id), longer),
                _ => {}
            }
            let Some(&byte) = text.get(depth) else { break };
            let start = ids.partition_point(|&id| text_of(id)[depth] < byte);
            let end = ids.partition_point(|&id| text_of(id)[depth] <= byte);
            ids = &ids[start..end];
        }
        best
    }

    fn with_first_byte(&self, text: &[u8]) -> Option<&[u32]> {
        let first = usize::from(*text.first()?);
        Some(&self.ids[self.starts[first] as usize..self.starts[first + 1] as usize])
    }

    /// The first token at or after `from`, and where it starts.
    fn next(&self, vocab: &Vocab, text: &str, from: usize) -> Option<(usize, u32)> {
        let bytes = text.as_bytes();
        (from..bytes.len()).find_map(|at| self.longest(vocab, &bytes[at..]).map(|id| (at, id)))
    }

    /// Calls `each` with the fragments of `text` in order; empty texts are left out.
    /// `strips` says of which sides a token swallows the white space.
    pub fn cut<'t>(
        &self,
        vocab: &Vocab,
        text: &'t str,
        strips: impl Fn(u32) -> Sides,
        mut each: impl FnMut(Fragment<'t>),
    ) {
        let mut start = 0;
        while let Some((at, id)) = self.next(vocab, text, start) {
            let sides = strips(id);
            let before = if sides.left { text[start..at].trim_ascii_end() } else { &text[start..at] };
            if !before.is_empty() {
                each(Fragment::Text(before));
            }
            each(Fragment::Token(id));
            start = at + vocab.token(id).map_or(1, <[u8]>::len);
            if sides.right {
                start = text.len() - text[start..].trim_ascii_start().len();
            }
        }
        if start < text.len() {
            each(Fragment::Text(&text[start..]));
        }
    }
}

/// Finds all tokens that a text begins with.
#[derive(Debug)]
pub(super) struct Prefixes {
    matcher: Matcher,
    /// For each place in the list of `matcher` that of the longest token that this one begins with, or [`NOWHERE`].
    parents: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl Prefixes {
    /// The prefixes of text tokens with at most `longest` bytes.
    pub async fn new(vocab: &Vocab, longest: usize, yield_now: &mut impl AsyncFnMut()) -> Self {
        let mut matcher = Matcher::new(vocab, Kind::is_text, yield_now).await;
        let text_of = |id: u32| vocab.token(id).unwrap_or_default();
        matcher.ids.retain(|&id| text_of(id).len() <= longest);
        matcher.index(vocab);
        let mut parents: Vec<u32> = Vec::with_capacity(matcher.ids.len());
        for (at, &id) in matcher.ids.iter().enumerate() {
            if at.is_multiple_of(ITEMS) {
                yield_now().await;
            }
            // The token before, or one that it begins with in turn.
            let mut parent = (at as u32).checked_sub(1).unwrap_or(NOWHERE);
            while parent != NOWHERE && !text_of(id).starts_with(text_of(matcher.ids[parent as usize])) {
                parent = parents[parent as usize];
            }
            parents.push(parent);
        }
        Self { matcher, parents }
    }

    /// Calls `each` with the tokens that `text` begins with, the longest first.
    pub fn each(&self, vocab: &Vocab, text: &[u8], mut each: impl FnMut(u32)) {
        let Some(ids) = self.matcher.with_first_byte(text) else { return };
        let text_of = |id: u32| vocab.token(id).unwrap_or_default();
        // Tokens that the text begins with sort before it, and the last one that does begins with all of them.
        let Some(last) = ids.partition_point(|&id| text_of(id) <= text).checked_sub(1) else { return };
        let same = text_of(ids[last]).iter().zip(text).take_while(|(a, b)| a == b).count();
        let mut at = self.matcher.starts[usize::from(text[0])] + last as u32;
        while at != NOWHERE {
            let id = self.matcher.ids[at as usize];
            if text_of(id).len() <= same {
                each(id);
            }
            at = self.parents[at as usize];
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

/// Parts of the Harmony format (gpt-oss). They are text of the answer, which says what is thought and what is said.
static SHOWN: &[&str] = &["<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"];

/// Whether a text ends a turn or an answer, or begins a part of one, wherever it is a token, of whatever kind.
pub(super) fn is_sign(text: &str) -> bool {
    ENDS.contains(&text) || SHOWN.contains(&text)
}

/// The tokens that end an answer: those the file names (`named`) and those known by their text. They become control
/// tokens, others that only look like it become text. Sorted, each once.
pub(super) fn end_tokens(vocab: &mut Vocab, named: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut ends: Vec<u32> = named.into_iter().collect();
    let (mut found, mut shown) = (Vec::new(), Vec::new());
    for id in 0..vocab.len() as u32 {
        let Some(text) = vocab.token(id) else { continue };
        let is = |list: &[&'static str]| list.iter().copied().find(|end| end.as_bytes() == text);
        let control = vocab.kind(id) == Some(Kind::Control);
        if let Some(text) = is(ENDS).or_else(|| is(ENDS_IF_CONTROL).filter(|_| control)) {
            found.push((id, text));
        }
        if is(SHOWN).is_some() {
            shown.push(id);
        }
    }
    let has = |text: &str| found.iter().any(|&(_, other)| other == text);
    // In the Harmony format `<|end|>` ends a message, not the answer; Gemma 4 answers with `</s>` in plain text.
    let harmony = has("<|call|>") && has("<|return|>") || has("<|calls|>") && has("<|flush|>");
    let gemma4 = has("<|tool_response>");
    let stays = |text: &str| !(harmony && text == "<|end|>" || gemma4 && text == "</s>");
    for (id, text) in found {
        match text {
            _ if stays(text) => ends.push(id),
            "</s>" => vocab.set_kind(id, Kind::Normal),
            _ => shown.push(id),
        }
    }
    for id in shown {
        vocab.set_kind(id, Kind::UserDefined);
    }
    sort_by(&mut ends, |a, b| a < b);
    ends.dedup();
    for &id in &ends {
        // RWKV's answers end with a blank line, which is text elsewhere.
        let is_blank = vocab.token(id).is_some_and(|text| text.trim_ascii().is_empty());
        if !(is_blank && vocab.spelling() == Spelling::Escaped) {
            vocab.set_kind(id, Kind::Control);
        }
    }
    ends
}
