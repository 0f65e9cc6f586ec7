//! Every operation with hostile arguments, every kind of broadcasting, every type, long chains, in place.

use std::f32::consts::FRAC_PI_4;

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::elementwise::{Arg, Op, Step};
use crate::kernels::reference;
use crate::tensor::elementwise::{binary, cast, fuse, fuse_in_place, select, unary};
use crate::tensor::{DType, Tensor};

const STEM: &str = "elementwise";
const IN_PLACE: &str = "elementwise_in_place";

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("elementwise"));
    let mut cases: Vec<Case> = Op::ALL.into_iter().map(|op| operation(caps, random, op)).collect();
    cases.extend(BROADCASTS.iter().map(|(name, shapes)| broadcast(caps, random, name, shapes)));
    cases.extend(SIZES.iter().map(|&size| copy_of_bits(caps, random, size)));
    cases.extend(CASTS.iter().map(|&[held, to]| conversion(caps, random, held, to)));
    cases.extend(halves(caps, random));
    cases.extend([long_chain(caps, random), numbers(caps, random), selection(caps, random)]);
    cases.extend(in_place(caps, random));
    cases
}

/// A tensor of this type, and the numbers it holds after rounding.
pub fn tensor(bench: &mut OpBench, dtype: DType, shape: &[u32], values: &[f32]) -> (Tensor, Vec<f32>) {
    match dtype {
        DType::F32 => (bench.floats(shape, values), values.to_vec()),
        DType::F16 => {
            let rounded = values.iter().map(|&value| f16_to_f32(f16_from_f32(value))).collect();
            (bench.halves(shape, values), rounded)
        }
        DType::BF16 => {
            let bits: Vec<u16> = values.iter().map(|&value| brain(value)).collect();
            let rounded = bits.iter().map(|&bits| f32::from_bits(u32::from(bits) << 16)).collect();
            (bench.bytes(dtype, shape, bytemuck::cast_slice(&bits)), rounded)
        }
        DType::U32 => {
            let words: Vec<u32> = values.iter().map(|&value| value as u32).collect();
            (bench.words(dtype, shape, &words), words.iter().map(|&word| word as f32).collect())
        }
        _ => {
            let words: Vec<u32> = values.iter().map(|&value| value as i32 as u32).collect();
            (bench.words(dtype, shape, &words), words.iter().map(|&word| word as i32 as f32).collect())
        }
    }
}

/// The nearest bf16.
fn brain(value: f32) -> u16 {
    if value.is_nan() { 0x7fc0 } else { half::bf16::from_f32(value).to_bits() }
}

/// The expected contents of a tensor of this type for these numbers. For 16-bit types the last bit may be off.
pub fn expected(dtype: DType, values: &[f64], tolerance: Tolerance) -> Expected {
    let singles = values.iter().map(|&value| value as f32);
    match dtype {
        DType::F32 => Expected::Close(singles.collect(), tolerance),
        DType::F16 => Expected::Halves(singles.map(f16_from_f32).collect(), Tolerance::HALF),
        DType::BF16 => {
            let bits: Vec<u16> = singles.map(brain).collect();
            Expected::Exact(
                bits.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(*pair.get(1).unwrap_or(&0)) << 16).collect(),
            )
        }
        DType::U32 => Expected::Exact(values.iter().map(|&value| value as u32).collect()),
        _ => Expected::Exact(values.iter().map(|&value| value as i32 as u32).collect()),
    }
}

fn args(count: usize) -> Vec<Arg> {
    (0..count as u32).map(Arg::Input).collect()
}

