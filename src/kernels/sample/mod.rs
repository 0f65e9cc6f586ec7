//! Sampling in four dispatches: `penalties` changes the logits and finds the largest, `sample_histogram` and
//! `sample_candidates` narrow them down, `sample` finishes the filters, draws and commits the token. The vocabulary is
//! never read by one workgroup alone. [`crate::sampler`] is the CPU twin and documents the order of the filters.

#[cfg(feature = "harness")]
pub(crate) mod cases;
#[cfg(feature = "harness")]
pub(crate) mod cases_masks;

use super::argmax::{CHUNK, Commit};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};
use crate::sampler::SamplingOptions;

const OVERRIDES: &[&str] = &["WG_SIZE", "CHUNK", "LENGTH", "SEGMENTS"];

/// The contract with `shaders/model/penalties.wgsl`.
pub static PENALTIES: KernelSpec = KernelSpec {
    kernel_name: "penalties",
    bindings: &[
        PARAMS,
        read("this_pass"),
        read("options"),
        read("counts"),
        read("mask"),
        write("logits"),
        write("scratch"),
    ],
    params: NoParams::LAYOUT,
    overrides: OVERRIDES,
};

/// The contract with `shaders/model/sample_histogram.wgsl`.
pub static HISTOGRAM: KernelSpec = KernelSpec {
    kernel_name: "sample_histogram",
    bindings: &[PARAMS, read("this_pass"), read("options"), read("logits"), write("scratch")],
    params: NoParams::LAYOUT,
    overrides: OVERRIDES,
};

/// The contract with `shaders/model/sample_candidates.wgsl`.
pub static CANDIDATES: KernelSpec = KernelSpec {
    kernel_name: "sample_candidates",
    bindings: &[PARAMS, read("this_pass"), read("options"), read("logits"), read("mask"), write("scratch")],
    params: NoParams::LAYOUT,
    overrides: OVERRIDES,
};

/// The contract with `shaders/model/sample.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "sample",
    bindings: &[
        PARAMS,
        read("options"),
        read("logits"),
        read("stops"),
        read("mask"),
        write("scratch"),
        write("counts"),
        write("this_pass"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "LENGTH", "SEGMENTS"],
};

/// Words before the partial argmaxes, see `shaders/shared/sample/sample_scratch.wgsl`.
pub const LARGEST_AT: u64 = 784;

/// Bytes of the scratch buffer that the four kernels share, for `length` logits of one output. Zero before the first
/// token.
pub fn scratch_bytes(length: u32) -> u64 {
    4 * (LARGEST_AT + 6 * u64::from(length.div_ceil(CHUNK)) + u64::from(length))
}

/// Words of the mask of a sequence: 0 where it may have any id, else 1; then a bit for each of `length` ids.
pub fn mask_words(length: u32) -> usize {
    1 + length.div_ceil(32) as usize
}

/// The words of a sequence's mask that are to be written; `None` allows all ids.
pub fn words_of_mask(mask: Option<&[u32]>, vocab: u32) -> Vec<u32> {
    let most = mask_words(vocab) - 1;
    match mask {
        Some(mask) => [1].into_iter().chain(mask.iter().copied().chain(std::iter::repeat(0)).take(most)).collect(),
        None => vec![0],
    }
}

/// [`SamplingOptions`] as the shaders read them; mirrors `shaders/shared/sample/sample_options.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Options {
    /// 0 is greedy: the shaders divide by no number below `sampler::MIN_TEMPERATURE`.
    temperature: f32,
    top_p: f32,
    min_p: f32,
    repetition_penalty: f32,
    frequency_penalty: f32,
    presence_penalty: f32,
    top_k: u32,
    seed_low: u32,
    seed_high: u32,
    typical_p: f32,
    pad: [u32; 2],
}

impl From<&SamplingOptions> for Options {
    fn from(o: &SamplingOptions) -> Self {
        Self {
            temperature: if o.is_greedy() { 0.0 } else { o.temperature },
            top_p: o.top_p,
            min_p: o.min_p,
            repetition_penalty: o.repetition_penalty,
            frequency_penalty: o.frequency_penalty,
            presence_penalty: o.presence_penalty,
            top_k: o.top_k,
            seed_low: o.seed as u32,
            seed_high: (o.seed >> 32) as u32,
            typical_p: o.typical_p,
            pad: [0; 2],
        }
    }
}

/// The buffers of the sampler.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Outputs of the pass: tokens to choose.
    pub outputs: u32,
    /// Logits to choose from; at most 2^24.
    pub length: u32,
    /// [`Options`] of each sequence.
    pub options: Slice,
    /// `[sequences, length]` u32, see [`crate::sampler::counts_of_prompt`].
    pub counts: Slice,
    /// [`mask_words`] for each sequence: which ids may be chosen.
    pub mask: Slice,
    /// `[outputs, length]` f32; the penalties are applied in place.
    pub logits: Slice,
    /// [`scratch_bytes`] for every output.
    pub scratch: Slice,
    /// Where the token goes.
    pub commit: Commit,
}

/// Logits → one id of each output, drawn and committed.
pub fn sample(problem: &Sample) -> [Dispatch; 4] {
    let Sample { outputs, length, options, counts, mask, logits, scratch, commit } = *problem;
    let segments = length.div_ceil(CHUNK);
    let constants =
        [("WG_SIZE", 256.0), ("LENGTH", length.into()), ("SEGMENTS", segments.into()), ("CHUNK", CHUNK.into())];
    let many = |kernel: Kernel, buffers: &[Slice]| {
        let grid = [Extent::Fixed(segments), Extent::Fixed(outputs), Extent::Fixed(1)];
        Dispatch::new(kernel, &NoParams::default(), buffers, grid)
    };
    let plain = |spec| Kernel::new(spec, &constants);
    let one = commit.by(Kernel::new(&SPEC, &constants[..3]));
    let buffers = [options, logits, commit.stops, mask, scratch, counts, commit.pass];
    [
        many(commit.by(plain(&PENALTIES)), &[commit.pass, options, counts, mask, logits, scratch]),
        many(plain(&HISTOGRAM), &[commit.pass, options, logits, scratch]),
        many(commit.by(plain(&CANDIDATES)), &[commit.pass, options, logits, mask, scratch]),
        Dispatch::new(one, &NoParams::default(), &buffers, [outputs, 1, 1].map(Extent::Fixed)),
    ]
}
