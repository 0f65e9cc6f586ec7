//! PLaMo 2's tokenizer: of all ways to cut a text into tokens, the one with the highest sum of scores; characters
//! without a token become byte tokens. PLaMo 3's does so with parts of the text.
//!
//! Origin: <https://arxiv.org/abs/2509.04897> and the tokenizer published with the model. The best way from each place
//! of the text to its end comes from the best ways from the places behind it (Viterbi). Scores are whole numbers, and
//! of equal ways the one that begins with the longest token counts.

use super::merge::NO_ID;
use super::special::Prefixes;
use super::vocab::Vocab;
use crate::error::{Error, Result};

/// Scores are rounded to multiples of 1 / `PARTS`.
const PARTS: f64 = 1e4;
/// The cost of a character that becomes byte tokens.
const UNKNOWN_COST: i64 = 10_000_000;
/// Tokens that cost this much or more are never taken.
const NEVER: i64 = 20_000_000;
/// Longer tokens are not looked for, in bytes.
const LONGEST: usize = 256;

/// How a tag begins and ends, such as `<|plamo:eos|>`, and the most characters of its name.
const TAG: &[u8] = b"<|plamo:";
const TAG_END: &[u8] = b"|>";
const LONGEST_TAG: usize = 64;
/// A private character that also cuts a text, and becomes no token.
const BORDER: char = '\u{ee00}';

/// An encoder of the highest scores.
#[derive(Debug)]
pub(super) struct Plamo {
    tokens: Prefixes,
    /// `[vocab]`: the scores, negated; [`NEVER`] without one.
    costs: Vec<i64>,
    bytes: Box<[u32; 256]>,
    /// Whether texts are cut into parts first.
    cuts: bool,
}

/// The best way from a place of the text to its end.
#[derive(Debug, Clone, Copy)]
struct Step {
    cost: i64,
    /// The first token of it; [`NO_ID`] for the bytes of a character.
    id: u32,
}

impl Plamo {
    /// An encoder for `vocab`, with the scores of its tokens; `cuts` for PLaMo 3.
    pub async fn new(vocab: &Vocab, scores: &[f32], cuts: bool, yield_now: &mut impl AsyncFnMut()) -> Result<Self> {
        let bytes = vocab.byte_tokens();
        if let Some(byte) = bytes.iter().position(|&id| id == NO_ID) {
            return Err(Error::bad_file(format!("the vocabulary has no token <0x{byte:02X}>")));
        }
        let cost = |&score: &f32| match score.is_finite() {
            true => -i64::from((f64::from(score) * PARTS).round() as i32),
            false => NEVER,
        };
        let costs = scores.iter().map(cost).collect();
        Ok(Self { tokens: Prefixes::new(vocab, LONGEST, yield_now).await, costs, bytes, cuts })
    }

    /// Appends the tokens of plain text. A byte order mark in front is left out where the text is not cut, as in
    /// llama.cpp.
    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        if !self.cuts {
            return self.encode_part(vocab, text.strip_prefix('\u{feff}').unwrap_or(text), out);
        }
        let cuts = cuts(text);
        let mut rest = 0;
        for end in (1..=text.len()).filter(|&end| cuts[end] || end == text.len()) {
            if !text[rest..].starts_with(BORDER) {
                self.encode_part(vocab, &text[rest..end], out);
            }
            rest = end;
        }
    }

    fn encode_part(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let steps = self.steps(vocab, text);
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let id = steps[text.len() - rest.len()].id;
            let len = vocab.token(id).map_or(first.len_utf8(), <[u8]>::len);
            match id {
                NO_ID => out.extend(rest[..len].bytes().map(|byte| self.bytes[usize::from(byte)])),
                _ => out.push(id),
            }
            rest = &rest[len..];
        }
    }

    /// The best way from each byte that begins a character.
    fn steps(&self, vocab: &Vocab, text: &str) -> Vec<Step> {
        let mut steps = vec![Step { cost: 0, id: NO_ID }; text.len() + 1];
        for (start, character) in text.char_indices().rev() {
            let mut best = Step { cost: i64::MAX, id: NO_ID };
            let mut offer = |len: usize, cost: i64, id: u32| {
                let cost = steps[start + len].cost + cost;
                if cost < best.cost {
                    best = Step { cost, id };
                }
            };
            let window = &text.as_bytes()[start..text.len().min(start + LONGEST)];
            self.tokens.each(vocab, window, |id| {
                let cost = self.costs[id as usize];
                if cost < NEVER {
                    offer(vocab.token(id).map_or(0, <[u8]>::len), cost, id);
                }
            });
            offer(character.len_utf8(), UNKNOWN_COST, NO_ID);
            steps[start] = best;
        }
        steps
    }
}

/// Where PLaMo 3's texts are cut, by bytes: around tags, four or more equal characters, and two or more spaces.
fn cuts(text: &str) -> Vec<bool> {
    let bytes = text.as_bytes();
    let mut cuts = vec![false; text.len() + 1];
    let ends = |c: char| c == '|' || c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let mut start = 0;
    while start < bytes.len() {
        let inside = start + TAG.len();
        start += 1;
        if bytes[start - 1..].starts_with(TAG)
            && let Some((len, _)) = text[inside..].char_indices().take(LONGEST_TAG + 1).find(|&(_, c)| ends(c))
            && bytes[inside + len..].starts_with(TAG_END)
        {
            cuts[start - 1] = true;
            start = inside + len + TAG_END.len();
            cuts[start] = true;
        }
    }
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let size = first.len_utf8();
        let mut end = start + size;
        while bytes[end..].starts_with(&bytes[start..start + size]) && !cuts[end] {
            end += size;
        }
        let least = match first {
            BORDER => 1,
            ' ' => 2,
            '\n' => usize::MAX,
            _ => 4,
        };
        if (end - start) / size >= least {
            (cuts[start], cuts[end]) = (true, true);
        }
        start = end;
    }
    cuts
}
