//! Norms over the channels of a group: `groupNorm`.

use super::{Numbers, Run};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, bool_override, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers.
    pub struct Params {
        /// Samples · groups.
        pub rows: u32,
        /// Groups of a sample.
        pub groups: u32,
        /// Channels of a group.
        pub channels: u32,
        /// Elements of a channel.
        pub length: u32,
        /// Added under the root.
        pub eps: f32,
    }
}

/// The contract with `shaders/compute/group_norm.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/group_norm",
    bindings: &[PARAMS, read("x"), read("weight"), read("bias"), write("y")],
    params: Params::LAYOUT,
    overrides: &["KIND", "WEIGHT", "BIAS"],
};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/group_norm"));
    let params = |[samples, groups, channels, length]: [u32; 4]| Params {
        rows: samples * groups,
        groups,
        channels,
        length,
        eps: 1e-5,
    };
    vec![
        case(caps, random, &params([3, 4, 5, 7]), Stored::F32, [true, true]),
        case(caps, random, &params([2, 1, 3, 257]), Stored::F16, [true, false]),
        case(caps, random, &params([1, 9, 2, 31]), Stored::BF16, [false, true]),
        case(caps, random, &params([2, 3, 1, 1000]), Stored::F32, [false, false]),
        case(caps, random, &params([7, 5, 1, 2]), Stored::F32, [true, true]),
    ]
}

fn case(caps: &Caps, random: &mut Random, params: &Params, stored: Stored, [has_weight, has_bias]: [bool; 2]) -> Case {
    let &Params { rows, groups, channels, length, eps } = params;
    let mut bench = OpBench::new(caps);
    let x = Numbers::new(&mut bench, random, stored, &[rows, channels, length]);
    let [weight, bias] = std::array::from_fn(|_| Numbers::new(&mut bench, random, Stored::F32, &[groups * channels]));
    let run = Run {
        spec: &SPEC,
        variant: stored.id(),
        constants: &[
            ("KIND", stored.kind().into()),
            ("WEIGHT", bool_override(has_weight)),
            ("BIAS", bool_override(has_bias)),
        ],
        inputs: &[&x.tensor, &weight.tensor, &bias.tensor],
        shape: &[rows, channels, length],
        grid: grid_1d(rows),
    };
    let width = (channels * length) as usize;
    let mut expected = Vec::new();
    for (row, values) in x.values.chunks_exact(width).enumerate() {
        let mean = values.iter().sum::<f64>() / width as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / width as f64;
        let first = row % groups as usize * channels as usize;
        expected.extend(values.iter().enumerate().map(|(i, value)| {
            let channel = first + i / length as usize;
            let factor = if has_weight { weight.values[channel] } else { 1.0 };
            let offset = if has_bias { bias.values[channel] } else { 0.0 };
            (value - mean) / (variance + f64::from(eps)).sqrt() * factor + offset
        }));
    }
    let given = format!("weight {has_weight}, bias {has_bias}");
    run.case(bench, format!("{rows} rows, {groups} groups of {channels} × {length}, {given}"), params, &expected)
}
