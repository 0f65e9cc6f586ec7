//! Sampling in two dispatches: `penalties` changes the logits and finds the largest, `sample` filters, draws and
//! commits the token. [`crate::sampler`] is the CPU twin and says in which order.

use super::argmax::{CHUNK, Commit};
use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};
use crate::sampler::SamplingOptions;

/// The contract with `shaders/penalties.wgsl`.
pub static PENALTIES: KernelSpec = KernelSpec {
    stem: "penalties",
    source: include_str!("../../shaders/penalties.wgsl"),
    bindings: &[PARAMS, read("options"), read("counts"), write("logits"), write("winners")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "CHUNK", "LENGTH"],
};

/// The contract with `shaders/sample.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    stem: "sample",
    source: include_str!("../../shaders/sample.wgsl"),
    bindings: &[
        PARAMS,
        read("options"),
        read("logits"),
        read("winners"),
        read("stops"),
        write("counts"),
        write("state"),
        write("tokens"),
    ],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "LENGTH", "WINNERS"],
};

/// [`SamplingOptions`] as the shaders read them; mirrors `shaders/shared/sample_options.wgsl`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Options {
    temperature: f32,
    top_p: f32,
    min_p: f32,
    repetition_penalty: f32,
    frequency_penalty: f32,
    presence_penalty: f32,
    top_k: u32,
    seed_low: u32,
    seed_high: u32,
    pad: [u32; 3],
}

impl From<&SamplingOptions> for Options {
    fn from(o: &SamplingOptions) -> Self {
        Self {
            temperature: o.temperature,
            top_p: o.top_p,
            min_p: o.min_p,
            repetition_penalty: o.repetition_penalty,
            frequency_penalty: o.frequency_penalty,
            presence_penalty: o.presence_penalty,
            top_k: o.top_k,
            seed_low: o.seed as u32,
            seed_high: (o.seed >> 32) as u32,
            pad: [0; 3],
        }
    }
}

/// The buffers of the sampler.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Logits to choose from; at most 2^24.
    pub length: u32,
    /// [`Options`].
    pub options: Slice,
    /// `[length]` u32, see [`crate::sampler::counts_of_prompt`].
    pub counts: Slice,
    /// `[length]` f32; the penalties are applied in place.
    pub logits: Slice,
    /// [`winners_bytes`](super::argmax::winners_bytes) of scratch.
    pub winners: Slice,
    /// Where the token goes.
    pub commit: Commit,
}

/// Logits → one id, drawn and committed.
pub fn sample(problem: &Sample) -> [Dispatch; 2] {
    let Sample { length, options, counts, logits, winners, commit } = *problem;
    let stretches = length.div_ceil(CHUNK);
    let constants = [("WG_SIZE", 256.0), ("CHUNK", CHUNK.into()), ("LENGTH", length.into())];
    let grid = [Extent::Fixed(stretches), Extent::Fixed(1), Extent::Fixed(1)];
    let buffers = [options, counts, logits, winners];
    let penalties = Dispatch::new(Kernel::new(&PENALTIES, &constants), &NoParams::default(), &buffers, grid);
    let constants = [("WG_SIZE", 256.0), ("LENGTH", length.into()), ("WINNERS", stretches.into())];
    let buffers = [options, logits, winners, commit.stops, counts, commit.state, commit.tokens];
    let kernel = Kernel::new(&SPEC, &constants);
    [penalties, Dispatch::new(kernel, &NoParams::default(), &buffers, [Extent::Fixed(1); 3])]
}
