//! Attention over the cache: `attention_subgroup_matrix`, `attention_tiled` and `attention` for the many rows of a
//! prefill chunk, `attention_decode` and `attention_merge` for the few rows of a decode step, split over the keys.

#[cfg(feature = "harness")]
pub(crate) mod cases;
#[cfg(feature = "harness")]
pub(crate) mod cases_matrices;
#[cfg(feature = "harness")]
pub(crate) mod cases_rotated;
#[cfg(feature = "harness")]
pub(crate) mod cases_tiled;
mod chunks;
pub mod distances;
pub mod matrices;
pub mod reference;
pub mod reference_merge;
pub mod tiled;

use super::kv_type::KvType;
use super::rope_kv::{Cache, Heads, Qkv, RopeKv};
use super::spec::{
    Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, overrides, params, read, write,
};

use chunks::OF_CHUNKS;
pub use distances::Distances;
pub use matrices::SPEC as MATRICES;
pub use tiled::{SPEC as TILED, attention};

/// The contract with `shaders/model/attention.wgsl`.
pub static SPEC: KernelSpec =
    KernelSpec { kernel_name: "attention", bindings: OF_CHUNKS, params: NoParams::LAYOUT, overrides: OF_FEW };

/// The constants of `attention.wgsl` that all its variants have.
const OF_FEW: &[&str] = &[
    "HEAD_DIM",
    "QUERIES",
    "STAGED",
    "Q_TILE",
    "WG_SIZE",
    "HEADS",
    "GROUP",
    "CAPACITY",
    "RING",
    "SCALE",
    "WINDOW",
    "SOFT_CAP",
    "ALIBI",
    "SINKS",
    "VALUE_DIM",
];

/// The same with biases by distance.
static BIASED: KernelSpec = KernelSpec {
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("q"),
        read("k_cache"),
        read("v_cache"),
        read("sinks"),
        write("y"),
        read("by_distance"),
    ],
    overrides: overrides!(OF_FEW, distances::OVERRIDES),
    kernel_name: "attention",
    params: NoParams::LAYOUT,
};

/// Values of a head of v that count, at most: what the kernels keep in workgroup memory bounds it.
pub const MAX_HEAD_DIM: u32 = 512;

/// Values of a head of k, at most.
pub const MAX_KEY_DIM: u32 = 576;

/// Heads up to this size have their queries in workgroup memory, where a workgroup takes eight.
const STAGED_HEAD_DIM: u32 = 256;

/// Threads and columns of a workgroup of `attention_merge`: of the 128 splits of a long cache a thread takes eight.
const MERGE_THREADS: u32 = 256;
const MERGE_COLUMNS: u32 = 16;

params! {
    /// Per-dispatch numbers of `attention_decode`.
    pub struct DecodeParams {
        /// Added to the positions of the rows: operations on tensors bind constant rows.
        pub position: u32,
    }
}

/// The constants of `attention_decode.wgsl` that all its variants have.
const OF_DECODE: &[&str] = &[
    "WG_SIZE",
    "KV_HEADS",
    "GROUP",
    "QUERIES",
    "HEAD_DIM",
    "VALUE_DIM",
    "CAPACITY",
    "RING",
    "SPLITS",
    "SCALE",
    "WINDOW",
    "SOFT_CAP",
    "ALIBI",
];

/// The contract with `shaders/model/attention_decode.wgsl`.
pub static DECODE: KernelSpec = KernelSpec {
    kernel_name: "attention_decode",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("q"),
        read("k_cache"),
        read("v_cache"),
        write("partial"),
        write("stats"),
    ],
    params: DecodeParams::LAYOUT,
    overrides: OF_DECODE,
};

/// The same with biases by distance.
static DECODE_BIASED: KernelSpec = KernelSpec {
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("q"),
        read("k_cache"),
        read("v_cache"),
        write("partial"),
        write("stats"),
        read("by_distance"),
    ],
    overrides: overrides!(OF_DECODE, distances::OVERRIDES),
    kernel_name: "attention_decode",
    params: DecodeParams::LAYOUT,
};

