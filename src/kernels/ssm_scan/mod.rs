//! Mamba-2's recurrence (Dao and Gu 2024, <https://arxiv.org/abs/2405.21060>): token by token for few rows, by chunks
//! for many, where sums over the tokens of a chunk take the place of steps.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::spec::{Dispatch, Extent, Grid, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/rare/model/ssm_scan.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "ssm_scan",
    bindings: &[PARAMS, read("this_pass"), read("zdt"), read("xbc"), read("heads"), write("state"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "LANES", "HEADS", "HEAD_DIM", "STATE", "GROUPS", "STRIDE", "Z_AT", "DT_AT"],
};

/// The contract with `shaders/rare/model/ssm_chunk_products.wgsl`.
pub static CHUNK_PRODUCTS: KernelSpec = KernelSpec {
    kernel_name: "ssm_chunk_products",
    bindings: &[PARAMS, read("this_pass"), read("xbc"), write("products")],
    params: NoParams::LAYOUT,
    overrides: &["TILE", "CHUNK", "STATE", "GROUPS", "STRIDE", "B_AT"],
};

/// The contract with `shaders/rare/model/ssm_chunk_scan.wgsl`.
pub static CHUNK_SCAN: KernelSpec = KernelSpec {
    kernel_name: "ssm_chunk_scan",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("zdt"),
        read("xbc"),
        read("heads"),
        read("products"),
        write("state"),
        write("y"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "CHUNK", "COLUMNS", "HEADS", "HEAD_DIM", "STATE", "GROUPS", "STRIDE", "Z_AT", "DT_AT"],
};

const WG_SIZE: u32 = 256;
/// Values of a head that a workgroup of the step computes.
const LANES: u32 = 32;
/// Tokens of a chunk.
const CHUNK: u32 = 64;
/// Rows and columns of a workgroup of the products.
const TILE: u32 = 16;
/// Four values each, of the state in workgroup memory.
const STATE_VECTORS: u32 = 512;

/// The largest state, in values per value of a head.
pub const MAX_STATE: u32 = STATE_VECTORS;

/// The sizes of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SsmShape {
    /// Heads, each with a decay of its own.
    pub heads: u32,
    /// Values per head.
    pub head_dim: u32,
    /// Values of the state for each of them, at most [`MAX_STATE`].
    pub state: u32,
    /// B and C are shared by `heads / groups` heads.
    pub groups: u32,
}

impl SsmShape {
    /// Values of all heads of a token.
    pub fn inner(&self) -> u32 {
        self.heads * self.head_dim
    }

    /// Values of x, B and C of a token.
    pub fn xbc_width(&self) -> u32 {
        self.inner() + 2 * self.groups * self.state
    }

    /// Values of the state of a sequence.
    pub fn state_len(&self) -> usize {
        self.inner() as usize * self.state as usize
    }

    /// Values of the products of a pass of up to `rows` rows.
    pub fn products_len(&self, rows: usize) -> usize {
        rows.div_ceil(CHUNK as usize) * (self.groups * CHUNK * CHUNK) as usize
    }
}

/// A scan over the rows of a pass; all f32.
#[derive(Debug, Clone, Copy)]
pub struct SsmScan {
    /// Sizes.
    pub shape: SsmShape,
    /// `[rows, heads · head_dim]`: what gates the result, through SiLU.
    pub z: Rows,
    /// `[rows, heads]` in the same buffer: time steps, before bias and softplus.
    pub dt: Rows,
    /// `[rows, xbc_width]`: x, B and C.
    pub xbc: Slice,
    /// `[3, heads]`: bias of dt, A, D.
    pub heads: Slice,
    /// `[sequences, heads, state, head_dim]`; what it holds for position 0 does not matter.
    pub state: Slice,
    /// `[rows, heads · head_dim]`
    pub y: Slice,
}

impl SsmScan {
    fn constants(&self) -> Vec<(&'static str, f64)> {
        let Self { shape: SsmShape { heads, head_dim, state, groups }, z, dt, .. } = *self;
        debug_assert!(z.slice == dt.slice && z.stride == dt.stride, "z and dt lie in the same rows");
        vec![
            ("WG_SIZE", WG_SIZE.into()),
            ("HEADS", heads.into()),
            ("HEAD_DIM", head_dim.into()),
            ("STATE", state.into()),
            ("GROUPS", groups.into()),
            ("STRIDE", z.stride.into()),
            ("Z_AT", z.offset.into()),
            ("DT_AT", dt.offset.into()),
        ]
    }
}

/// The rows of a pass of few rows, of any sequences.
pub fn ssm_scan(pass: Slice, problem: &SsmScan) -> Dispatch {
    let SsmScan { shape, z, xbc, heads, state, y, .. } = *problem;
    let constants = [problem.constants(), vec![("LANES", LANES.into())]].concat();
    let tiles = shape.heads * shape.head_dim.div_ceil(LANES);
    let buffers = [pass, z.slice, xbc, heads, state, y];
    dispatch(&SPEC, &constants, &buffers, [Extent::Fixed(tiles), Extent::PerRows(1), Extent::Fixed(1)])
}

/// The rows of a pass of one sequence. `products` has room for [`SsmShape::products_len`] values.
pub fn ssm_scan_chunked(pass: Slice, problem: &SsmScan, products: Slice) -> [Dispatch; 2] {
    let SsmScan { shape, z, xbc, heads, state, y, .. } = *problem;
    let multiply = [
        ("TILE", TILE.into()),
        ("CHUNK", CHUNK.into()),
        ("STATE", shape.state.into()),
        ("GROUPS", shape.groups.into()),
        ("STRIDE", shape.xbc_width().into()),
        ("B_AT", shape.inner().into()),
    ];
    let tiles = (CHUNK / TILE) * (CHUNK / TILE);
    let grid = [Extent::Fixed(tiles), Extent::PerRows(CHUNK), Extent::Fixed(shape.groups)];
    let multiply = dispatch(&CHUNK_PRODUCTS, &multiply, &[pass, xbc, products], grid);
    // Three columns of four would leave lanes idle.
    let columns = match STATE_VECTORS / shape.state {
        0 | 1 => 1,
        2 | 3 => 2,
        _ => 4,
    };
    let constants = [problem.constants(), vec![("CHUNK", CHUNK.into()), ("COLUMNS", columns.into())]].concat();
    let tiles = shape.heads * shape.head_dim.div_ceil(4 * columns);
    let buffers = [pass, z.slice, xbc, heads, products, state, y];
    let grid = [Extent::Fixed(tiles), Extent::Fixed(1), Extent::Fixed(1)];
    [multiply, dispatch(&CHUNK_SCAN, &constants, &buffers, grid)]
}

fn dispatch(spec: &'static KernelSpec, constants: &[(&'static str, f64)], buffers: &[Slice], grid: Grid) -> Dispatch {
    Dispatch::new(Kernel::new(spec, constants), &NoParams::default(), buffers, grid)
}
