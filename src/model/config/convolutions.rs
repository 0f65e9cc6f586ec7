//! Kernels of convolutions, which become matrices.

use std::borrow::Cow;

use crate::gguf::{GgmlType, Gguf, TensorInfo};

/// Prefixes of the names of convolution kernels.
const KERNELS: [&str; 4] = ["v.patch_embd.weight", "a.conv1d.", "a.conv2d.", "a.gen.wav."];

/// The end of the names of depthwise kernels over an image.
const AROUND: &str = "conv2d_spatial.weight";

/// The matrices that merge patches into one row; in some files a convolution kernel.
const MERGERS: [&str; 3] = ["mm.patch_merger.weight", "mm.0.weight", "mm.2.weight"];

/// The bytes of a tensor as they are used: where `rounds` is set, convolution kernels are rounded to f16, as in
/// llama.cpp.
pub fn rounded_kernel<'b>(rounds: bool, tensor: &TensorInfo, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    let is_rounded = rounds && tensor.ty == GgmlType::F32 && is_kernel(&tensor.name);
    if !(is_rounded && tensor.name.contains(".weight")) {
        return bytes.into();
    }
    let round = |value: &[u8]| {
        let value = f32::from_le_bytes([value[0], value[1], value[2], value[3]]);
        half::f16::from_f32(value).to_f32().to_le_bytes()
    };
    bytes.chunks_exact(4).flat_map(round).collect()
}

fn is_kernel(name: &str) -> bool {
    KERNELS.iter().any(|kernel| name.starts_with(kernel)) && !name.contains(".norm.")
}

/// Reshapes convolution kernels into matrices with a row per output, and position tables of several axes into one
/// table.
pub fn flatten(gguf: &mut Gguf) {
    let is_own = |name: &str| name.starts_with(['v', 'a']) || MERGERS.contains(&name);
    for tensor in gguf.tensors.iter_mut().filter(|tensor| is_own(&tensor.name) && tensor.dims.len() > 1) {
        let product = |dims: &[u64]| dims.iter().fold(1, |all: u64, &n| all.saturating_mul(n));
        let dims = &tensor.dims;
        let before = product(&dims[..dims.len() - 1]);
        tensor.dims = if tensor.name.ends_with(AROUND) {
            let taps = dims[0].saturating_mul(dims[1]);
            vec![taps, before.saturating_mul(dims[dims.len() - 1]) / taps.max(1)]
        } else if is_kernel(&tensor.name) && before == 1 {
            vec![product(dims)]
        } else if (is_kernel(&tensor.name) || MERGERS.contains(&tensor.name.as_str())) && dims.len() > 2 {
            vec![before, dims[dims.len() - 1]]
        } else if tensor.name == "v.position_embd.weight" {
            vec![dims[0], product(&dims[1..])]
        } else {
            continue;
        };
    }
}
