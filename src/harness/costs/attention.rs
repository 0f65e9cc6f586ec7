//! Costs of attention, rotation and cache writes.

use super::products::F32;
use super::view::View;
use super::{Row, Work};
use crate::kernels::kv_type::KvType;

pub(super) static ROWS: &[(&str, Row)] = &[
    ("attention", |view| cached_attention(view, view.constant("QUERIES"), view.constant("VALUE_DIM"), 8)),
    ("attention_tiled", |view| cached_attention(view, 64, view.constant("HEAD_DIM"), TILED_PERCENT)),
    ("attention_subgroup_matrix", attention_subgroup_matrix),
    ("attention_decode", attention_decode),
    ("attention_merge", attention_merge),
    ("attention_batch", |view| batch_attention(view, view.param("heads"), view.param("group"), 5)),
    ("attention_batch_tiled", |view| {
        batch_attention(view, view.constant("HEADS"), view.constant("GROUP"), TILED_PERCENT)
    }),
    ("attention_batch_subgroup_matrix", attention_batch_subgroup_matrix),
    ("attention_blocks", attention_blocks),
    ("attention_far", attention_far),
    ("attention_grid", attention_grid),
    ("attention_near", attention_near),
    ("rope_kv", rope_kv),
    ("rope_batch", rope_batch),
    ("turn", turn),
];

/// Percentage of the f32 peak that attention in tiles of 64 × 64 reaches (record of 2026-11-25).
const TILED_PERCENT: u64 = 50;

/// Percentage of the peak of subgroup matrices that attention reaches, whose scores pass through workgroup memory
/// (record of 2026-11-30).
const MATRIX_PERCENT: u64 = 20;

/// Instructions for the cosine and sine of a pair, from 64-bit turns.
const ROTATION: u64 = 80;

/// Instructions for a score: exponential, maximum, position.
const SCORE: u64 = 12;

/// Bytes of the key of one head and position; the value takes as many.
fn row_bytes(view: &View) -> u64 {
    let ty = KvType::ALL.into_iter().find(|ty| view.is_named(ty.as_str()));
    ty.unwrap_or_default().row_bytes(view.constant("HEAD_DIM") as u32).into()
}

/// Causal attention of the rows of a pass over a cache. A workgroup computes `queries` rows of one head.
fn cached_attention(view: &View, queries: u64, value_dim: u64, percent: u64) -> Work {
    let (heads, head_dim, rows) = (view.constant("HEADS"), view.constant("HEAD_DIM"), view.rows());
    let (pairs, keys) = view.seen(view.constant("WINDOW"));
    let kv_heads = heads / view.constant("GROUP").max(1);
    let cache = 2 * kv_heads * keys * row_bytes(view);
    // Each workgroup visits whole tiles, also at both ends of the keys that its rows see.
    let visited = pairs + rows * queries / 2;
    Work {
        memory: cache + rows * heads * (head_dim + value_dim) * F32,
        again: heads * visited / queries * 2 * row_bytes(view),
        flops: 2 * heads * visited * (head_dim + value_dim),
        instructions: heads * visited * SCORE / 4,
        trips: 3,
        percent,
        ..Work::default()
    }
}

/// The same with products on subgroup matrices.
fn attention_subgroup_matrix(view: &View) -> Work {
    on_matrices(cached_attention(view, 64, view.constant("HEAD_DIM"), MATRIX_PERCENT))
}

fn attention_batch_subgroup_matrix(view: &View) -> Work {
    on_matrices(batch_attention(view, view.constant("HEADS"), view.constant("GROUP"), MATRIX_PERCENT))
}

fn on_matrices(work: Work) -> Work {
    Work { flops: 0, matrix: work.flops, ..work }
}

fn attention_decode(view: &View) -> Work {
    let [head_dim, value_dim, queries] = ["HEAD_DIM", "VALUE_DIM", "QUERIES"].map(|name| view.constant(name));
    let (heads, threads) = (view.constant("KV_HEADS") * view.constant("GROUP"), view.threads());
    let (pairs, _) = view.seen(view.constant("WINDOW"));
    let (tile, keys) = (threads / 2, pairs / view.rows().max(1));
    let span = keys.div_ceil(view.constant("SPLITS").max(1)).max(tile);
    let busy = keys.div_ceil(span) * view.rows() * heads / queries.max(1);
    let tiles = span.div_ceil(tile);
    // All workgroups stage their queries, also those without keys.
    let rotated = if view.is_named("rotated") { view.constant("ROPE_DIMS") * ROTATION } else { 0 };
    let staging = view.workgroups() * (queries * head_dim * 15 + rotated);
    // A value is unpacked once. Products with queries read workgroup memory, which also holds scores and sums.
    let of_tile = tile * (head_dim + value_dim) * (2 + queries / 2) + queries * tile * 4 * SCORE;
    let cache = 2 * view.constant("KV_HEADS") * pairs * row_bytes(view);
    Work {
        memory: cache + busy * queries * value_dim * F32 + view.workgroups() * queries * 2 * F32,
        again: cache * (view.constant("GROUP") / queries.max(1) - 1) + view.workgroups() * queries * head_dim * F32,
        flops: 2 * heads * pairs * (head_dim + value_dim),
        instructions: staging + busy * (tiles * of_tile + queries * value_dim * 20),
        busy,
        // Loads of the pass, of the queries, of keys and values tile by tile, and some ten barriers that take as long
        // as one.
        trips: 3 + tiles,
        ..Work::default()
    }
}

