//! SentencePiece's unigram model (T5, XLM-R): of all ways to cut a text into tokens, the one with the highest sum of
//! scores.
//!
//! Method: Kudo, <https://arxiv.org/abs/1804.10959>; the best way to each place of the text comes from the best ways to
//! the places before it (Viterbi).

use super::charsmap::Charsmap;
use super::merge::NO_ID;
use super::special::Prefixes;
use super::vocab::{Kind, METASPACE, Vocab};
use super::words::{WordCache, for_each_word};
use crate::error::{Error, Result};

/// An unknown character costs this much more than the token with the lowest score.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Longer tokens are not looked for: SentencePiece makes none of more than 16 characters unless it is told to.
const LONGEST_PIECE: usize = 256;

/// The normalisation of a text before it is segmented.
#[derive(Debug)]
pub(super) struct Normalizer {
    pub charsmap: Option<Charsmap>,
    /// Text gets a leading space.
    pub space_prefix: bool,
    /// Spaces at the ends and behind other spaces are left out.
    pub merge_spaces: bool,
}

/// A unigram encoder.
#[derive(Debug)]
pub(super) struct Unigram {
    pieces: Prefixes,
    /// `[vocab]`
    scores: Vec<f32>,
    unknown: u32,
    unknown_score: f32,
    splits_at_spaces: bool,
    normalizer: Normalizer,
}

/// The best way to a place of the text.
#[derive(Debug, Clone, Copy)]
struct Step {
    score: f64,
    /// Where the last token of it starts.
    start: u32,
    id: u32,
}

const UNREACHED: Step = Step { score: f64::NEG_INFINITY, start: 0, id: NO_ID };

impl Unigram {
    /// An encoder for `vocab` with the scores of its tokens.
    pub async fn new(
        vocab: &Vocab,
        mut scores: Vec<f32>,
        unknown: Option<u32>,
        normalizer: Normalizer,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<Self> {
        if let Some(id) = scores.iter().position(|score| !score.is_finite()) {
            return Err(Error::bad_file(format!("the score of token {id} is {}", scores[id])));
        }
        let mut lowest = f32::MAX;
        for (id, score) in (0..).zip(&mut scores) {
            match vocab.kind(id) {
                Some(Kind::Normal) => lowest = lowest.min(*score),
                // Added tokens are found before all others, whatever their scores.
                Some(Kind::UserDefined) => *score = 0.0,
                _ => {}
            }
        }
        Ok(Self {
            pieces: Prefixes::new(vocab, LONGEST_PIECE, yield_now).await,
            scores,
            unknown: unknown.unwrap_or(NO_ID),
            unknown_score: lowest - UNKNOWN_PENALTY,
            splits_at_spaces: vocab.splits_at_spaces(),
            normalizer,
        })
    }

    /// Appends the tokens of plain text. Unknown characters beside each other are one unknown token.
    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let text = self.normalizer.normalize(text);
        let mut ids = Vec::with_capacity(text.len() / 3);
        let mut steps = Vec::new();
        if self.splits_at_spaces {
            let mut seen = WordCache::new();
            for_each_word(&text, |word| {
                seen.encode(word, &mut ids, |ids| self.encode_word(vocab, word, &mut steps, ids));
            });
        } else {
            self.encode_word(vocab, &text, &mut steps, &mut ids);
        }
        ids.dedup_by(|id, before| id == before && *id == self.unknown);
        out.extend(ids.into_iter().filter(|&id| id != NO_ID));
    }

    fn encode_word(&self, vocab: &Vocab, word: &str, steps: &mut Vec<Step>, out: &mut Vec<u32>) {
        steps.clear();
        steps.resize(word.len() + 1, UNREACHED);
        steps[0].score = 0.0;
        for (start, character) in word.char_indices() {
            let before = steps[start].score;
            let mut offer = |len: usize, id: u32, score: f32| {
                let step = Step { score: before + f64::from(score), start: start as u32, id };
                if step.score > steps[start + len].score {
                    steps[start + len] = step;
                }
            };
            let mut known = false;
            let window = &word.as_bytes()[start..word.len().min(start + LONGEST_PIECE)];
            self.pieces.each(vocab, window, |id| {
                let len = vocab.token(id).map_or(0, <[u8]>::len);
                known |= len == character.len_utf8();
                offer(len, id, self.scores[id as usize]);
            });
            if !known {
                offer(character.len_utf8(), self.unknown, self.unknown_score);
            }
        }
        let first = out.len();
        let mut end = word.len();
        while end > 0 {
            out.push(steps[end].id);
            end = steps[end].start as usize;
        }
        out[first..].reverse();
    }
}

impl Normalizer {
    /// The text as the pieces spell it.
    fn normalize(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + text.len() / 8 + 1);
        if self.space_prefix && !self.merge_spaces && !text.is_empty() {
            out.push(' ');
        }
        let mut in_word = false;
        let mut push = |character: char| {
            if self.merge_spaces {
                let begins = character != ' ' && !in_word;
                in_word = character != ' ';
                if begins && (self.space_prefix || !out.is_empty()) {
                    out.push(' ');
                }
                if !in_word {
                    return;
                }
            }
            out.push(if character == METASPACE { ' ' } else { character });
        };
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let found = self.charsmap.as_ref().and_then(|map| map.longest(rest));
            match found {
                Some((_, replacement)) => replacement.chars().for_each(&mut push),
                None => push(character),
            }
            rest = &rest[found.map_or(character.len_utf8(), |(len, _)| len)..];
        }
        out
    }
}
