//! Caches that grow: a session begins with room for [`START_CONTEXT`] positions, and doubles it before a pass needs
//! more. Rings and recurrent states have their size from the start.

use super::buffers::Buffers;
use super::plan::BufferSpec;
use crate::kernels::rope_kv::Heads;
use crate::kernels::spec::BufferId;
use crate::{Error, ErrorCode, Result};

/// Positions that the caches of a session have room for at first, where the context is longer.
pub const START_CONTEXT: usize = 4096;

/// Bytes that move from a buffer to the one that takes its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The number of both.
    pub buffer: BufferId,
    /// First byte in the old one.
    pub from: u64,
    /// First byte in the new one.
    pub to: u64,
    /// How many.
    pub bytes: u64,
}

/// What growing takes.
#[derive(Debug)]
pub struct Growth {
    /// The buffers afterwards, by the same numbers.
    pub buffers: Buffers,
    /// Those that are made anew.
    pub specs: Vec<BufferSpec>,
    /// What the new ones get of the old ones.
    pub moved: Vec<Moved>,
}

impl Growth {
    /// Bytes of the new buffers.
    pub fn bytes(&self) -> u64 {
        self.specs.iter().map(|spec| spec.bytes).sum()
    }
}

/// How many positions to make room for where `needed` are too many for `allocated`, best first.
pub fn grown_lengths(allocated: usize, needed: usize, context: usize) -> Vec<usize> {
    let mut doubled = allocated.max(1);
    while doubled < needed {
        doubled *= 2;
    }
    let mut lengths: Vec<usize> = [doubled, needed.next_multiple_of(256)].map(|length| length.min(context)).into();
    lengths.dedup();
    lengths
}

impl Buffers {
    /// Caches with room for `positions` positions, of which the first `written` are moved.
    pub fn grown(&self, positions: usize, written: usize) -> Growth {
        let mut growth = Growth { buffers: self.clone(), specs: Vec::new(), moved: Vec::new() };
        growth.buffers.room.allocated = positions;
        let sequences = self.room.sequences as u32;
        for (number, layer) in growth.buffers.cache.iter_mut().enumerate().filter(|(_, layer)| !layer.heads.ring) {
            let old = layer.heads;
            layer.heads.capacity = positions as u32;
            for (slice, what) in [(layer.cache.k, "keys"), (layer.cache.v, "values")] {
                let bytes = layer.heads.cache_bytes(sequences);
                growth.specs.push(BufferSpec::new(slice.buffer, format!("layer {number} {what}"), bytes));
                growth.moved.extend(moved(slice.buffer, [old, layer.heads], sequences, written));
            }
        }
        growth
    }

    /// Fails where a cache of the whole context is more than a buffer or a binding of `most` bytes holds.
    ///
    /// # Errors
    /// `limit_exceeded` with both numbers.
    pub fn check_caches(&self, most: u64) -> Result<()> {
        let context = self.room.context;
        let whole = self.cache.iter().map(|layer| match layer.heads.ring {
            true => layer.heads,
            false => Heads { capacity: context as u32, ..layer.heads },
        });
        let largest = whole.map(|heads| (heads.cache_bytes(self.room.sequences as u32), heads)).max_by_key(|of| of.0);
        match largest.filter(|(bytes, _)| *bytes > most) {
            None => Ok(()),
            Some((bytes, heads)) => {
                let fits = u64::from(heads.capacity) * most / bytes;
                let message = format!(
                    "the keys of a layer take {bytes} bytes for a context of {context} tokens as {}, a binding of this \
                     device holds {most}: {fits} tokens",
                    heads.kv_type.as_str()
                );
                Err(Error::new(ErrorCode::LimitExceeded, message))
            }
        }
    }
}

/// The rows of each head of each sequence.
fn moved(buffer: BufferId, [old, new]: [Heads; 2], sequences: u32, written: usize) -> impl Iterator<Item = Moved> {
    let row = u64::from(old.row_bytes());
    let bytes = u64::from(old.capacity).min(written as u64) * row;
    let [from, to] = [old, new].map(|heads| u64::from(heads.capacity) * row);
    let heads = 0..u64::from(sequences * old.kv_heads);
    heads.map(move |head| Moved { buffer, from: head * from, to: head * to, bytes }).filter(|moved| moved.bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::{Moved, grown_lengths, moved};
    use crate::kernels::kv_type::KvType;
    use crate::kernels::rope_kv::Heads;
    use crate::kernels::spec::BufferId;

    #[test]
    fn room_doubles_up_to_the_context() {
        assert_eq!(grown_lengths(4096, 4097, 131_072), [8192, 4352]);
        assert_eq!(grown_lengths(4096, 20_000, 131_072), [32_768, 20_224]);
        assert_eq!(grown_lengths(4096, 4097, 6000), [6000, 4352]);
        assert_eq!(grown_lengths(4096, 6000, 6000), [6000]);
    }

    #[test]
    fn each_head_moves_what_is_written_of_it() {
        let old = Heads { heads: 4, kv_heads: 2, head_dim: 64, capacity: 8, ring: false, kv_type: KvType::Q4_0 };
        let new = Heads { capacity: 32, ..old };
        let buffer = BufferId(3);
        let found: Vec<Moved> = moved(buffer, [old, new], 2, 5).collect();
        let at = |head: u64| Moved { buffer, from: head * 8 * 36, to: head * 32 * 36, bytes: 5 * 36 };
        assert_eq!(found, [at(0), at(1), at(2), at(3)]);
        assert_eq!(moved(buffer, [old, new], 2, 0).count(), 0);
    }
}
