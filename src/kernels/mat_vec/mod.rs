//! `y[r] = epilogue(W · x)` for one column or a few: every matrix of decode, and the head.
//!
//! One column has two topologies: `mat_vec` keeps x in workgroup memory and gives rows to thread groups;
//! `mat_vec_split` gives a few rows to a whole workgroup. In either, thread groups are subgroups, or threads that add
//! up in workgroup memory. Several columns go through `mat_vec_columns`, which unpacks each weight once for all.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod columns;
mod contract;
pub mod reference;

use super::caps::Caps;
use super::layout::{BLOCK, Matrix, Shard};
use super::lora::Terms;
use super::prologue::Prologue;
use super::spec::{Dispatch, Kernel, Slice, bool_override, grid_1d};
use crate::gguf::GgmlType;
use crate::model::GateKind;

pub use columns::SPEC as COLUMNS;
pub use contract::{Params, SPEC, SPLIT};

use contract::spec_of;

/// The epilogue of a row's sum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Epilogue {
    /// `y = sum`
    Store,
    /// `y += sum`
    Residual,
    /// `y += factor · sum`
    Scaled(f32),
    /// `y = gelu(sum)`
    Gelu,
    /// `y[r] = activation(sum[r]) · sum[rows/2 + r]`, of gate and up stacked in one matrix. Needs a whole matrix, no
    /// bias.
    Gate(GateKind),
}

/// One matrix times one column.
#[derive(Debug, Clone, Copy)]
pub struct MatVec<'a> {
    /// `[rows, cols]`
    pub weights: &'a Matrix,
    /// `[rows of the pass, cols]` f32, of which the first `columns` rows are used.
    pub x: Slice,
    /// Rows of the pass at once, at most [`MAX_COLUMNS`]. What belongs to a sequence that is done is not written.
    pub columns: u32,
    /// RMS norm applied to x first: its weight `[cols]` f32 and its epsilon.
    pub norm: Option<(Slice, f32)>,
    /// The prologue, which computes x.
    pub prologue: Prologue,
    /// The terms of an adapter for the sums of one column, which excludes a prologue.
    pub adapter: Option<Terms>,
    /// `[rows]` f32
    pub bias: Option<Slice>,
    /// The epilogue of the sums.
    pub epilogue: Epilogue,
    /// f32
    pub y: Slice,
    /// Element of y that the first row writes.
    pub y_offset: u32,
    /// Elements from one column of y to the next; unused with one column.
    pub y_stride: u32,
    /// x begins at the first row of the pass that has logits, rather than at its first.
    pub of_outputs: bool,
}

impl<'a> MatVec<'a> {
    /// `y = W · x` for one column.
    pub fn new(weights: &'a Matrix, x: Slice, y: Slice) -> Self {
        let (norm, prologue, adapter, bias, epilogue) = (None, Prologue::None, None, None, Epilogue::Store);
        let (columns, y_offset, y_stride, of_outputs) = (1, 0, 0, false);
        Self { weights, x, columns, norm, prologue, adapter, bias, epilogue, y, y_offset, y_stride, of_outputs }
    }
}

/// Columns that one dispatch takes at most.
pub const MAX_COLUMNS: u32 = 8;

/// How the rows of a matrix are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// A whole workgroup shares its rows: `mat_vec_split`.
    pub split: bool,
    /// x is converted to int8 limbs for packed dot products; only for quantised W, with subgroups, and not split.
    pub limbs: bool,
    /// Threads of a workgroup.
    pub wg_size: u32,
    /// Threads of a thread group; 0: thread groups are subgroups, of whatever size.
    pub lanes: u32,
    /// Rows of W that a thread group works on together, or a workgroup where it shares them.
    pub rows_per_group: u32,
    /// How often each thread group of a workgroup takes rows, so that x is staged once for all of them; 1 where the
    /// workgroup shares its rows.
    pub row_passes: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Only for adapters that are programs.
    pub software: bool,
    /// Needs subgroups as thread groups; with limbs also quantised W, and a GPU on which limbs are faster.
    pub subgroups: bool,
    /// For matrices of at least this many rows.
    pub min_rows: u32,
    /// For rows of at least this many blocks of 32.
    pub min_blocks: u32,
    /// For rows of at most this many.
    pub max_blocks: u32,
    /// The choice.
    pub shape: Shape,
}

