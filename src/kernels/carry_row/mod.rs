//! The hidden state of the last token that a pass has accepted becomes the one before the next pass; rows of a pass
//! where a block that drafts has them.

#[cfg(feature = "harness")]
pub(crate) mod cases;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/rare/model/carry_row.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "carry_row",
    bindings: &[PARAMS, read("report"), write("rows")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH"],
};

/// The contract with `shaders/rare/model/carry_rows.wgsl`.
pub static ROWS: KernelSpec = KernelSpec {
    kernel_name: "carry_rows",
    bindings: &[PARAMS, read("this_pass"), read("states"), write("carried"), write("before")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "WIDTH", "GATHER"],
};

/// The contract with `shaders/rare/model/move_rows.wgsl`.
pub static MOVE: KernelSpec = KernelSpec {
    kernel_name: "move_rows",
    bindings: &[PARAMS, read("this_pass"), read("ids"), write("moved")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "BACK", "MAPPED"],
};

/// Where [`move_rows`] moves rows to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moving {
    /// The position before; a row that has none is done.
    Back,
    /// The position behind.
    Forth,
}

const WG_SIZE: u32 = 64;

fn grid(width: u32) -> [Extent; 3] {
    [Extent::Fixed(width.div_ceil(WG_SIZE)), Extent::Fixed(1), Extent::Fixed(1)]
}

/// Copies the row after the last accepted one to the first: `rows` is f32 `[1 + rows of the pass, width]`, `report` a
/// [`Report`](super::accept_drafts::Report).
pub fn carry_row(width: u32, report: Slice, rows: Slice) -> Dispatch {
    let constants = [("WG_SIZE", WG_SIZE.into()), ("WIDTH", width.into())];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[report, rows], grid(width))
}

/// For a pass with rows of several sequences: writes the hidden state before each row to `before`, if given, f32
/// `[rows, width]`. Leaves in `carried`, f32 `[sequences, width]`, the state of the last row of each sequence that is
/// not done. `states` is f32 `[1 + rows, width]`; the state of a row lies in the row after it.
pub fn carry_rows(
    width: u32,
    pass: Slice,
    [states, carried]: [Slice; 2],
    (before, unused): (Option<Slice>, Slice),
) -> Dispatch {
    let gather = bool_override(before.is_some());
    let constants = [("WG_SIZE", WG_SIZE.into()), ("WIDTH", width.into()), ("GATHER", gather)];
    let buffers = [pass, states, carried, before.unwrap_or(unused)];
    Dispatch::new(Kernel::new(&ROWS, &constants), &NoParams::default(), &buffers, grid(width))
}

/// Copies the rows of a pass to another pass, to other positions. With `ids`, as 64-bit integers, a token's id becomes
/// the one in its place there.
pub fn move_rows(how: Moving, [pass, moved]: [Slice; 2], ids: Option<Slice>, unused: Slice) -> Dispatch {
    let [back, mapped] = [how == Moving::Back, ids.is_some()].map(bool_override);
    let constants = [("WG_SIZE", WG_SIZE.into()), ("BACK", back), ("MAPPED", mapped)];
    let grid = [Extent::PerRows(WG_SIZE), Extent::Fixed(1), Extent::Fixed(1)];
    let buffers = [pass, ids.unwrap_or(unused), moved];
    Dispatch::new(Kernel::new(&MOVE, &constants), &NoParams::default(), &buffers, grid)
}
