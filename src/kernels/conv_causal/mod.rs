//! A causal depthwise convolution along the tokens of a sequence: Mamba's `conv1d` (Gu and Dao 2023,
//! <https://arxiv.org/abs/2312.00752>) and LFM2's short convolution (<https://arxiv.org/abs/2511.23404>).

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::mat_vec::MAX_COLUMNS;
use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};

/// The contract with `shaders/rare/model/conv_causal.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "conv_causal",
    bindings: &[PARAMS, read("this_pass"), read("x"), read("weight"), read("bias"), write("state"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &[
        "WG_SIZE", "KERNEL", "AHEAD", "CHANNELS", "ROWS", "X_STRIDE", "X_AT", "B_AT", "C_AT", "GATED", "WEIGHTED",
        "BIAS", "SILU", "STORE", "KEEP",
    ],
};

const WG_SIZE: u32 = 64;

/// The longest convolution, in tokens.
pub const MAX_KERNEL: u32 = 16;

/// A convolution over the rows of a pass; all f32.
#[derive(Debug, Clone, Copy)]
pub struct ConvCausal {
    /// Channels.
    pub channels: u32,
    /// Tokens that a result depends on, its own included: 2 to [`MAX_KERNEL`].
    pub kernel: u32,
    /// How many of these come after the row, in a pass with a whole sequence.
    pub ahead: u32,
    /// The inputs.
    pub x: Rows,
    /// `y = c · conv(b · x)`: where b and c start in a row of the buffer of x.
    pub gates: Option<[u32; 2]>,
    /// `[channels, kernel]`, the token's own last; without it the result is the first of these inputs.
    pub weight: Option<Slice>,
    /// `[channels]`
    pub bias: Option<Slice>,
    /// SiLU on the result.
    pub silu: bool,
    /// `[sequences, kernel − 1, channels]`: the inputs before the pass, then those before the next.
    pub state: Slice,
    /// `[rows, channels]`
    pub y: Slice,
}

/// The rows of a pass of at most [`MAX_COLUMNS`] rows, of any sequences: one dispatch.
pub fn conv_causal_few(pass: Slice, dummy: Slice, problem: &ConvCausal) -> Dispatch {
    dispatch(pass, dummy, problem, &Part { name: "few", rows: MAX_COLUMNS, store: true, keep: true })
}

/// The rows of a pass of one sequence: the results, then the state.
pub fn conv_causal(pass: Slice, dummy: Slice, problem: &ConvCausal) -> [Dispatch; 2] {
    let results = Part { name: "many", rows: 1, store: true, keep: false };
    [results, Part { name: "state", rows: 1, store: false, keep: true }]
        .map(|part| dispatch(pass, dummy, problem, &part))
}

/// The part of the convolution that one dispatch computes.
struct Part {
    name: &'static str,
    rows: u32,
    store: bool,
    keep: bool,
}

fn dispatch(pass: Slice, dummy: Slice, problem: &ConvCausal, part: &Part) -> Dispatch {
    let &ConvCausal { channels, kernel, ahead, x, gates, weight, bias, silu, state, y } = problem;
    let [b_at, c_at] = gates.unwrap_or([0, 0]);
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("KERNEL", kernel.into()),
        ("AHEAD", ahead.into()),
        ("CHANNELS", channels.into()),
        ("ROWS", part.rows.into()),
        ("X_STRIDE", x.stride.into()),
        ("X_AT", x.offset.into()),
        ("B_AT", b_at.into()),
        ("C_AT", c_at.into()),
        ("GATED", bool_override(gates.is_some())),
        ("WEIGHTED", bool_override(weight.is_some())),
        ("BIAS", bool_override(bias.is_some())),
        ("SILU", bool_override(silu)),
        ("STORE", bool_override(part.store)),
        ("KEEP", bool_override(part.keep)),
    ];
    let rows = if part.keep { Extent::Fixed(1) } else { Extent::PerRows(part.rows) };
    let grid = [Extent::Fixed(channels.div_ceil(WG_SIZE)), rows, Extent::Fixed(1)];
    let buffers = [pass, x.slice, weight.unwrap_or(dummy), bias.unwrap_or(dummy), state, y];
    Dispatch::new(Kernel::new(&SPEC, &constants).named(part.name), &NoParams::default(), &buffers, grid)
}
