//! Few tokens by the matrices of the experts that `route` chose: decode. A dispatch reads the chosen experts' weights
//! and no others.

use super::caps::Caps;
use super::layout::{BLOCK, Matrix, Shard};
use super::mat_vec::has_subgroups;
use super::route::Counts;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};
use crate::model::program::ExpertActivation;

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// The first expert of the shard.
        pub first_expert: u32,
        /// Experts of the shard.
        pub experts: u32,
        /// Elements from one row of x to the next.
        pub x_stride: u32,
        /// Elements from one row of y to the next.
        pub y_stride: u32,
    }
}

/// The contract with `shaders/rare/model/mat_vec_experts.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "mat_vec_experts",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("routes"),
        read("x"),
        read("w_vec"),
        read("w_word"),
        read("bias"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &[
        "COLS",
        "ROWS",
        "ROWS_PER_GROUP",
        "WG_SIZE",
        "LANES",
        "EXPERTS",
        "TOP",
        "SUM",
        "PAIRED",
        "GATE",
        "UP",
        "BIAS",
        "BIAS_OF_ENTRIES",
        "ADD",
        "HEADS",
        "X_STEP",
    ],
};

/// The epilogue of an expert's sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epilogue {
    /// `y = sum`, a row for each choice.
    Store,
    /// `y = gated(sum[r], sum[rows/2 + r])` of gate and up, which an expert's matrix has one after the other.
    Gate(ExpertActivation),
    /// `y = gated(y, sum)`: y holds the gate.
    Up(ExpertActivation),
    /// `y = Σ weight · sum` over a token's choices, and with `true` added to y: x has a row for each choice.
    Sum { add: bool },
}

impl Epilogue {
    /// Whether a matrix holds gate and up of each expert.
    pub fn is_paired(self) -> bool {
        matches!(self, Self::Gate(_))
    }

    /// `GATE` of `shaders/rare/shared/gated.wgsl`.
    pub(super) fn gate(self) -> u32 {
        match self {
            Self::Gate(kind) | Self::Up(kind) => kind as u32,
            Self::Store | Self::Sum { .. } => 0,
        }
    }
}

/// Rows of x by the matrices of their experts.
#[derive(Debug, Clone, Copy)]
pub struct ExpertProduct<'a> {
    /// Sizes.
    pub counts: Counts,
    /// `[experts, rows of an expert, cols]`, its shards of whole experts.
    pub weights: &'a Matrix,
    /// `[experts, rows]` f32; of gates and ups those of all gates, then those of all ups.
    pub bias: Option<Slice>,
    /// Not 0: the bias is `[this many, rows]` of entries, choices of tokens, not of experts.
    pub bias_of_entries: u32,
    /// The epilogue of the sums.
    pub epilogue: Epilogue,
    /// `[tokens, 2 · used]`, see [`route`](super::route::route).
    pub routes: Slice,
    /// Choice s of every token is expert s, and this many elements are from its x to that of the next, in the token's
    /// row: `routes` is not read.
    pub of_heads: Option<u32>,
    /// `[tokens, x_stride]` f32; where there is one row for each choice, `[tokens · used, x_stride]`.
    pub x: Slice,
    /// Elements from one row of x to the next.
    pub x_stride: u32,
    /// `[tokens · used, y_stride]` f32, of sums `[tokens, y_stride]`.
    pub y: Slice,
    /// Elements from one row of y to the next.
    pub y_stride: u32,
}

impl ExpertProduct<'_> {
    /// Whether x can be read four values at a time.
    pub fn reads_fours(&self) -> bool {
        self.weights.cols.is_multiple_of(BLOCK) && self.x_stride.is_multiple_of(4)
    }

    /// Rows of an expert's matrix.
    pub fn matrix_rows(&self) -> u32 {
        self.weights.rows / self.counts.experts
    }

    /// Rows of y for an expert.
    pub fn rows(&self) -> u32 {
        self.matrix_rows() / (1 + u32::from(self.epilogue.is_paired()))
    }

    /// The experts of a shard: the first, and how many.
    pub fn experts_of(&self, shard: &Shard) -> [u32; 2] {
        [shard.first_row / self.matrix_rows(), shard.rows / self.matrix_rows()]
    }
}

/// How the rows are spread over threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a workgroup.
    pub wg_size: u32,
    /// Threads of a thread group; 0: thread groups are subgroups.
    pub lanes: u32,
    /// Rows of W that a workgroup works on together: 2 or 4.
    pub rows_per_group: u32,
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Needs subgroups as thread groups.
    pub subgroups: bool,
    /// For at least this many blocks of 32 in the rows that a workgroup adds up.
    pub min_blocks: u32,
    /// The choice.
    pub shape: Shape,
}

