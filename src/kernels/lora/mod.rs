//! The terms that adapters add to products: `t = scale · A · x` for the rows of a pass, then `y += factor · B · t`. The
//! scale of a row is that of its sequence, so sequences with different adapters share a pass.
//!
//! Where a pass has one row and its lists have one adapter, the products themselves add `B · t` to their sums.

#[cfg(feature = "harness")]
pub(crate) mod cases;
#[cfg(feature = "harness")]
pub(crate) mod cases_experts;
pub mod experts;
pub mod reference;

pub use experts::EXPERTS;

use super::norm::Rows;
use super::pass::MAX_SEQUENCES;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};

/// Upper bound of a model's adapters: the slots for scales of a sequence.
pub const SLOTS: usize = 16;

/// Words of the scales of all sequences.
pub const WORDS: usize = MAX_SEQUENCES * SLOTS * 2;

/// Bytes of the scales of a sequence.
pub const SEQUENCE_BYTES: usize = SLOTS * 8;

params! {
    /// Parameters of the products with A.
    pub struct ParamsA {
        /// The adapter's scale among those of a sequence.
        pub slot: u32,
        /// Rows of A, of all products of x.
        pub ranks: u32,
        /// Columns of A.
        pub cols: u32,
        /// Values from one row of x to the next.
        pub x_stride: u32,
        /// Value of a row where x starts.
        pub x_offset: u32,
    }
}

params! {
    /// Parameters of the products with B.
    pub struct ParamsB {
        /// As in [`ParamsA`].
        pub slot: u32,
        /// As in [`ParamsA`].
        pub ranks: u32,
        /// Values from one row of y to the next.
        pub y_stride: u32,
        /// Factor of the term.
        pub factor: f32,
    }
}

params! {
    /// Parameters of both products in one dispatch.
    pub struct Params {
        /// As in [`ParamsA`].
        pub slot: u32,
        /// As in [`ParamsA`].
        pub cols: u32,
        /// As in [`ParamsA`].
        pub x_stride: u32,
        /// As in [`ParamsA`].
        pub x_offset: u32,
        /// As in [`ParamsB`].
        pub y_stride: u32,
        /// As of B.
        pub factor: f32,
    }
}

/// The contract with `shaders/rare/model/lora.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "lora",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("scales"),
        read("segments"),
        read("a"),
        read("b"),
        read("x"),
        write("y"),
    ],
    params: Params::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "OF_OUTPUTS", "LANES"],
};

/// The contract with `shaders/rare/model/lora_a.wgsl`.
pub static A: KernelSpec = KernelSpec {
    kernel_name: "lora_a",
    bindings: &[PARAMS, read("this_pass"), read("scales"), read("a"), read("x"), write("t")],
    params: ParamsA::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "OF_OUTPUTS", "TABLE"],
};

/// The contract with `shaders/rare/model/lora_b.wgsl`.
pub static B: KernelSpec = KernelSpec {
    kernel_name: "lora_b",
    bindings: &[PARAMS, read("this_pass"), read("scales"), read("segments"), read("b"), read("t"), write("y")],
    params: ParamsB::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "OF_OUTPUTS", "DIRECTION"],
};

params! {
    /// Parameters of the products with A for one row.
    pub struct ParamsRow {
        /// As of A.
        pub slot: u32,
        /// Quads of a row of A.
        pub quads: u32,
    }
}

/// The contract with `shaders/rare/model/lora_a_row.wgsl`.
pub static A_ROW: KernelSpec = KernelSpec {
    kernel_name: "lora_a_row",
    bindings: &[PARAMS, read("this_pass"), read("scales"), read("a"), read("x"), read("norm_weight"), write("t")],
    params: ParamsRow::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "OF_OUTPUTS", "NORM"],
};

/// Segments that a product adds up itself, at most.
pub const MOST_SEGMENTS: usize = 4;

/// The terms `B · t` that a product adds to its own sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// t of one row, then all B; the [`Segment::at`] count from its start.
    pub place: Slice,
    /// The first of them are used, the rest has no outputs.
    pub segments: [Segment; MOST_SEGMENTS],
}

impl Terms {
    /// The terms of a plan whose B begin `b_at` values after the start of `place`; `None` for more than
    /// [`MOST_SEGMENTS`] segments.
    pub fn new(place: Slice, plan: &[Segment], b_at: u32) -> Option<Self> {
        let mut segments = [bytemuck::Zeroable::zeroed(); MOST_SEGMENTS];
        segments.get_mut(..plan.len())?.copy_from_slice(plan);
        segments.iter_mut().for_each(|segment| segment.at += b_at);
        Some(Self { place, segments })
    }

    /// The constants of `adapter_terms.wgsl`.
    pub fn constants(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let values = self
            .segments
            .into_iter()
            .flat_map(|Segment { output, outputs, first, rank, at }| [output, outputs, first, rank, at].map(f64::from));
        TERMS.iter().copied().zip(values)
    }
}

