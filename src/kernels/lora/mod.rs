//! What adapters add to products: `t = scale · A · x` for the rows of a pass, then `y += factor · B · t`. The scale of
//! a row is that of its sequence, so sequences with different adapters share a pass.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::norm::Rows;
use super::pass::MAX_SEQUENCES;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, PARAMS, Slice, bool_override, params, read, write};

/// Adapters of a model, at most: so many slots of scales a sequence has.
pub const SLOTS: usize = 16;

/// Words of the scales of all sequences.
pub const WORDS: usize = MAX_SEQUENCES * SLOTS * 2;

/// Bytes of the scales of a sequence.
pub const SEQUENCE_BYTES: usize = SLOTS * 8;

params! {
    /// Of the products with A.
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
    /// Of the products with B.
    pub struct ParamsB {
        /// As of A.
        pub slot: u32,
        /// As of A.
        pub ranks: u32,
        /// Values from one row of y to the next.
        pub y_stride: u32,
        /// What is added is multiplied by it.
        pub factor: f32,
    }
}

params! {
    /// Of both at once.
    pub struct Params {
        /// As of A.
        pub slot: u32,
        /// As of A.
        pub cols: u32,
        /// As of A.
        pub x_stride: u32,
        /// As of A.
        pub x_offset: u32,
        /// As of B.
        pub y_stride: u32,
        /// As of B.
        pub factor: f32,
    }
}

/// The contract with `shaders/model/lora.wgsl`.
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

/// The contract with `shaders/model/lora_a.wgsl`.
pub static A: KernelSpec = KernelSpec {
    kernel_name: "lora_a",
    bindings: &[PARAMS, read("this_pass"), read("scales"), read("a"), read("x"), write("t")],
    params: ParamsA::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "OF_OUTPUTS", "TABLE"],
};

/// The contract with `shaders/model/lora_b.wgsl`.
pub static B: KernelSpec = KernelSpec {
    kernel_name: "lora_b",
    bindings: &[PARAMS, read("this_pass"), read("scales"), read("segments"), read("b"), read("t"), write("y")],
    params: ParamsB::LAYOUT,
    overrides: &["WG_SIZE", "SLOTS", "OF_OUTPUTS"],
};

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

/// The product with one B of those that an adapter has for the products of one x.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Segment {
    /// Value of a row of y where its results start.
    pub output: u32,
    /// Rows of B.
    pub outputs: u32,
    /// Its first rank among those of all segments.
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
    /// The first so many.
    First(u32),
    /// The last so many, those that have logits: row 0 of y is of the first of them.
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
    /// Its scale among those of a sequence.
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
    /// Ranks of all segments; some may have the same ones.
    pub ranks: u32,
}

/// What is read and written besides.
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
    /// `y += factor · scale · B · A · x`, with `x` of so many values, or of a table by the tokens of the rows: for few
    /// rows in one dispatch, where `A x` is not computed too often.
    pub fn dispatches(&self, places: Places, rows: OfRows, x: Option<(Rows, u32)>, y: (Rows, f32)) -> Vec<Dispatch> {
        let rank = self.most(|segment| segment.rank);
        let groups = u64::from(self.most(|segment| segment.outputs).div_ceil(WG_SIZE));
        let fits = |cols: u32| rank <= WG_SIZE && groups * u64::from(rank) * u64::from(cols) <= MOST_AGAIN;
        match (rows, x) {
            (OfRows::First(_) | OfRows::Last(_), Some(x)) if fits(x.1) => vec![self.at_once(places, rows, x, y)],
            _ => self.in_two(places, rows, x, y),
        }
    }

    /// The largest of a number of the segments.
    fn most(&self, of: fn(&Segment) -> u32) -> u32 {
        self.plan.iter().map(of).max().unwrap_or(0)
    }

    /// The same in one dispatch.
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

    /// The same in two dispatches.
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
        let b = Kernel::new(&B, &rows.constants(OUTPUTS));
        let params = ParamsB { slot, ranks, y_stride: y.stride, factor };
        let grid = [Extent::Fixed(widest.div_ceil(OUTPUTS)), rows.extent(), Extent::Fixed(self.plan.len() as u32)];
        let second = Dispatch::new(b, &params, &[pass, scales, self.segments, self.b, t, y.slice], grid);
        vec![first, second]
    }
}