impl Rule {
    /// Whether a device can run it for a matrix of this type. The other conditions are about speed.
    fn can_run(&self, caps: &Caps, ty: GgmlType) -> bool {
        (!self.software || caps.software)
            && self.shape.wg_size <= caps.workgroup_threads
            && (!self.shape.limbs || caps.dot4 && ty.is_quantised())
            && (!self.subgroups || has_subgroups(caps, self.shape.wg_size))
    }
}

const fn tall(subgroups: bool, min_rows: u32, min_blocks: u32, [wg_size, lanes, rows_per_group]: [u32; 3]) -> Rule {
    let shape = Shape { split: false, limbs: false, wg_size, lanes, rows_per_group, row_passes: 1 };
    Rule { software: false, subgroups, min_rows, min_blocks, max_blocks: STAGED, shape }
}

const fn limbs(min_rows: u32, min_blocks: u32, [wg_size, rows_per_group, row_passes]: [u32; 3]) -> Rule {
    let shape = Shape { split: false, limbs: true, wg_size, lanes: 0, rows_per_group, row_passes };
    Rule { software: false, subgroups: true, min_rows, min_blocks, max_blocks: u32::MAX, shape }
}

const fn split(subgroups: bool, min_blocks: u32, [wg_size, lanes, rows_per_group]: [u32; 3]) -> Rule {
    let shape = Shape { split: true, limbs: false, wg_size, lanes, rows_per_group, row_passes: 1 };
    Rule { software: false, subgroups, min_rows: 0, min_blocks, max_blocks: u32::MAX, shape }
}

/// As few threads as there are that wait for each other: see [`Caps::software`].
const fn software(subgroups: bool, lanes: u32) -> Rule {
    Rule { software: true, ..split(subgroups, 0, [16, lanes, 4]) }
}

/// Which shape runs a matrix: enough workgroups first, then as few loads of x as possible; and every thread should
/// have work. A row with subgroups is taken only where the largest of the device fits into its workgroup. The last row
/// holds for every device and matrix.
pub static RULES: &[Rule] = &[
    software(true, 0),
    software(false, 16),
    limbs(65_536, 32, [256, 4, 8]),
    limbs(8192, 160, [256, 8, 1]),
    limbs(8192, 32, [256, 4, 1]),
    limbs(5120, 512, [1024, 2, 1]),
    limbs(5120, 160, [512, 2, 1]),
    limbs(4096, 256, [512, 2, 1]),
    limbs(4096, 32, [256, 2, 1]),
    limbs(2560, 256, [512, 2, 1]),
    limbs(512, 128, [512, 1, 1]),
    limbs(512, 128, [256, 2, 1]),
    limbs(512, 32, [128, 2, 1]),
    tall(true, 8192, 32, [128, 0, 4]),
    tall(true, 512, 32, [128, 0, 2]),
    Rule { max_blocks: u32::MAX, ..tall(true, 8192, 32, [128, 0, 4]) },
    split(true, 64, [128, 0, 2]),
    split(true, 32, [128, 0, 4]),
    split(true, 0, [64, 0, 4]),
    split(true, 0, [128, 0, 4]),
    tall(false, 8192, 32, [128, 16, 4]),
    tall(false, 512, 32, [128, 16, 2]),
    Rule { max_blocks: u32::MAX, ..tall(false, 8192, 32, [128, 16, 4]) },
    split(false, 64, [128, 128, 2]),
    split(false, 32, [128, 128, 4]),
    split(false, 0, [64, 64, 4]),
];