/// The constants of [`Terms`].
pub const TERMS: &[&str] = &[
    "ADAPTER_OUTPUT_0",
    "ADAPTER_OUTPUTS_0",
    "ADAPTER_FIRST_0",
    "ADAPTER_RANK_0",
    "ADAPTER_AT_0",
    "ADAPTER_OUTPUT_1",
    "ADAPTER_OUTPUTS_1",
    "ADAPTER_FIRST_1",
    "ADAPTER_RANK_1",
    "ADAPTER_AT_1",
    "ADAPTER_OUTPUT_2",
    "ADAPTER_OUTPUTS_2",
    "ADAPTER_FIRST_2",
    "ADAPTER_RANK_2",
    "ADAPTER_AT_2",
    "ADAPTER_OUTPUT_3",
    "ADAPTER_OUTPUTS_3",
    "ADAPTER_FIRST_3",
    "ADAPTER_RANK_3",
    "ADAPTER_AT_3",
];

/// `t = scale · A · x` of the one row of a pass.
#[derive(Debug, Clone, Copy)]
pub struct RowOfA {
    /// As of [`Lora`].
    pub slot: usize,
    /// `[ranks, cols]`
    pub a: Slice,
    /// Rows of A.
    pub ranks: u32,
    /// Columns of A, a multiple of four.
    pub cols: u32,
    /// `[rows of the pass, cols]` f32
    pub x: Slice,
    /// `[cols]` f32: the weights of an RMS norm of x, whose other factor the product has.
    pub norm_weight: Option<Slice>,
    /// x is the first row that has logits, not the first of the pass.
    pub of_outputs: bool,
}

impl RowOfA {
    /// The dispatch, of which `t` are the first values of a place; a `dummy` is bound in the place of no norm.
    pub fn dispatch(&self, places: Places, dummy: Slice) -> Dispatch {
        let Self { slot, a, ranks, cols, x, norm_weight, of_outputs } = *self;
        // A thread loads up to eight quads at once: more threads than that takes would only add to the sum at the end.
        let threads = (cols / 32).next_power_of_two().clamp(64, WG_SIZE);
        let kernel = Kernel::new(
            &A_ROW,
            &[
                ("WG_SIZE", threads.into()),
                ("SLOTS", SLOTS as f64),
                ("OF_OUTPUTS", bool_override(of_outputs)),
                ("NORM", bool_override(norm_weight.is_some())),
            ],
        );
        let params = ParamsRow { slot: slot as u32, quads: cols / 4 };
        let Places { pass, scales, t } = places;
        let buffers = [pass, scales, a, x, norm_weight.unwrap_or(dummy), t];
        Dispatch::new(kernel, &params, &buffers, [Extent::Fixed(ranks), Extent::Fixed(1), Extent::Fixed(1)])
    }
}

/// Threads of a workgroup of the kernel for few rows.
const WG_SIZE: u32 = 256;

/// Values of A that all its workgroups read for a row, at most.
const MOST_AGAIN: u64 = 4 << 20;

/// The words of the scales of a sequence, from (slot, scale, position from which on the adapter is at work).
pub fn scale_words(uses: impl IntoIterator<Item = (usize, f32, usize)>) -> Vec<u32> {
    let mut words = vec![0; 2 * SLOTS];
    for (slot, scale, from) in uses {
        words[2 * slot] = scale.to_bits();
        words[2 * slot + 1] = from as u32;
    }
    words
}

/// The product with one of the B matrices that an adapter has for the products of one x.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Segment {
    /// Value of a row of y where its results start.
    pub output: u32,
    /// Rows of B.
    pub outputs: u32,
    /// The first rank of this B among the ranks of all segments.
    pub first: u32,
    /// Columns of B.
    pub rank: u32,
    /// The first value of B.
    pub at: u32,
}

/// Which rows of a pass are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfRows {
    /// All.
    All,
    /// The first rows.
    First(u32),
    /// The last rows, which have logits. Row 0 of y belongs to the first of them.
    Last(u32),
}

impl OfRows {
    fn extent(self) -> Extent {
        match self {
            Self::All => Extent::PerRows(1),
            Self::First(rows) | Self::Last(rows) => Extent::Fixed(rows),
        }
    }

