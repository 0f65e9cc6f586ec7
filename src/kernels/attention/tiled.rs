//! `attention_tiled`: attention of a chunk in tiles of 64 queries and 64 keys; and which kernel takes a chunk.

use super::chunks::OF_CHUNKS;
use super::matrices::{self, attention_subgroup_matrix};
use super::{Attention, Limits, attention_few};
use crate::kernels::caps::Caps;
use crate::kernels::rope_kv::Heads;
use crate::kernels::spec::{Dispatch, Extent, Kernel, KernelSpec, Slice, params};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Elements of eight values of a head.
        pub elements: u32,
    }
}

/// The contract with `shaders/model/attention_tiled.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "attention_tiled",
    bindings: OF_CHUNKS,
    params: Params::LAYOUT,
    overrides: &[
        "HEAD_DIM",
        "PARTS",
        "COLUMN_PARTS",
        "BUFFERS",
        "WG_SIZE",
        "HEADS",
        "GROUP",
        "CAPACITY",
        "RING",
        "SCALE",
        "WINDOW",
        "SOFT_CAP",
        "SINKS",
    ],
};

/// Queries, and keys, of a tile; threads of each.
pub const TILE: u32 = 64;

/// Parts of a workgroup, at most: 256 threads.
const MAX_PARTS: u32 = 4;

/// Tiles of eight steps that 16 KiB of workgroup memory hold.
const SLICES: u32 = 8;

/// How a chunk is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// By [`attention_few`](super::attention_few).
    Few,
    /// By [`attention_tiled`], whose workgroups have this many groups of parts, as far as these fit.
    Tiled { groups: u32 },
}

/// A row of the table: the first whose conditions hold is taken.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The least rows of a pass.
    pub min_rows: u32,
    /// The least tiles of 64 rows, over all heads.
    pub min_tiles: u32,
    /// The least size of the device's smallest subgroup. CPUs have smaller ones, where a kernel with that many
    /// registers takes seconds to compile and gains nothing.
    pub min_subgroup: u32,
    /// The choice.
    pub choice: Choice,
}

/// Which kernel runs a chunk. The last row holds for every one. Where there are few workgroups, each has more threads.
pub static RULES: &[Rule] = &[
    Rule { min_rows: TILE, min_tiles: 256, min_subgroup: 8, choice: Choice::Tiled { groups: 1 } },
    Rule { min_rows: TILE, min_tiles: 0, min_subgroup: 8, choice: Choice::Tiled { groups: 2 } },
    Rule { min_rows: 0, min_tiles: 0, min_subgroup: 0, choice: Choice::Few },
];

/// Whether the kernel in tiles can take these heads.
pub fn can_tile(head_dim: u32) -> bool {
    head_dim.is_multiple_of(8) && head_dim <= MAX_PARTS * TILE
}

/// The kernel for passes of up to `rows` rows with `heads` heads.
pub fn choose(caps: &Caps, (heads, head_dim): (u32, u32), rows: u32) -> Choice {
    let (tiles, subgroup) = (heads * rows.div_ceil(TILE), caps.subgroup_sizes().0);
    let fits = |rule: &&Rule| rows >= rule.min_rows && tiles >= rule.min_tiles && subgroup >= rule.min_subgroup;
    let rule = RULES.iter().find(fits).filter(|_| can_tile(head_dim));
    rule.map_or(Choice::Few, |rule| rule.choice)
}

/// Causal attention of a chunk of up to `rows` rows: of one sequence, and their positions follow each other.
pub fn attention(caps: &Caps, (pass, rows): (Slice, u32), problem: &Attention, limits: Limits) -> Dispatch {
    let Heads { heads, head_dim, .. } = problem.heads;
    let is_plain = limits.alibi == 0.0 && limits.distances.is_none() && limits.value_dim(head_dim) == head_dim;
    match choose(caps, (heads, head_dim), rows) {
        Choice::Tiled { .. } if is_plain && matrices::supports(caps, head_dim) => {
            attention_subgroup_matrix(pass, problem, limits)
        }
        Choice::Tiled { groups } if is_plain => attention_tiled(pass, groups, problem, limits),
        _ => attention_few(pass, problem, limits),
    }
}

