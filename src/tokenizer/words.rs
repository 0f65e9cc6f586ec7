//! Words of one text: each is merged once and copied when it is repeated.

use super::index::{IndexTable, hash_bytes};

/// Longer words are rarely repeated.
const LONGEST: usize = 64;
/// The cache takes no more than this many words.
const MOST: usize = 1 << 16;

/// The words of one text so far, with where their tokens are in its output. It lives as long as one call, so it needs
/// no lock and no limit on its age.
#[derive(Debug)]
pub(super) struct WordCache<'t> {
    entries: Vec<Entry<'t>>,
    by_word: IndexTable,
}

#[derive(Debug)]
struct Entry<'t> {
    word: &'t str,
    start: u32,
    count: u32,
}

impl<'t> WordCache<'t> {
    /// An empty cache.
    pub fn new() -> Self {
        Self { entries: Vec::new(), by_word: IndexTable::with_room(64) }
    }

    /// Appends the tokens of `word` to `out`; `encode` does so when it is new. `out` must be the same in every call and
    /// only grow between them.
    pub fn encode(&mut self, word: &'t str, out: &mut Vec<u32>, encode: impl FnOnce(&mut Vec<u32>)) {
        if word.len() > LONGEST {
            return encode(out);
        }
        let entries = &self.entries;
        let hash = hash_bytes(word.as_bytes());
        if let Some(at) = self.by_word.find(hash, |at| entries[at as usize].word == word) {
            let Entry { start, count, .. } = entries[at as usize];
            return out.extend_from_within(start as usize..(start + count) as usize);
        }
        let start = out.len();
        encode(out);
        if entries.len() < MOST {
            let count = (out.len() - start) as u32;
            self.entries.push(Entry { word, start: start as u32, count });
            let entries = &self.entries;
            self.by_word.insert(entries.len() as u32 - 1, |at| hash_bytes(entries[at as usize].word.as_bytes()));
        }
    }
}

/// Cuts text before every run of spaces: `one  two` becomes `one` and `  two`.
pub(super) fn for_each_word<'t>(text: &'t str, mut word: impl FnMut(&'t str)) {
    let mut start = 0;
    for (at, [before, here]) in text.as_bytes().array_windows().enumerate() {
        if *before != b' ' && *here == b' ' {
            word(&text[start..=at]);
            start = at + 1;
        }
    }
    if start < text.len() {
        word(&text[start..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_at_runs_of_spaces() {
        let words = |text| {
            let mut words = Vec::new();
            for_each_word(text, |word: &str| words.push(word.to_owned()));
            words
        };
        assert_eq!(words("one  two é "), ["one", "  two", " é", " "]);
        assert_eq!(words(" a"), [" a"]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn a_word_is_encoded_once() {
        let mut cache = WordCache::new();
        let mut out = Vec::new();
        let mut calls = 0;
        for word in ["ab", "c", "ab", "", "c", "ab"] {
            cache.encode(word, &mut out, |out| {
                calls += 1;
                out.extend(word.bytes().map(u32::from));
            });
        }
        assert_eq!(out, b"abcabcab".map(u32::from));
        assert_eq!(calls, 3);
    }
}