/// The same with queries, keys and values as the product gave them.
static DECODE_ROTATED: KernelSpec = KernelSpec {
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("q"),
        write("k_cache"),
        write("v_cache"),
        write("partial"),
        write("stats"),
        read("frequencies"),
        read("head_norms"),
    ],
    overrides: overrides!(
        OF_DECODE,
        &[
            "ROPE_DIMS",
            "SPLIT_HALF",
            "MAGNITUDE",
            "TEMPERATURE",
            "SPAN",
            "QK_NORM",
            "V_NORM",
            "EPS",
            "OWN_KEYS",
            "ROW_STRIDE",
            "K_AT",
            "V_AT"
        ]
    ),
    kernel_name: "attention_decode",
    params: DecodeParams::LAYOUT,
};

/// The contract with `shaders/model/attention_merge.wgsl`.
pub static MERGE: KernelSpec = KernelSpec {
    kernel_name: "attention_merge",
    bindings: &[PARAMS, read("partial"), read("stats"), read("sinks"), write("y")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "HEAD_DIM", "COLUMNS", "SPLITS", "SINKS"],
};

/// The buffers of one attention.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    /// Shape of the layer.
    pub heads: Heads,
    /// Factor of scores: 1 / √head_dim.
    pub scale: f32,
    /// `[rows, heads, head_dim]` f32, after RoPE.
    pub q: Slice,
    /// Keys and values up to and with this pass's rows.
    pub cache: Cache,
    /// `[heads]` f32: a logit that takes part in each softmax without a value (Xiao et al. 2023, arXiv 2309.17453).
    pub sinks: Option<Slice>,
    /// `[rows, heads, values of a head of v that count]` f32.
    pub y: Slice,
}

/// Sliding window, soft cap, biases by distance, and how much of v counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Sliding window: a query attends to at most this many keys, the last ones up to itself; 0: to all of them.
    pub window: u32,
    /// Scores become `soft_cap · tanh(score / soft_cap)`; 0: no cap.
    pub soft_cap: f32,
    /// Scores fall with the distance of a key, of each head by a slope of its own: the bias of ALiBi; 0: none.
    pub alibi: f32,
    /// Values of a head of v that count, from the first, and of a result; 0: all.
    pub value_dim: u32,
    /// Each head has a learned bias by the distance of a key, in place of ALiBi.
    pub distances: Option<Distances>,
}

impl Limits {
    /// Values of a head of v that count.
    fn value_dim(&self, head_dim: u32) -> u32 {
        if self.value_dim == 0 { head_dim } else { self.value_dim }
    }
}

/// Causal attention of a chunk with heads of any size, where there are few rows, and for images whose rows see each
/// other.
pub fn attention_few(pass: Slice, problem: &Attention, limits: Limits) -> Dispatch {
    let Heads { heads, head_dim, kv_type, .. } = problem.heads;
    // 16 queries of 128 values fill half of the 16 KiB of workgroup memory.
    let queries = if head_dim <= 128 { 16 } else { 8 };
    let staged = head_dim <= STAGED_HEAD_DIM;
    let value_dim = limits.value_dim(head_dim);
    let own = [
        ("HEAD_DIM", head_dim.into()),
        ("VALUE_DIM", value_dim.into()),
        ("QUERIES", queries.into()),
        ("STAGED", bool_override(staged)),
        ("Q_TILE", if staged { (queries * head_dim.div_ceil(8)).into() } else { 1.0 }),
        ("WG_SIZE", (value_dim / 2 * queries / 8).into()),
    ];
    let constants =
        [&own, &problem.constants(limits)[..], &[("ALIBI", limits.alibi.into()), problem.has_sinks()]].concat();
    let buffers = problem.buffers(pass);
    let grid = [Extent::Fixed(heads), Extent::PerRows(queries), Extent::Fixed(1)];
    let dispatch = Dispatch::new(Kernel::new(&SPEC, &constants).cached(kv_type), &NoParams::default(), &buffers, grid);
    distances::biased(dispatch, &BIASED, "distance_bias_few", limits.distances)
}

