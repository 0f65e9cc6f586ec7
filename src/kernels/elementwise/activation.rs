//! Activations of models as chains.

use super::{Arg, Op, Step};
use crate::model::{ActivationKind, QUICK_GELU, Xielu};

/// The steps that compute `kind` of the first input.
pub fn activation(kind: ActivationKind) -> Vec<Step> {
    let x = Arg::Input(0);
    let steps: &[(Op, &[Arg])] = match kind {
        ActivationKind::Gelu => &[(Op::Gelu, &[x])],
        ActivationKind::GeluErf => &[(Op::GeluErf, &[x])],
        ActivationKind::Tanh => &[(Op::Tanh, &[x])],
        ActivationKind::Sigmoid => &[(Op::Sigmoid, &[x])],
        ActivationKind::Silu => &[(Op::Silu, &[x])],
        ActivationKind::Sin => &[(Op::Sin, &[x])],
        ActivationKind::Cos => &[(Op::Cos, &[x])],
        ActivationKind::QuickGelu => {
            &[(Op::Mul, &[x, Arg::Number(QUICK_GELU)]), (Op::Sigmoid, &[Arg::Step(0)]), (Op::Mul, &[x, Arg::Step(1)])]
        }
        ActivationKind::Relu => &[(Op::Relu, &[x])],
        ActivationKind::ReluSquared => &[(Op::Relu, &[x]), (Op::Mul, &[Arg::Step(0), Arg::Step(0)])],
        ActivationKind::Clamp(limit) => {
            &[(Op::Min, &[x, Arg::Number(limit)]), (Op::Max, &[Arg::Step(0), Arg::Number(-limit)])]
        }
        ActivationKind::Xielu(Xielu { positive, negative, beta, eps }) => &[
            (Op::Mul, &[x, x]),
            (Op::Mul, &[Arg::Step(0), Arg::Number(positive)]),
            (Op::Min, &[x, Arg::Number(eps)]),
            (Op::Exp, &[Arg::Step(2)]),
            (Op::Sub, &[Arg::Step(3), Arg::Number(1.0)]),
            (Op::Sub, &[Arg::Step(4), x]),
            (Op::Mul, &[Arg::Step(5), Arg::Number(negative)]),
            (Op::Greater, &[x, Arg::Number(0.0)]),
            (Op::Where, &[Arg::Step(7), Arg::Step(1), Arg::Step(6)]),
            (Op::Mul, &[x, Arg::Number(beta)]),
            (Op::Add, &[Arg::Step(8), Arg::Step(9)]),
        ],
    };
    steps.iter().map(|(op, args)| Step::new(*op, args)).collect()
}