/// How a workgroup is divided.
#[derive(Debug, Clone, Copy)]
pub struct Parts {
    groups: u32,
    /// Parts of a group, each for 64 columns of y.
    columns: u32,
    /// Copies of the slices in workgroup memory.
    buffers: u32,
}

impl Parts {
    /// As many groups as were asked for, if that makes no more than 256 threads, and no fewer than 128: one part alone
    /// has too few to wait for memory.
    pub fn of(head_dim: u32, groups: u32) -> Self {
        let columns = head_dim.div_ceil(TILE);
        let groups = groups.clamp(2u32.div_ceil(columns), (MAX_PARTS / columns).max(1));
        let buffers = if 2 * groups * (1 + columns) <= SLICES { 2 } else { 1 };
        Self { groups, columns, buffers }
    }

    /// As constants of a pipeline.
    pub fn constants(self) -> [(&'static str, f64); 4] {
        let Self { groups, columns, buffers } = self;
        let parts = groups * columns;
        [
            ("PARTS", parts.into()),
            ("COLUMN_PARTS", columns.into()),
            ("BUFFERS", buffers.into()),
            ("WG_SIZE", (TILE * parts).into()),
        ]
    }
}

/// Causal attention of a chunk: rows of one sequence whose positions follow each other.
pub fn attention_tiled(pass: Slice, groups: u32, problem: &Attention, limits: Limits) -> Dispatch {
    let Heads { heads, head_dim, kv_type, .. } = problem.heads;
    let (parts, own) = (Parts::of(head_dim, groups).constants(), [("HEAD_DIM", head_dim.into())]);
    let constants = [&parts[..], &own, &problem.constants(limits), &[problem.has_sinks()]].concat();
    let buffers = problem.buffers(pass);
    let grid = [Extent::Fixed(heads), Extent::PerRows(TILE), Extent::Fixed(1)];
    let kernel = Kernel::new(&SPEC, &constants).cached(kv_type);
    Dispatch::new(kernel, &Params { elements: head_dim / 8 }, &buffers, grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_for_many_rows_of_heads_that_fit() {
        let choice = |caps: &Caps, heads, head_dim, rows| choose(caps, (heads, head_dim), rows);
        let gpu = Caps { subgroup_size: (32, 32), ..Caps::baseline() };
        for caps in [&Caps::baseline(), &gpu] {
            assert_eq!(choice(caps, 32, 64, 512), Choice::Tiled { groups: 1 });
            assert_eq!(choice(caps, 16, 128, 512), Choice::Tiled { groups: 2 });
            assert_eq!(choice(caps, 4, 256, 64), Choice::Tiled { groups: 2 });
            for (head_dim, rows) in [(64, 63), (100, 512), (264, 512), (512, 512)] {
                assert_eq!(choice(caps, 32, head_dim, rows), Choice::Few, "{rows} rows, heads of {head_dim}");
            }
        }
        let cpu = Caps { subgroup_size: (4, 4), ..Caps::baseline() };
        assert_eq!(choice(&cpu, 32, 64, 512), Choice::Few);
    }

    #[test]
    fn a_workgroup_has_at_most_256_threads_and_its_slices_fit() {
        for head_dim in (8..=256).step_by(8) {
            for groups in 1..=4 {
                let Parts { groups, columns, buffers } = Parts::of(head_dim, groups);
                assert!((2..=MAX_PARTS).contains(&(groups * columns)), "{groups} groups for heads of {head_dim}");
                assert!(TILE * columns >= head_dim);
                assert!(buffers * (groups + groups * columns) <= SLICES, "{groups} groups for heads of {head_dim}");
            }
        }
    }
}