/// The split of a decode step's keys: scratch that `attention_decode` writes and `attention_merge` reads.
#[derive(Debug, Clone, Copy)]
pub struct Splits {
    /// Splits of the keys; constant, so that the command list is.
    pub count: u32,
    /// `[rows, heads, count, head_dim]` f32.
    pub partial: Slice,
    /// `[rows, heads, count]` of (maximum, sum).
    pub stats: Slice,
}

/// Splits for up to `keys` keys: a workgroup takes 32 keys at a time, and up to 4,096 keys a split has no more than 32.
pub fn split_count(keys: u32) -> u32 {
    keys.div_ceil(32).clamp(1, 128)
}

/// Threads of a workgroup of `attention_decode`.
const DECODE_THREADS: u32 = 64;

/// Query heads that a workgroup takes: it holds them in workgroup memory and its sums in registers, at most 8.
fn queries_of(heads: &Heads) -> u32 {
    let group = heads.heads / heads.kv_heads;
    // Two of the largest keys.
    let most = if heads.head_dim > MAX_HEAD_DIM { 2 * MAX_KEY_DIM } else { 1024 };
    (1..=8).rev().find(|n| group.is_multiple_of(*n) && n * heads.head_dim <= most).unwrap_or(1)
}

/// Whether [`attention_rotated`] can take the place of [`rope_kv`](super::rope_kv::rope_kv): where the layer has keys
/// of its own, one workgroup takes all queries of a kv head, and its key and value fit beside them.
pub fn can_rotate(heads: &Heads, own_keys: bool) -> bool {
    let queries = queries_of(heads);
    let staged = (queries + 2) * heads.head_dim.div_ceil(8);
    heads.kv_type == KvType::F16
        && (!own_keys || heads.heads == heads.kv_heads * queries && staged <= queries.min(4) * DECODE_THREADS)
}

/// Attention of one row of a pass with norms of its heads, rotation and cache write, in two dispatches. `heads` of
/// `rope` has no kv heads where an earlier layer fills the cache; `norms` are weights of q and of k `[2, head_dim]`.
pub fn attention_rotated(
    [pass, norms]: [Slice; 2],
    rope: &RopeKv,
    problem: &Attention,
    splits: &Splits,
    limits: Limits,
) -> [Dispatch; 2] {
    let (temperature, span) = rope.temperature.unwrap_or((0.0, 1));
    let Qkv { slice: q, stride, kv_at: [k_at, v_at] } = rope.qkv;
    let [mut decode, merge] = attention_decode(pass, 1, &Attention { q, ..*problem }, splits, limits);
    decode.kernel.constants.extend([
        ("ROPE_DIMS", rope.rope.dims.into()),
        ("SPLIT_HALF", bool_override(rope.rope.split_half)),
        ("MAGNITUDE", rope.magnitude.into()),
        ("TEMPERATURE", temperature.into()),
        ("SPAN", span.into()),
        ("QK_NORM", bool_override(rope.norms.qk.is_some())),
        ("V_NORM", bool_override(rope.norms.v)),
        ("EPS", rope.norms.eps.into()),
        ("OWN_KEYS", bool_override(rope.heads.kv_heads > 0)),
        ("ROW_STRIDE", stride.into()),
        ("K_AT", k_at.into()),
        ("V_AT", v_at.into()),
    ]);
    decode.kernel.imports.retain(|(name, _)| *name != "queries");
    decode.kernel.spec = &DECODE_ROTATED;
    let kernel = decode.kernel.named("rotated").import("queries", "queries_rotated");
    decode.kernel = kernel.import("cache_write", problem.heads.kv_type.writer());
    decode.buffers.extend([rope.frequencies, norms]);
    [decode, merge]
}

