//! Costs of kernels over vectors, between products, and of sampling.

use super::products::F32;
use super::view::View;
use super::{Row, Work};

pub(super) static ROWS: &[(&str, Row)] = &[
    ("gather", gather),
    ("carry_row", |view| per_value(2 * view.constant("WIDTH"), 2)),
    ("carry_rows", |view| per_value(4 * view.rows() * view.constant("WIDTH"), 2)),
    ("move_rows", |view| per_value(view.rows() * 8, 2)),
    ("find_rows", |view| per_value(view.rows() * 3, 4)),
    ("norm", norm),
    ("swiglu", |view| per_value(3 * view.rows() * view.param("width"), 4)),
    ("quantise", quantise),
    ("round_f16_blocks", |view| per_value(view.rows() * view.constant("COLS") * 3 / 2, 4)),
    ("round_f16", |view| per_value(view.rows() * view.constant("COLS") * 3 / 2, 4)),
    ("elementwise_in_place", elementwise_in_place),
    ("head_values", head_values),
    ("join_heads", join_heads),
    ("pool", |view| per_value(view.constant("WIDTH") * (view.rows() + 1), 1)),
    ("spread", |view| per_value(3 * view.workgroups() * view.constant("WIDTH"), 4)),
    ("hadamard", |view| {
        per_value(2 * view.rows() * view.constant("WIDTH"), 3 * u64::from(view.constant("BLOCK").ilog2()))
    }),
    ("switch", |view| per_value(view.rows() * (4 + view.constant("WIDTH")), 2 + 4 * view.constant("COUNT"))),
    ("streams", streams),
    ("mix", mix),
    ("conv_grid", conv_grid),
    ("argmax", |view| per_logit(view, 1, 2)),
    ("argmax_merge", |view| merging(view.constant("SEGMENTS") * 2)),
    ("logit_bias", |view| merging(view.workgroups())),
    ("penalties", |view| per_logit(view, 3, 12)),
    ("sample_histogram", |view| per_logit(view, 1, 24)),
    ("sample_candidates", |view| per_logit(view, 1, 24)),
    ("sample", sample),
    ("accept_drafts", |view| merging(view.scene.position + view.rows())),
];

/// Values that are read or written once, with `instructions` instructions each.
fn per_value(values: u64, instructions: u64) -> Work {
    Work { memory: values * F32, instructions: values * instructions, trips: 2, ..Work::default() }
}

/// One workgroup that merges partial results, with loads that depend on each other.
fn merging(words: u64) -> Work {
    Work { memory: words * F32, instructions: words * 4, trips: 3, ..Work::default() }
}

fn gather(view: &View) -> Work {
    let (cols, ty) = (view.constant("COLS"), view.ty());
    let row = ty.map_or(cols * F32, |ty| cols.div_ceil(ty.block_len() as u64) * ty.block_bytes() as u64);
    let values = view.rows() * cols;
    Work { memory: view.rows() * row + values * F32, instructions: 4 * values, trips: 2, ..Work::default() }
}

fn norm(view: &View) -> Work {
    let (width, groups) = (view.constant("WIDTH"), view.workgroups());
    let values = width * groups;
    // The second read of x comes from a cache.
    let looks = 1 + view.constant("CENTRED");
    let vectors = width * (view.constant("WEIGHTED") + view.constant("BIASED"));
    Work {
        memory: (values * (2 + view.constant("ADD")) + vectors) * F32,
        again: (values * looks + vectors * (groups - 1)) * F32,
        flops: values * (4 + 2 * view.constant("CENTRED")),
        trips: 1 + looks,
        ..Work::default()
    }
}

fn quantise(view: &View) -> Work {
    let values = view.rows() * view.constant("COLS");
    // A byte per value, and 16 bytes of scales for each 32 values.
    Work { memory: values * F32 + values + values / 2, instructions: 6 * values, trips: 2, ..Work::default() }
}

fn elementwise_in_place(view: &View) -> Work {
    // The operation always covers the most rows that a pass may have.
    let values = view.param("len");
    let inputs = view.constant("INPUTS").max(1);
    Work { memory: values * (inputs + 1) * F32, instructions: 8 * values, trips: 1, ..Work::default() }
}

fn head_values(view: &View) -> Work {
    let [heads, of_x, of_y] = ["HEADS", "OF_X", "OF_Y"].map(|name| view.constant(name));
    let products = view.rows() * heads * of_x * of_y;
    Work {
        memory: (heads * of_x * of_y + view.rows() * heads * (of_x + of_y)) * F32,
        again: products / 8 * F32,
        flops: 2 * products,
        trips: 1 + of_x.div_ceil(8).min(4),
        percent: 25,
        ..Work::default()
    }
}

fn join_heads(view: &View) -> Work {
    per_value(2 * view.rows() * view.constant("HEADS") * (view.constant("OF_A") + view.constant("OF_B")), 1)
}

fn streams(view: &View) -> Work {
    let [width, streams, inputs, routes] = ["WIDTH", "STREAMS", "INPUTS", "ROUTES"].map(|name| view.constant(name));
    let (base, values) = (streams.min(view.constant("BASE")), view.rows() * width);
    let flops = 2 * values * streams * inputs * (1 + routes);
    Work { memory: values * (streams + inputs + base) * F32, flops, trips: 2, ..Work::default() }
}

fn conv_grid(view: &View) -> Work {
    let [side, out, kernel] = ["side", "out", "kernel"].map(|name| view.param(name));
    let [width, outputs] = ["width", "outputs"].map(|name| view.param(name));
    let (values, all) = (out * out * outputs, kernel * kernel);
    let [taps, weights] = match view.constant("KIND") {
        0 => [1, 0],
        1 => [all, 0],
        2 => [all, all * outputs],
        _ => [all * width, all * width * outputs],
    };
    let memory = (side * side * width + values + weights) * F32;
    Work { memory, again: 2 * values * taps * F32, flops: 2 * values * taps, trips: 3, ..Work::default() }
}

fn mix(view: &View) -> Work {
    let [taps, parts, width] = [view.constant("TAPS"), view.constant("PARTS"), view.param("width")];
    let values = view.workgroups() * view.threads();
    let x = if view.is_set("DENSE") { taps * width } else { values * taps };
    let kernel = if view.is_set("CHANNELS") { taps * width } else { 0 };
    let memory = (x + values + kernel + view.rows() * parts * taps * 2) * F32;
    Work { memory, again: values * taps * F32, flops: 2 * values * taps, trips: 3, ..Work::default() }
}

/// Kernels over the segments of each output's logits.
fn per_logit(view: &View, words: u64, instructions: u64) -> Work {
    let logits = view.constant("LENGTH") * view.grid(1);
    let memory = logits * words * F32 + logits / 8 + view.workgroups() * 8;
    Work { memory, instructions: logits * instructions, trips: 3, ..Work::default() }
}

fn sample(view: &View) -> Work {
    let words = 784 + 6 * view.constant("SEGMENTS");
    Work { memory: words * F32 * view.workgroups(), instructions: words * 32, trips: 6, ..Work::default() }
}
