//! Costs of products with packed matrices, for one, a few and many rows, and of adapters and experts.

use super::unpack::{Form, instructions};
use super::view::View;
use super::{Row, Work};

pub(super) static ROWS: &[(&str, Row)] = &[
    ("mat_vec", mat_vec),
    ("mat_vec_split", mat_vec_split),
    ("mat_vec_columns", mat_vec_columns),
    ("mat_vec_experts", mat_vec_experts),
    ("mat_mul", |view| tiles(view, [4 * view.constant("TX"), 4 * view.constant("TY")], PERCENT_4X4)),
    ("mat_mul_8x8", |view| tiles(view, [64, 64], PERCENT_8X8)),
    ("mat_mul_int8", mat_mul_int8),
    ("mat_mul_f16", mat_mul_f16),
    ("mat_mul_subgroup_matrix", mat_mul_subgroup_matrix),
    ("mat_mul_experts", mat_mul_experts),
    ("expert_tiles", expert_tiles),
    ("expert_add", expert_add),
    ("route", route),
    ("lora", lora),
    ("lora_a", lora_a),
    ("lora_a_row", lora_a_row),
    ("lora_b", lora_b),
    ("lora_experts", lora_experts),
];

/// Bytes of an f32.
pub(super) const F32: u64 = 4;

/// Percentages of the f32 peak that tiled loops reach with 8 × 8 and with 4 × 4 sums in the registers of a thread, and
/// of the peak of packed dot products with 8 × 4 sums (record of 2026-11-27, sums of products).
const PERCENT_8X8: u64 = 54;
const PERCENT_4X4: u64 = 34;
const INT8_PERCENT: u64 = 62;

/// As [`PERCENT_8X8`], on a device that computes 1.5 times as fast in f16 as in f32. The H200 does not: there a whole
/// prompt was read 1.19 times as fast.
const F16_PERCENT: u64 = PERCENT_8X8 * 3 / 2;

/// Instructions to stage a value of x: as a float, in limbs, and for each further vector of the prologue.
const STAGED: u64 = 2;
const STAGED_LIMBS: u64 = 11;
const STAGED_VECTOR: u64 = 2;

/// Steps of `lanes` threads over `count` parts of a row, and the instructions, with those of idle threads in the last
/// step.
fn stepped(count: u64, lanes: u64, instructions: u64) -> (u64, u64) {
    let steps = count.div_ceil(lanes.max(1)).max(1);
    (steps, instructions * steps * lanes / count.max(1))
}

/// Rows of W: as many as y has, or twice as many with gate and up side by side.
fn matrix_rows(view: &View) -> u64 {
    view.constant("ROWS") * (1 + view.constant("SWIGLU"))
}

/// Vectors that every workgroup of a product of one row reads: x, the norm's weights, inputs of the prologue.
fn vectors(view: &View) -> u64 {
    let prologue = match () {
        () if view.is_named("update") || view.is_named("layer_norm") => 2,
        () if view.is_named("gate") => 1,
        () => 0,
    };
    1 + view.constant("NORM") + prologue
}

/// The work that all products of one row have in common: weights, vectors, y; and the vectors again in every workgroup.
fn one_row(view: &View) -> Work {
    let (cols, rows) = (view.constant("COLS"), view.constant("ROWS"));
    let vectors = vectors(view) * cols * F32;
    let y = rows * F32 * (1 + view.constant("RESIDUAL") + view.constant("BIAS"));
    let new_x = if view.is_named("update") { cols * F32 } else { 0 };
    let adapter = if view.is_named("adapter") { view.bytes("adapter") } else { 0 };
    // The prologue sums squares before x is staged, with barriers that take as long as a load. With an update, each of
    // the four quads of x that a thread stages waits until the last one is written.
    let before = match () {
        () if view.is_named("update") => 1 + (cols / 4).div_ceil(view.threads().max(1)) + 3,
        () if view.is_named("layer_norm") => 2,
        () => 0,
    };
    Work {
        weights: view.bytes("w_vec"),
        memory: vectors + y + new_x + adapter,
        again: (view.workgroups() - 1) * vectors,
        flops: 2 * matrix_rows(view) * cols,
        trips: before,
        ..Work::default()
    }
}

