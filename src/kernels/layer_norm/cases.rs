//! Norms of tensors: widths from 1 to 16 K, with and without weight, offset, bias and residual; y and the sum.

use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference::{self, NormShape};
use crate::tensor::norm::{NormInputs, NormOptions, layer_norm, rms_norm};

/// The inputs of a norm besides x, and which of its outputs is compared.
#[derive(Clone, Copy, Default)]
struct Given {
    weight: bool,
    bias: bool,
    residual: bool,
    offset: f32,
    see_sum: bool,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("layer_norm"));
    let weighted = Given { weight: true, ..Given::default() };
    let gemma = Given { offset: 1.0, ..weighted };
    let added = Given { residual: true, ..gemma };
    let full = Given { bias: true, ..added };
    let sum = Given { see_sum: true, ..added };
    let mut cases = Vec::new();
    for centred in [true, false] {
        for width in [1, 2, 31, 33, 129, 257, 1000, 16_384] {
            cases.push(case(caps, random, centred, [3, width], full));
        }
        for given in [Given::default(), weighted, gemma, added, sum, Given { weight: false, residual: false, ..full }] {
            cases.push(case(caps, random, centred, [5, 65], given));
            cases.push(case(caps, random, centred, [2, 300], given));
        }
        cases.push(case(caps, random, centred, [70_000, 3], weighted));
        cases.push(case(&caps.with_software(true), random, centred, [67, 33], sum));
    }
    cases
}

fn case(caps: &Caps, random: &mut Random, centred: bool, [rows, width]: [u32; 2], given: Given) -> Case {
    const EPS: f32 = 1e-3;
    let len = (rows * width) as usize;
    let mut bench = OpBench::new(caps);
    let x: Vec<f32> = random.floats(len).into_iter().map(|v| 3.0 * v + 0.5).collect();
    let of_x = bench.floats(&[rows, width], &x);
    let mut input = |used: bool, shape: &[u32]| {
        let values = random.floats(shape.iter().product::<u32>() as usize);
        used.then(|| (bench.floats(shape, &values), values))
    };
    let weight = input(given.weight, &[width]);
    let bias = input(given.bias, &[width]);
    let residual = input(given.residual, &[rows, width]);
    let others = NormInputs {
        weight: weight.as_ref().map(|(tensor, _)| tensor),
        bias: bias.as_ref().map(|(tensor, _)| tensor),
        residual: residual.as_ref().map(|(tensor, _)| tensor),
    };
    let options = NormOptions { eps: Some(EPS), weight_offset: given.offset, sum: given.see_sum };
    let op = if centred { layer_norm } else { rms_norm };
    let made = op(&mut bench.tape, &of_x, &others, &options).expect("shapes fit");
    let added: Vec<f32> = match &residual {
        Some((_, residual)) => x.iter().zip(residual).map(|(x, r)| x + r).collect(),
        None => x,
    };
    let shape = NormShape {
        width: width as usize,
        centred,
        eps: EPS,
        weight: weight.as_ref().map(|(_, values)| values.as_slice()),
        weight_offset: given.offset,
        bias: bias.as_ref().map(|(_, values)| values.as_slice()),
    };
    let expected = if given.see_sum { added } else { reference::layer_norm(&added, &shape) };
    let output = made.last().expect("one output at least");
    let kernel_name = if centred { "layer_norm" } else { "rms_norm_residual" };
    // A value near the mean keeps the mean's rounding, up to 30 times as large.
    let tolerance = if centred { Tolerance { abs: 1e-5, ..Tolerance::PLAIN } } else { Tolerance::PLAIN };
    bench.case(kernel_name, name([rows, width], given), output, Expected::Close(expected, tolerance))
}

fn name([rows, width]: [u32; 2], given: Given) -> String {
    let parts = [
        (given.weight, "weight"),
        (given.offset != 0.0, "offset"),
        (given.bias, "bias"),
        (given.residual, "residual"),
        (given.see_sum, "the sum"),
    ];
    let used: Vec<&str> = parts.iter().filter(|(used, _)| *used).map(|(_, name)| *name).collect();
    format!("{rows}x{width} {}", used.join(", ")).trim_end().to_owned()
}
