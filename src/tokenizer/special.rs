//! Tokens that are found in the text before anything else, and tokens that end an answer.

use super::vocab::{Kind, Vocab};
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
        let text_of = |id: u32| vocab.token(id).unwrap_or_default();
        let mut ids = Vec::new();
        for id in 0..vocab.len() as u32 {
            if (id as usize).is_multiple_of(ITEMS) {
                yield_now().await;
            }
            // Tokens that are parts of characters cannot be written in a text.
            let findable = !text_of(id).is_empty() && std::str::from_utf8(text_of(id)).is_ok();
            if findable && vocab.kind(id).is_some_and(&wanted) {
                ids.push(id);
            }
        }
        ids.sort_unstable_by_key(|&id| (text_of(id), id));
        ids.dedup_by_key(|id| text_of(*id));
        let first = |id: u32| usize::from(text_of(id)[0]);
        let starts = std::array::from_fn(|byte| ids.partition_point(|&id| first(id) < byte) as u32);
        Self { ids, starts: Box::new(starts) }
    }

    /// Whether this text is one of the tokens.
    pub fn has(&self, vocab: &Vocab, text: &str) -> bool {
        self.ids.binary_search_by(|&id| vocab.token(id).unwrap_or_default().cmp(text.as_bytes())).is_ok()
    }

    /// Calls `each` with the tokens that `text` begins with, shorter ones first.
    pub fn each_prefix(&self, vocab: &Vocab, text: &[u8], mut each: impl FnMut(u32)) {
        let Some(&first) = text.first() else { return };
        let mut ids = &self.ids[self.starts[usize::from(first)] as usize..self.starts[usize::from(first) + 1] as usize];
        let text_of = |id: u32| vocab.token(id).unwrap_or_default();
        // All of `ids` begin with the first `depth` bytes of the text.
        for depth in 1.. {
            match *ids {
                [] => return,
                [id] => {
                    if text.starts_with(text_of(id)) {
                        each(id);
                    }
                    return;
                }
                [id, ref longer @ ..] if text_of(id).len() == depth => {
                    each(id);
                    ids = longer;
                }
                _ => {}
            }
            let Some(&byte) = text.get(depth) else { return };
            let start = ids.partition_point(|&id| text_of(id)[depth] < byte);
            let end = ids.partition_point(|&id| text_of(id)[depth] <= byte);
            ids = &ids[start..end];
        }
    }

    /// The longest token that `text` begins with.
    pub fn longest(&self, vocab: &Vocab, text: &[u8]) -> Option<u32> {
        let mut best = None;
        self.each_prefix(vocab, text, |id| best = Some(id));
        best
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
