//! Between the QKV projection and attention: q/k norm, RoPE, and the new keys and values into the cache.

#[cfg(feature = "harness")]
pub(crate) mod cases;

use super::kv_type::KvType;
use super::rope::Frequencies;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, bool_override, read, write};
use crate::model::{Places, RopeSections};

/// The contract with `shaders/model/rope_kv.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "rope_kv",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("qkv"),
        read("frequencies"),
        read("q_norm"),
        read("k_norm"),
        write("q"),
        write("k_cache"),
        write("v_cache"),
    ],
    params: NoParams::LAYOUT,
    overrides: &[
        "WG_SIZE",
        "HEADS",
        "KV_HEADS",
        "HEAD_DIM",
        "ROPE_DIMS",
        "ROPE_FIRST",
        "SPLIT_HALF",
        "MAGNITUDE",
        "TEMPERATURE",
        "SPAN",
        "QK_NORM",
        "ROTATED_NORM",
        "V_NORM",
        "EPS",
        "ROW_STRIDE",
        "K_AT",
        "V_AT",
        "CAPACITY",
        "RING",
    ],
};

/// The heads of one attention layer and its cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heads {
    /// Query heads.
    pub heads: u32,
    /// Key and value heads; divides `heads`. 0 for [`rope_kv`] in a layer that re-uses another's cache.
    pub kv_heads: u32,
    /// Values per head; even, at most [`MAX_HEAD_DIM`](super::attention::MAX_HEAD_DIM).
    pub head_dim: u32,
    /// Positions that the cache holds, of each sequence.
    pub capacity: u32,
    /// Position p lies at p modulo `capacity`, since there may be more positions. A layer with a window w and passes of
    /// up to n rows needs a capacity of at least w + n - 1: what a row sees must not be overwritten by a later one.
    pub ring: bool,
    /// The type of keys and values in the cache.
    pub kv_type: KvType,
}

impl Heads {
    /// With a cache of halves that is no ring.
    pub const fn f16(heads: u32, kv_heads: u32, head_dim: u32, capacity: u32) -> Self {
        Self { heads, kv_heads, head_dim, capacity, ring: false, kv_type: KvType::F16 }
    }

    /// Bytes of the key cache of one layer for `sequences` sequences; the value cache takes as many.
    pub fn cache_bytes(&self, sequences: u32) -> u64 {
        u64::from(sequences * self.kv_heads) * u64::from(self.capacity) * u64::from(self.row_bytes())
    }

    /// Bytes of a row of the cache.
    pub fn row_bytes(&self) -> u32 {
        self.kv_type.row_bytes(self.head_dim)
    }
}

/// How pairs of a head are rotated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rope {
    /// Dimensions that are rotated; even.
    pub dims: u32,
    /// Dimensions before these.
    pub first: u32,
    /// Pairs (i, i + dims/2) rather than (2i, 2i + 1).
    pub split_half: bool,
}

/// The keys and values of one layer: `[sequences, kv_heads, capacity]` rows of [`Heads::row_bytes`] each.
#[derive(Debug, Clone, Copy)]
pub struct Cache {
    /// Keys, after RoPE.
    pub k: Slice,
    /// Values.
    pub v: Slice,
}

/// Where q, k and v of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qkv {
    /// The buffer.
    pub slice: Slice,
    /// Values from one row to the next.
    pub stride: u32,
    /// Value of a row where k starts, and v; the same where v is k before its norm. Unused in a layer that re-uses
    /// another's cache, whose kernel has no kv heads.
    pub kv_at: [u32; 2],
}

impl Qkv {
    /// q, k and v side by side.
    pub fn packed(heads: &Heads, slice: Slice) -> Self {
        let [q, kv] = [heads.heads, heads.kv_heads].map(|count| count * heads.head_dim);
        Self { slice, stride: q + 2 * kv, kv_at: [q, q + kv] }
    }
}

/// The norms of the heads.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeadNorms {
    /// Weights for each q and k head `[head_dim]` f32.
    pub qk: Option<(Slice, Slice)>,
    /// Whether these follow the rotation rather than precede it.
    pub rotated: bool,
    /// Whether each v head is normalised, without weight.
    pub v: bool,
    /// Added to the mean of the squares.
    pub eps: f32,
}

/// Inputs of [`rope_kv`].
#[derive(Debug, Clone, Copy)]
pub struct RopeKv {
    /// Shape of the layer.
    pub heads: Heads,
    /// Rotation.
    pub rope: Rope,
    /// Factor of cosines and sines.
    pub magnitude: f32,
    /// Queries at position p are multiplied by `1 + .0 · ln(⌊p / .1⌋ + 1)`.
    pub temperature: Option<(f32, u32)>,
    /// q, k and v in rows of one buffer, f32; q is what each row begins with.
    pub qkv: Qkv,
    /// [`frequency_table`] of the model, and behind it [`Axes`] where positions have several.
    pub frequencies: Slice,
    /// Whether they have.
    pub axes: bool,
    /// RMS norms over each head.
    pub norms: HeadNorms,
    /// `[rows, heads, head_dim]` f32.
    pub q: Slice,
    /// Where keys and values go.
    pub cache: Cache,
}

