//! Every type in every tile of the table, with every epilogue, beside other rows of y, and split.

use super::data::Tensor;
use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::mat_mul::{MatMul, RULES, Tile, dispatch};
use crate::kernels::mat_vec::Epilogue;
use crate::reference;

/// What a case does beside the product.
#[derive(Debug, Clone, Copy)]
struct Kind {
    rows: u32,
    tokens: u32,
    bias: bool,
    epilogue: Epilogue,
    shards: bool,
    /// Elements of a row of x, and of y, that belong to something else.
    beside: u32,
}

const KINDS: &[Kind] = &[
    Kind { rows: 33, tokens: 1, bias: false, epilogue: Epilogue::Store, shards: false, beside: 0 },
    Kind { rows: 257, tokens: 33, bias: true, epilogue: Epilogue::Store, shards: true, beside: 12 },
    Kind { rows: 31, tokens: 65, bias: false, epilogue: Epilogue::Residual, shards: false, beside: 4 },
];

pub fn cases(random: &mut Random, step: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (t, ty) in GgmlType::ALL.into_iter().enumerate() {
        for (r, rule) in RULES.iter().enumerate() {
            let chosen = KINDS.iter().enumerate().filter(|(k, _)| (t + r + k) % step == 0);
            let turned = chosen.map(|(k, kind)| (kind, widths(ty)[(t / 3 + r + k) % widths(ty).len()]));
            cases.extend(turned.map(|(kind, cols)| case(random, (ty, cols), rule.tile, kind)));
        }
    }
    cases
}

fn widths(ty: GgmlType) -> &'static [u32] {
    match ty.block_len() {
        1 => &[1000, 128, 33, 257, 1, 31],
        32 => &[32, 96, 288],
        _ => &[256, 768],
    }
}

fn case(random: &mut Random, (ty, cols): (GgmlType, u32), tile: Tile, kind: &Kind) -> Case {
    let &Kind { rows, tokens, epilogue, beside, .. } = kind;
    let tensor = Tensor::new(random, ty, [rows, cols], 2.0 / (cols as f32).sqrt());
    let mut bench = Bench::new(tokens);
    let starts: &[u32] = if kind.shards { &[0, 100] } else { &[0] };
    let weights = tensor.upload(&mut bench, starts);
    let (x_stride, y_stride, y_offset) = (cols + beside, rows + beside, beside / 2);
    let x = random.floats((x_stride * tokens) as usize);
    let bias = kind.bias.then(|| random.floats(rows as usize));
    // One row more than the pass has tokens: it stays as it is.
    let mut expected = random.floats((y_stride * (tokens + 1)) as usize);
    let y = bench.floats(&expected);
    let problem = MatMul {
        weights: &weights,
        x: bench.floats(&x).into(),
        x_stride,
        bias: bias.as_ref().map(|bias| bench.floats(bias).into()),
        epilogue,
        y: y.into(),
        y_stride,
        y_offset,
    };
    let shards = weights.shards.iter();
    let dispatches = shards.map(|shard| dispatch(tile, bench.fixed(), &problem, shard)).collect();
    let columns: Vec<f32> = x.chunks_exact(x_stride as usize).flat_map(|row| &row[..cols as usize]).copied().collect();
    let mut sums = vec![0.0; (rows * tokens) as usize];
    reference::mat_mul(&tensor.reference(), &columns, &mut sums).expect("the matrix is whole");
    for (sums, y) in sums.chunks_exact(rows as usize).zip(expected.chunks_exact_mut(y_stride as usize)) {
        for (r, (sum, y)) in sums.iter().zip(&mut y[y_offset as usize..]).enumerate() {
            let sum = sum + bias.as_ref().map_or(0.0, |bias| bias[r]);
            *y = if epilogue == Epilogue::Residual { *y + sum } else { sum };
        }
    }
    let name = format!(
        "{rows}x{cols} for {tokens} tokens {epilogue:?} bias {} shards {} beside {beside}",
        kind.bias,
        starts.len()
    );
    bench.case(name, dispatches, y, Expected::Close(expected, Tolerance::dot(ty)))
}
