//! Greedy choice in two dispatches: `argmax` finds the best of every segment of logits, `argmax_merge` takes the
//! best of all and commits the token to its row of the pass.

pub mod reference;

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/model/argmax.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "argmax",
    bindings: &[PARAMS, read("this_pass"), read("mask"), read("logits"), write("partial_argmaxes")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "CHUNK", "LENGTH"],
};

/// The contract with `shaders/model/argmax_merge.wgsl`.
pub static MERGE: KernelSpec = KernelSpec {
    kernel_name: "argmax_merge",
    bindings: &[PARAMS, read("partial_argmaxes"), read("stops"), write("this_pass")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "SEGMENTS"],
};

/// Logits per workgroup.
pub const CHUNK: u32 = 2048;

/// Bytes of the partial argmaxes of `length` logits, of one output of a pass.
pub fn partial_argmax_bytes(length: u32) -> u64 {
    u64::from(length.div_ceil(CHUNK)) * 8
}

/// The inputs of greedy choice.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    /// The [`Pass`](super::pass::Pass).
    pub pass: Slice,
    /// [`mask_words`](super::sample::mask_words) for each sequence: which ids may be chosen.
    pub mask: Slice,
    /// `[outputs, length]` f32.
    pub logits: Slice,
}

/// logits `[outputs, length]` f32 → partial argmaxes, one (value, index) per output and segment.
pub fn argmax([outputs, length]: [u32; 2], of: Choices, partial_argmaxes: Slice) -> Dispatch {
    let constants = [("WG_SIZE", 256.0), ("CHUNK", CHUNK.into()), ("LENGTH", length.into())];
    let grid = [Extent::Fixed(length.div_ceil(CHUNK)), Extent::Fixed(outputs), Extent::Fixed(1)];
    Dispatch::new(
        Kernel::new(&SPEC, &constants),
        &NoParams::default(),
        &[of.pass, of.mask, of.logits, partial_argmaxes],
        grid,
    )
}

/// The buffers through which a sampled token is committed.
#[derive(Debug, Clone, Copy)]
pub struct Commit {
    /// Length, then end-of-generation ids; u32.
    pub stops: Slice,
    /// The [`Pass`](super::pass::Pass).
    pub pass: Slice,
    /// Whether the rows of the pass are a token and a draft of those after it: what is chosen then waits behind the
    /// rows for [`accept_drafts`](super::accept_drafts).
    pub is_draft: bool,
}

impl Commit {
    /// A kernel that helps to choose what is committed.
    pub(super) fn by(&self, kernel: Kernel) -> Kernel {
        match self.is_draft {
            true => {
                let kernel = kernel.named("draft").import("commit", "commit_drafts");
                kernel.import("rows_before", "rows_before_draft")
            }
            false => kernel,
        }
    }
}

/// Takes the best of the partial argmaxes of each of `outputs` rows of `length` logits and commits it.
pub fn argmax_merge([outputs, length]: [u32; 2], partial_argmaxes: Slice, commit: Commit) -> Dispatch {
    let constants = [("WG_SIZE", 256.0), ("SEGMENTS", length.div_ceil(CHUNK).into())];
    let grid = [Extent::Fixed(outputs), Extent::Fixed(1), Extent::Fixed(1)];
    let buffers = [partial_argmaxes, commit.stops, commit.pass];
    Dispatch::new(commit.by(Kernel::new(&MERGE, &constants)), &NoParams::default(), &buffers, grid)
}
