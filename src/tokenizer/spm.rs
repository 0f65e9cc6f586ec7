//! SentencePiece's BPE: of all neighbours whose text together is a token, those of the highest score merge first.
//!
//! Method: Kudo and Richardson, <https://arxiv.org/abs/1808.06226>; text without a token becomes byte tokens.

use super::merge::{Merge, Merger, NO_ID, Symbol};
use super::vocab::Vocab;
use super::words::{WordCache, for_each_word};
use crate::error::{Error, Result};

/// A SentencePiece encoder.
#[derive(Debug)]
pub(super) struct Spm {
    /// The score of each token as a rank: the higher the score, the lower the number.
    priorities: Vec<u32>,
    fallback: Box<[u32; 256]>,
    /// The unknown token: for text with neither a token nor byte tokens.
    unknown: Option<u32>,
    splits_at_spaces: bool,
}

impl Spm {
    /// An encoder for `vocab`, with the scores of its tokens.
    pub fn new(vocab: &Vocab, scores: &[f32], unknown: Option<u32>) -> Result<Self> {
        if let Some(id) = scores.iter().position(|score| score.is_nan()) {
            return Err(Error::bad_file(format!("the score of token {id} is not a number")));
        }
        Ok(Self {
            priorities: scores.iter().map(|&score| priority(score)).collect(),
            fallback: vocab.byte_tokens(),
            unknown,
            splits_at_spaces: vocab.splits_at_spaces(),
        })
    }

    /// Appends the tokens of plain text, in which spaces are still spaces.
    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let mut merger = Merger::default();
        if !self.splits_at_spaces {
            return self.encode_word(vocab, text, &mut merger, out);
        }
        let mut seen = WordCache::new();
        for_each_word(text, |word| seen.encode(word, out, |out| self.encode_word(vocab, word, &mut merger, out)));
    }

    fn encode_word(&self, vocab: &Vocab, word: &str, merger: &mut Merger, out: &mut Vec<u32>) {
        let bytes = word.as_bytes();
        merger.clear();
        for (start, character) in word.char_indices() {
            let len = character.len_utf8();
            let id = vocab.find(&bytes[start..start + len]).unwrap_or(NO_ID);
            merger.push(Symbol { start: start as u32, len: len as u32, id });
        }
        let merge_of = |left: &Symbol, right: &Symbol| {
            let id = vocab.find(&bytes[left.start as usize..right.end() as usize])?;
            Some(Merge { priority: self.priorities[id as usize], id })
        };
        for symbol in merger.run(merge_of) {
            if vocab.is_token(symbol.id) {
                out.push(symbol.id);
                continue;
            }
            for &byte in &bytes[symbol.start as usize..symbol.end() as usize] {
                let id = self.fallback[usize::from(byte)];
                out.extend(if vocab.is_token(id) { Some(id) } else { self.unknown });
            }
        }
    }
}

/// Integers in the reverse order of the scores.
fn priority(score: f32) -> u32 {
    // Adding zero makes the negative zero a positive one: they are equal as scores.
    let bits = (score + 0.0).to_bits();
    let ascending = if score < 0.0 { !bits } else { bits | 1 << 31 };
    !ascending
}

#[cfg(test)]
mod tests {
    use super::priority;

    #[test]
    fn priorities_reverse_the_scores() {
        let scores = [f32::INFINITY, 3.5, 1.0, f32::MIN_POSITIVE, 0.0, -1e-30, -1.0, -1000.0, f32::NEG_INFINITY];
        assert!(scores.is_sorted_by(|a, b| priority(*a) < priority(*b)));
        assert_eq!(priority(-0.0), priority(0.0));
    }
}
