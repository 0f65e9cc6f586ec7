//! f16 to f32 on a device that may get it wrong.
//!
//! WGSL lets `unpack2x16float` take subnormal numbers for 0, and scales of K formats often are subnormal: a super-block
//! of Q6_K with weights up to 0.1 has a scale of 0.1 / 4096, where f16 has no normal number below 0.25 / 4096. A device
//! that took them for 0 would read most of such a model as zeros. Those that were tried keep them.
//!
//! In integers the conversion takes a dozen instructions instead of one, for each scale of each block of 32 weights, in
//! loops where arithmetic weighs as much as reading; scales in f32 would be up to 11 % more bytes. So the device is
//! asked when it is opened ([`question`]), and only where it answers wrongly do its shaders convert in integers
//! ([`in_integers`]).

#[cfg(feature = "harness")]
pub(crate) mod cases;

use super::shaders;
use super::spec::{Dispatch, Kernel, KernelSpec, PARAMS, Slice, bool_override, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Words of x.
        pub words: u32,
    }
}

/// The contract with `shaders/model/unpack_f16.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "unpack_f16",
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["INTEGERS"],
};

/// Words of a workgroup.
const WG_SIZE: u32 = 64;

/// Converts the f16 pairs in the first `words` words of x to pairs in y, by the device's own conversion or in integers.
pub fn unpack_f16(integers: bool, words: u32, x: Slice, y: Slice) -> Dispatch {
    let kernel = Kernel::new(&SPEC, &[("INTEGERS", bool_override(integers))]);
    let kernel = if integers { kernel.named("integers") } else { kernel };
    Dispatch::new(kernel, &Params { words }, &[x, y], grid_1d(words.div_ceil(WG_SIZE)))
}

/// f16 pairs to ask a device for, and the bits of the f32 they are: subnormal numbers, and 1.
pub fn question() -> ([u32; 4], [u32; 8]) {
    let halves = [0x0001, 0x03ff, 0x8001, 0x83ff, 0x0200, 0x0155, 0x3c00, 0x82aa];
    let word = |i: usize| u32::from(halves[2 * i]) | u32::from(halves[2 * i + 1]) << 16;
    (std::array::from_fn(word), halves.map(|bits| half::f16::from_bits(bits).to_f32().to_bits()))
}

/// The shader with conversions from f16 in integers.
pub fn in_integers(wgsl: &str) -> String {
    let mut text = wgsl.replace("unpack2x16float(", "f16_to_f32(");
    if text.len() < wgsl.len() && !text.contains("fn f16_to_f32(") {
        text.push_str(shaders::text("shared/f16_to_f32"));
    }
    text
}
