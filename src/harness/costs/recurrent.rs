//! Costs of layers with a recurrent state: convolutions, scans, delta nets, RWKV.

use super::products::F32;
use super::view::View;
use super::{Row, Work};

pub(super) static ROWS: &[(&str, Row)] = &[
    ("conv_causal", conv_causal),
    ("channel_scan", channel_scan),
    ("delta_net", |view| matrix_state(view, "V_HEADS", 8)),
    ("wkv", |view| matrix_state(view, "HEADS", 10)),
    ("ssm_scan", ssm_scan),
    ("ssm_chunk_products", ssm_chunk_products),
    ("ssm_chunk_scan", ssm_chunk_scan),
    ("wkv_output", wkv_output),
    ("output_gate", output_gate),
    ("lerp", lerp),
];

/// Instructions for an exponential and the arithmetic around it.
const EXPONENTIAL: u64 = 8;

/// Waits of a recurrence, which reads the rows of a pass one after the other, from cached bytes.
fn rows_in_turn(view: &View) -> u64 {
    2 + view.rows().div_ceil(16)
}

fn conv_causal(view: &View) -> Work {
    let (channels, kernel) = (view.constant("CHANNELS"), view.constant("KERNEL"));
    let values = view.rows() * channels;
    let inputs = 1 + 2 * view.constant("GATED");
    let state = 2 * view.constant("KEEP") * (kernel - 1) * channels;
    Work {
        memory: (values * (inputs + 1) + state + channels * (kernel + 1)) * F32,
        again: values * (kernel - 1) * F32,
        flops: values * (2 * kernel + inputs),
        instructions: values * view.constant("SILU") * EXPONENTIAL,
        trips: 3,
        ..Work::default()
    }
}

fn channel_scan(view: &View) -> Work {
    let (channels, state) = (view.constant("CHANNELS"), view.constant("STATE"));
    let values = view.rows() * channels;
    Work {
        memory: (4 * values + 3 * channels * state + 2 * view.rows() * state) * F32,
        again: values * 2 * state * F32,
        flops: 6 * values * state,
        instructions: values * state * EXPONENTIAL,
        trips: rows_in_turn(view),
        ..Work::default()
    }
}

/// States of `HEAD_DIM` × `HEAD_DIM` numbers that stay in registers during a pass.
fn matrix_state(view: &View, heads: &str, of_number: u64) -> Work {
    let (heads, dim) = (view.constant(heads), view.constant("HEAD_DIM"));
    let (rows, state) = (view.rows(), heads * dim * dim);
    Work {
        memory: (2 * state + rows * heads * dim * 5) * F32,
        again: rows * dim * 3 * view.grid(0) * F32,
        flops: rows * state * of_number,
        instructions: rows * heads * EXPONENTIAL,
        trips: rows_in_turn(view),
        ..Work::default()
    }
}

/// Values of a row of xbc: x of all heads, B and C of all groups.
fn xbc(view: &View) -> u64 {
    view.constant("HEADS") * view.constant("HEAD_DIM") + 2 * view.constant("GROUPS") * view.constant("STATE")
}

fn ssm_scan(view: &View) -> Work {
    let values = view.constant("HEADS") * view.constant("HEAD_DIM");
    let (state, rows) = (values * view.constant("STATE"), view.rows());
    Work {
        memory: (2 * state + rows * (xbc(view) + 2 * values)) * F32,
        again: rows * view.grid(0) * 2 * view.constant("STATE") * F32,
        flops: 5 * rows * state,
        instructions: rows * values * EXPONENTIAL,
        trips: rows_in_turn(view) + 1,
        ..Work::default()
    }
}

fn ssm_chunk_products(view: &View) -> Work {
    let (chunk, state, groups) = (view.constant("CHUNK"), view.constant("STATE"), view.constant("GROUPS"));
    let products = view.rows() * chunk * groups;
    Work {
        memory: (products + 2 * view.rows() * groups * state) * F32,
        again: products / 16 * 2 * state * F32,
        flops: 2 * products * state,
        trips: 2 + state.div_ceil(16),
        percent: 25,
        ..Work::default()
    }
}

fn ssm_chunk_scan(view: &View) -> Work {
    let values = view.constant("HEADS") * view.constant("HEAD_DIM");
    let (rows, state, chunk) = (view.rows(), view.constant("STATE"), view.constant("CHUNK"));
    Work {
        memory: (2 * values * state + rows * (xbc(view) + 2 * values)) * F32,
        again: rows * view.grid(0) * (chunk + 2 * state) * F32,
        flops: 2 * rows * values * (2 * state + chunk / 2),
        instructions: rows * values * EXPONENTIAL,
        trips: 1 + 4 * rows.div_ceil(chunk),
        percent: 25,
        ..Work::default()
    }
}

fn wkv_output(view: &View) -> Work {
    let values = view.rows() * view.constant("HEADS") * view.constant("HEAD_DIM");
    let read = 1 + 4 * view.constant("OWN") + view.constant("GATED");
    Work { memory: values * (read + 1) * F32, flops: values * 12, trips: 3, ..Work::default() }
}

fn output_gate(view: &View) -> Work {
    let values = view.workgroups() * view.constant("WIDTH");
    let gates = view.workgroups() * view.constant("GATES");
    let memory = (2 * values + gates) * F32;
    Work { memory, flops: 4 * values, instructions: gates * EXPONENTIAL, trips: 2, ..Work::default() }
}

fn lerp(view: &View) -> Work {
    let (values, by) = (view.rows() * view.constant("WIDTH"), u64::from(view.constant("BY_STRIDE") > 0));
    let memory = (values * (3 + by) + view.constant("SHARED") * view.constant("WIDTH")) * F32;
    Work { memory, flops: 4 * values, trips: 1, ..Work::default() }
}
