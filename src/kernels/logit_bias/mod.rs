//! Adds a run's biases to the logits of their ids.

use super::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, PARAMS, Slice, read, write};

/// The contract with `shaders/model/logit_bias.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "logit_bias",
    bindings: &[PARAMS, read("this_pass"), read("biases"), write("logits")],
    params: NoParams::LAYOUT,
    overrides: &["WG_SIZE", "LENGTH", "MOST"],
};

/// Ids of a sequence that may have a bias, at most.
pub const MOST: usize = 1024;

/// Words of the biases of a sequence.
pub const WORDS: usize = 1 + 2 * MOST;

/// The words of the biases of a sequence: (id, bias).
pub fn words(biases: &[(u32, f32)]) -> Vec<u32> {
    let biases = &biases[..biases.len().min(MOST)];
    std::iter::once(biases.len() as u32).chain(biases.iter().flat_map(|&(id, bias)| [id, bias.to_bits()])).collect()
}

/// logits `[outputs, length]` f32 += biases `[sequences, WORDS]`, in place.
pub fn logit_bias([outputs, length]: [u32; 2], pass: Slice, biases: Slice, logits: Slice) -> Dispatch {
    let constants = [("WG_SIZE", 64.0), ("LENGTH", length.into()), ("MOST", MOST as f64)];
    let grid = [outputs, 1, 1].map(Extent::Fixed);
    Dispatch::new(Kernel::new(&SPEC, &constants), &NoParams::default(), &[pass, biases, logits], grid)
}