/// Arguments for which the operation is defined, among them the ends of that range.
fn arguments(random: &mut Random, op: Op, input: usize, count: usize) -> Vec<f32> {
    let random_in = |random: &mut Random, low: f32, high: f32| -> Vec<f32> {
        random.floats(count).iter().map(|value| low + (high - low) * 0.5 * (value + 1.0)).collect()
    };
    let (mut values, ends): (Vec<f32>, &[f32]) = match op {
        Op::Exp => (random_in(random, -10.0, 10.0), &[0.0, -80.0, 80.0, 1.0]),
        Op::Log | Op::Rsqrt => (random_in(random, 1e-3, 10.0), &[1.0, 1e-30, 1e30, 0.999]),
        Op::Sqrt => (random_in(random, 0.0, 10.0), &[0.0, 1e-30, 1e30, 4.0]),
        Op::Sin | Op::Cos => (random_in(random, -1000.0, 1000.0), &[0.0, -1e-20, 1e6, 3e37, FRAC_PI_4, 355.0]),
        Op::Tanh => (random_in(random, -5.0, 5.0), &[0.0, 1e-10, -1e30, 1e30, 0.3, -90.0]),
        Op::Sigmoid | Op::Silu | Op::Gelu | Op::GeluErf => {
            (random_in(random, -8.0, 8.0), &[0.0, 1e-10, -1e4, 1e4, -100.0, 90.0])
        }
        Op::Pow if input == 0 => (random_in(random, 0.05, 3.0), &[0.0, 0.0, -2.0, -2.0, -1.5, 1.0, 7.0, -4.0]),
        Op::Pow => (random_in(random, -3.0, 3.0), &[0.0, 2.5, 3.0, 2.0, 0.5, 1e30, 0.0, -3.0]),
        Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual | Op::Where => {
            let coarse = random_in(random, -2.0, 2.0).iter().map(|value| value.round()).collect();
            (coarse, &[0.0, 1e-20, 16777216.0, -1.0][input..])
        }
        Op::Div if input == 1 => (random_in(random, 0.1, 4.0), &[-1.0, 1e-10, 1e10, 3.0]),
        _ => (random_in(random, -4.0, 4.0), &[0.0, -1e30, 1e30, -0.0]),
    };
    values.iter_mut().zip(ends).for_each(|(value, &end)| *value = end);
    values
}

/// The tolerance of an operation.
fn tolerance(op: Op) -> Tolerance {
    match op {
        Op::Sin | Op::Cos => Tolerance { abs: 1e-6, rel: 0.0 },
        Op::Add | Op::Sub | Op::Mul | Op::Scale | Op::Div => Tolerance::READ,
        _ => Tolerance::PLAIN,
    }
}

fn operation(caps: &Caps, random: &mut Random, op: Op) -> Case {
    const LEN: u32 = 1000;
    let mut bench = OpBench::new(caps);
    let values: Vec<_> = (0..op.arity()).map(|input| arguments(random, op, input, LEN as usize)).collect();
    let tensors: Vec<_> = values.iter().map(|values| bench.floats(&[LEN], values)).collect();
    let inputs: Vec<_> = values.iter().map(|values| (&values[..], &[LEN][..])).collect();
    let step = Step::new(op, &args(op.arity()));
    let wanted = reference::elementwise(&[LEN], &inputs, std::slice::from_ref(&step));
    let y = match &tensors[..] {
        [x] => unary(&mut bench.tape, op, x),
        [a, b] => binary(&mut bench.tape, op, a, b),
        _ => select(&mut bench.tape, &tensors[0], &tensors[1], &tensors[2]),
    };
    let y = y.expect("shapes fit");
    bench.case(STEM, format!("{LEN} elements"), &y, expected(DType::F32, &wanted, tolerance(op)))
}

/// Shapes of a and b; a − b tells them apart. They share few pipelines, by how each input is read.
const BROADCASTS: &[(&str, [&[u32]; 2])] = &[
    ("one element", [&[], &[1]]),
    ("31 + scalar", [&[31], &[]]),
    ("scalar + 33", [&[1, 1], &[33]]),
    ("257 in two ranks", [&[257], &[1, 1, 257]]),
    ("bias in quads", [&[33, 64], &[64]]),
    ("bias", [&[33, 31], &[31]]),
    ("column in quads", [&[7, 12], &[7, 1]]),
    ("column", [&[9, 31], &[9, 1]]),
    ("outer product", [&[33, 1], &[1, 31]]),
    ("outer product in quads", [&[3, 1, 32], &[5, 32]]),
    ("both ways, rank 5", [&[2, 1, 3, 1, 5], &[1, 4, 3, 2, 1]]),
    ("both ways, rank 5, in quads", [&[2, 1, 3, 1, 8], &[5, 1, 2, 1]]),
    ("262,147 elements", [&[262_147], &[262_147]]),
];

