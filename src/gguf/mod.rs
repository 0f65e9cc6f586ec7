//! GGUF bytes → metadata and tensor table. Knows no GPU and no model.
//!
//! Format: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>

mod block;

pub use block::GgmlType;