/// Attention of `rows` rows of any sequences, each over the cache of its own up to itself, in two dispatches.
pub fn attention_decode(pass: Slice, rows: u32, problem: &Attention, splits: &Splits, limits: Limits) -> [Dispatch; 2] {
    attention_decode_at(pass, (rows, 0), problem, splits, limits)
}

/// The same with `position` added to those of the rows.
pub fn attention_decode_at(
    pass: Slice,
    (rows, position): (u32, u32),
    problem: &Attention,
    splits: &Splits,
    limits: Limits,
) -> [Dispatch; 2] {
    let Heads { heads, kv_heads, head_dim, capacity, ring, kv_type } = problem.heads;
    debug_assert!(!ring || (1..=capacity).contains(&limits.window), "a ring of {capacity} for {limits:?}");
    let group = heads / kv_heads;
    let queries = queries_of(&problem.heads);
    let value_dim = limits.value_dim(head_dim);
    let constants = [
        ("WG_SIZE", DECODE_THREADS.into()),
        ("KV_HEADS", kv_heads.into()),
        ("GROUP", group.into()),
        ("QUERIES", queries.into()),
        ("HEAD_DIM", head_dim.into()),
        ("VALUE_DIM", value_dim.into()),
        ("CAPACITY", capacity.into()),
        ("RING", bool_override(ring)),
        ("SPLITS", splits.count.into()),
        ("SCALE", problem.scale.into()),
        ("WINDOW", limits.window.into()),
        ("SOFT_CAP", limits.soft_cap.into()),
        ("ALIBI", limits.alibi.into()),
    ];
    let buffers = [pass, problem.q, problem.cache.k, problem.cache.v, splits.partial, splits.stats];
    let grid = [Extent::Fixed(splits.count), Extent::Fixed(rows * (group / queries)), Extent::Fixed(kv_heads)];
    let prefetched = if head_dim <= STAGED_HEAD_DIM {
        "prefetched"
    } else if head_dim <= MAX_HEAD_DIM {
        "prefetched_large"
    } else {
        "prefetched_latent"
    };
    let kernel = Kernel::new(&DECODE, &constants)
        .cached(kv_type)
        .import("prefetched", prefetched)
        .import("queries", "queries_ready");
    let decode = Dispatch::new(kernel, &DecodeParams { position }, &buffers, grid);
    let decode = distances::biased(decode, &DECODE_BIASED, "distance_bias_decode", limits.distances);
    let sinks = problem.sinks.map(|sinks| (sinks, heads));
    [decode, attention_merge(rows * heads, value_dim, splits, sinks, problem.y)]
}

/// Joins what the splits of [`attention_decode`] found to y `[heads, head_dim]`, the heads of all rows. Sinks are those
/// of the heads of a row, and how many these are.
pub fn attention_merge(heads: u32, head_dim: u32, splits: &Splits, sinks: Option<(Slice, u32)>, y: Slice) -> Dispatch {
    let (sinks, of_row) = sinks.unwrap_or((splits.stats, 0));
    let constants = [
        ("WG_SIZE", MERGE_THREADS.into()),
        ("HEAD_DIM", head_dim.into()),
        ("COLUMNS", MERGE_COLUMNS.into()),
        ("SPLITS", splits.count.into()),
        ("SINKS", of_row.into()),
    ];
    let buffers = [splits.partial, splits.stats, sinks, y];
    let grid = [Extent::Fixed(heads), Extent::Fixed(head_dim.div_ceil(MERGE_COLUMNS)), Extent::Fixed(1)];
    Dispatch::new(Kernel::new(&MERGE, &constants), &NoParams::default(), &buffers, grid)
}