fn broadcast(caps: &Caps, random: &mut Random, name: &str, shapes: &[&[u32]; 2]) -> Case {
    let mut bench = OpBench::new(caps);
    let values = shapes.map(|shape| random.floats(shape.iter().product::<u32>() as usize));
    let a = bench.floats(shapes[0], &values[0]);
    let b = bench.floats(shapes[1], &values[1]);
    let y = binary(&mut bench.tape, Op::Sub, &a, &b).expect("shapes fit");
    let steps = [Step::new(Op::Sub, &args(2))];
    let wanted = reference::elementwise(&y.shape, &[(&values[0], shapes[0]), (&values[1], shapes[1])], &steps);
    bench.case(STEM, format!("broadcast: {name}"), &y, expected(DType::F32, &wanted, Tolerance::READ))
}

const SIZES: &[u32] = &[1, 31, 33, 257];

/// Random words, among them subnormal numbers and NaNs.
fn copy_of_bits(caps: &Caps, random: &mut Random, size: u32) -> Case {
    let mut bench = OpBench::new(caps);
    let mut words: Vec<u32> = (0..size).map(|_| random.bits() as u32).collect();
    words.iter_mut().zip([1, 0x7f80_0001, 0x8000_0000, 0xffff_ffff]).for_each(|(word, hostile)| *word = hostile);
    let x = bench.words(DType::U32, &[size], &words);
    let y = unary(&mut bench.tape, Op::Copy, &x).expect("shapes fit");
    bench.case(STEM, format!("{size} words"), &y, Expected::Exact(words))
}

const CASTS: &[[DType; 2]] = &[
    [DType::F32, DType::F16],
    [DType::F32, DType::BF16],
    [DType::F16, DType::F32],
    [DType::BF16, DType::F32],
    [DType::F16, DType::BF16],
    [DType::BF16, DType::F16],
    [DType::BF16, DType::BF16],
    [DType::U32, DType::F32],
    [DType::I32, DType::F32],
    [DType::F32, DType::U32],
    [DType::F32, DType::I32],
];

/// Among them values too large for the new type, ties, NaN and infinity.
fn conversion(caps: &Caps, random: &mut Random, held: DType, to: DType) -> Case {
    let mut bench = OpBench::new(caps);
    let mut values: Vec<f32> = random.floats(33).iter().map(|value| value * 100.0).collect();
    let mut hostile = vec![0.0, 65504.0, 2049.0, 2051.0, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, -7.0];
    let floats = [held, to].iter().all(|dtype| !matches!(dtype, DType::U32 | DType::I32));
    // NaNs whose bits, if rounded like those of numbers, would become infinity.
    let nans = [0x7f80_0001, 0xff80_7fff].map(f32::from_bits);
    hostile.extend(if floats { [65536.0, -1e30, f32::INFINITY, f32::NAN] } else { [3e9, -3e9, 0.999, -0.999] });
    hostile.extend(if floats { &nans[..] } else { &[] });
    values.iter_mut().zip(hostile).for_each(|(value, hostile)| *value = hostile);
    let (x, rounded) = tensor(&mut bench, held, &[11, 3], &values);
    let y = cast(&mut bench.tape, &x, to).expect("types fit");
    let wanted: Vec<f64> = rounded.iter().map(|&value| saturated(to, f64::from(value))).collect();
    bench.case(STEM, format!("{} to {}", held.name(), to.name()), &y, expected(to, &wanted, Tolerance::READ))
}

/// The ends of an integer's range, as near as f32 comes to them.
fn saturated(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::U32 => value.clamp(0.0, 4_294_967_040.0),
        DType::I32 => value.clamp(-2_147_483_648.0, 2_147_483_520.0),
        _ => value,
    }
}

