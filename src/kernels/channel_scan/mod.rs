//! Mamba's recurrence (Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>) along the rows of a pass.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/rare/model/channel_scan.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "channel_scan",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("x"),
        read("z"),
        read("dt"),
        read("bc"),
        read("of_channels"),
        write("state"),
        write("y"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "CHANNELS", "STATE", "Z_STRIDE", "Z_AT", "BC_STRIDE", "B_AT", "C_AT"],
};

/// A scan over the rows of a pass; all f32.
#[derive(Debug, Clone, Copy)]
pub struct ChannelScan {
    /// Channels of x, y, z and dt.
    pub channels: u32,
    /// Numbers of the state per channel.
    pub state_size: u32,
    /// `[rows, channels]`
    pub x: Slice,
    /// `[rows, channels]`: what gates the result, through SiLU.
    pub z: Rows,
    /// `[rows, channels]`: time steps, before softplus.
    pub dt: Slice,
    /// `[rows, state_size]` each, B and C, in one buffer.
    pub bc: [Rows; 2],
    /// A `[channels, state_size]`, then D `[channels]`.
    pub of_channels: Slice,
    /// `[sequences, state_size, channels]`; what it holds for position 0 does not matter.
    pub state: Slice,
    /// `[rows, channels]`
    pub y: Slice,
}

/// The rows of a pass: of any sequences, or with `one_sequence` of one.
pub fn channel_scan(pass: Slice, problem: &ChannelScan, one_sequence: bool) -> Dispatch {
    const WG_SIZE: u32 = 64;
    let ChannelScan { channels, state_size, x, z, dt, bc: [b, c], of_channels, state, y } = *problem;
    debug_assert!(b.slice == c.slice && b.stride == c.stride, "B and C lie in the same rows");
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("CHANNELS", channels.into()),
        ("STATE", state_size.into()),
        ("Z_STRIDE", z.stride.into()),
        ("Z_AT", z.offset.into()),
        ("BC_STRIDE", b.stride.into()),
        ("B_AT", b.offset.into()),
        ("C_AT", c.offset.into()),
    ];
    let buffers = [pass, x, z.slice, dt, b.slice, of_channels, state, y];
    let sequences = if one_sequence { Extent::Fixed(1) } else { Extent::PerRows(1) };
    let grid = [Extent::Fixed(channels.div_ceil(WG_SIZE)), sequences, Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, grid)
}
