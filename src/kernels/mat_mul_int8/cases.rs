//! Every quantised type times activations of 8 bits, exactly as `reference::quantise` rounds them; and the rounding.

use crate::gguf::GgmlType;
use crate::harness::product::{Activations, Kind, product};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::mat_mul::MatMul;
use crate::kernels::mat_mul_int8::{Quants, mat_mul_int8, quantise};
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::reference;

const KINDS: &[Kind] = &[
    Kind { rows: 33, tokens: 29, bias: false, epilogue: Epilogue::Store, cut: None, beside: 3 },
    Kind { rows: 131, tokens: 65, bias: true, epilogue: Epilogue::Residual, cut: Some(70), beside: 3 },
    Kind { rows: 64, tokens: 33, bias: true, epilogue: Epilogue::Residual, cut: None, beside: 3 },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("mat_mul_int8"));
    let missing = (!caps.dot4).then_some("packed_4x8_integer_dot_product");
    let types: Vec<GgmlType> = GgmlType::ALL.into_iter().filter(|&ty| ty.is_quantised()).collect();
    let products = types.iter().enumerate().map(|(i, &ty)| {
        let widths: &[u32] = if ty.block_len() == 32 { &[32, 96, 1056, 64] } else { &[256, 768] };
        Case { needs: missing, ..multiply(random, (ty, widths[i % widths.len()]), KINDS[i % KINDS.len()]) }
    });
    let mut cases: Vec<Case> = products.collect();
    cases.extend([(1, 32), (3, 96), (2, 2080)].map(|(tokens, cols)| rounding(random, tokens, cols)));
    cases
}

/// Numbers whose quants do not depend on rounding errors of the device, with a block of zeros.
fn activations(random: &mut Random, tokens: u32, cols: u32) -> Vec<f32> {
    let mut x = random.floats((tokens * cols) as usize);
    for block in x.chunks_exact_mut(32) {
        let largest = block.iter().fold(0f32, |max, x| max.max(x.abs()));
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

/// The quants and their scales as the device stores them, and their values.
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

fn multiply(random: &mut Random, (ty, cols): (GgmlType, u32), kind: Kind) -> Case {
    let mut bench = Bench::new(kind.tokens);
    let (quants, x) = quants(&mut bench, &activations(random, kind.tokens, cols));
    let activations = Activations { values: &x, x: None };
    product(random, bench, (ty, cols), kind, activations, Tolerance::dot(ty), |fixed, problem: &MatMul| {
        mat_mul_int8(fixed, problem, &quants)
    })
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
