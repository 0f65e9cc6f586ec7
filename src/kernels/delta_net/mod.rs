//! The gated delta rule (Yang et al. 2024, <https://arxiv.org/abs/2412.06464>): one dispatch takes every sequence of a
//! pass along its rows, one or hundreds, and reads and writes each state once.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::caps::Caps;
use super::norm::Rows;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};

params! {
    /// Where β and α lie in the rows of their buffers.
    pub struct Params {
        /// The first β of a row.
        pub beta_at: u32,
        /// Values from one row to the next.
        pub beta_stride: u32,
        /// The first α of a row.
        pub alpha_at: u32,
        /// Values from one row to the next.
        pub alpha_stride: u32,
    }
}

/// The contract with `shaders/rare/model/delta_net.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "delta_net",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("qkv"),
        read("beta"),
        read("alpha"),
        read("dt_bias"),
        read("a"),
        write("state"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "K_HEADS", "V_HEADS", "HEAD_DIM", "TILED", "EPS", "PARTS", "ITEMS", "TILE"],
};

/// The longest head: its columns fit the registers of eight threads.
pub const MAX_HEAD_DIM: u32 = 256;

/// Threads per workgroup: few, since a model has only some dozens of heads.
const WG_SIZE: u32 = 128;

/// Vectors of a column that a thread holds, at most; `MAX_ITEMS` of the shader.
const MAX_ITEMS: u32 = 8;

/// The heads of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaHeads {
    /// Heads of q and of k.
    pub k_heads: u32,
    /// Heads of v, each with a state: a multiple of `k_heads`.
    pub v_heads: u32,
    /// Values of a head, at most [`MAX_HEAD_DIM`].
    pub head_dim: u32,
    /// Head h of v goes with head h % `k_heads` of k, not with h / (`v_heads` / `k_heads`).
    pub tiled: bool,
}

impl DeltaHeads {
    /// Threads that share a column of the state: a power of two.
    pub(super) fn parts(&self) -> u32 {
        self.head_dim.div_ceil(4 * MAX_ITEMS).next_power_of_two()
    }

    /// Vectors of a column that each of them holds.
    pub(super) fn items(&self) -> u32 {
        self.head_dim.div_ceil(4 * self.parts())
    }

    /// Values of a column of a state: those of a head, and zeros up to whole vectors of each thread.
    pub fn padded(&self) -> u32 {
        4 * self.parts() * self.items()
    }

    /// Bytes of the states of `sequences` sequences: f32 `[sequences, v_heads, head_dim, padded]`, transposed.
    pub fn state_bytes(&self, sequences: u32) -> u64 {
        u64::from(sequences * self.v_heads) * u64::from(self.head_dim) * u64::from(self.padded()) * 4
    }
}

/// Inputs of [`delta_net`]; all f32.
#[derive(Debug, Clone, Copy)]
pub struct DeltaNet {
    /// Shape of the layer.
    pub heads: DeltaHeads,
    /// Added to the squared lengths of q and k.
    pub eps: f32,
    /// Sequences that have a state.
    pub sequences: u32,
    /// `[rows, (2 k_heads + v_heads) · head_dim]`: q, k and v, after the convolution.
    pub qkv: Slice,
    /// `[rows, v_heads]`: β before its sigmoid.
    pub beta: Rows,
    /// `[rows, v_heads]`: the decay's logarithm before softplus.
    pub alpha: Rows,
    /// `[v_heads]`, added to α.
    pub dt_bias: Slice,
    /// `[v_heads]`: −e^A_log.
    pub a: Slice,
    /// [`DeltaHeads::state_bytes`]; what it holds counts as 0 for a sequence whose first row has position 0.
    pub state: Slice,
    /// `[rows, v_heads · head_dim]`
    pub y: Slice,
}

/// The sums of threads that share a column of the state.
pub(super) fn with_column_sums(kernel: Kernel, caps: &Caps, parts: u32) -> Kernel {
    if caps.subgroups && caps.subgroup_sizes().0 >= parts {
        kernel.named("subgroup").enable("subgroups").import("column_sums", "column_sums_subgroup")
    } else {
        kernel.import("column_sums", "column_sums_memory")
    }
}

/// Takes the states of all sequences along their rows of the pass.
pub fn delta_net(caps: &Caps, pass: Slice, problem: &DeltaNet) -> Dispatch {
    let &DeltaNet { heads, eps, sequences, qkv, beta, alpha, dt_bias, a, state, y } = problem;
    let parts = heads.parts();
    // q and k of a tile take 8 KiB.
    let tile = if heads.padded() <= 128 { 8 } else { 4 };
    let constants = [
        ("WG_SIZE", WG_SIZE.into()),
        ("K_HEADS", heads.k_heads.into()),
        ("V_HEADS", heads.v_heads.into()),
        ("HEAD_DIM", heads.head_dim.into()),
        ("TILED", bool_override(heads.tiled)),
        ("EPS", eps.into()),
        ("PARTS", parts.into()),
        ("ITEMS", heads.items().into()),
        ("TILE", tile.into()),
    ];
    let kernel = with_column_sums(Kernel::new(&SPEC, &constants), caps, parts);
    let params =
        Params { beta_at: beta.offset, beta_stride: beta.stride, alpha_at: alpha.offset, alpha_stride: alpha.stride };
    let buffers = [pass, qkv, beta.slice, alpha.slice, dt_bias, a, state, y];
    let blocks = heads.head_dim.div_ceil(WG_SIZE / parts);
    let grid = [Extent::Fixed(heads.v_heads * blocks), Extent::Fixed(sequences), Extent::Fixed(1)];
    Dispatch::new(kernel, &params, &buffers, grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_padded_to_whole_vectors_of_each_thread() {
        let padded = |head_dim| DeltaHeads { k_heads: 1, v_heads: 1, head_dim, tiled: true }.padded();
        assert_eq!([1, 20, 32, 33, 64, 100, 128, 256].map(padded), [4, 20, 32, 40, 64, 112, 128, 256]);
        let heads = DeltaHeads { k_heads: 16, v_heads: 32, head_dim: 128, tiled: true };
        assert_eq!(heads.state_bytes(2), 2 * 32 * 128 * 128 * 4);
    }

    #[test]
    fn the_longest_head_fits_eight_threads() {
        let heads = DeltaHeads { k_heads: 1, v_heads: 1, head_dim: MAX_HEAD_DIM, tiled: true };
        assert_eq!((heads.parts(), heads.items()), (8, MAX_ITEMS));
    }
}
