//! Sequences in one call and step by step, with and without an initial state and D.

use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference;
use crate::tensor::Tensor;
use crate::tensor::scan::{ScanInputs, selective_scan};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("selective_scan"));
    let shapes = [[1, 1, 1, 1], [2, 33, 5, 16], [1, 7, 65, 17], [3, 20, 31, 3], [1, 40, 130, 40]];
    let mut cases = Vec::new();
    for shape in shapes {
        let data = Data::new(random, shape);
        for (skip, started) in [(true, true), (false, false)] {
            cases.push(whole(caps, &data, skip, started, false));
        }
        cases.push(whole(caps, &data, true, true, true));
    }
    cases.push(whole(caps, &Data::new(random, [1, 257, 64, 16]), true, false, false));
    let data = Data::new(random, [2, 6, 33, 16]);
    cases.push(stepped(caps, &data, false));
    cases.push(stepped(caps, &data, true));
    cases
}

/// Rounding errors grow along a sequence.
const TOLERANCE: Tolerance = Tolerance { abs: 4e-6, rel: 2e-5 };

/// Random inputs as a model has them: steps above 0, decays below.
struct Data {
    /// batch, length, channels, n
    shape: [u32; 4],
    x: Vec<f32>,
    delta: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    d: Vec<f32>,
    state: Vec<f32>,
}

impl Data {
    fn new(random: &mut Random, shape @ [batch, length, channels, n]: [u32; 4]) -> Self {
        let mut floats = |axes: &[u32]| random.floats(axes.iter().product::<u32>() as usize);
        let x = floats(&[batch, length, channels]);
        let delta = floats(&[batch, length, channels]).iter().map(|v| 0.51 + v / 2.0).collect();
        let a = floats(&[channels, n]).iter().map(|v| -1.0 + v * 0.9).collect();
        let (b, c) = (floats(&[batch, length, n]), floats(&[batch, length, n]));
        Self { shape, x, delta, a, b, c, d: floats(&[channels]), state: floats(&[batch, channels, n]) }
    }

    /// y and the last state of the CPU.
    fn expected(&self, skip: bool, started: bool) -> (Vec<f32>, Vec<f32>) {
        let Self { x, delta, a, b, c, .. } = self;
        let d: &[f32] = if skip { &self.d } else { &[] };
        let mut state: Vec<f64> = self.state.iter().map(|&v| if started { v.into() } else { 0.0 }).collect();
        let [batch, length, channels, n] = self.shape.map(|n| n as usize);
        let inputs = reference::ScanInputs { x, delta, a, b, c, d };
        let y = reference::selective_scan(&inputs, [batch, length, channels], n, &mut state);
        (y, state.into_iter().map(|v| v as f32).collect())
    }

    /// Steps `first` to `first + length` of `values` `[batch, length, width]`.
    fn steps(&self, bench: &mut OpBench, values: &[f32], first: u32, length: u32) -> Tensor {
        let [batch, all, ..] = self.shape;
        let width = values.len() / (batch * all) as usize;
        let part = |sequence: u32| &values[(sequence * all + first) as usize * width..][..length as usize * width];
        let part: Vec<f32> = (0..batch).flat_map(|sequence| part(sequence).to_vec()).collect();
        bench.floats(&[batch, length, width as u32], &part)
    }

    /// The inputs of steps `first` to `first + length`.
    fn inputs(&self, bench: &mut OpBench, [first, length]: [u32; 2], skip: bool) -> Inputs {
        let [_, _, channels, n] = self.shape;
        let [x, delta, b, c] =
            [&self.x, &self.delta, &self.b, &self.c].map(|values| self.steps(bench, values, first, length));
        let a = bench.floats(&[channels, n], &self.a);
        let d = skip.then(|| bench.floats(&[channels], &self.d));
        Inputs { x, delta, a, b, c, d }
    }
}

/// Inputs on a bench.
struct Inputs {
    x: Tensor,
    delta: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Option<Tensor>,
}

impl Inputs {
    fn run(&self, bench: &mut OpBench, state: Option<&Tensor>) -> [Tensor; 2] {
        let Self { x, delta, a, b, c, d } = self;
        let inputs = ScanInputs { x, delta, a, b, c, d: d.as_ref(), state };
        selective_scan(&mut bench.tape, &inputs).expect("shapes fit")
    }
}

/// The sequence in one call; its y or the state after it.
fn whole(caps: &Caps, data: &Data, skip: bool, started: bool, see_state: bool) -> Case {
    let mut bench = OpBench::new(caps);
    let [batch, length, channels, n] = data.shape;
    let state = started.then(|| bench.floats(&[batch, channels, n], &data.state));
    let made = data.inputs(&mut bench, [0, length], skip).run(&mut bench, state.as_ref());
    let (y, last) = data.expected(skip, started);
    let parts = [(skip, " D"), (started, " from a state"), (see_state, ", the state")];
    let used: String = parts.iter().filter(|(used, _)| *used).map(|(_, part)| *part).collect();
    let expected = if see_state { last } else { y };
    let name = format!("{batch}x{length}x{channels}, n {n}{used}");
    bench.case("selective_scan", name, &made[usize::from(see_state)], Expected::Close(expected, TOLERANCE))
}

/// A call per step, each with the state of the one before; the last y or the last state.
fn stepped(caps: &Caps, data: &Data, see_state: bool) -> Case {
    let mut bench = OpBench::new(caps);
    let [batch, length, channels, n] = data.shape;
    // A bench takes its inputs before the first operation.
    let steps: Vec<Inputs> = (0..length).map(|step| data.inputs(&mut bench, [step, 1], true)).collect();
    let mut made = steps[0].run(&mut bench, None);
    for step in &steps[1..] {
        let [_, state] = made;
        made = step.run(&mut bench, Some(&state));
    }
    let (y, state) = data.expected(true, false);
    let last = |sequence: usize| &y[((sequence + 1) * length as usize - 1) * channels as usize..][..channels as usize];
    let last = (0..batch as usize).flat_map(|sequence| last(sequence).to_vec()).collect();
    let expected = if see_state { state } else { last };
    let what = if see_state { "state" } else { "y" };
    let name = format!("{batch}x{length}x{channels}, n {n} step by step, the last {what}");
    bench.case("selective_scan", name, &made[usize::from(see_state)], Expected::Close(expected, TOLERANCE))
}
