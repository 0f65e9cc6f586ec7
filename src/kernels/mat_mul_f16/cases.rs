//! Quantised and f16 weights times activations in f16, large and tiny ones too; and the rounding of activations.

use crate::gguf::GgmlType;
use crate::harness::product::{Activations, Kind, product};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::layout::Matrix;
use crate::kernels::mat_mul::MatMul;
use crate::kernels::mat_mul_f16::{Groups, RULES, mat_mul_f16, round_f16_blocks};
use crate::kernels::mat_mul_subgroup_matrix::reference::HalfRow;
use crate::kernels::mat_mul_subgroup_matrix::{Halves, supports};
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::reference;
use crate::kernels::spec::BufferId;

const KINDS: &[Kind] = &[
    Kind { rows: 33, tokens: 1, bias: false, epilogue: Epilogue::Store, cut: None, beside: 3 },
    Kind { rows: 131, tokens: 65, bias: true, epilogue: Epilogue::Residual, cut: Some(70), beside: 3 },
    Kind { rows: 64, tokens: 33, bias: true, epilogue: Epilogue::Residual, cut: None, beside: 3 },
    Kind { rows: 129, tokens: 64, bias: false, epilogue: Epilogue::Store, cut: None, beside: 3 },
];

/// Sizes of the values of blocks of 32: of all, or of every other block.
const SIZES: &[[f32; 2]] = &[[1e4, 1e4], [1e-6, 1e-6], [1e4, 1e-6], [1e30, 1e30]];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("mat_mul_f16");
    let types = GgmlType::ALL.into_iter().filter(|&ty| supports(&Matrix::whole(ty, 1, 256, BufferId(0)), 256));
    let all: Vec<Groups> = RULES.iter().filter_map(|rule| rule.groups).collect();
    let mut cases = Vec::new();
    for (i, ty) in types.enumerate() {
        let widths: &[u32] = if ty.block_len() <= 32 { &[32, 96, 1056, 64] } else { &[256, 768] };
        for (g, &groups) in all.iter().enumerate() {
            let kind = KINDS[(i + g) % KINDS.len()];
            cases.push(multiply(random, groups, (ty, widths[(i + g) % widths.len()], kind), [1.0, 1.0]));
        }
    }
    // Columns that end in a block.
    for (i, (cols, &groups)) in [100, 1076].into_iter().zip(all.iter().cycle()).enumerate() {
        cases.push(multiply(random, groups, (GgmlType::F16, cols, KINDS[1 + i]), [1.0, 1.0]));
    }
    for (&size, &groups) in SIZES.iter().zip(all.iter().cycle()) {
        cases.push(multiply(random, groups, (GgmlType::Q4_0, 256, KINDS[3]), size));
    }
    cases.extend([(1, 32, 1.0), (3, 100, 1e9), (2, 2084, 1e-9), (2, 96, 0.0)].map(|size| rounding(random, size)));
    let needs = (!suite.caps.f16).then_some("shader-f16");
    cases.into_iter().map(|case| Case { needs, ..case }).collect()
}

/// Values in blocks of 32 of a size each, divided by 1, 2 or 4, so that each block of a row has a scale of its own.
fn values(random: &mut Random, count: u32, size: [f32; 2]) -> Vec<f32> {
    let sized = |(i, x)| x * size[i / 32 % 2] / (1 << (i / 32 % 3)) as f32;
    random.floats(count as usize).into_iter().enumerate().map(sized).collect()
}

fn multiply(random: &mut Random, groups: Groups, (ty, cols, kind): (GgmlType, u32, Kind), size: [f32; 2]) -> Case {
    let mut bench = Bench::new(kind.tokens);
    let rows: Vec<_> = (0..kind.tokens).map(|_| reference::round_f16_blocks(&values(random, cols, size))).collect();
    let blocks = rows.concat();
    let halves: Vec<u16> = blocks.iter().flat_map(|block| block.halves.clone()).collect();
    let scales: Vec<f32> = blocks.iter().map(|block| block.scale).collect();
    let halves = Halves { x: bench.bytes(bytemuck::cast_slice(&halves)).into(), scales: bench.floats(&scales).into() };
    let x: Vec<f32> = rows.iter().flat_map(|row| row.iter().flat_map(HalfRow::values).take(cols as usize)).collect();
    let Tolerance { abs, rel } = Tolerance::HALF_SUMS;
    let tolerance = Tolerance { abs: abs * size[0], rel };
    let activations = Activations { values: &x, x: None };
    let case = product(random, bench, (ty, cols), kind, activations, tolerance, |fixed, problem: &MatMul| {
        mat_mul_f16(groups, fixed, problem, &halves)
    });
    Case { name: format!("{} of size {:e}, {:e}", case.name, size[0], size[1]), ..case }
}

/// The halves themselves, or (every other case) their scales.
fn rounding(random: &mut Random, (tokens, cols, size): (u32, u32, f32)) -> Case {
    let mut bench = Bench::new(tokens);
    let x_stride = cols + 4;
    let rows = values(random, tokens * cols, [size; 2]);
    let x: Vec<f32> = rows.chunks_exact(cols as usize).flat_map(|row| [row, &[9e30; 4]].concat()).collect();
    let blocks: Vec<_> = rows.chunks_exact(cols as usize).flat_map(reference::round_f16_blocks).collect();
    let out = Halves {
        x: bench.bytes(&vec![0x55; 64 * blocks.len()]).into(),
        scales: bench.floats(&vec![f32::NAN; blocks.len()]).into(),
    };
    let x = bench.floats(&x).into();
    let dispatch = round_f16_blocks(bench.fixed().0, (cols, x_stride), x, &out);
    let (output, expected) = match tokens {
        2 => (out.scales, Expected::Exact(blocks.iter().map(|block| block.scale.to_bits()).collect())),
        _ => {
            let halves = blocks.iter().flat_map(|block| block.halves.clone()).collect();
            (out.x, Expected::Halves(halves, Tolerance::HALF))
        }
    };
    bench.case(format!("{tokens} rows of {cols}, size {size:e}"), vec![dispatch], output.buffer, expected)
}
