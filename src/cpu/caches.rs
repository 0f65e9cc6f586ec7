//! Keys and values of a text as bytes, to be kept or saved and brought back.

use crate::cpu::model::CpuModel;
use crate::digest::{digest, extend};
use crate::error::Result;
use crate::kernels::kv_type::cache::CacheFormat;
use crate::model::program::{Keys, Op};

impl CpuModel {
    /// Bytes of a position's keys in each cache, and as many of its values; 0 for a cache that the model's own
    /// operations do not write.
    pub fn row_bytes(&self) -> Vec<usize> {
        let mut found = vec![0; self.cache.len()];
        for op in self.program.ops() {
            if let Op::Attend { kv: Some(_), attention, keys: Keys::Cached(cache), .. } = op {
                found[*cache] = self.cache[*cache].position_bytes([attention.kv_heads, attention.head_dim]);
            }
        }
        found
    }

    /// How many caches there are.
    pub fn caches(&self) -> usize {
        self.cache.len()
    }

    /// The keys (part 0) or values (part 1) of a cache, position after position.
    pub fn rows(&self, cache: usize, part: usize) -> &[u8] {
        self.cache[cache].bytes(part)
    }

    /// The same, to be changed.
    pub fn rows_mut(&mut self, cache: usize, part: usize) -> &mut [u8] {
        self.cache[cache].bytes_mut(part)
    }

    /// Reserves memory for the keys and values of this many positions.
    ///
    /// # Errors
    /// `out_of_memory`; what is cached stays.
    pub fn reserve(&mut self, positions: usize) -> Result<()> {
        for (cache, row) in self.row_bytes().into_iter().enumerate() {
            self.cache[cache].reserve(positions.saturating_mul(row))?;
        }
        Ok(())
    }

    /// Goes to the end of another text of `tokens` tokens, whose keys and values are to be written through
    /// [`Self::rows_mut`], whose recurrent states through [`Self::restore`].
    ///
    /// # Errors
    /// `out_of_memory`; what is cached stays.
    pub fn begin_text(&mut self, tokens: usize) -> Result<()> {
        self.reserve(tokens)?;
        for (cache, row) in self.row_bytes().into_iter().enumerate() {
            self.cache[cache].resize(tokens * row);
        }
        (self.cached, self.states_at) = (tokens, None);
        Ok(())
    }

    /// Takes note of where the ids of a text, of which all are cached, lie on each axis of positions with several.
    pub fn place(&mut self, ids: &[u32]) {
        if self.config.rope_sections.is_some() {
            self.places.extend(0, ids, &self.input_rows);
        }
    }

    /// A digest of everything that decides what the bytes of caches and states mean.
    pub fn cache_digest(&self) -> u64 {
        let format = match self.format {
            CacheFormat::Rounded(kv_type) => kv_type as u32,
            CacheFormat::F32 => u32::MAX,
        };
        let mut found = extend(digest(b"cpu"), env!("CARGO_PKG_VERSION").as_bytes());
        found = extend(found, bytemuck::bytes_of(&[format, self.context_length as u32]));
        let states = self.states.iter().map(|state| size_of_val(state.as_slice()));
        for bytes in self.row_bytes().into_iter().chain(states) {
            found = extend(found, &(bytes as u64).to_le_bytes());
        }
        found
    }
}
