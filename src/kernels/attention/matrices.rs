//! `attention_subgroup_matrix`: attention of a chunk with products of f16 on subgroup matrices.

use super::chunks::OF_CHUNKS;
use super::{Attention, Limits};
use crate::kernels::caps::{ActivationFormat, Caps};
use crate::kernels::kv_type::KvType;
use crate::kernels::rope_kv::Heads;
use crate::kernels::spec::{Dispatch, Extent, Kernel, KernelSpec, NoParams, SUBGROUP_MATRIX, Slice};

/// The contract with `shaders/device/model/attention_subgroup_matrix.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_subgroup_matrix",
    bindings: OF_CHUNKS,
    params: NoParams::LAYOUT,
    overrides: &["HEAD_DIM", "HEADS", "GROUP", "CAPACITY", "RING", "SCALE", "WINDOW", "SOFT_CAP", "SINKS"],
};

/// Rows of a workgroup, 16 for each of its subgroups.
pub const ROWS: u32 = 64;

/// Keys of a step.
const KEYS: u32 = 32;

/// Both sides of a subgroup matrix, and values of a head that one of them holds.
const SIDE: u32 = 16;

/// Matrices along a head, at most: the shader writes their products out one by one.
const MAX_MATRICES: u32 = 8;

/// Bytes of workgroup memory: queries, then keys and values, as f16; scores; weights. Each row has a pad of 16 bytes.
fn memory(head_dim: u32) -> u32 {
    let [head, scores, weights] = [2 * head_dim.next_multiple_of(SIDE), 4 * KEYS, 2 * KEYS].map(|bytes| bytes + 16);
    ROWS * (head + scores + weights) + 4
}

/// Whether a device rounds to f16 and can run it, or `attention_batch_subgroup_matrix`, for heads of this size.
pub fn supports(caps: &Caps, head_dim: u32) -> bool {
    let is_square =
        |side| matches!(caps.activation_format, ActivationFormat::F16(of) if [of.m, of.n, of.k] == [side; 3]);
    is_square(SIDE)
        && caps.subgroups
        && caps.subgroup_size == (32, 32)
        && head_dim.is_multiple_of(8)
        && head_dim <= SIDE * MAX_MATRICES
        && memory(head_dim) <= caps.workgroup_memory
}

/// Enables what the matrices need.
pub fn on_matrices(kernel: Kernel) -> Kernel {
    kernel.enable("f16").enable("subgroups").enable(SUBGROUP_MATRIX)
}

/// Causal attention of a chunk: rows of one sequence whose positions follow each other.
pub fn attention_subgroup_matrix(pass: Slice, problem: &Attention, limits: Limits) -> Dispatch {
    let Heads { heads, head_dim, kv_type, .. } = problem.heads;
    let own = [("HEAD_DIM", head_dim.into())];
    let constants = [&own[..], &problem.constants(limits), &[problem.has_sinks()]].concat();
    let buffers = problem.buffers(pass);
    let grid = [Extent::Fixed(heads), Extent::PerRows(ROWS), Extent::Fixed(1)];
    let halves = if kv_type == KvType::F16 { "halves_kept" } else { "halves_rounded" };
    let kernel = on_matrices(Kernel::new(&SPEC, &constants)).cached(kv_type).import("halves", halves);
    Dispatch::new(kernel, &NoParams::default(), &buffers, grid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::{MatrixShape, Precision};

    #[test]
    fn heads_that_a_device_with_matrices_takes() {
        let caps = Caps {
            subgroup_matrix: Some(MatrixShape::ALL[0]),
            subgroups: true,
            subgroup_size: (32, 32),
            workgroup_memory: 32 << 10,
            ..Caps::baseline()
        };
        let auto = caps.clone().with_precision(Precision::Auto);
        for (head_dim, is_taken) in [(16, true), (80, true), (128, true), (72, true), (100, false), (136, false)] {
            assert_eq!(supports(&auto, head_dim), is_taken, "heads of {head_dim}");
        }
        let small = Caps { workgroup_memory: 16 << 10, ..auto.clone() };
        assert!(!supports(&small, 16));
        let other = Caps { subgroup_matrix: Some(MatrixShape::ALL[2]), ..caps.clone() };
        let wide = Caps { subgroup_size: (64, 64), ..auto };
        for caps in [caps.with_precision(Precision::Exact), other.with_precision(Precision::Auto), wide] {
            assert!(!supports(&caps, 64), "{caps:?}");
        }
    }
}