/// 16-bit inputs and results, contiguous and broadcast, odd counts.
fn halves(caps: &Caps, random: &mut Random) -> Vec<Case> {
    type Kind = (DType, [DType; 2], [&'static [u32]; 2]);
    let kinds: [Kind; 5] = [
        (DType::F16, [DType::F16, DType::F16], [&[31, 33], &[31, 33]]),
        (DType::F16, [DType::F16, DType::F16], [&[9, 31], &[31]]),
        (DType::BF16, [DType::BF16, DType::BF16], [&[9, 32], &[32]]),
        (DType::F32, [DType::F16, DType::BF16], [&[5, 1, 7], &[3, 7]]),
        (DType::F32, [DType::BF16, DType::F32], [&[3, 20], &[3, 1]]),
    ];
    let case = |(dtype, held, shapes): Kind| {
        let mut bench = OpBench::new(caps);
        let values = shapes.map(|shape| random.floats(shape.iter().product::<u32>() as usize));
        let (a, a_values) = tensor(&mut bench, held[0], shapes[0], &values[0]);
        let (b, b_values) = tensor(&mut bench, held[1], shapes[1], &values[1]);
        let y = binary(&mut bench.tape, Op::Mul, &a, &b).expect("shapes fit");
        assert_eq!(y.dtype, dtype);
        let inputs = [(&a_values[..], shapes[0]), (&b_values[..], shapes[1])];
        let wanted = reference::elementwise(&y.shape, &inputs, &[Step::new(Op::Mul, &args(2))]);
        let name = format!("{} by {}", a.describe(), b.describe());
        bench.case(STEM, name, &y, expected(dtype, &wanted, Tolerance::READ))
    };
    kinds.into_iter().map(case).collect()
}

/// Sixteen steps over six inputs, each of which reads the step before it and an input, another step or a number.
fn long_chain(caps: &Caps, random: &mut Random) -> Case {
    use Arg::{Input, Number, Step as S};
    let steps = [
        Step::new(Op::Silu, &[Input(0)]),
        Step::new(Op::Mul, &[S(0), Input(1)]),
        Step::new(Op::Add, &[S(1), Input(2)]),
        Step::new(Op::Tanh, &[S(2)]),
        Step::new(Op::Max, &[S(3), Number(-0.5)]),
        Step::new(Op::Sub, &[S(4), Input(3)]),
        Step::new(Op::Greater, &[S(5), Number(0.25)]),
        Step::new(Op::Where, &[S(6), S(5), S(2)]),
        Step::new(Op::Scale, &[S(7), Number(0.125)]),
        Step::new(Op::Add, &[S(8), Input(4)]),
        Step::new(Op::Abs, &[S(9)]),
        Step::new(Op::Add, &[S(10), Number(1.5)]),
        Step::new(Op::Sqrt, &[S(11)]),
        Step::new(Op::Div, &[S(8), S(12)]),
        Step::new(Op::Neg, &[S(13)]),
        Step::new(Op::Add, &[S(14), Input(5)]),
    ];
    let shapes: [&[u32]; 6] = [&[3, 5, 7], &[7], &[3, 5, 7], &[5, 1], &[], &[3, 1, 1]];
    let mut bench = OpBench::new(caps);
    let values = shapes.map(|shape| random.floats(shape.iter().product::<u32>() as usize));
    let tensors: Vec<_> = shapes.iter().zip(&values).map(|(shape, values)| bench.floats(shape, values)).collect();
    let y = fuse(&mut bench.tape, &tensors.iter().collect::<Vec<_>>(), &steps, None).expect("the chain is right");
    let inputs: Vec<_> = values.iter().map(Vec::as_slice).zip(shapes).collect();
    let wanted = reference::elementwise(&y.shape, &inputs, &steps);
    bench.case(STEM, "16 steps, 6 inputs", &y, expected(DType::F32, &wanted, Tolerance::PLAIN))
}

/// Sixteen different numbers, the result in f16.
fn numbers(caps: &Caps, random: &mut Random) -> Case {
    let mut steps = vec![Step::new(Op::Add, &[Arg::Input(0), Arg::Number(0.1)])];
    let term = |i: u32| {
        Step::new(if i.is_multiple_of(2) { Op::Sub } else { Op::Add }, &[Arg::Step(i - 1), Arg::Number(0.3 * i as f32)])
    };
    steps.extend((1..16).map(term));
    let values = random.floats(1001);
    let mut bench = OpBench::new(caps);
    let x = bench.floats(&[7, 143], &values);
    let y = fuse(&mut bench.tape, &[&x], &steps, Some(DType::F16)).expect("the chain is right");
    let wanted = reference::elementwise(&y.shape, &[(&values, &y.shape)], &steps);
    bench.case(STEM, "16 numbers to f16", &y, expected(DType::F16, &wanted, Tolerance::HALF))
}

/// A condition of integers, broadcast.
fn selection(caps: &Caps, random: &mut Random) -> Case {
    let mut bench = OpBench::new(caps);
    let condition: Vec<u32> = (0..31).map(|_| random.below(2)).collect();
    let (a, b) = (random.floats(9 * 31), random.floats(9));
    let mask = bench.words(DType::U32, &[31], &condition);
    let inputs = [bench.floats(&[9, 31], &a), bench.floats(&[9, 1], &b)];
    let y = select(&mut bench.tape, &mask, &inputs[0], &inputs[1]).expect("shapes fit");
    let wanted: Vec<f64> =
        (0..9 * 31).map(|i| f64::from(if condition[i % 31] != 0 { a[i] } else { b[i / 31] })).collect();
    bench.case(STEM, "u32 condition", &y, expected(DType::F32, &wanted, Tolerance::READ))
}

/// The result in the first input: alone, with a bias, with itself, in 16 bits.
fn in_place(caps: &Caps, random: &mut Random) -> Vec<Case> {
    use Arg::{Input, Number};
    type Kind<'a> = (&'a str, DType, Vec<&'a [u32]>, Vec<Step>);
    let kinds: Vec<Kind> = vec![
        ("relu", DType::F32, vec![&[257]], vec![Step::new(Op::Relu, &[Input(0)])]),
        ("bias", DType::F32, vec![&[97, 31], &[31]], vec![Step::new(Op::Add, &[Input(0), Input(1)])]),
        ("halves", DType::F16, vec![&[31, 33]], vec![Step::new(Op::Scale, &[Input(0), Number(0.3)])]),
        (
            "five others",
            DType::F32,
            vec![&[3, 8], &[8], &[3, 1], &[3, 8], &[], &[1, 8]],
            vec![
                Step::new(Op::Sub, &[Input(1), Input(0)]),
                Step::new(Op::Mul, &[Arg::Step(0), Input(2)]),
                Step::new(Op::Add, &[Arg::Step(1), Input(3)]),
                Step::new(Op::Mul, &[Arg::Step(2), Input(4)]),
                Step::new(Op::Sub, &[Arg::Step(3), Input(5)]),
            ],
        ),
    ];
    let mut cases: Vec<Case> = Vec::new();
    for (name, dtype, shapes, steps) in kinds {
        let mut bench = OpBench::new(caps);
        let made = shapes.iter().map(|shape| {
            let values = random.floats(shape.iter().product::<u32>() as usize);
            tensor(&mut bench, dtype, shape, &values)
        });
        let made: Vec<_> = made.collect();
        let y = fuse_in_place(&mut bench.tape, &made.iter().map(|(x, _)| x).collect::<Vec<_>>(), &steps);
        let inputs: Vec<_> = made.iter().map(|(_, values)| values.as_slice()).zip(shapes).collect();
        let y = y.expect("the chain is right");
        let wanted = reference::elementwise(&y.shape, &inputs, &steps);
        cases.push(bench.case(IN_PLACE, name, &y, expected(dtype, &wanted, Tolerance::PLAIN)));
    }
    cases.push(squared(caps, random));
    cases
}

/// x by x + b, where x is given twice.
fn squared(caps: &Caps, random: &mut Random) -> Case {
    let mut bench = OpBench::new(caps);
    let (x_values, b_values) = (random.floats(33), random.floats(33));
    let (x, b) = (bench.floats(&[33], &x_values), bench.floats(&[33], &b_values));
    let steps =
        [Step::new(Op::Mul, &[Arg::Input(0), Arg::Input(1)]), Step::new(Op::Add, &[Arg::Step(0), Arg::Input(2)])];
    let y = fuse_in_place(&mut bench.tape, &[&x, &x, &b], &steps).expect("the chain is right");
    let inputs = [(&x_values[..], &[33][..]), (&x_values, &[33]), (&b_values, &[33])];
    let wanted = reference::elementwise(&[33], &inputs, &steps);
    bench.case(IN_PLACE, "the first input twice", &y, expected(DType::F32, &wanted, Tolerance::READ))
}
