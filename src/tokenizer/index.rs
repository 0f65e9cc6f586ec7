//! A compact hash index: 32-bit item numbers in an open-addressed table.
//!
//! The keys stay where they are (a byte arena, the arrays of the merges); the table only knows item numbers, so a
//! vocabulary of 150,000 tokens costs one mebibyte here instead of one allocation per token.

/// Marks a free slot. No taken one has all bits set, as item numbers stay well below the number of slots.
const FREE: u32 = u32::MAX;

/// Item numbers by hash. Probing is linear, and at most 5/8 of the slots are taken.
///
/// An item number takes as many of a slot's bits as the number of slots has; the other bits hold a part of the hash, so
/// that probing skips most other items without reading their keys, which are elsewhere in memory.
#[derive(Debug, Clone)]
pub(super) struct IndexTable {
    slots: Vec<u32>,
}

impl IndexTable {
    /// An empty table that holds item numbers below `items` without growing.
    pub fn with_room(items: usize) -> Self {
        Self { slots: vec![FREE; (items * 8 / 5 + 2).next_power_of_two()] }
    }

    /// The item with this hash for which `is` holds.
    pub fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let tag = tag(hash, mask);
        let mut at = home(hash, mask);
        loop {
            let slot = self.slots[at];
            if slot == FREE {
                return None;
            }
            let item = slot & mask as u32;
            if slot & !(mask as u32) == tag && is(item) {
                return Some(item);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds `item`; `hash_of` gives the hash of any item, this one included. Item numbers are given in order, with gaps
    /// at most: the table is as large as the largest one needs. The caller must have checked with [`Self::find`] that
    /// the key is new.
    pub fn insert(&mut self, item: u32, hash_of: impl Fn(u32) -> u64) {
        while (item as usize + 1) * 8 > self.slots.len() * 5 {
            self.grow(&hash_of);
        }
        self.place(item, hash_of(item));
    }

    fn place(&mut self, item: u32, hash: u64) {
        let mask = self.slots.len() - 1;
        let mut at = home(hash, mask);
        while self.slots[at] != FREE {
            at = (at + 1) & mask;
        }
        self.slots[at] = tag(hash, mask) | item;
    }

    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let wider = vec![FREE; self.slots.len() * 2];
        let old = std::mem::replace(&mut self.slots, wider);
        let mask = old.len() as u32 - 1;
        for slot in old.into_iter().filter(|&slot| slot != FREE) {
            self.place(slot & mask, hash_of(slot & mask));
        }
    }
}

/// The lower half of the hash, with zeros where the item number goes.
fn tag(hash: u64, mask: usize) -> u32 {
    hash as u32 & !(mask as u32)
}

fn home(hash: u64, mask: usize) -> usize {
    // The upper half of a product is the well-mixed one.
    (hash >> 32) as usize & mask
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(MULTIPLIER);
    product ^ (product >> 29)
}

/// The hash of a string: multiply and shift over words of eight bytes. The files are their user's own choice, so this
/// need not withstand chosen collisions: those would only make loading slow.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(bytes.len() as u64, |state, &word| mix(state, u64::from_le_bytes(word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(mix(state, u64::from_le_bytes(last)), MULTIPLIER)
}

/// The hash of a pair of ids.
pub(super) fn hash_pair(left: u32, right: u32) -> u64 {
    mix(mix(0, u64::from(left) << 32 | u64::from(right)), MULTIPLIER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_put_in_and_nothing_else() {
        let words: Vec<String> = (0..5000).map(|n| format!("word {n}")).collect();
        let hash_of = |item: u32| hash_bytes(words[item as usize].as_bytes());
        let mut table = IndexTable::with_room(3);
        for item in 0..4000 {
            table.insert(item, hash_of);
        }
        for (item, word) in words.iter().enumerate() {
            let found = table.find(hash_bytes(word.as_bytes()), |other| words[other as usize] == *word);
            assert_eq!(found, (item < 4000).then_some(item as u32), "{word}");
        }
    }

    #[test]
    fn hashes_tell_lengths_and_sides_apart() {
        assert_ne!(hash_bytes(b"a"), hash_bytes(b"a\0"));
        assert_ne!(hash_bytes(b""), hash_bytes(b"\0\0\0\0\0\0\0\0"));
        assert_ne!(hash_pair(1, 2), hash_pair(2, 1));
    }
}