fn attention_merge(view: &View) -> Work {
    let (splits, head_dim) = (view.constant("SPLITS"), view.constant("HEAD_DIM"));
    let (heads, threads) = (view.grid(0), view.threads());
    // A thread loads its part of all splits, eight at a time, whether they have keys or not.
    let held = 8 * (threads / view.constant("COLUMNS").max(1)).max(1);
    let rounds = splits.div_ceil(held);
    Work {
        memory: heads * (splits * 2 + splits * head_dim + head_dim) * F32,
        flops: 4 * heads * splits * head_dim,
        instructions: view.workgroups() * threads * rounds * 8 * 12,
        trips: 1 + rounds,
        ..Work::default()
    }
}

/// Attention within one input, which has all rows of the pass.
fn batch_attention(view: &View, heads: u64, group: u64, percent: u64) -> Work {
    let (head_dim, rows) = (view.constant("HEAD_DIM"), view.rows());
    let seen = match (view.param("causal"), view.param("window")) {
        (0, 0) => rows,
        (_, 0) => rows.div_ceil(2),
        (_, window) => window.min(rows),
    };
    let kv = 2 * heads / group.max(1) * rows * head_dim * F32;
    Work {
        memory: kv + 2 * rows * heads * head_dim * F32,
        again: view.grid(1).max(view.grid(0)).saturating_sub(1) * kv,
        flops: 4 * heads * rows * seen * head_dim,
        instructions: heads * rows * seen * SCORE / 4,
        trips: 3,
        percent,
        ..Work::default()
    }
}

fn attention_blocks(view: &View) -> Work {
    let (head_dim, keys) = (view.constant("HEAD_DIM"), view.param("keys"));
    let values = view.workgroups() * head_dim;
    let products = if view.param("farthest") > 0 { 3 } else { 2 };
    Work {
        memory: 4 * values * F32,
        again: products * values * keys * F32,
        flops: 2 * products * values * keys,
        instructions: view.workgroups() * keys * SCORE,
        trips: 3 + 2 * keys.div_ceil(view.threads()),
        ..Work::default()
    }
}

fn attention_far(view: &View) -> Work {
    let (head_dim, rows) = (view.constant("HEAD_DIM"), view.rows());
    let values = view.workgroups() * head_dim;
    Work {
        memory: 6 * values * F32,
        again: 3 * values * rows * F32,
        flops: 6 * values * rows,
        instructions: view.workgroups() * rows * SCORE,
        trips: 3 + 2 * rows.div_ceil(view.threads()),
        ..Work::default()
    }
}

fn attention_grid(view: &View) -> Work {
    let (head_dim, window) = (view.constant("HEAD_DIM"), view.param("window"));
    let values = view.workgroups() * head_dim;
    let keys = if window > 0 { window * window } else { view.rows() };
    Work {
        memory: 4 * values * F32,
        again: 2 * values * keys * F32,
        flops: 4 * values * keys,
        instructions: view.workgroups() * keys * SCORE,
        trips: 3 + 2 * keys.div_ceil(view.threads()),
        ..Work::default()
    }
}

fn attention_near(view: &View) -> Work {
    let (head_dim, span) = (view.constant("HEAD_DIM"), view.constant("SPAN"));
    let values = view.workgroups() * head_dim;
    Work {
        memory: 4 * values * F32,
        again: 3 * values * span * F32,
        flops: 6 * values * span,
        trips: 4,
        ..Work::default()
    }
}

fn rope_kv(view: &View) -> Work {
    let values = view.workgroups() * view.constant("HEAD_DIM");
    let kv = 2 * view.constant("KV_HEADS") * view.rows() * row_bytes(view);
    let q = view.rows() * view.constant("HEADS") * view.constant("HEAD_DIM") * F32;
    let pairs = view.workgroups() * view.constant("ROPE_DIMS") / 2;
    Work { memory: values * F32 + q + kv, instructions: 4 * values + ROTATION * pairs, trips: 3, ..Work::default() }
}

fn rope_batch(view: &View) -> Work {
    let values = view.workgroups() * view.constant("HEAD_DIM");
    let pairs = view.workgroups() * view.constant("ROPE_DIMS") / 2;
    Work { memory: 2 * values * F32, instructions: 4 * values + ROTATION * pairs, trips: 3, ..Work::default() }
}

fn turn(view: &View) -> Work {
    let values = view.rows() * view.param("heads") * view.constant("HEAD_DIM");
    Work { memory: 3 * values * F32, flops: 3 * values, trips: 2, ..Work::default() }
}
