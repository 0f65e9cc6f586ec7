//! Every quantised type times activations of 8 bits, exactly as `reference::quantise` rounds them; and the rounding.

use super::data::Tensor;
use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::mat_mul::MatMul;
use crate::kernels::mat_mul_int8::{Quants, mat_mul_int8, quantise};
use crate::kernels::mat_vec::Epilogue;
use crate::reference;

/// (rows, tokens, bias and residual, shards)
const KINDS: &[(u32, u32, bool, bool)] = &[(33, 1, false, false), (131, 65, true, true), (64, 33, true, false)];

pub fn cases(random: &mut Random) -> Vec<Case> {
    let types: Vec<GgmlType> = GgmlType::ALL.into_iter().filter(|&ty| ty.is_quantised()).collect();
    let products = types.iter().enumerate().map(|(i, &ty)| {
        let widths: &[u32] = if ty.block_len() == 32 { &[32, 96, 1056, 64] } else { &[256, 768] };
        product(random, (ty, widths[i % widths.len()]), KINDS[i % KINDS.len()])
    });
    let mut cases: Vec<Case> = products.collect();
    cases.extend([(1, 32), (3, 96), (2, 2080)].map(|(tokens, cols)| rounding(random, tokens, cols)));
    cases
}

/// Numbers that no rounding error tips over to another quant, with a block of zeros.
fn activations(random: &mut Random, tokens: u32, cols: u32) -> Vec<f32> {
    let mut x = random.floats((tokens * cols) as usize);
    for block in x.chunks_exact_mut(32) {
        let largest = block.iter().fold(0f32, |most, x| most.max(x.abs()));
        let step = largest / 127.0;
        let near_half = |x: f32| ((x / step).fract().abs() - 0.5).abs() < 1e-2;
        block.iter_mut().filter(|x| near_half(**x)).for_each(|x| *x += 0.05 * step * -x.signum());
    }
    let last = x.len() - 32;
    if last > 0 {
        x[last..].fill(0.0);
    }
    x
}

/// The quants and their scales as the device has them, and the values they stand for.
fn quants(bench: &mut Bench, x: &[f32]) -> (Quants, Vec<f32>) {
    let blocks = reference::quantise(x);
    let bytes: Vec<u8> = blocks.iter().flat_map(|block| block.quants).map(|quant| quant as u8).collect();
    let scales: Vec<f32> = blocks.iter().flat_map(scales_of).collect();
    let quants = Quants { q: bench.bytes(&bytes).into(), scales: bench.floats(&scales).into() };
    (quants, blocks.iter().flat_map(reference::QuantBlock::values).collect())
}

fn scales_of(block: &reference::QuantBlock) -> [f32; 4] {
    let [low, high] = block.sums();
    [block.scale, low, high, 0.0]
}

fn product(random: &mut Random, (ty, cols): (GgmlType, u32), kind: (u32, u32, bool, bool)) -> Case {
    let (rows, tokens, beside, shards) = kind;
    let tensor = Tensor::new(random, ty, [rows, cols], 2.0 / (cols as f32).sqrt());
    let mut bench = Bench::new(tokens);
    let weights = tensor.upload(&mut bench, if shards { &[0, 70] } else { &[0] });
    let (quants, x) = quants(&mut bench, &activations(random, tokens, cols));
    let bias = beside.then(|| random.floats(rows as usize));
    let epilogue = if beside { Epilogue::Residual } else { Epilogue::Store };
    let (y_stride, y_offset) = (rows + 3, 2);
    // One row more than the pass has tokens: it stays as it is.
    let mut expected = random.floats((y_stride * (tokens + 1)) as usize);
    let y = bench.floats(&expected);
    let bias_slice = bias.as_ref().map(|bias| bench.floats(bias).into());
    let (state, dummy) = bench.fixed();
    let problem =
        MatMul { weights: &weights, x: quants.q, x_stride: cols, bias: bias_slice, epilogue, y: y.into(), y_stride, y_offset };
    let dispatches = mat_mul_int8((state, dummy), &problem, &quants);
    let mut sums = vec![0.0; (rows * tokens) as usize];
    reference::mat_mul(&tensor.reference(), &x, &mut sums).expect("the matrix is whole");
    for (sums, y) in sums.chunks_exact(rows as usize).zip(expected.chunks_exact_mut(y_stride as usize)) {
        for (r, (sum, y)) in sums.iter().zip(&mut y[y_offset as usize..]).enumerate() {
            *y = bias.as_ref().map_or(*sum, |bias| *y + sum + bias[r]);
        }
    }
    let name = format!("{rows}x{cols} for {tokens} tokens {epilogue:?} bias {beside} in {} shards", weights.shards.len());
    let case = bench.case(name, dispatches, y, Expected::Close(expected, Tolerance::dot(ty)));
    Case { flops: 2 * u64::from(rows) * u64::from(cols) * u64::from(tokens), ..case }
}

/// The quants themselves, or (every other case) their scales.
fn rounding(random: &mut Random, tokens: u32, cols: u32) -> Case {
    let mut bench = Bench::new(tokens);
    let x_stride = cols + 4;
    let rows = activations(random, tokens, cols);
    let x: Vec<f32> = rows.chunks_exact(cols as usize).flat_map(|row| [row, &[9.0; 4]].concat()).collect();
    let blocks = reference::quantise(&rows);
    let out = Quants {
        q: bench.bytes(&vec![0x55; rows.len()]).into(),
        scales: bench.floats(&vec![f32::NAN; rows.len() / 8]).into(),
    };
    let x = bench.floats(&x).into();
    let dispatch = quantise(bench.fixed().0, (cols, x_stride), x, &out);
    let (output, expected) = match tokens % 2 {
        0 => (out.scales, Expected::Close(blocks.iter().flat_map(scales_of).collect(), Tolerance::PLAIN)),
        _ => {
            let word = |four: &[i8]| four.iter().rev().fold(0, |word, &quant| word << 8 | u32::from(quant as u8));
            (out.q, Expected::Exact(blocks.iter().flat_map(|block| block.quants.chunks_exact(4).map(word)).collect()))
        }
    };
    bench.case(format!("{tokens} rows of {cols}"), vec![dispatch], output.buffer, expected)
}
