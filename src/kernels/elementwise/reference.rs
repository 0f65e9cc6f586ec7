//! Elementwise operations with broadcasting, in f64.

use crate::kernels::elementwise::{Arg, Op, Step};
use crate::kernels::mat_mul_dense::reference::gelu;
use crate::model::{ActivationKind, QUICK_GELU, Xielu};

/// `op(a, b, c)`; operations of fewer arguments ignore the rest.
pub fn apply(op: Op, [a, b, c]: [f64; 3]) -> f64 {
    let bool_override = |holds: bool| if holds { 1.0 } else { 0.0 };
    match op {
        Op::Copy => a,
        Op::Neg => -a,
        Op::Abs => a.abs(),
        Op::Exp => a.exp(),
        Op::Log => a.ln(),
        Op::Sqrt => a.sqrt(),
        Op::Rsqrt => 1.0 / a.sqrt(),
        Op::Sin => a.sin(),
        Op::Cos => a.cos(),
        Op::Tanh => a.tanh(),
        Op::Sigmoid => 1.0 / (1.0 + (-a).exp()),
        Op::Relu => a.max(0.0),
        Op::Silu => a / (1.0 + (-a).exp()),
        Op::Gelu => gelu(a),
        Op::GeluErf => gelu_erf(a),
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul | Op::Scale => a * b,
        Op::Div => a / b,
        Op::Min => a.min(b),
        Op::Max => a.max(b),
        Op::Pow => a.powf(b),
        Op::Equal => bool_override(a == b),
        Op::NotEqual => bool_override(a != b),
        Op::Less => bool_override(a < b),
        Op::LessEqual => bool_override(a <= b),
        Op::Greater => bool_override(a > b),
        Op::GreaterEqual => bool_override(a >= b),
        Op::Where => {
            if a != 0.0 {
                b
            } else {
                c
            }
        }
    }
}

fn gelu_erf(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

/// `kind(x)`
pub fn activated(kind: ActivationKind, x: f32) -> f32 {
    match kind {
        ActivationKind::Gelu => gelu(f64::from(x)) as f32,
        ActivationKind::GeluErf => gelu_erf(f64::from(x)) as f32,
        ActivationKind::Tanh => x.tanh(),
        ActivationKind::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        ActivationKind::Silu => x / (1.0 + (-x).exp()),
        ActivationKind::QuickGelu => x / (1.0 + (-QUICK_GELU * x).exp()),
        ActivationKind::Sin => x.sin(),
        ActivationKind::Cos => x.cos(),
        ActivationKind::Relu => x.max(0.0),
        ActivationKind::ReluSquared => x.max(0.0) * x.max(0.0),
        ActivationKind::Xielu(Xielu { positive, beta, .. }) if x > 0.0 => positive * x * x + beta * x,
        ActivationKind::Xielu(Xielu { negative, beta, eps, .. }) => negative * (x.min(eps).exp_m1() - x) + beta * x,
        ActivationKind::Clamp(limit) => x.clamp(-limit, limit),
    }
}

/// The error function: `2/√π · e^(−x²) · Σ 2ⁿ x^(2n+1) / (2n+1)!!` (Abramowitz and Stegun 1964, 7.1.6), whose terms
/// have one sign.
pub fn erf(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= 2.0 * x * x / f64::from(2 * n + 1);
        sum += term;
        if term.abs() < sum.abs() * f64::EPSILON {
            break;
        }
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// Place in a contiguous tensor of shape `own` of the element that is broadcast to `index` of `shape`.
pub fn broadcast_index(index: usize, shape: &[u32], own: &[u32]) -> usize {
    let (mut rest, mut at, mut stride) = (index, 0, 1);
    for (axis, &size) in shape.iter().rev().enumerate() {
        let coordinate = rest % size as usize;
        rest /= size as usize;
        let Some(&own) = own.len().checked_sub(axis + 1).and_then(|axis| own.get(axis)) else { continue };
        if own != 1 {
            at += coordinate * stride;
        }
        stride *= own as usize;
    }
    at
}

/// The last of the steps for every element of `shape`; inputs are (values, shape). No step gives the first input.
///
/// # Panics
/// If a step has too few arguments or a shape does not broadcast.
pub fn elementwise(shape: &[u32], inputs: &[(&[f32], &[u32])], steps: &[Step]) -> Vec<f64> {
    let len: usize = shape.iter().map(|&size| size as usize).product();
    let element = |i: usize| {
        let load = |&(values, own): &(&[f32], &[u32])| f64::from(values[broadcast_index(i, shape, own)]);
        let loaded: Vec<f64> = inputs.iter().map(load).collect();
        let mut results: Vec<f64> = Vec::with_capacity(steps.len());
        for Step { op, args } in steps {
            let mut numbers = [0.0; 3];
            for (number, arg) in numbers.iter_mut().zip(args) {
                *number = match *arg {
                    Arg::Input(input) => loaded[input as usize],
                    Arg::Step(step) => results[step as usize],
                    Arg::Number(value) => f64::from(value),
                };
            }
            results.push(apply(*op, numbers));
        }
        results.last().copied().unwrap_or(loaded[0])
    };
    (0..len).map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::elementwise::activation;

    #[test]
    fn chains_of_activations_say_the_same() {
        let xielu = Xielu { positive: 0.7, negative: 1.3, beta: 0.4, eps: -1e-6 };
        let kinds = [
            ActivationKind::Gelu,
            ActivationKind::GeluErf,
            ActivationKind::Tanh,
            ActivationKind::Sigmoid,
            ActivationKind::Silu,
            ActivationKind::QuickGelu,
            ActivationKind::Relu,
            ActivationKind::ReluSquared,
            ActivationKind::Sin,
            ActivationKind::Cos,
            ActivationKind::Xielu(Xielu::ELU),
            ActivationKind::Xielu(xielu),
            ActivationKind::Clamp(1.25),
        ];
        let x: Vec<f32> = (-40..=40).map(|i| i as f32 / 10.0).collect();
        let shape = &[x.len() as u32];
        for kind in kinds {
            let found = elementwise(shape, &[(&x, shape)], &activation(kind));
            for (&x, found) in x.iter().zip(found) {
                let expected = f64::from(activated(kind, x));
                assert!((found - expected).abs() < 1e-5, "{kind:?} of {x}: expected {expected}, found {found}");
            }
        }
    }

    #[test]
    fn erf_is_that_of_the_tables() {
        for (x, expected) in [(0.0, 0.0), (0.5, 0.520_499_877_8), (-1.0, -0.842_700_792_9), (3.0, 0.999_977_909_5)] {
            assert!((erf(x) - expected).abs() < 1e-10, "erf({x}) is {}", erf(x));
        }
    }

    #[test]
    fn broadcasting_repeats_axes_of_one() {
        let places: Vec<_> = (0..6).map(|i| broadcast_index(i, &[2, 3], &[2, 1])).collect();
        assert_eq!(places, [0, 0, 0, 1, 1, 1]);
        let places: Vec<_> = (0..6).map(|i| broadcast_index(i, &[2, 3], &[3])).collect();
        assert_eq!(places, [0, 1, 2, 0, 1, 2]);
    }
}
