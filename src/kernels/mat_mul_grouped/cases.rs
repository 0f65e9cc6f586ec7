//! Experts with no rows, one for all rows, ids that are no experts; one row per token or per chosen expert; with and
//! without the sum over a token's experts; every storage.

use crate::gguf::{GgmlType, dequantize, f16_from_f32, f16_to_f32};
use crate::harness::data::Tensor as Blocks;
use crate::harness::{Bench, Case, Expected, OpBench, Random, Suite, Tolerance, folded};
use crate::kernels::caps::Caps;
use crate::kernels::layout::PackedLayout;
use crate::kernels::mat_mul_grouped::{
    Path, RowsParams, SPEC, SumParams, choose, expert_rows, expert_sum, groups_bytes,
};
use crate::kernels::reference;
use crate::kernels::repack::reference::packed;
use crate::tensor::grouped::matmul_grouped;
use crate::tensor::{DType, Tensor};

/// Which experts the entries choose.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Any, and for some entries none.
    Random,
    /// One after the other, each expert as often as the next.
    InTurn,
    /// Only every third.
    Few,
    /// The last for all.
    One,
    /// None at all.
    Nobody,
}

impl Choice {
    fn ids(self, random: &mut Random, entries: u32, experts: u32) -> Vec<u32> {
        let id = |i: u32| match self {
            Self::Random if i % 11 == 5 => experts + random.below(3),
            Self::Random if i % 17 == 9 => u32::MAX,
            Self::Random => random.below(experts),
            Self::InTurn => i % experts,
            Self::Few => random.below(experts.div_ceil(3)) * 3,
            Self::One => experts - 1,
            Self::Nobody => experts,
        };
        (0..entries).map(id).collect()
    }
}

/// One call.
#[derive(Debug, Clone, Copy)]
struct Kind {
    tokens: u32,
    top: u32,
    experts: u32,
    n: u32,
    k: u32,
    choice: Choice,
    /// x has a row for each chosen expert.
    slots: bool,
    weighted: bool,
    w: DType,
}

const PLAIN: Kind = Kind {
    tokens: 33,
    top: 2,
    experts: 8,
    n: 33,
    k: 31,
    choice: Choice::Random,
    slots: false,
    weighted: true,
    w: DType::F32,
};

const KINDS: &[Kind] = &[
    PLAIN,
    Kind { tokens: 1, top: 1, experts: 1, n: 1, k: 1, ..PLAIN },
    Kind { tokens: 1, top: 8, experts: 64, n: 65, k: 257, ..PLAIN },
    Kind { tokens: 70, top: 1, choice: Choice::One, weighted: false, ..PLAIN },
    Kind { tokens: 31, top: 3, experts: 60, choice: Choice::Few, n: 5, k: 100, ..PLAIN },
    Kind { tokens: 5, top: 4, choice: Choice::Nobody, ..PLAIN },
    Kind { tokens: 3, top: 2, choice: Choice::Nobody, weighted: false, slots: true, ..PLAIN },
    Kind { tokens: 129, top: 8, experts: 5, n: 40, k: 33, slots: true, ..PLAIN },
    Kind { tokens: 17, top: 2, experts: 7, weighted: false, slots: true, w: DType::F16, k: 129, ..PLAIN },
    Kind { w: DType::F16, ..PLAIN },
    Kind { tokens: 9, top: 1, experts: 11, w: DType::F16, k: 33, weighted: false, ..PLAIN },
    Kind { tokens: 140, experts: 3, n: 70, k: 50, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::Q8_0), tokens: 130, top: 1, experts: 2, n: 65, k: 32, ..PLAIN },
    Kind { w: DType::BF16, k: 64, choice: Choice::Few, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::Q8_0), k: 96, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::Q4_K), tokens: 40, top: 1, choice: Choice::One, k: 256, n: 31, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::Q6_K), tokens: 1, top: 4, experts: 3, k: 512, n: 65, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::Q5_0), tokens: 9, experts: 17, k: 32, n: 7, weighted: false, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::MXFP4), k: 96, n: 35, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::MXFP4), tokens: 1, top: 4, k: 32, n: 37, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::IQ2_S), tokens: 1, top: 3, experts: 5, k: 256, n: 33, ..PLAIN },
    Kind { w: DType::Quantised(GgmlType::IQ3_XXS), tokens: 40, experts: 3, k: 512, n: 31, ..PLAIN },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("mat_mul_grouped"));
    let mut cases: Vec<Case> =
        [(1, 1), (31, 64), (1000, 7), (5000, 256)].map(|(entries, experts)| rows_case(random, entries, experts)).into();
    cases.extend([[1, 1, 1], [33, 8, 31], [257, 2, 5]].map(|sizes| sum_case(random, sizes)));
    cases.extend(KINDS.iter().map(|kind| case(caps, random, kind)));
    // Every expert has a tile, so that workgroups of both halves of the grid have work.
    let full = Kind { tokens: 34, top: 1, experts: 17, choice: Choice::InTurn, weighted: false, ..PLAIN };
    cases.push(folded(SPEC.kernel_name, &case(caps, random, &full)));
    cases
}

/// Where each expert's entries start; their order within an expert is not fixed.
fn rows_case(random: &mut Random, entries: u32, experts: u32) -> Case {
    let mut bench = Bench::new(1);
    let ids = Choice::Random.ids(random, entries, experts);
    let groups = bench.bytes(&vec![0xff; groups_bytes(entries, experts) as usize]);
    let dispatch =
        expert_rows(RowsParams { entries, experts }, bench.bytes(bytemuck::cast_slice(&ids)).into(), groups.into());
    let expected = Expected::Exact(reference::expert_offsets(&ids, experts));
    bench.case(format!("{entries} entries of {experts} experts"), vec![dispatch], groups, expected)
}