fn mat_vec(view: &View) -> Work {
    let (cols, weights) = (view.constant("COLS"), matrix_rows(view) * view.constant("COLS"));
    let limbs = view.is_named("limbs");
    let (form, of_value) = if limbs { (Form::Limbs, STAGED_LIMBS) } else { (Form::Floats, STAGED) };
    let stage = view.constant("STAGE").max(1);
    let stages = cols.div_ceil(32).div_ceil(stage);
    let lanes = match view.constant("LANES") {
        0 => view.scene.subgroup,
        lanes => lanes,
    };
    let work = one_row(view);
    let (steps, of_weights) = stepped(stage, lanes, weights + instructions(view.ty(), form, weights));
    let staging = view.workgroups() * cols * (of_value + STAGED_VECTOR * (vectors(view) - 1));
    Work {
        // `flops` already has the multiplications.
        instructions: (of_weights - weights) + staging,
        trips: work.trips + stages,
        // A thread group runs through rows once per pass. With other subgroup sizes there are fewer passes.
        steps: stages * steps * passes(view, lanes),
        ..work
    }
}

/// Passes of a thread group over rows.
fn passes(view: &View, lanes: u64) -> u64 {
    let outputs = view.constant("ROWS_PER_GROUP") / (1 + view.constant("SWIGLU"));
    let at_once = view.threads() / lanes.max(1) * outputs;
    view.constant("GROUP_ROWS").div_ceil(at_once.max(1))
}

fn mat_vec_split(view: &View) -> Work {
    let (cols, weights) = (view.constant("COLS"), matrix_rows(view) * view.constant("COLS"));
    let work = one_row(view);
    // Scales are read once for eight weights, not once for 32.
    let scales = if view.ty().is_some_and(|ty| ty.is_quantised()) { weights } else { 0 };
    let of_weights = weights + scales + instructions(view.ty(), Form::Floats, weights);
    let (steps, of_weights) = stepped(4 * cols.div_ceil(32), view.threads(), of_weights);
    let staging = view.workgroups() * cols * STAGED_VECTOR * vectors(view);
    Work { instructions: (of_weights - weights) + staging, trips: work.trips + 1, steps, ..work }
}

fn mat_vec_columns(view: &View) -> Work {
    let (cols, columns, weights) =
        (view.constant("COLS"), view.constant("COLUMNS"), matrix_rows(view) * view.constant("COLS"));
    let work = one_row(view);
    let (steps, of_weights) =
        stepped(cols.div_ceil(32), view.constant("LANES"), weights + instructions(view.ty(), Form::Floats, weights));
    Work {
        memory: work.memory * columns,
        again: work.again * columns,
        flops: 2 * weights * columns,
        instructions: (of_weights - weights) + weights * columns / 2,
        trips: 1,
        steps,
        ..work
    }
}

/// Rows of x in a product of a pass.
fn x_rows(view: &View) -> u64 {
    view.rows().min(view.param("rows"))
}

/// Products of many rows: W is read once from memory, then again for every tile of tokens, and x for every tile of
/// rows.
fn tiles(view: &View, [tile_rows, tile_tokens]: [u64; 2], percent: u64) -> Work {
    let (rows, cols, tokens) = (view.constant("ROWS"), view.constant("COLS"), x_rows(view));
    let [down, across] = [rows.div_ceil(tile_rows), tokens.div_ceil(tile_tokens)];
    let weights = view.bytes("w_vec");
    let x = tokens * cols * F32;
    Work {
        weights,
        memory: x + tokens * rows * F32 * (1 + view.constant("RESIDUAL")),
        again: weights * (across - 1) + x * (down - 1),
        // A tile multiplies all its rows and tokens, also past the end.
        flops: 2 * down * tile_rows * across * tile_tokens * cols,
        trips: 2,
        percent,
        ..Work::default()
    }
}

fn mat_mul_int8(view: &View) -> Work {
    let work = tiles(view, [64, 64], INT8_PERCENT);
    // x takes a byte per value, and 16 bytes of scales for each 32 values.
    let x = x_rows(view) * view.constant("COLS");
    let fewer = x * F32 - (x + x / 2);
    let again = work.again.saturating_sub(fewer * (view.grid(0) - 1));
    Work { memory: work.memory - fewer, again, flops: 0, int8: work.flops, ..work }
}

fn mat_mul_f16(view: &View) -> Work {
    let work = tiles(view, [64, 64], F16_PERCENT);
    // x takes two bytes per value, and a scale for each 32 values.
    let fewer = x_rows(view) * view.constant("COLS") * F32 * 15 / 32;
    let again = work.again.saturating_sub(fewer * (view.grid(0) - 1));
    Work { memory: work.memory - fewer, again, ..work }
}

fn mat_mul_subgroup_matrix(view: &View) -> Work {
    let [rows, tokens] = [view.constant("ROWS").div_ceil(view.grid(1)), x_rows(view).div_ceil(view.grid(0))];
    let work = tiles(view, [rows, tokens], 0);
    Work { flops: 0, matrix: work.flops, ..work }
}