/// The shape for a matrix `[rows, cols]` on a device: the table's, or that of a verdict.
pub fn choose(caps: &Caps, ty: GgmlType, rows: u32, cols: u32) -> Shape {
    let fits = |rule: &Rule| {
        // On an H200 4-bit weights are read 1.5 times as fast with limbs.
        (!rule.shape.limbs || caps.is_measured())
            && rows >= rule.min_rows
            && (rule.min_blocks..=rule.max_blocks).contains(&cols.div_ceil(BLOCK))
    };
    let problem = format_args!("mat_vec {} {rows}x{cols}", ty.key());
    caps.tuned.choose(problem, RULES, |rule| rule.shape, &|rule| rule.can_run(caps, ty), &fits)
}

/// Whether the device has subgroups, the largest of which fits into a workgroup of `wg_size` threads.
pub(super) fn has_subgroups(caps: &Caps, wg_size: u32) -> bool {
    caps.subgroups && caps.subgroup_sizes().1 <= wg_size
}

/// The dispatches, one per shard, of `problem`. `dummy` is bound for the buffers that it does not use: any of 16
/// bytes that is not `y`.
pub fn mat_vec(caps: &Caps, pass: Slice, dummy: Slice, problem: &MatVec) -> Vec<Dispatch> {
    let MatVec { weights, columns, .. } = *problem;
    if columns > 1 {
        let shape = columns::choose(weights.rows, weights.cols);
        return weights.shards.iter().map(|shard| columns::dispatch(shape, (pass, dummy), problem, shard)).collect();
    }
    let shape = choose(caps, weights.ty, weights.rows, weights.cols);
    weights.shards.iter().map(|shard| dispatch(caps, shape, (pass, dummy), problem, shard)).collect()
}

/// The dispatch of one shard in a given shape.
pub fn dispatch(caps: &Caps, shape: Shape, (pass, dummy): (Slice, Slice), problem: &MatVec, shard: &Shard) -> Dispatch {
    let MatVec { weights, columns, epilogue, norm, bias, prologue, adapter, .. } = *problem;
    let swiglu = matches!(epilogue, Epilogue::Gate(_));
    debug_assert!(adapter.is_none() || prologue == Prologue::None);
    debug_assert!(!swiglu || weights.is_whole() && bias.is_none() && weights.rows.is_multiple_of(2));
    debug_assert!(columns == 1 && (prologue == Prologue::None || weights.cols.is_multiple_of(BLOCK)));
    debug_assert!(bias.is_none() || !matches!(prologue, Prologue::Update(_)));
    let halves = 1 + u32::from(swiglu);
    // An output of a gate takes a row of each half of the matrix.
    let rows_per_group = shape.rows_per_group.max(halves);
    let (rows, outputs) = (shard.rows / halves, rows_per_group / halves);
    let (norm_weight, eps) = norm.unwrap_or((dummy, 0.0));
    // A guess too small costs row passes, one too large leaves lanes idle: subgroups of a workgroup take its rows in
    // as many passes as the largest size needs.
    let (smallest, largest) = if shape.lanes == 0 { caps.subgroup_sizes() } else { (shape.lanes, shape.lanes) };
    let lanes = if smallest == largest { smallest } else { 0 };
    let mut constants = constants(problem, rows, rows_per_group, [shape.wg_size, lanes], eps);
    let mut group_rows = outputs;
    if !shape.split {
        group_rows *= shape.wg_size / smallest * shape.row_passes;
        constants.push(("GROUP_ROWS", group_rows.into()));
        constants.push(("ROW_PASSES", (largest.div_ceil(smallest) * shape.row_passes).into()));
        constants.push(("STAGE", stage(caps, shape, weights, &prologue).into()));
    }
    constants.extend(prologue.constants());
    constants.extend(adapter.iter().flat_map(Terms::constants));
    constants.extend(weights.layout(shard).constants());
    let kernel = variant(shape, problem, &constants);
    let (y_offset, other_at) = (problem.y_offset, prologue.other_at());
    let params = Params { first_row: shard.first_row, y_offset, other_at };
    let w = Slice::from(shard.buffer);
    let (norm_weight, bias, last) = prologue.buffers([norm_weight, bias.unwrap_or(dummy), dummy]);
    let last = last.or(adapter.map(|terms| terms.place));
    let buffers = [pass, problem.x, norm_weight, w, w, bias, problem.y].into_iter().chain(last);
    Dispatch::new(kernel, &params, &buffers.collect::<Vec<_>>(), grid_1d(rows.div_ceil(group_rows)))
}

