//! Kernels of convolutions, which become matrices.

use std::borrow::Cow;

use crate::gguf::{GgmlType, Gguf, TensorInfo};

/// Prefixes of the names of convolution kernels.
const KERNELS: [&str; 9] = [
    "v.patch_embd.weight",
    "v.sam.patch_embd.weight",
    "v.sam.neck.",
    "v.sam.net_",
    "a.conv1d.",
    "a.conv2d.",
    "a.gen.wav.",
    "a.seanet.",
    "a.downsample.",
];

/// The transposed convolutions of Pocket TTS, `a.gen.wav.seanet.blk.{stage}.scale_conv.weight`.
const TRANSPOSED: [&str; 2] = ["a.gen.wav.seanet.blk.", ".scale_conv.weight"];

/// Rows that become of a row in each of them; their kernels are twice as long.
pub const STRIDES: [usize; 3] = [6, 5, 4];

/// The end of the names of depthwise kernels over an image.
const AROUND: &str = "conv2d_spatial.weight";

/// The blocks of MobileNetV5, `v.blk.{stage}.{block}`, whose kernels are the only tensors of a layer with four axes.
const BLOCKS: [&str; 3] = ["v.blk.", "v.conv_stem.", "v.msfa."];

/// The matrices that merge patches into one row; in some files a convolution kernel.
const MERGERS: [&str; 3] = ["mm.patch_merger.weight", "mm.0.weight", "mm.2.weight"];

/// The bytes of a tensor as they are used: where `rounds` is set, convolution kernels are rounded to f16, as in
/// llama.cpp. Kernels of transposed convolutions, whose shape [`flatten`] has changed, get the order of a matrix.
pub fn rounded_kernel<'b>(rounds: bool, tensor: &TensorInfo, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    if let Some(stride) = stride_of(&tensor.name) {
        return transposed(&tensor.dims, stride, bytes).map_or(bytes.into(), Into::into);
    }
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

/// The stride of a transposed convolution, by the name of its kernel.
fn stride_of(name: &str) -> Option<usize> {
    let [before, behind] = TRANSPOSED;
    let stage: usize = name.strip_prefix(before)?.strip_suffix(behind)?.parse().ok()?;
    STRIDES.get(stage).copied()
}

/// The matrix `[2 · inputs, stride · outputs]` of a kernel `[inputs, outputs, 2 · stride]`, in row-major order: from a
/// row and the one before it to `stride` rows.
#[inline(never)]
fn transposed(dims: &[u64], stride: usize, bytes: &[u8]) -> Option<Vec<u8>> {
    let &[columns, rows] = dims else { return None };
    let (outputs, inputs) = (columns as usize / stride, rows as usize / 2);
    let size = bytes.len() / (columns * rows).max(1) as usize;
    let mut made = Vec::with_capacity(bytes.len());
    for (before, input) in (0..2).flat_map(|before| (0..inputs).map(move |input| (before, input))) {
        for (at, output) in (0..stride).flat_map(|at| (0..outputs).map(move |output| (at, output))) {
            let value = (input * outputs + output) * 2 * stride + before * stride + at;
            made.extend_from_slice(bytes.get(value * size..(value + 1) * size)?);
        }
    }
    Some(made)
}

fn is_kernel(name: &str) -> bool {
    KERNELS.iter().any(|kernel| name.starts_with(kernel)) && !name.contains(".norm.")
}

fn is_of_block(name: &str) -> bool {
    BLOCKS.iter().any(|begin| name.starts_with(begin))
}

/// Whether a tensor is a table whose rows may have several axes.
fn is_table(name: &str) -> bool {
    let is_projector = name.starts_with("v.proj_blk.") && (name.ends_with(".query") || name.ends_with(".img_pos"));
    ["v.position_embd.weight", "v.sam.pos_embd.weight"].contains(&name)
        || name.starts_with("a.gen.code.")
        || is_projector
}

/// Reshapes convolution kernels into matrices with a row per output, and position tables of several axes into one
/// table.
pub fn flatten(gguf: &mut Gguf) {
    let is_own = |name: &str| name.starts_with(['v', 'a']) || MERGERS.contains(&name);
    for tensor in gguf.tensors.iter_mut().filter(|tensor| is_own(&tensor.name) && tensor.dims.len() > 1) {
        let product = |dims: &[u64]| dims.iter().fold(1, |all: u64, &n| all.saturating_mul(n));
        let dims = &tensor.dims;
        let before = product(&dims[..dims.len() - 1]);
        tensor.dims = if let Some(stride) = stride_of(&tensor.name) {
            match dims[..] {
                [kernel, outputs, inputs] if kernel == 2 * stride as u64 => {
                    vec![outputs.saturating_mul(stride as u64), inputs.saturating_mul(2)]
                }
                _ => continue,
            }
        } else if tensor.name.ends_with(AROUND) {
            let taps = dims[0].saturating_mul(dims[1]);
            vec![taps, before.saturating_mul(dims[dims.len() - 1]) / taps.max(1)]
        } else if is_of_block(&tensor.name) && dims.len() > 2 {
            let (last, all) = (dims[dims.len() - 1], product(dims));
            if tensor.name.ends_with(".gamma") || tensor.name.ends_with(".bias") {
                vec![all]
            } else {
                vec![before, last]
            }
        } else if is_kernel(&tensor.name) && before == 1 {
            vec![product(dims)]
        } else if (is_kernel(&tensor.name) || MERGERS.contains(&tensor.name.as_str())) && dims.len() > 2 {
            vec![before, dims[dims.len() - 1]]
        } else if is_table(&tensor.name) {
            vec![dims[0], product(&dims[1..])]
        } else {
            continue;
        };
    }
}
