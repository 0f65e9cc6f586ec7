//! Projection onto the doubly stochastic matrices: one dispatch for matrices of up to 32 rows, two per iteration for
//! larger ones.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers of `sinkhorn`.
    pub struct Params {
        /// Matrices.
        pub matrices: u32,
        /// Rows of a matrix.
        pub n: u32,
        /// Normalisations of rows and columns.
        pub iterations: u32,
        /// How far from 1 the sum of a row may be in the end; below 0: all iterations are made.
        pub tolerance: f32,
    }
}

params! {
    /// Per-dispatch numbers of `sinkhorn_rows` and `sinkhorn_columns`.
    pub struct HalfParams {
        /// Workgroups that have work.
        pub groups: u32,
        /// Rows of a matrix.
        pub n: u32,
        /// The iteration, from 0.
        pub iteration: u32,
        /// As in `sinkhorn`.
        pub tolerance: f32,
    }
}

/// The contract with `shaders/tensor/sinkhorn.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "sinkhorn",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "LANES"],
};

/// The contract with `shaders/tensor/sinkhorn_rows.wgsl`.
pub static ROWS: KernelSpec = KernelSpec {
    kernel_name: "sinkhorn_rows",
    bindings: &[PARAMS, read("x"), write("y"), write("flags")],
    params: HalfParams::LAYOUT,
    overrides: &["WG_SIZE", "LANES"],
};

/// The contract with `shaders/tensor/sinkhorn_columns.wgsl`.
pub static COLUMNS: KernelSpec = KernelSpec {
    kernel_name: "sinkhorn_columns",
    bindings: &[PARAMS, read("flags"), write("y")],
    params: HalfParams::LAYOUT,
    overrides: &["WG_SIZE"],
};

/// The largest matrix that one dispatch projects.
pub const MAX_SINGLE: u32 = 32;

/// Threads of a workgroup of `sinkhorn` and of `sinkhorn_rows`.
const WG_SIZE: u32 = 64;

/// Columns of a workgroup of `sinkhorn_columns`.
const TILE: u32 = 32;

/// Matrices x `[matrices, n, n]` f32 to project.
#[derive(Debug, Clone, Copy)]
pub struct Sinkhorn {
    /// How many.
    pub matrices: u32,
    /// Their rows.
    pub n: u32,
    /// The most normalisations of rows and columns.
    pub iterations: u32,
    /// Stop once the sums of all rows of a matrix are this close to 1.
    pub tolerance: Option<f32>,
}

impl Sinkhorn {
    /// Bytes of the flags that the larger matrices need.
    pub fn flags_bytes(&self) -> u64 {
        12 * u64::from(self.matrices)
    }
}

/// x `[matrices, n, n]` f32 → y, of the same shape; n is at most [`MAX_SINGLE`].
pub fn sinkhorn(problem: &Sinkhorn, x: Slice, y: Slice) -> Dispatch {
    let &Sinkhorn { matrices, n, iterations, tolerance } = problem;
    let (lanes, name) = if n <= 8 { (8, "8") } else { (MAX_SINGLE, "32") };
    let kernel = Kernel::new(&SPEC, &[("WG_SIZE", WG_SIZE.into()), ("LANES", lanes.into())]).named(name);
    let params = Params { matrices, n, iterations, tolerance: tolerance.unwrap_or(-1.0) };
    Dispatch::new(kernel, &params, &[x, y], grid_1d(matrices.div_ceil(WG_SIZE / lanes)))
}

/// x `[matrices, n, n]` f32 → y, of the same shape; `flags` has [`flags_bytes`](Sinkhorn::flags_bytes).
pub fn sinkhorn_large(problem: &Sinkhorn, x: Slice, y: Slice, flags: Slice) -> Vec<Dispatch> {
    let &Sinkhorn { matrices, n, iterations, tolerance } = problem;
    let tolerance = tolerance.unwrap_or(-1.0);
    let of_rows = Kernel::new(&ROWS, &[("WG_SIZE", WG_SIZE.into()), ("LANES", WG_SIZE.into())]);
    let of_columns = Kernel::new(&COLUMNS, &[("WG_SIZE", 256.0)]);
    let (rows, tiles) = (matrices * n, matrices * n.div_ceil(TILE));
    let iteration = |iteration| {
        let params = |groups| HalfParams { groups, n, iteration, tolerance };
        let rows = Dispatch::new(of_rows.clone(), &params(rows), &[x, y, flags], grid_1d(rows));
        let columns = Dispatch::new(of_columns.clone(), &params(tiles), &[flags, y], grid_1d(tiles));
        [rows, columns]
    };
    (0..iterations).flat_map(iteration).collect()
}
