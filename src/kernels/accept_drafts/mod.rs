//! Drafts: a pass of the last token of a sequence and of guesses at those after it, of which those are accepted that
//! are chosen anyway.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::pass::Sequence;
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// Rows of a pass with a draft: the last token, and up to 7 after it.
pub const DRAFT_ROWS: usize = 8;

/// The contract with `shaders/model/accept_drafts.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "accept_drafts",
    bindings: &[
        PARAMS,
        read("stops"),
        write("text"),
        write("counts"),
        write("this_pass"),
        write("report"),
        write("kept"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "LENGTH", "ROWS"],
};

/// The result that is read back after a pass with a draft, in the place of a [`Header`](super::pass::Header): its
/// sequence lies where that has the first.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Report {
    /// Nothing.
    pub unused: [u32; 2],
    /// Tokens that the sequence has now and did not have before: one, and the drafts that were right. 0 where it had
    /// ended before.
    pub accepted: u32,
    /// Tokens of the draft.
    pub drafted: u32,
    /// As the pass left it.
    pub sequence: Sequence,
    /// The tokens; those after `accepted` are of earlier passes.
    pub tokens: [u32; DRAFT_ROWS],
}

/// The buffers of drafts.
#[derive(Debug, Clone, Copy)]
pub struct Drafts {
    /// [`words_of_text`]
    pub text: Slice,
    /// A [`Report`].
    pub report: Slice,
    /// A [`Pass`](super::pass::Pass) of [`DRAFT_ROWS`] rows: the rows of the last pass, where rejected rows have the
    /// flag `ROW_DONE`.
    pub kept: Slice,
}

/// Words that the text of up to `context` tokens takes, with as many that drafts come from before it.
pub fn words_of(context: usize) -> usize {
    2 * context + 2
}

/// The text in which the kernel looks for drafts: the number of `ids` before position 0, then the ids.
pub fn words_of_text(start: usize, ids: &[u32]) -> Vec<u32> {
    [start as u32].into_iter().chain(ids.iter().copied()).collect()
}

/// Accepts what was chosen of a pass of [`DRAFT_ROWS`] rows, and makes the rows of the next. `length`: ids. `counts`:
/// `[sequences, length]` u32.
pub fn accept_drafts(length: u32, [stops, counts, pass]: [Slice; 3], drafts: Drafts) -> Dispatch {
    let Drafts { text, report, kept } = drafts;
    let constants = [("WG_SIZE", 256.0), ("LENGTH", length.into()), ("ROWS", DRAFT_ROWS as f64)];
    let buffers = [stops, text, counts, pass, report, kept];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, [Extent::Fixed(1); 3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::pass::Header;

    #[test]
    fn a_report_has_its_sequence_where_a_pass_has_one() {
        assert_eq!(std::mem::offset_of!(Report, sequence), std::mem::offset_of!(Header, sequences));
        assert!(size_of::<Report>() <= size_of::<Header>());
    }
}
