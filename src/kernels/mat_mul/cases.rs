//! Every type in every tile of the table, with every epilogue, within wider rows of y, and split.

use crate::gguf::GgmlType;
use crate::harness::product::{Activations, Kind, product};
use crate::harness::{Bench, Case, Random, Suite, Tolerance};
use crate::kernels::mat_mul::{MatMul, RULES, Tile, dispatch};
use crate::kernels::mat_vec::Epilogue;

const KINDS: &[Kind] = &[
    Kind { rows: 33, tokens: 1, bias: false, epilogue: Epilogue::Store, cut: None, beside: 0 },
    Kind { rows: 257, tokens: 33, bias: true, epilogue: Epilogue::Store, cut: Some(100), beside: 12 },
    Kind { rows: 31, tokens: 65, bias: false, epilogue: Epilogue::Residual, cut: None, beside: 4 },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (random, step) = (&mut suite.random("mat_mul"), suite.step);
    let mut cases = Vec::new();
    for (t, ty) in GgmlType::ALL.into_iter().enumerate() {
        for (r, rule) in RULES.iter().enumerate() {
            let chosen = KINDS.iter().enumerate().filter(|(k, _)| (t + r + k) % step == 0);
            let turned = chosen.map(|(k, kind)| (kind, widths(ty)[(t / 3 + r + k) % widths(ty).len()]));
            cases.extend(turned.map(|(kind, cols)| case(random, (ty, cols), rule.tile, kind)));
        }
    }
    // One of each shader: the first tile has its own.
    cases.extend(RULES[..2].iter().map(|rule| fewer_rows_case(random, rule.tile)));
    cases
}

/// Fewer rows of x than the pass has: those of y past them stay as they are.
fn fewer_rows_case(random: &mut Random, tile: Tile) -> Case {
    let (ty, cols, kind) = (GgmlType::Q4_0, 96, Kind { beside: 0, ..KINDS[1] });
    let mut bench = Bench::new(kind.tokens + 2);
    let values = random.floats((cols * kind.tokens) as usize);
    let activations = Activations { values: &values, x: Some((bench.floats(&values).into(), cols)) };
    let case = product(random, bench, (ty, cols), kind, activations, Tolerance::dot(ty), |fixed, problem: &MatMul| {
        let problem = MatMul { x_rows: kind.tokens, ..*problem };
        problem.weights.shards.iter().map(|shard| dispatch(tile, fixed, &problem, shard)).collect()
    });
    Case { name: format!("{} of a pass of {}", case.name, kind.tokens + 2), ..case }
}

fn widths(ty: GgmlType) -> &'static [u32] {
    match ty.block_len() {
        1 => &[1000, 128, 33, 257, 1, 31],
        32 => &[32, 96, 288],
        64 | 128 => &[128, 384],
        _ => &[256, 768],
    }
}

/// Rows of x are as much wider than their columns as those of y.
fn case(random: &mut Random, (ty, cols): (GgmlType, u32), tile: Tile, kind: &Kind) -> Case {
    let mut bench = Bench::new(kind.tokens);
    let x_stride = cols + kind.beside;
    let x = random.floats((x_stride * kind.tokens) as usize);
    let values: Vec<f32> = x.chunks_exact(x_stride as usize).flat_map(|row| &row[..cols as usize]).copied().collect();
    let activations = Activations { values: &values, x: Some((bench.floats(&x).into(), x_stride)) };
    product(random, bench, (ty, cols), *kind, activations, Tolerance::dot(ty), |fixed, problem: &MatMul| {
        problem.weights.shards.iter().map(|shard| dispatch(tile, fixed, problem, shard)).collect()
    })
}