/// Returns the rows of an expert's matrix, and the bytes of all distinct experts that a pass with `top` experts per
/// token reads.
fn expert_weights(view: &View, top: u64) -> (u64, u64) {
    let [experts, rows] = [view.constant("EXPERTS"), view.constant("ROWS") * (1 + view.constant("PAIRED"))];
    let met = (top * view.rows()).min(experts);
    (rows, view.bytes("w_vec") * met / experts.max(1))
}

fn mat_vec_experts(view: &View) -> Work {
    let (top, cols) = (view.constant("TOP"), view.constant("COLS"));
    let (rows, weights) = expert_weights(view, top);
    let products = view.rows() * top * rows * cols;
    let x = cols * F32 * if view.is_set("SUM") { top } else { 1 };
    Work {
        weights,
        memory: view.rows() * (x + top * view.constant("ROWS") * F32),
        again: view.workgroups() * x,
        flops: 2 * products,
        instructions: instructions(view.ty(), Form::Floats, products) + products,
        // The expert's number is loaded first.
        trips: 2,
        steps: (4 * cols.div_ceil(32)).div_ceil(view.threads().max(1)),
        ..Work::default()
    }
}

fn mat_mul_experts(view: &View) -> Work {
    let (cols, down) = (view.constant("COLS"), view.grid(0));
    let entries = match view.grid(1) * 4 * view.constant("TY") {
        all if view.constant("EXPERTS") == 0 => all,
        all => all - all.min(view.constant("EXPERTS") * 2 * view.constant("TY")),
    };
    let (rows, weights) = expert_weights(view, view.constant("EXPERTS"));
    let x = entries / view.constant("SHARE").max(1) * cols * F32;
    Work {
        weights,
        memory: x + entries * view.constant("ROWS") * F32,
        again: x * down.saturating_sub(1),
        flops: 2 * entries * rows * cols,
        trips: 3,
        percent: PERCENT_4X4,
        ..Work::default()
    }
}

fn expert_tiles(view: &View) -> Work {
    let entries = view.rows() * view.constant("TOP");
    Work { memory: 3 * entries * F32, instructions: 8 * entries, trips: 3, ..Work::default() }
}

fn expert_add(view: &View) -> Work {
    let (top, width) = (view.constant("TOP"), view.constant("WIDTH"));
    let values = view.rows() * width;
    Work {
        memory: values * (top + 1 + view.constant("ADD")) * F32,
        flops: 2 * values * top,
        trips: 2,
        ..Work::default()
    }
}

fn route(view: &View) -> Work {
    let experts = view.constant("EXPERTS");
    let memory = view.rows() * (experts + 2 * view.constant("TOP")) * F32;
    Work { memory, instructions: view.rows() * experts * experts, trips: 2, ..Work::default() }
}

fn lora(view: &View) -> Work {
    let (a, b) = (view.bytes("a"), view.bytes("b"));
    let x = view.rows() * view.param("cols") * F32;
    Work {
        memory: a + b + x,
        again: view.workgroups().saturating_sub(1) * (a + x),
        flops: view.workgroups() * a / 2 + view.rows() * b / 2,
        trips: 4,
        ..Work::default()
    }
}

fn lora_a(view: &View) -> Work {
    let (cols, ranks) = (view.param("cols"), view.param("ranks"));
    let products = view.rows() * cols * ranks;
    let memory =
        if view.is_set("TABLE") { 2 * view.rows() * ranks * F32 } else { view.bytes("a") + view.rows() * cols * F32 };
    Work { memory, again: products * F32, flops: 2 * products, trips: 2, ..Work::default() }
}

fn lora_a_row(view: &View) -> Work {
    let x = 4 * view.param("quads") * F32 * (1 + view.constant("NORM"));
    let a = view.bytes("a");
    Work { memory: a + x, again: (view.workgroups() - 1) * x, flops: a / 2, trips: 3, ..Work::default() }
}

fn lora_b(view: &View) -> Work {
    let b = view.bytes("b");
    let (values, flops) = (view.workgroups() * view.threads(), view.rows() * b / 2);
    Work { memory: b + 2 * values * F32, again: view.rows() * b, flops, trips: 3, ..Work::default() }
}

fn lora_experts(view: &View) -> Work {
    let [cols, rank, outputs] = ["cols", "rank", "outputs"].map(|name| view.param(name));
    let entries = view.grid(1);
    Work {
        memory: entries * (rank * (cols + outputs) + cols + 2 * outputs) * F32,
        flops: 2 * entries * rank * (cols * view.grid(0) + outputs),
        trips: 4,
        ..Work::default()
    }
}
