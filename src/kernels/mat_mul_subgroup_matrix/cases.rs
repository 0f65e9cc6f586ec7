//! Quantised and f16 weights times activations in f16, in every tile; and the rounding of activations.

use crate::gguf::GgmlType;
use crate::harness::product::{Activations, Kind, product};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::caps::MatrixShape;
use crate::kernels::layout::{BLOCK, Matrix};
use crate::kernels::mat_mul::MatMul;
use crate::kernels::mat_mul_subgroup_matrix::{Halves, RULES, Subgroups, Tiling, dispatch, round_f16, supports};
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::reference;
use crate::kernels::spec::BufferId;

const KINDS: &[Kind] = &[
    Kind { rows: 33, tokens: 1, bias: false, epilogue: Epilogue::Store, cut: None, beside: 3 },
    Kind { rows: 131, tokens: 65, bias: true, epilogue: Epilogue::Residual, cut: Some(70), beside: 3 },
    Kind { rows: 64, tokens: 33, bias: true, epilogue: Epilogue::Residual, cut: None, beside: 3 },
    Kind { rows: 129, tokens: 129, bias: false, epilogue: Epilogue::Store, cut: None, beside: 3 },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("mat_mul_subgroup_matrix"));
    let mut cases = Vec::new();
    // A case that the device cannot run is made as for one that can, and names the missing feature.
    let missing = caps.subgroup_matrix.is_none().then_some("chromium-experimental-subgroup-matrix");
    let subgroups = match caps.subgroup_matrix {
        Some(shape) => Subgroups { size: caps.subgroup_size.0, shape },
        None => Subgroups { size: 32, shape: MatrixShape::ALL[0] },
    };
    let types = GgmlType::ALL.into_iter().filter(|&ty| supports(&Matrix::whole(ty, 1, 256, BufferId(0)), 256));
    let widths = |ty: GgmlType| if ty.block_len() <= 32 { &[32, 96, 1056, 64][..] } else { &[256, 768] };
    let of_types = types.enumerate().map(|(i, ty)| (ty, widths(ty)[i % widths(ty).len()]));
    // Columns that end in a block.
    let ragged = [16, 100, 1076, 36].map(|cols| (GgmlType::F16, cols));
    for (i, (ty, cols)) in of_types.chain(ragged).enumerate() {
        let wanted = (ty, cols, KINDS[i % KINDS.len()]);
        let rule = RULES[i % RULES.len()];
        let case = multiply(random, subgroups, rule.tiling, wanted);
        let no_room = (!rule.can_run(caps, subgroups)).then_some("more threads or more memory in a workgroup");
        cases.push(Case { needs: missing.or(no_room), ..case });
    }
    let missing = (!caps.f16).then_some("shader-f16");
    let sizes = [(1, 32, 1.0), (3, 100, 1e9), (2, 2080, 1e-9), (2, 1028, 0.0)];
    cases.extend(sizes.map(|size| Case { needs: missing, ..rounding(random, size) }));
    cases
}

fn multiply(
    random: &mut Random,
    subgroups: Subgroups,
    tiling: Tiling,
    (ty, cols, kind): (GgmlType, u32, Kind),
) -> Case {
    let mut bench = Bench::new(kind.tokens);
    let rows: Vec<_> = (0..kind.tokens).map(|t| reference::round_f16(&row(random, t, cols))).collect();
    let halves: Vec<u16> = rows.iter().flat_map(|row| row.halves.clone()).collect();
    let scales: Vec<f32> = rows.iter().map(|row| row.scale).collect();
    let halves = Halves { x: bench.bytes(bytemuck::cast_slice(&halves)).into(), scales: bench.floats(&scales).into() };
    let x: Vec<f32> = rows.iter().flat_map(|row| row.values().take(cols as usize)).collect();
    product(
        random,
        bench,
        (ty, cols),
        kind,
        Activations { values: &x, x: None },
        Tolerance::HALF_WEIGHTS,
        |fixed, problem: &MatMul| {
            let shards = problem.weights.shards.iter();
            shards.map(|shard| dispatch(subgroups, tiling, fixed, problem, &halves, shard)).collect()
        },
    )
}

/// Values of the order of 1, or of a half or a quarter of it, so that each row has a scale of its own.
fn row(random: &mut Random, token: u32, cols: u32) -> Vec<f32> {
    random.floats(cols as usize).into_iter().map(|x| x / (1 << (token % 3)) as f32).collect()
}

/// The halves themselves, or (every other case) their scales.
fn rounding(random: &mut Random, (tokens, cols, size): (u32, u32, f32)) -> Case {
    let mut bench = Bench::new(tokens);
    let x_stride = cols + 4;
    let rows: Vec<Vec<f32>> =
        (0..tokens).map(|t| row(random, t, cols).into_iter().map(|x| size * x).collect()).collect();
    let x: Vec<f32> = rows.iter().flat_map(|row| [row.as_slice(), &[9e30; 4]].concat()).collect();
    let rounded: Vec<_> = rows.iter().map(|row| reference::round_f16(row)).collect();
    let out = Halves {
        x: bench.bytes(&vec![0x55; (2 * tokens * cols.next_multiple_of(BLOCK)) as usize]).into(),
        scales: bench.floats(&vec![f32::NAN; tokens as usize]).into(),
    };
    let x = bench.floats(&x).into();
    let dispatch = round_f16((cols, x_stride), x, &out);
    let (output, expected) = match tokens {
        2 => {
            let scales = rounded.iter().map(|row| row.scale.to_bits()).collect();
            (out.scales, Expected::Exact(scales))
        }
        _ => {
            let halves = rounded.iter().flat_map(|row| row.halves.clone()).collect();
            (out.x, Expected::Halves(halves, Tolerance::HALF))
        }
    };
    bench.case(format!("{tokens} rows of {cols}, size {size:e}"), vec![dispatch], output.buffer, expected)
}
