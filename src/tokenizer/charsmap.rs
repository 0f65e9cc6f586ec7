//! SentencePiece's normalisation table: which strings of a text are replaced by which, the longest match first.
//!
//! Origin: Kudo and Richardson, <https://arxiv.org/abs/1808.06226>. The file has it compiled: the number of bytes of a
//! trie, the trie as a double array (Aoe, "An Efficient Digital Search Algorithm by Using a Double-Array Structure",
//! 1989) of 32-bit units as Yata's darts-clone packs them, and replacements that end with a NUL each.

use crate::error::{Error, Result};

/// The longest string that is replaced, in bytes. NFKC's take up to 12; a table with a loop would match for ever.
const LONGEST_MATCH: usize = 64;
/// The longest replacement, in bytes. NFKC's longest is 33: a salutation written as one Arabic character.
const LONGEST_REPLACEMENT: usize = 256;

/// A table of replacements.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    /// Each ends with a NUL; the trie's values are where they begin.
    replacements: String,
}

impl Charsmap {
    /// Reads the bytes of `tokenizer.ggml.precompiled_charsmap`.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: String| Error::bad_file(format!("tokenizer.ggml.precompiled_charsmap {what}"));
        let (size, rest) = bytes
            .split_first_chunk()
            .ok_or_else(|| wrong(format!("has {} bytes, its header alone has 4", bytes.len())))?;
        let size = u32::from_le_bytes(*size) as usize;
        let (trie, replacements) = rest
            .split_at_checked(size)
            .filter(|_| size.is_multiple_of(4))
            .ok_or_else(|| wrong(format!("names a trie of {size} bytes, but {} follow", rest.len())))?;
        let replacements =
            std::str::from_utf8(replacements).map_err(|_| wrong("has replacements that are not UTF-8".into()))?;
        if !replacements.is_empty() && !replacements.ends_with('\0') {
            return Err(wrong("ends within a replacement".into()));
        }
        if let Some(long) = replacements.split('\0').map(str::len).find(|&len| len > LONGEST_REPLACEMENT) {
            return Err(wrong(format!("has a replacement of {long} bytes, at most {LONGEST_REPLACEMENT} are allowed")));
        }
        let (units, _) = trie.as_chunks::<4>();
        Ok(Self {
            units: units.iter().map(|&unit| u32::from_le_bytes(unit)).collect(),
            replacements: replacements.to_owned(),
        })
    }

    /// The length of the longest string that `text` begins with and that is replaced, and what by.
    pub fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let mut found = None;
        let mut node = offset(*self.units.first()?);
        for (at, &byte) in text.as_bytes().iter().take(LONGEST_MATCH).enumerate() {
            node ^= u32::from(byte);
            let Some(&unit) = self.units.get(node as usize) else { break };
            if byte == 0 || unit & LABEL != u32::from(byte) {
                break;
            }
            node ^= offset(unit);
            if unit & HAS_LEAF != 0 && text.is_char_boundary(at + 1) {
                let leaf = self.units.get(node as usize).and_then(|&leaf| self.replacement(leaf & !IS_LEAF));
                found = leaf.map(|replacement| (at + 1, replacement)).or(found);
            }
        }
        found
    }

    fn replacement(&self, start: u32) -> Option<&str> {
        let rest = self.replacements.get(start as usize..)?;
        rest.split_once('\0').map(|(replacement, _)| replacement)
    }
}

/// A unit is the child of the unit before if these bits are the byte that leads to it.
const LABEL: u32 = IS_LEAF | 0xff;
const IS_LEAF: u32 = 1 << 31;
const HAS_LEAF: u32 = 1 << 8;

/// How far the children of a unit are from it.
fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 1 << 9) >> 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(trie: &[u32], replacements: &[u8]) -> Vec<u8> {
        let mut bytes = ((trie.len() * 4) as u32).to_le_bytes().to_vec();
        bytes.extend(trie.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend_from_slice(replacements);
        bytes
    }

    /// `a` → `x`, made by hand: the root's children lie at 0x100, those of `a` at 0x200.
    fn one_letter() -> Vec<u32> {
        let mut trie = vec![0; 0x400];
        trie[0] = 0x100 << 10;
        let a = 0x100 ^ u32::from(b'a');
        trie[a as usize] = (a ^ 0x200) << 10 | HAS_LEAF | u32::from(b'a');
        trie[0x200] = IS_LEAF;
        trie
    }

    #[test]
    fn replaces_what_it_knows() {
        let map = Charsmap::new(&table(&one_letter(), b"x\0")).expect("a table");
        assert_eq!(map.longest("ab"), Some((1, "x")));
        assert_eq!(map.longest("b"), None);
        assert_eq!(map.longest(""), None);
    }

    #[test]
    fn wrong_tables_are_refused() {
        let cases: [(&[u8], &str); 5] = [
            (b"\x01\0", "2 bytes"),
            (b"\x08\0\0\0abcd", "a trie of 8 bytes, but 4 follow"),
            (b"\x02\0\0\0abcd", "a trie of 2 bytes"),
            (b"\0\0\0\0\xff\0", "UTF-8"),
            (b"\0\0\0\0abcd", "ends within"),
        ];
        for (bytes, words) in cases {
            let error = Charsmap::new(bytes).expect_err(words);
            assert!(error.message().contains(words), "{error}");
        }
        let long = [&b"\0\0\0\0"[..], &[b'a'; 300], b"\0"].concat();
        assert!(Charsmap::new(&long).expect_err("too long").message().contains("300 bytes"));
        assert_eq!(Charsmap::new(b"\0\0\0\0").expect("an empty table").longest("a"), None);
    }

    /// Offsets past the end, loops and replacements past the end match nothing; matches end with a character.
    #[test]
    fn hostile_tables_match_nothing() {
        let mut past_the_end = one_letter();
        past_the_end[0] = u32::MAX;
        let mut no_replacement = one_letter();
        no_replacement[0x200] = IS_LEAF | 7;
        for trie in [past_the_end, no_replacement] {
            assert_eq!(Charsmap::new(&table(&trie, b"x\0")).expect("a table").longest("a"), None);
        }
        let mut looped = one_letter();
        let a = 0x100 ^ u32::from(b'a');
        looped[a as usize] = (a ^ 0x100) << 10 | HAS_LEAF | u32::from(b'a');
        looped[0x100] = IS_LEAF;
        let map = Charsmap::new(&table(&looped, b"x\0")).expect("a table");
        assert_eq!(map.longest(&"a".repeat(1000)), Some((LONGEST_MATCH, "x")));
    }
}