/// Normalises, rotates and stores q, k and v of the pass's rows, each in the cache of its sequence.
pub fn rope_kv(pass: Slice, dummy: Slice, problem: &RopeKv) -> Dispatch {
    let Heads { heads, kv_heads, head_dim, capacity, ring, kv_type } = problem.heads;
    let HeadNorms { qk, rotated, v: v_norm, eps } = problem.norms;
    let (q_norm, k_norm) = qk.unwrap_or((dummy, dummy));
    let Qkv { slice: qkv, stride, kv_at: [k_at, v_at] } = problem.qkv;
    let (temperature, span) = problem.temperature.unwrap_or((0.0, 1));
    let constants = [
        ("WG_SIZE", 64.0),
        ("HEADS", heads.into()),
        ("KV_HEADS", kv_heads.into()),
        ("HEAD_DIM", head_dim.into()),
        ("ROPE_DIMS", problem.rope.dims.into()),
        ("ROPE_FIRST", problem.rope.first.into()),
        ("SPLIT_HALF", bool_override(problem.rope.split_half)),
        ("MAGNITUDE", problem.magnitude.into()),
        ("TEMPERATURE", temperature.into()),
        ("SPAN", span.into()),
        ("QK_NORM", bool_override(qk.is_some())),
        ("ROTATED_NORM", bool_override(rotated)),
        ("V_NORM", bool_override(v_norm)),
        ("EPS", eps.into()),
        ("ROW_STRIDE", stride.into()),
        ("K_AT", k_at.into()),
        ("V_AT", v_at.into()),
        ("CAPACITY", capacity.into()),
        ("RING", bool_override(ring)),
    ];
    let Cache { k, v } = problem.cache;
    let buffers = [pass, qkv, problem.frequencies, q_norm, k_norm, problem.q, k, v];
    let grid = [Extent::Fixed(heads + 2 * kv_heads), Extent::PerRows(1), Extent::Fixed(1)];
    let kernel = Kernel::new(&SPEC, &constants).cached(kv_type);
    let kernel = kernel.import("cache_write", kv_type.writer());
    let kernel = if problem.axes { kernel.named("axes").import("turn_position", "turn_position_axes") } else { kernel };
    Dispatch::new(kernel, &NoParams::default(), &buffers, grid)
}

/// The words that `shaders/shared/attention/turn_position_axes.wgsl` reads behind the frequencies of `pairs` pairs: the
/// axis of each, then where positions lie.
#[derive(Debug, Clone, Copy)]
pub struct Axes {
    /// Rotated pairs of a head.
    pub pairs: usize,
}

impl Axes {
    /// Words of frequencies and axes, for positions of a whole context.
    pub fn words(self, context: usize) -> usize {
        (2 * self.pairs + 1 + context) * 2
    }

    /// The first bytes behind the frequencies.
    pub fn offset(self) -> u64 {
        self.pairs as u64 * 8
    }

    /// The initial words, before any position is known: all pairs turn by the position itself.
    pub fn start(self, sections: &RopeSections) -> Vec<[u32; 2]> {
        let axes = (0..self.pairs).map(|pair| [sections.axis(pair).unwrap_or(0) as u32, 0]);
        axes.chain([[0, 0]]).collect()
    }

    /// Where the number of known positions is, and what one behind them turns by.
    pub fn known(self, places: &Places) -> (u64, [u32; 2]) {
        (2 * self.pairs as u64 * 8, [places.len() as u32, places.next()])
    }

    /// Where the places from `position` on are, and those that are known.
    pub fn places(self, places: &Places, position: usize) -> (u64, Vec<[u32; 2]>) {
        let packed = |at: usize| {
            let [time, height, width] = places.at(at);
            let [height, width] = [height, width].map(|place| i64::from(place) - i64::from(time));
            let [height, width] = [height, width].map(|from| from.clamp(i16::MIN.into(), i16::MAX.into()) as u16);
            [time, u32::from(height) | u32::from(width) << 16]
        };
        let offset = (2 * self.pairs + 1 + position) as u64 * 8;
        (offset, (position..places.len()).map(packed).collect())
    }
}

/// Turns per token of every pair, in 64-bit fixed point (high word first): `base^(-2i/dims) · scale / factor_i / 2π`.
///
/// `scale` is the linear scaling of positions (1 / factor); `factors` divide each pair's frequency where the model
/// has a `rope_freqs` tensor.
pub fn frequency_table(dims: u32, base: f64, scale: f64, factors: Option<&[f32]>) -> Vec<[u32; 2]> {
    Frequencies { dims, base, scale, factors, yarn: None }.turns()
}

#[cfg(test)]
mod tests {
    use super::frequency_table;

    /// The angle as the shader has it before it subtracts the quarter turns.
    fn angle(position: u32, [high, low]: [u32; 2]) -> f32 {
        let turns = position.wrapping_mul(high) as i32;
        let rest = position as f32 * low as f32 * 2f32.powi(-32);
        (turns as f32 + rest) * (std::f32::consts::TAU * 2f32.powi(-32))
    }

    #[test]
    fn angles_agree_with_f64_at_position_100_000() {
        for (pair, frequency) in frequency_table(128, 500_000.0, 1.0, None).into_iter().enumerate() {
            let exact = 100_000.0 * 500_000f64.powf(-2.0 * pair as f64 / 128.0);
            let found = f64::from(angle(100_000, frequency));
            assert!((found.sin() - exact.sin()).abs() < 1e-5, "pair {pair}");
            assert!((found.cos() - exact.cos()).abs() < 1e-5, "pair {pair}");
        }
    }

    #[test]
    fn scale_and_factors_slow_the_turning() {
        let [plain, scaled, divided] = [
            frequency_table(64, 10_000.0, 1.0, None),
            frequency_table(64, 10_000.0, 0.5, None),
            frequency_table(64, 10_000.0, 1.0, Some(&[2.0; 32])),
        ];
        assert_eq!(scaled, divided);
        assert_eq!(u64::from(plain[3][0]) / 2, u64::from(scaled[3][0]));
    }
}
