//! How a cache holds keys and values: what its shaders are, and how many bytes a row takes.

/// What keys and values become in a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KvType {
    /// f16.
    #[default]
    F16,
}

impl KvType {
    /// The shared file that reads it.
    pub fn reader(self) -> &'static str {
        match self {
            Self::F16 => "cache_f16",
        }
    }

    /// The shared file that writes it.
    pub fn writer(self) -> &'static str {
        match self {
            Self::F16 => "cache_write_f16",
        }
    }

    /// Bytes of a row of one head, so many that the next row begins with a whole element of eight values.
    pub fn row_bytes(self, head_dim: u32) -> u32 {
        match self {
            Self::F16 => head_dim.next_multiple_of(8) * 2,
        }
    }
}
