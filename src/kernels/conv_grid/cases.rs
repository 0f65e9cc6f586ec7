//! Grids with an odd and an even side, convolved with strides of one and two, with and without a bias; what is seen
//! side by side; means, and a grid that becomes larger.

use super::conv_grid;
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::reference;
use crate::model::program::{CellKind, CellSpec, Weight};
use crate::model::{Role, WeightKey};

const KEY: WeightKey = WeightKey { layer: None, role: Role::Named { group: "", name: "" } };
const DEPTHWISE: CellKind = CellKind::Depthwise(KEY);
const DENSE: CellKind = CellKind::Dense(KEY, None);
const BIASED: CellKind = CellKind::Dense(KEY, Some(Weight { key: KEY, optional: true }));

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("conv_grid");
    let around = CellSpec::around;
    let dense = |kind, sizes, outputs| CellSpec { outputs, ..around(kind, sizes, 3, 2) };
    let larger = CellSpec { up: 2, out: 6, ..around(CellKind::Beside, [3, 5], 1, 1) };
    [
        around(DEPTHWISE, [7, 13], 3, 1),
        around(DEPTHWISE, [6, 70], 5, 2),
        around(DEPTHWISE, [5, 3], 3, 2),
        dense(DENSE, [5, 3], 9),
        dense(BIASED, [8, 3], 17),
        around(CellKind::Beside, [7, 6], 3, 2),
        around(CellKind::Beside, [4, 5], 3, 1),
        CellSpec { before: 0, ..around(CellKind::Mean, [6, 11], 2, 2) },
        larger,
    ]
    .into_iter()
    .map(|spec| case(random, spec))
    .collect()
}

fn case(random: &mut Random, spec: CellSpec) -> Case {
    let outputs = spec.outputs;
    let kernel = random.floats(outputs * spec.width * spec.taps());
    let bias = random.floats(outputs);
    let biased = if spec.kind == BIASED { &bias[..] } else { &[] };
    // A value behind the last: nothing is written past the cells. Before the first cell lies what nobody reads.
    let mut x = random.floats((spec.side * spec.side + 1) * spec.width);
    x[spec.side * spec.side * spec.width..].fill(f32::NAN);
    let mut expected = vec![0.0; spec.out * spec.out * outputs];
    reference::conv_grid(&spec, &x, [&kernel, biased], &mut expected);
    expected.push(7.0);
    let mut bench = Bench::new(1);
    let y = bench.floats(&[&vec![f32::NAN; expected.len() - 1][..], &[7.0]].concat());
    let [of_x, kernel, bias] = [&x, &kernel, &bias].map(|values| bench.floats(values).into());
    let dispatch = conv_grid(&spec, of_x, [kernel, bias], y.into());
    let CellSpec { side, out, kernel, stride, .. } = spec;
    let kind = match spec.kind {
        CellKind::Beside => "side by side",
        CellKind::Mean => "as a mean",
        CellKind::Depthwise(_) => "by channel",
        CellKind::Dense(_, None) => "convolved",
        CellKind::Dense(..) => "convolved with a bias",
    };
    let name = format!("{side} x {side} to {out} x {out}, {kernel} x {kernel} by {stride} {kind}, {outputs} values");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
