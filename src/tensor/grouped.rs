//! Products of rows with the matrices of their experts.

use super::matmul::{stored, weights as storage};
use super::{DType, Tape, Tensor};
use crate::kernels::fill::fill;
use crate::kernels::mat_mul_dense::{Stored, Weights};
use crate::kernels::mat_mul_grouped::{
    Grouped, MAX_EXPERTS, Params, Path, RowsParams, SumParams, choose, expert_rows, expert_sum, groups_bytes,
    mat_mul_grouped, mat_mul_grouped_each,
};
use crate::kernels::spec::Slice;
use crate::{Error, Result};

/// Each row by the matrices of its experts: x `[tokens, k]`, or `[tokens, top, k]` with a row for each chosen expert
/// (f32, f16 or bf16); w `[experts, n, k]` (those, or GGUF blocks); ids `[tokens, top]` u32. Without weights y is
/// `[tokens, top, n]` f32; with weights `[tokens, top]` f32 the weighted results of a token's experts are added up to y
/// `[tokens, n]`. An id that is no expert contributes 0.
///
/// # Errors
/// `invalid_argument` where shapes or types do not fit, or for more than 256 experts.
pub fn matmul_grouped(
    tape: &mut Tape,
    x: &Tensor,
    w: &Tensor,
    ids: &Tensor,
    weights: Option<&Tensor>,
) -> Result<Tensor> {
    let sizes = sizes(x, w, ids, weights).map_err(|why| {
        let [x, w, ids] = [x, w, ids].map(Tensor::describe);
        Error::invalid_argument(format!("matmulGrouped: x is {x}, w {w} and ids {ids}; {why}"))
    })?;
    let Sizes { tokens, top, params, x_stored, w_stored } = sizes;
    let Params { n, experts, .. } = params;
    let entries = tokens * top;
    let (x, w) = ((x.slice(), x_stored), (w.slice(), w_stored));
    let path = choose(entries, experts);
    let Some(weights) = weights else {
        let y = tape.output(DType::F32, &[tokens, top, n])?;
        if path != Path::Each {
            tape.push(fill(y.len(), 0, y.slice()));
        }
        products(tape, path, ids.slice(), &Grouped { params, entries, x, w, y: y.slice() })?;
        return Ok(y);
    };
    let y = tape.output(DType::F32, &[tokens, n])?;
    let z = tape.scratch(4 * u64::from(entries) * u64::from(n))?;
    products(tape, path, ids.slice(), &Grouped { params, entries, x, w, y: z })?;
    tape.push(expert_sum(SumParams { tokens, top, n, experts }, ids.slice(), weights.slice(), z, y.slice()));
    Ok(y)
}

/// The product of each entry; on `Tiles`, rows of those without an expert stay as they are.
fn products(tape: &mut Tape, path: Path, ids: Slice, problem: &Grouped) -> Result<()> {
    let Grouped { params, entries, .. } = *problem;
    match path {
        Path::Each => tape.push(mat_mul_grouped_each(ids, problem)),
        Path::Tiles(tile) => {
            let groups = tape.scratch(groups_bytes(entries, params.experts))?;
            tape.push(expert_rows(RowsParams { entries, experts: params.experts }, ids, groups));
            tape.push(mat_mul_grouped(tile, groups, problem));
        }
    }
    Ok(())
}

struct Sizes {
    tokens: u32,
    top: u32,
    params: Params,
    x_stored: Stored,
    w_stored: Weights,
}

/// The sizes of a call, or why it is wrong.
fn sizes(x: &Tensor, w: &Tensor, ids: &Tensor, weights: Option<&Tensor>) -> std::result::Result<Sizes, String> {
    let (&[tokens, top], &[experts, n, k]) = (ids.shape.as_slice(), w.shape.as_slice()) else {
        return Err("ids must be [tokens, top] and w [experts, n, k]".into());
    };
    let share = match *x.shape.as_slice() {
        [rows, cols] if (rows, cols) == (tokens, k) => top,
        [rows, slots, cols] if (rows, slots, cols) == (tokens, top, k) => 1,
        _ => return Err(format!("x must be [{tokens}, {k}] or [{tokens}, {top}, {k}]")),
    };
    if ids.dtype != DType::U32 {
        return Err("ids must be u32".into());
    }
    if experts > MAX_EXPERTS {
        return Err(format!("{experts} experts, at most {MAX_EXPERTS} are possible"));
    }
    if let Some(weights) = weights
        && (weights.dtype != DType::F32 || weights.shape != ids.shape)
    {
        return Err(format!("weights are {}, they must be f32 and shaped like ids", weights.describe()));
    }
    let x_stored = stored(x.dtype).ok_or("x must be f32, f16 or bf16")?;
    let w_stored = storage(w.dtype).ok_or("w must be f32, f16, bf16 or in blocks")?;
    let within = |size: u64| size <= u64::from(u32::MAX / 2);
    if !within(u64::from(tokens) * u64::from(top) * u64::from(n)) {
        return Err("the products have too many elements".into());
    }
    Ok(Sizes { tokens, top, params: Params { n, k, share, experts }, x_stored, w_stored })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn wrong_shapes_are_named() {
        let mut tape = Tape::new(Caps::baseline());
        let mut tensor = |dtype, shape: &[u32]| tape.output(dtype, shape).unwrap();
        let x = tensor(DType::F32, &[5, 8]);
        let w = tensor(DType::F16, &[4, 3, 8]);
        let ids = tensor(DType::U32, &[5, 2]);
        let signed = tensor(DType::I32, &[5, 2]);
        let wide = tensor(DType::F32, &[5, 9]);
        let many = tensor(DType::F32, &[257, 3, 8]);
        let mut message = |x, w, ids, weights| {
            matmul_grouped(&mut tape, x, w, ids, weights).map(|y| y.shape).map_err(|error| error.message().to_owned())
        };
        assert_eq!(message(&x, &w, &ids, None).unwrap(), [5, 2, 3]);
        let wrong = message(&wide, &w, &ids, None).unwrap_err();
        assert_eq!(
            wrong,
            "matmulGrouped: x is [5, 9] f32, w [4, 3, 8] f16 and ids [5, 2] u32; x must be [5, 8] or [5, 2, 8]"
        );
        assert!(message(&x, &w, &signed, None).unwrap_err().contains("ids must be u32"));
        assert!(message(&x, &many, &ids, None).unwrap_err().contains("257 experts, at most 256"));
        assert!(message(&x, &w, &ids, Some(&ids)).unwrap_err().contains("weights are [5, 2] u32"));
    }
}