const fn rule(subgroups: bool, min_blocks: u32, [wg_size, lanes, rows_per_group]: [u32; 3]) -> Rule {
    Rule { subgroups, min_blocks, shape: Shape { wg_size, lanes, rows_per_group } }
}

/// Which shape runs a product: every thread should have work. The last row holds for every device and matrix.
pub static RULES: &[Rule] = &[
    rule(true, 32, [128, 0, 4]),
    rule(true, 0, [64, 0, 4]),
    rule(true, 0, [128, 0, 4]),
    rule(false, 32, [128, 128, 4]),
    rule(false, 0, [64, 64, 4]),
];

/// The shape for a product on a device: the table's, or that of a verdict.
fn choose(caps: &Caps, problem: &ExpertProduct) -> Shape {
    let Matrix { ty, cols, .. } = *problem.weights;
    let choices = if matches!(problem.epilogue, Epilogue::Sum { .. }) { problem.counts.used } else { 1 };
    let blocks = choices * cols.div_ceil(BLOCK);
    let can_run = |rule: &Rule| !rule.subgroups || has_subgroups(caps, rule.shape.wg_size);
    let key = format_args!("mat_vec_experts {} {}x{cols}", ty.key(), problem.matrix_rows());
    caps.tuned.choose(key, RULES, |rule| rule.shape, &can_run, &|rule| blocks >= rule.min_blocks)
}

/// The dispatches, one per shard, for `tokens` rows of a pass. `dummy` is bound where there is no bias: 16 bytes, not
/// `y`.
pub fn mat_vec_experts(
    caps: &Caps,
    (pass, dummy): (Slice, Slice),
    tokens: u32,
    problem: &ExpertProduct,
) -> Vec<Dispatch> {
    let shape = choose(caps, problem);
    let shards = problem.weights.shards.iter().enumerate();
    let dispatch = |(number, shard): (usize, &Shard)| {
        // Every shard has some of a token's experts: the first stores, the others add to it.
        let epilogue = match problem.epilogue {
            Epilogue::Sum { add } => Epilogue::Sum { add: add || number > 0 },
            other => other,
        };
        dispatch(shape, (pass, dummy), tokens, &ExpertProduct { epilogue, ..*problem }, shard)
    };
    shards.map(dispatch).collect()
}

/// The dispatch of one shard in a given shape.
pub fn dispatch(
    shape: Shape,
    (pass, dummy): (Slice, Slice),
    tokens: u32,
    problem: &ExpertProduct,
    shard: &Shard,
) -> Dispatch {
    let ExpertProduct { counts, weights, epilogue, bias, .. } = *problem;
    let (rows, sum) = (problem.rows(), matches!(epilogue, Epilogue::Sum { .. }));
    let mut constants = vec![
        ("COLS", f64::from(weights.cols)),
        ("ROWS", rows.into()),
        ("ROWS_PER_GROUP", shape.rows_per_group.into()),
        ("WG_SIZE", shape.wg_size.into()),
        ("LANES", shape.lanes.into()),
        ("EXPERTS", counts.experts.into()),
        ("TOP", counts.used.into()),
        ("SUM", bool_override(sum)),
        ("PAIRED", bool_override(epilogue.is_paired())),
        ("GATE", epilogue.gate().into()),
        ("UP", bool_override(matches!(epilogue, Epilogue::Up(_)))),
        ("BIAS", bool_override(bias.is_some())),
        ("ADD", bool_override(epilogue == Epilogue::Sum { add: true })),
        ("HEADS", bool_override(problem.of_heads.is_some())),
        ("X_STEP", problem.of_heads.unwrap_or(0).into()),
        ("BIAS_OF_ENTRIES", problem.bias_of_entries.into()),
    ];
    constants.extend(weights.layout(shard).constants());
    let mut kernel =
        Kernel::new(&SPEC, &constants).named(weights.ty.key()).import("weights", weights.ty.format().weights);
    kernel = match shape.lanes {
        0 => kernel.named("subgroup").enable("subgroups").import("thread_group", "thread_group_subgroup"),
        _ => kernel.import("thread_group", "thread_group_memory"),
    };
    kernel = match problem.reads_fours() {
        true => kernel.import("columns", "columns_full"),
        false => kernel.named("ragged").import("columns", "columns_ragged"),
    };
    let [first_expert, experts] = problem.experts_of(shard);
    let params = Params { first_expert, experts, x_stride: problem.x_stride, y_stride: problem.y_stride };
    let w = Slice::from(shard.buffer);
    let buffers = [pass, problem.routes, problem.x, w, w, bias.unwrap_or(dummy), problem.y];
    let outputs = shape.rows_per_group / (1 + u32::from(epilogue.is_paired()));
    let down = if sum { tokens } else { tokens * counts.used };
    let grid = [Extent::Fixed(rows.div_ceil(outputs)), Extent::Fixed(down), Extent::Fixed(1)];
    Dispatch::new(kernel, &params, &buffers, grid)
}