/// Sums over a token's experts. Entries without an expert keep what was in the buffer before, NaN here.
fn sum_case(random: &mut Random, [tokens, top, n]: [u32; 3]) -> Case {
    let mut bench = Bench::new(1);
    let experts = 4;
    let ids = Choice::Random.ids(random, tokens * top, experts);
    let weights = random.floats((tokens * top) as usize);
    let mut z = random.floats((tokens * top * n) as usize);
    let mut values: Vec<f64> = z.iter().map(|&z| z.into()).collect();
    for (i, _) in ids.iter().enumerate().filter(|(_, id)| **id >= experts) {
        let row = i * n as usize..(i + 1) * n as usize;
        z[row.clone()].fill(f32::NAN);
        values[row].fill(0.0);
    }
    let [ids, weights_buffer, z] =
        [bytemuck::cast_slice(&ids), bytemuck::cast_slice(&weights), bytemuck::cast_slice(&z)]
            .map(|bytes: &[u8]| bench.bytes(bytes));
    let y = bench.bytes(&vec![0xff; 4 * (tokens * n) as usize]);
    let params = SumParams { tokens, top, n, experts };
    let dispatch = expert_sum(params, ids.into(), weights_buffer.into(), z.into(), y.into());
    let expected = reference::expert_sum(top as usize, &weights, &values).into_iter().map(|y| y as f32).collect();
    bench.case(format!("{tokens}x{top}x{n}"), vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

/// The experts' matrices, and the numbers they hold.
fn experts(bench: &mut OpBench, random: &mut Random, kind: &Kind) -> (Tensor, Vec<f32>) {
    let Kind { experts, n, k, w, .. } = *kind;
    let (shape, size) = ([experts, n, k], 2.0 / (k as f32).sqrt());
    let values: Vec<f32> = random.floats((experts * n * k) as usize).iter().map(|value| value * size).collect();
    match w {
        DType::F16 => {
            let rounded = values.iter().map(|&value| f16_to_f32(f16_from_f32(value))).collect();
            (bench.halves(&shape, &values), rounded)
        }
        DType::BF16 => {
            let halves: Vec<u16> = values.iter().map(|value| (value.to_bits() >> 16) as u16).collect();
            let rounded = halves.iter().map(|&half| f32::from_bits(u32::from(half) << 16)).collect();
            (bench.bytes(w, &shape, bytemuck::cast_slice(&halves)), rounded)
        }
        DType::Quantised(ty) => {
            let blocks = Blocks::new(random, ty, [experts * n, k], size);
            let mut values = vec![0.0; (experts * n * k) as usize];
            dequantize(ty, &blocks.raw, &mut values).expect("whole blocks");
            let packed = packed(&PackedLayout::new(ty, experts * n, k), &blocks.raw);
            (bench.bytes(w, &shape, &packed), values)
        }
        _ => (bench.floats(&shape, &values), values),
    }
}

fn case(caps: &Caps, random: &mut Random, kind: &Kind) -> Case {
    let Kind { tokens, top, n, k, .. } = *kind;
    let mut bench = OpBench::new(caps);
    let (w, w_values) = experts(&mut bench, random, kind);
    let entries = tokens * top;
    let (rows, shape) = if kind.slots { (entries, vec![tokens, top, k]) } else { (tokens, vec![tokens, k]) };
    let x_values = random.floats((rows * k) as usize);
    let x = bench.floats(&shape, &x_values);
    let ids_values = kind.choice.ids(random, entries, kind.experts);
    let ids = bench.words(DType::U32, &[tokens, top], &ids_values);
    let weights_values = random.floats(entries as usize);
    let weights = kind.weighted.then(|| bench.floats(&[tokens, top], &weights_values));
    let y = matmul_grouped(&mut bench.tape, &x, &w, &ids, weights.as_ref()).expect("shapes fit");
    let share = if kind.slots { 1 } else { top as usize };
    let [n, k, experts] = [n, k, kind.experts].map(|size| size as usize);
    let x = |i: usize, c: usize| x_values[i / share * k + c];
    let w = |e: usize, j: usize, c: usize| w_values[(e * n + j) * k + c];
    let mut expected = reference::mat_mul_grouped([n, k, experts], &ids_values, x, w);
    if kind.weighted {
        expected = reference::expert_sum(top as usize, &weights_values, &expected);
    }
    let expected = expected.into_iter().map(|y| y as f32).collect();
    let Kind { experts, choice, slots, weighted, .. } = kind;
    let name = format!("{tokens}x{top} of {experts} experts {n}x{k}, {choice:?}, slots {slots}, weighted {weighted}");
    let tolerance = match kind.w {
        DType::Quantised(ty) => Tolerance::dot(ty),
        _ => Tolerance::dot(GgmlType::F32),
    };
    let about = match choose(tokens * top, kind.experts) {
        Path::Each => "mat_mul_grouped_each",
        Path::Tiles(_) => "mat_mul_grouped",
    };
    // Both topologies are one kernel.
    let case =
        Case { kernel_name: "mat_mul_grouped", ..bench.case(about, name, &y, Expected::Close(expected, tolerance)) };
    Case { flops: 2 * u64::from(entries) * n as u64 * k as u64, ..case }
}