/// The constants of `mat_vec_rows.wgsl`.
fn constants(
    problem: &MatVec,
    rows: u32,
    rows_per_group: u32,
    [wg_size, lanes]: [u32; 2],
    eps: f32,
) -> Vec<(&'static str, f64)> {
    let MatVec { weights, columns, epilogue, norm, bias, .. } = *problem;
    vec![
        ("COLS", f64::from(weights.cols)),
        ("ROWS", rows.into()),
        ("ROWS_PER_GROUP", rows_per_group.into()),
        ("COLUMNS", columns.into()),
        ("Y_STRIDE", problem.y_stride.into()),
        ("WG_SIZE", wg_size.into()),
        ("LANES", lanes.into()),
        ("NORM", bool_override(norm.is_some())),
        ("EPS", eps.into()),
        ("BIAS", bool_override(bias.is_some())),
        ("RESIDUAL", bool_override(matches!(epilogue, Epilogue::Residual | Epilogue::Scaled(_)))),
        ("OUT_SCALE", if let Epilogue::Scaled(factor) = epilogue { factor.into() } else { 1.0 }),
        ("SWIGLU", bool_override(matches!(epilogue, Epilogue::Gate(_)))),
        ("GELU", bool_override(matches!(epilogue, Epilogue::Gelu | Epilogue::Gate(GateKind::GeGlu)))),
        ("OF_OUTPUTS", bool_override(problem.of_outputs)),
    ]
}

/// Blocks of x that fit into 12 KiB of workgroup memory.
const STAGED: u32 = 96;

/// Blocks of x in limbs, with scale and sums, that fit into 14 KiB.
const STAGED_LIMBS: u32 = 128;

/// Bytes of workgroup memory that every device has.
const WORKGROUP_MEMORY: u32 = 16 << 10;

/// Bytes of workgroup memory for each thread, where the device has more than [`WORKGROUP_MEMORY`]. On an H200 each
/// stage of a row costs 2 to 5 µs, since the threads wait for x and only then ask for weights.
const MEMORY_OF_THREAD: u32 = 128;

/// Blocks of x that fit into `memory` bytes beside `others`, which are a grid and the sums of a prologue: a block takes
/// 108 bytes in limbs, 128 as floats. Further bytes are for the padding of x and for sums.
fn staged_beside(others: u32, limbs: bool, memory: u32) -> u32 {
    if limbs {
        let most = if memory > WORKGROUP_MEMORY { u32::MAX } else { STAGED_LIMBS };
        most.min((memory - others - 352) / 108)
    } else {
        STAGED.min((WORKGROUP_MEMORY - others - 2816) / 128)
    }
}

/// Blocks of x that are staged at once: whole rows, or equal parts of them.
fn stage(caps: &Caps, shape: Shape, weights: &Matrix, prologue: &Prologue) -> u32 {
    let grid = weights.ty.format().grid().map_or(0, |grid| 4 * grid.words);
    let blocks = weights.cols.div_ceil(BLOCK);
    let memory = WORKGROUP_MEMORY.max(caps.workgroup_memory.min(MEMORY_OF_THREAD * shape.wg_size));
    blocks.div_ceil(blocks.div_ceil(staged_beside(grid + prologue.memory(shape.wg_size), shape.limbs, memory)))
}

