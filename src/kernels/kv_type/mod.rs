//! How a cache holds keys and values: what its shaders are, and how many bytes a row takes.

pub mod cache;
pub mod cache_blocks;

use serde::{Deserialize, Serialize};

/// The type of keys and values in a cache. A row of a head is a whole number of elements of eight values; for block
/// types, elements with the scales follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
pub enum KvType {
    /// f16.
    #[default]
    #[serde(rename = "f16")]
    F16,
    /// Blocks of 32 values, each with an f16 scale; 8 bits a value, as ggml's Q8_0 has them.
    #[serde(rename = "q8_0")]
    Q8_0,
    /// The same with 4 bits, as ggml's Q4_0 has them.
    #[serde(rename = "q4_0")]
    Q4_0,
}

impl KvType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F16, Self::Q8_0, Self::Q4_0];

    /// As pages write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
        }
    }

    /// The shared file that reads it.
    pub fn reader(self) -> &'static str {
        match self {
            Self::F16 => "cache_f16",
            Self::Q8_0 => "cache_q8_0",
            Self::Q4_0 => "cache_q4_0",
        }
    }

    /// The shared file that writes it.
    pub fn writer(self) -> &'static str {
        match self {
            Self::F16 => "cache_write_f16",
            Self::Q8_0 => "cache_write_q8_0",
            Self::Q4_0 => "cache_write_q4_0",
        }
    }

    /// Bytes of a row of one head.
    pub fn row_bytes(self, head_dim: u32) -> u32 {
        let blocks = head_dim.div_ceil(32);
        match self {
            Self::F16 => head_dim.div_ceil(8) * 16,
            Self::Q8_0 => (4 * blocks + blocks.div_ceil(4)) * 8,
            Self::Q4_0 => (4 * blocks + blocks.div_ceil(2)) * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KvType;

    #[test]
    fn rows_are_whole_elements() {
        let bytes = |head_dim| KvType::ALL.map(|ty| ty.row_bytes(head_dim));
        assert_eq!(bytes(128), [256, 136, 72]);
        assert_eq!(bytes(64), [128, 72, 36]);
        assert_eq!(bytes(100), [208, 136, 72]);
        assert_eq!(bytes(72), [144, 104, 56]);
    }
}
