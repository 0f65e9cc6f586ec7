//! The attention that finds which of a model's own adapters is at work: its query, its key and value, its result.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, ParamsLayout, Slice, read, write};
use crate::model::Switch;

/// Adapters of a model, at most: those that the parameters of a dispatch have tokens for.
pub const MAX_ADAPTERS: usize = 256;

/// The contract with `shaders/rare/model/switch.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "switch",
    bindings: &[PARAMS, write("this_pass"), read("x"), write("y")],
    params: ParamsLayout { size: MAX_ADAPTERS * 8, fields: &[("tokens", 0)] },
    overrides: &["PART", "WIDTH", "COUNT", "GAIN", "X_STRIDE", "X_AT", "Y_STRIDE", "Y_AT"],
};

/// What a row of y becomes.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// 1, then zeros.
    Query,
    /// The key and the slot of the token, then zeros.
    Signal,
    /// The slot, from the second value of each row here, and the bits of 1.
    Slot(Rows),
}

/// Writes rows of `y`, of the given width; `dummy` is bound where nothing is read.
pub fn switch([pass, dummy]: [Slice; 2], switch: &Switch, part: Part, y: (Rows, u32)) -> Dispatch {
    let none = Rows { slice: dummy, stride: 0, offset: 0 };
    match part {
        Part::Query => dispatch(pass, switch, 0, none, y),
        Part::Signal => dispatch(pass, switch, 1, none, y),
        Part::Slot(x) => dispatch(pass, switch, 2, x, y),
    }
}

/// Leaves in the rows of the pass whose embeddings their tokens have, where
/// [`gather_slots`](super::gather::gather_slots) then reads it. `y` is bound and stays as it is.
pub fn switch_embeddings([pass, dummy]: [Slice; 2], switch: &Switch, y: Slice) -> Dispatch {
    let none = |slice| Rows { slice, stride: 0, offset: 0 };
    dispatch(pass, switch, 3, none(dummy), (none(y), 0))
}

fn dispatch(pass: Slice, switch: &Switch, part: u32, x: Rows, (y, width): (Rows, u32)) -> Dispatch {
    let constants = [
        ("PART", part.into()),
        ("WIDTH", width.into()),
        ("COUNT", switch.tokens.len() as f64),
        ("GAIN", switch.gain.into()),
        ("X_STRIDE", x.stride.into()),
        ("X_AT", x.offset.into()),
        ("Y_STRIDE", y.stride.into()),
        ("Y_AT", y.offset.into()),
    ];
    let mut params = bytemuck::cast_slice(&switch.tokens).to_vec();
    params.resize(MAX_ADAPTERS * 8, 0);
    let grid = [Extent::Fixed(1), Extent::PerRows(1), Extent::Fixed(1)];
    Dispatch { kernel: Kernel::new(&SPEC, &constants), params, buffers: vec![pass, x.slice, y.slice], grid }
}