    fn constants(self, threads: u32) -> [(&'static str, f64); 3] {
        let of_outputs = bool_override(matches!(self, Self::Last(_)));
        [("WG_SIZE", threads.into()), ("SLOTS", SLOTS as f64), ("OF_OUTPUTS", of_outputs)]
    }
}

/// An adapter's matrices for the products of one x.
#[derive(Debug, Clone, Copy)]
pub struct Lora<'a> {
    /// The slot of the adapter's scale among the scales of a sequence.
    pub slot: usize,
    /// `[ranks of all segments, cols]`; of a table `[rows of the table, ranks]`, of which a row takes that of its
    /// token.
    pub a: Slice,
    /// The values of all B, one after the other.
    pub b: Slice,
    /// A [`Segment`] for each B ...
    pub segments: Slice,
    /// ... and what is in it.
    pub plan: &'a [Segment],
    /// Ranks of all segments; some may have the same ones. 0: there is no A, and B, of rank 1, is added as it is.
    pub ranks: u32,
}

/// The other buffers.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    /// The pass.
    pub pass: Slice,
    /// `[sequences, SLOTS]` of scale and first position, see [`scale_words`].
    pub scales: Slice,
    /// `[rows, ranks]` f32, for what is handed on.
    pub t: Slice,
}

impl Lora<'_> {
    /// `y += factor · scale · B · A · x`, where `x` is rows and their length, or `None` for a table that is read by the
    /// rows' tokens. Few rows take one dispatch, unless that would compute `A x` too often.
    pub fn dispatches(&self, places: Places, rows: OfRows, x: Option<(Rows, u32)>, y: (Rows, f32)) -> Vec<Dispatch> {
        let rank = self.most(|segment| segment.rank);
        let groups = u64::from(self.most(|segment| segment.outputs).div_ceil(WG_SIZE));
        let fits = |(x, cols): &(Rows, u32)| {
            let is_of_quads = (cols | x.stride | x.offset).is_multiple_of(4);
            is_of_quads && rank <= WG_SIZE && groups * u64::from(rank) * u64::from(*cols) <= MOST_AGAIN
        };
        match (rows, x) {
            (OfRows::First(_) | OfRows::Last(_), Some(x)) if fits(&x) => vec![self.at_once(places, rows, x, y)],
            _ => self.in_two(places, rows, x, y),
        }
    }

    /// The largest of a number of the segments.
    fn most(&self, of: fn(&Segment) -> u32) -> u32 {
        self.plan.iter().map(of).max().unwrap_or(0)
    }

    /// The same in one dispatch; values of x, its stride and its offset are multiples of four.
    pub fn at_once(&self, places: Places, rows: OfRows, (x, cols): (Rows, u32), (y, factor): (Rows, f32)) -> Dispatch {
        let Places { pass, scales, .. } = places;
        // As many threads to a rank as there are for all of them at once.
        let lanes = WG_SIZE / self.most(|segment| segment.rank).next_power_of_two().min(WG_SIZE);
        let kernel = Kernel::new(&SPEC, &[&rows.constants(WG_SIZE)[..], &[("LANES", lanes.into())]].concat());
        let Rows { stride: x_stride, offset: x_offset, .. } = x;
        let (slot, y_stride) = (self.slot as u32, y.stride);
        let params = Params { slot, cols, x_stride, x_offset, y_stride, factor };
        let outputs = self.most(|segment| segment.outputs).div_ceil(WG_SIZE);
        let grid = [Extent::Fixed(outputs), rows.extent(), Extent::Fixed(self.plan.len() as u32)];
        Dispatch::new(kernel, &params, &[pass, scales, self.segments, self.a, self.b, x.slice, y.slice], grid)
    }

    /// The same in two dispatches, or without an A in one.
    pub fn in_two(
        &self,
        places: Places,
        rows: OfRows,
        x: Option<(Rows, u32)>,
        (y, factor): (Rows, f32),
    ) -> Vec<Dispatch> {
        let (slot, ranks) = (self.slot as u32, self.ranks);
        let Places { pass, scales, t } = places;
        let (x, cols) = x.unwrap_or((Rows::whole(scales, 0), 0));
        const THREADS: u32 = 128;
        let a = Kernel::new(&A, &[&rows.constants(THREADS)[..], &[("TABLE", bool_override(cols == 0))]].concat());
        let params = ParamsA { slot, ranks, cols, x_stride: x.stride, x_offset: x.offset };
        let grid = [Extent::Fixed(ranks), rows.extent(), Extent::Fixed(1)];
        let first = Dispatch::new(a, &params, &[pass, scales, self.a, x.slice, t], grid);
        const OUTPUTS: u32 = 64;
        let widest = self.most(|segment| segment.outputs);
        let direction = ("DIRECTION", bool_override(ranks == 0));
        let b = Kernel::new(&B, &[&rows.constants(OUTPUTS)[..], &[direction]].concat());
        let params = ParamsB { slot, ranks, y_stride: y.stride, factor };
        let grid = [Extent::Fixed(widest.div_ceil(OUTPUTS)), rows.extent(), Extent::Fixed(self.plan.len() as u32)];
        let second = Dispatch::new(b, &params, &[pass, scales, self.segments, self.b, t, y.slice], grid);
        if ranks == 0 { vec![second] } else { vec![first, second] }
    }
}
