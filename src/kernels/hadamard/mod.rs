//! Walsh–Hadamard rotations of rows, before products with matrices that are rotated, and after a rotated table.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, ParamsLayout, Slice, bool_override, read, write};
use crate::model::Rotation;

/// The contract with `shaders/rare/model/hadamard.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "hadamard",
    bindings: &[PARAMS, read("this_pass"), read("x"), write("y")],
    params: ParamsLayout { size: SIGNS / 8, fields: &[("signs", 0)] },
    overrides: &[
        "BLOCK", "SPAN", "WIDTH", "FIRST", "SCALE", "INVERSE", "IN_PLACE", "TOKENS", "X_STRIDE", "X_AT", "Y_STRIDE",
        "Y_AT", "REPEATS", "HEADS", "HEAD",
    ],
};

/// Signs that the parameters of a dispatch have.
const SIGNS: usize = 16_384;

/// The largest block, whose values are all in workgroup memory.
pub const MAX_BLOCK: usize = 4096;

/// Rotates `width` values of each row of the pass; without `x`, y in its place. `fixed`: the pass, and what is bound
/// where nothing is read.
pub fn hadamard(fixed: [Slice; 2], rotation: &Rotation, width: usize, x: Option<Rows>, y: Rows) -> Vec<Dispatch> {
    let of_signs = rotation.width.max(1);
    // Signs that repeat are in one dispatch where they fit.
    let step = if of_signs <= SIGNS { SIGNS / of_signs * of_signs } else { SIGNS };
    let mut list = Vec::new();
    let mut first = 0;
    while first < width {
        let count = step.min(width - first);
        list.push(part(rotation, [first, count], x, y, fixed));
        first += count;
    }
    list
}

fn part(rotation: &Rotation, [first, count]: [usize; 2], x: Option<Rows>, y: Rows, fixed: [Slice; 2]) -> Dispatch {
    let [pass, dummy] = fixed;
    let span = rotation.block.max(512);
    let [repeats, heads, head] = rotation.regrouped.unwrap_or([1; 3]);
    let from = x.unwrap_or(y);
    let sizes = [rotation.block, span, count, first].map(|size| size as f64);
    let constants = [
        ("BLOCK", sizes[0]),
        ("SPAN", sizes[1]),
        ("WIDTH", sizes[2]),
        ("FIRST", sizes[3]),
        ("SCALE", 1.0 / sizes[0].sqrt()),
        ("INVERSE", bool_override(rotation.is_inverse)),
        ("IN_PLACE", bool_override(x.is_none())),
        ("TOKENS", rotation.tokens.unwrap_or(0) as f64),
        ("X_STRIDE", from.stride.into()),
        ("X_AT", from.offset.into()),
        ("Y_STRIDE", y.stride.into()),
        ("Y_AT", y.offset.into()),
        ("REPEATS", repeats as f64),
        ("HEADS", heads as f64),
        ("HEAD", head as f64),
    ];
    let mut params = vec![0; SIGNS / 8];
    for col in (0..count).filter(|col| rotation.is_negative(first + col)) {
        params[col / 8] |= 1 << (col % 8);
    }
    let grid = [Extent::Fixed(count.div_ceil(span) as u32), Extent::PerRows(1), Extent::Fixed(1)];
    let buffers = vec![pass, x.map_or(dummy, |x| x.slice), y.slice];
    Dispatch { kernel: Kernel::new(&SPEC, &constants), params, buffers, grid }
}
