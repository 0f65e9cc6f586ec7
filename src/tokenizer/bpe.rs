//! Byte pair encoding with ranked merges, over bytes (GPT-2 and most models since) or over characters (Gemma 4).

use std::borrow::Cow;

use super::index::{IndexTable, hash_pair};
use super::merge::{Merge, Merger, NO_ID, Symbol};
use super::normal::composed;
use super::pretokenizers::{PreTokenizer, Whole};
use super::split::split;
use super::vocab::{Spelling, Vocab, push_spelled, shown};
use super::words::WordCache;
use crate::error::{Error, Result};
use crate::gguf::Strings;
use crate::yielding::ITEMS;

/// The merges: which pair of pieces becomes which piece. The position in the list is the rank.
#[derive(Debug)]
struct Merges {
    pairs: Vec<[u32; 2]>,
    merged: Vec<u32>,
    by_pair: IndexTable,
}

impl Merges {
    fn with_room(count: usize) -> Self {
        Self {
            pairs: Vec::with_capacity(count),
            merged: Vec::with_capacity(count),
            by_pair: IndexTable::with_room(count),
        }
    }

    fn get(&self, left: u32, right: u32) -> Option<Merge> {
        let rank = self.by_pair.find(hash_pair(left, right), |rank| self.pairs[rank as usize] == [left, right])?;
        Some(Merge { priority: rank, id: self.merged[rank as usize] })
    }

    /// The first one of equal pairs counts.
    fn push(&mut self, left: u32, right: u32, merged: u32) {
        if self.get(left, right).is_some() {
            return;
        }
        let rank = self.pairs.len() as u32;
        self.pairs.push([left, right]);
        self.merged.push(merged);
        let pairs = &self.pairs;
        self.by_pair.insert(rank, |rank| hash_pair(pairs[rank as usize][0], pairs[rank as usize][1]));
    }
}

/// A BPE encoder.
#[derive(Debug)]
pub(super) struct Bpe {
    merges: Merges,
    words: &'static PreTokenizer,
    /// Whether texts are composed before they are cut into words.
    composes: bool,
    /// The piece of every single byte, or [`NO_ID`]; for byte-level BPE.
    bytes: Box<[u32; 256]>,
    /// Byte tokens, for characters without a token; for BPE over characters.
    fallback: Option<Box<[u32; 256]>>,
    /// The token of text that has none, in place of byte tokens; for BPE over characters.
    unknown: Option<u32>,
    /// No merge joins a space to what precedes it, so words can be merged one by one.
    splits_at_spaces: bool,
}

impl Bpe {
    /// Reads the merges, each `left right`. Results that are not tokens are added to `vocab`.
    pub async fn new(
        vocab: &mut Vocab,
        merges: &Strings,
        (words, composes): (&'static PreTokenizer, bool),
        unknown: Option<u32>,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<Self> {
        let mut table = Merges::with_room(merges.len());
        let mut both = Vec::new();
        for (rank, merge) in merges.iter().enumerate() {
            let (left, right) = parts(merge).ok_or_else(|| {
                Error::bad_file(format!("merge {rank} is not two texts with a space between them: {}", shown(merge)))
            })?;
            both.clear();
            push_spelled(left, vocab.spelling(), &mut both);
            let border = both.len();
            push_spelled(right, vocab.spelling(), &mut both);
            let (left, right) = (vocab.intern(&both[..border])?, vocab.intern(&both[border..])?);
            table.push(left, right, vocab.intern(&both)?);
            if rank % ITEMS == 0 {
                yield_now().await;
            }
        }
        let over_characters = vocab.spelling() != Spelling::ByteLevel;
        Ok(Self {
            merges: table,
            words,
            composes,
            bytes: Box::new(std::array::from_fn(|byte| vocab.find(&[byte as u8]).unwrap_or(NO_ID))),
            unknown,
            fallback: over_characters.then(|| vocab.byte_tokens()),
            splits_at_spaces: over_characters && vocab.splits_at_spaces(),
        })
    }

    /// Appends the tokens of plain text.
    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let mut merger = Merger::default();
        let mut seen = WordCache::new();
        let text = match self.words.rewrite {
            Some(rewrite) => Cow::Owned(rewrite(text)),
            None if self.composes => composed(text),
            None => Cow::Borrowed(text),
        };
        split(&text, self.words.stages, &mut |piece| {
            if self.splits_at_spaces {
                super::words::for_each_word(piece, |word| {
                    seen.encode(word, out, |out| self.encode_word(vocab, word, &mut merger, out));
                });
            } else {
                seen.encode(piece, out, |out| self.encode_word(vocab, piece, &mut merger, out));
            }
        });
    }

    fn encode_word(&self, vocab: &Vocab, word: &str, merger: &mut Merger, out: &mut Vec<u32>) {
        let is_whole = match self.words.whole_words {
            Whole::None => false,
            Whole::LineFeeds => word.bytes().all(|byte| byte == b'\n'),
            Whole::All => true,
        };
        if is_whole
            && let Some(id) = vocab.find(word.as_bytes())
            && vocab.is_token(id)
        {
            out.push(id);
            return;
        }
        merger.clear();
        if self.fallback.is_some() {
            for (start, character) in word.char_indices() {
                let len = character.len_utf8();
                let id = vocab.find(&word.as_bytes()[start..start + len]).unwrap_or(NO_ID);
                merger.push(Symbol { start: start as u32, len: len as u32, id });
            }
        } else {
            for (start, byte) in word.bytes().enumerate() {
                merger.push(Symbol { start: start as u32, len: 1, id: self.bytes[usize::from(byte)] });
            }
        }
        for symbol in merger.run(|left, right| self.merges.get(left.id, right.id)) {
            if vocab.is_token(symbol.id) {
                out.push(symbol.id);
            } else if let Some(unknown) = self.unknown {
                out.push(unknown);
            } else {
                // A piece that is no token falls apart into bytes; bytes without a token are left out, as llama.cpp
                // does.
                let bytes = &word.as_bytes()[symbol.start as usize..symbol.end() as usize];
                let tokens = self.fallback.as_ref().unwrap_or(&self.bytes);
                out.extend(bytes.iter().map(|&byte| tokens[usize::from(byte)]).filter(|&id| vocab.is_token(id)));
            }
        }
    }
}

/// Both texts of a merge. The space between them is the first one that is not at the very start.
fn parts(merge: &[u8]) -> Option<(&str, &str)> {
    let merge = std::str::from_utf8(merge).ok()?;
    let space = merge.bytes().skip(1).position(|byte| byte == b' ')? + 1;
    let (left, right) = (&merge[..space], &merge[space + 1..]);
    (!right.is_empty()).then_some((left, right))
}
