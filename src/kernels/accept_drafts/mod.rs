//! Drafts: a pass of the last tokens of sequences and of guesses at those after them, of which those are accepted that
//! are chosen anyway.

#[cfg(feature = "harness")]
pub(crate) mod cases;
pub mod reference;

use super::pass::{Header, Sequence};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// Rows of a pass with drafts: the last token of a sequence and up to 7 after it, or fewer of each of several.
pub const DRAFT_ROWS: usize = 8;
/// Rows of a pass for a sequence of whose drafts few are right: it takes two thirds of the time.
pub const FEW_DRAFT_ROWS: usize = 4;

/// The contract with `shaders/model/accept_drafts.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "accept_drafts",
    bindings: &[
        PARAMS,
        read("stops"),
        write("texts"),
        write("counts"),
        write("this_pass"),
        write("reports"),
        write("kept"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "LENGTH", "ROWS", "TEXT"],
};

/// The result for a sequence, read back after a pass with drafts. The first result lies in the place of a
/// [`Header`](super::pass::Header), and its sequence where that has one.
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
    /// [`words_of_text`] of each sequence, in [`words_of`] words.
    pub text: Slice,
    /// A [`Report`] for each sequence, in the order of their rows.
    pub report: Slice,
    /// A [`Pass`](super::pass::Pass) of [`DRAFT_ROWS`] rows: the rows of the last pass, where rejected rows have the
    /// flag `ROW_DONE`.
    pub kept: Slice,
}

/// Bytes of the reports of `sequences`, or of the header of a pass, in whose place they are read, if that is larger.
pub fn bytes_of_reports(sequences: usize) -> u64 {
    (sequences * size_of::<Report>()).max(size_of::<Header>()) as u64
}

/// Words that the text of up to `context` tokens takes, with as many that drafts come from before it.
pub const fn words_of(context: usize) -> usize {
    2 * context + 2
}

/// The text in which the kernel looks for drafts: the number of `ids` before position 0, then the ids.
pub fn words_of_text(start: usize, ids: &[u32]) -> Vec<u32> {
    [start as u32].into_iter().chain(ids.iter().copied()).collect()
}

/// Words of the texts of sequences, where there are drafts.
pub fn words_of_texts(has_drafts: bool, [sequences, context]: [usize; 2]) -> usize {
    if has_drafts { sequences * words_of(context) } else { 0 }
}

/// Accepts what was chosen of a pass of `rows` rows, at most [`DRAFT_ROWS`], and makes the rows of the next. `length`:
/// ids. `context`: positions of a sequence. `counts`: `[sequences, length]` u32.
pub fn accept_drafts(
    [rows, length, context]: [u32; 3],
    [stops, counts, pass]: [Slice; 3],
    Drafts { text, report, kept }: Drafts,
) -> Dispatch {
    let words = words_of(context as usize) as f64;
    let constants = [("WG_SIZE", 256.0), ("LENGTH", length.into()), ("ROWS", rows.into()), ("TEXT", words)];
    let buffers = [stops, text, counts, pass, report, kept];
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &buffers, [Extent::Fixed(1); 3])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_its_sequence_where_a_pass_has_one() {
        assert_eq!(std::mem::offset_of!(Report, sequence), std::mem::offset_of!(Header, sequences));
        assert!(size_of::<Report>() <= size_of::<Header>());
    }
}
