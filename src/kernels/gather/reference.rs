//! Rows of the embedding table.

use crate::error::{Error, Result};
use crate::gguf::dequantize;
use crate::kernels::mat_vec::reference::Matrix;

/// `out[t] = table[ids[t]]` with `table` `[vocab, hidden]`, `ids` `[tokens]`, `out` `[tokens, hidden]`.
///
/// # Errors
/// `invalid_argument` for an id that is not in the table.
///
/// # Panics
/// If `out` is of another length.
pub fn gather(table: &Matrix, ids: &[u32], out: &mut [f32]) -> Result<()> {
    assert_eq!(out.len(), ids.len() * table.cols, "shape of gather");
    for (&id, out) in ids.iter().zip(out.chunks_exact_mut(table.cols)) {
        let row = id as usize;
        if row >= table.rows {
            return Err(Error::invalid_argument(format!("token id {id} in a vocabulary of {}", table.rows)));
        }
        dequantize(table.ty, table.row(row), out)?;
    }
    Ok(())
}