fn variant(shape: Shape, problem: &MatVec, constants: &[(&'static str, f64)]) -> Kernel {
    let MatVec { weights, prologue, adapter, .. } = problem;
    let mut kernel = prologue
        .import(Kernel::new(spec_of(shape.split, problem), constants).named(weights.ty.key()))
        .import("weights", weights.ty.format().weights);
    kernel = match adapter {
        Some(_) => kernel.named("adapter").import("adapter", "adapter_terms"),
        None => kernel.import("adapter", "adapter_none"),
    };
    kernel = match shape.lanes {
        0 => kernel.named("subgroup").enable("subgroups").import("thread_group", "thread_group_subgroup"),
        _ => kernel.import("thread_group", "thread_group_memory"),
    };
    if shape.limbs {
        debug_assert!(shape.lanes == 0 && !shape.split && weights.ty.is_quantised());
        kernel = kernel.named("limbs");
    }
    if !shape.split {
        kernel = kernel.import("x_stage", if shape.limbs { "x_limbs" } else { "x_floats" });
        kernel = match weights.ty.format().grid() {
            Some(grid) if grid.is_of_pairs() => {
                kernel.import("stage_grid", "grid_pair_staged").import("grid_pair", "grid_at")
            }
            Some(_) => kernel.import("stage_grid", "grid_staged").import("grid", "grid_at"),
            None => kernel.import("stage_grid", "no_grid"),
        };
    }
    with_columns(kernel, weights.cols)
}

/// The variant that reads x and norm weights in rows of `cols` columns.
fn with_columns(kernel: Kernel, cols: u32) -> Kernel {
    if cols.is_multiple_of(BLOCK) {
        kernel.import("columns", "columns_full").import("norm", "norm_full")
    } else {
        kernel.named("ragged").import("columns", "columns_ragged").import("norm", "norm_ragged")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Devices with every range of subgroup sizes from 4 to 128, with and without packed dot products that pay, and one
    /// that does not say its sizes.
    fn devices() -> impl Iterator<Item = Caps> {
        let sizes = (2..=7).flat_map(|low| (low..=7).map(move |high| (1 << low, 1 << high))).chain([(0, 0)]);
        sizes.flat_map(|subgroup_size| {
            ["nvidia", "qualcomm"].map(|vendor| {
                let vendor = vendor.into();
                Caps { subgroups: true, subgroup_size, dot4: true, vendor, ..Caps::baseline() }
            })
        })
    }

    #[test]
    fn the_largest_subgroup_fits_into_every_workgroup() {
        for caps in devices() {
            let largest = caps.subgroup_sizes().1;
            for rows in [1, 100, 512, 2048, 4096, 8192, 128_256] {
                for cols in [32, 100, 992, 1024, 2048, 3072, 4096, 8192, 100_000] {
                    for ty in [GgmlType::F16, GgmlType::Q4_0] {
                        let shape = choose(&caps, ty, rows, cols);
                        assert_eq!(shape.lanes, 0, "{rows} x {cols} with {:?} wants subgroups", caps.subgroup_size);
                        assert!(shape.wg_size >= largest, "{shape:?} with {:?}", caps.subgroup_size);
                    }
                }
            }
        }
    }

    #[test]
    fn a_program_in_place_of_a_gpu_gets_few_threads() {
        for (subgroups, size, lanes) in [(true, 4, 0), (true, 32, 16), (false, 0, 16)] {
            let subgroup_size = (size, size);
            let caps = Caps { software: true, subgroups, subgroup_size, ..Caps::baseline() };
            for (rows, cols) in [(100, 32), (8192, 1024), (512, 100_000)] {
                let shape = choose(&caps, GgmlType::Q4_0, rows, cols);
                assert_eq!((shape.wg_size, shape.lanes), (16, lanes), "{rows} x {cols}");
            }
        }
    }

    #[test]
    fn subgroups_larger_than_a_workgroup_are_not_used() {
        let caps = Caps { subgroups: true, subgroup_size: (64, 256), ..Caps::baseline() };
        for cols in [32, 1024, 8192] {
            assert_ne!(choose(&caps, GgmlType::Q4_0, 512, cols).lanes, 0, "{cols} columns");
        }
    }
}
