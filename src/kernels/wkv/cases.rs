//! One row and chunks, fresh and continued states, several sequences in one pass, rows that are done; the outputs and
//! the states after them, for each form.

use super::{Form, Wkv, wkv};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::caps::Caps;
use crate::kernels::delta_net::DeltaHeads;
use crate::kernels::delta_net::cases::several;
use crate::kernels::pass::Pass;
use crate::kernels::reference::{self, WkvShape};

/// Rounding errors grow along a sequence.
const TOLERANCE: Tolerance = Tolerance { abs: 2e-5, rel: 4e-5 };

/// Sequences that have a state.
const SEQUENCES: u32 = 3;

/// The dispatch of a case.
#[derive(Clone, Copy)]
struct Problem<'a> {
    heads: DeltaHeads,
    form: Form,
    pass: &'a Pass,
    /// Whether the states are compared, else the outputs.
    see_state: bool,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("wkv"));
    let heads = |k_heads, v_heads, head_dim| DeltaHeads { k_heads, v_heads, head_dim, tiled: false };
    let chunk = |sequence, position, rows| Pass::chunk(sequence, position, &vec![0; rows]);
    let shapes = [
        (heads(2, 2, 64), Form::Delta, chunk(0, 0, 17)),
        (heads(3, 3, 20), Form::Delta, chunk(1, 5, 9)),
        (heads(1, 1, 100), Form::Delta, chunk(2, 0, 1)),
        (heads(1, 1, 256), Form::Delta, chunk(1, 1, 5)),
        (heads(2, 2, 36), Form::Delta, several()),
        (heads(2, 2, 3), Form::Delta, chunk(0, 2, 4)),
        (heads(2, 2, 64), Form::Bonus, chunk(2, 3, 11)),
        (heads(3, 3, 33), Form::Bonus, several()),
        (heads(1, 1, 130), Form::Bonus, chunk(0, 0, 3)),
        (heads(2, 6, 20), Form::Gated, chunk(0, 1, 8)),
        (heads(1, 1, 1), Form::Gated, chunk(0, 0, 3)),
    ];
    let baseline = Caps { subgroups: false, ..caps.clone() };
    let mut cases = Vec::new();
    for &(heads, form, ref pass) in &shapes {
        for see_state in [false, true] {
            let problem = Problem { heads, form, pass, see_state };
            cases.push(case(&baseline, random, problem));
            if caps.subgroups {
                cases.push(case(caps, random, problem));
            }
        }
    }
    let long = chunk(0, 0, 257);
    cases.push(case(
        caps,
        random,
        Problem { heads: heads(1, 1, 64), form: Form::Delta, pass: &long, see_state: false },
    ));
    cases
}

/// Random inputs as a model has them.
struct Data {
    rwkv: [Vec<f32>; 4],
    of_heads: [Vec<f32>; 2],
    /// `[sequences, heads, head_dim of v, head_dim of k]`
    state: Vec<f32>,
}

impl Data {
    fn new(random: &mut Random, heads: DeltaHeads, form: Form, rows: usize) -> Self {
        let [kv, width] = [heads.k_heads, heads.v_heads].map(|count| (count * heads.head_dim) as usize);
        let w_width = if form == Form::Delta { 2 * width } else { width };
        let mut rwkv = [width, w_width, kv, kv].map(|width| random.floats(rows * width));
        rwkv[1].iter_mut().for_each(|w| *w *= 4.0);
        let of_heads = [(); 2].map(|()| random.floats(width));
        let state = random.floats(SEQUENCES as usize * width * heads.head_dim as usize);
        Self { rwkv, of_heads, state }
    }

    /// y of all rows, 0 for those that are done, and the states after them.
    fn expected(&self, heads: DeltaHeads, form: Form, pass: &Pass) -> (Vec<f32>, Vec<f32>) {
        let [kv_heads, heads, head_dim] = [heads.k_heads, heads.v_heads, heads.head_dim].map(|count| count as usize);
        let shape = WkvShape { heads, kv_heads, head_dim, form };
        let (mut state, size) = (self.state.clone(), heads * head_dim * head_dim);
        let rows = pass.rows.len();
        let mut y = vec![0.0; rows * heads * head_dim];
        let of_heads = [0, 1].map(|i| &self.of_heads[i][..]);
        for (i, row) in pass.rows.iter().enumerate().filter(|(_, row)| row.flags == 0) {
            let of_row = |values: &Vec<f32>| -> std::ops::Range<usize> {
                let width = values.len() / rows;
                i * width..(i + 1) * width
            };
            let inputs = [0, 1, 2, 3].map(|of| &self.rwkv[of][of_row(&self.rwkv[of])]);
            let state = &mut state[row.sequence as usize * size..][..size];
            if row.position == 0 {
                state.fill(0.0);
            }
            reference::wkv(shape, inputs, of_heads, state, &mut y[i * heads * head_dim..][..heads * head_dim]);
        }
        (y, state)
    }
}

/// States as the kernel has them: columns padded with zeros.
fn packed(state: &[f32], heads: DeltaHeads) -> Vec<f32> {
    let (dim, width) = (heads.head_dim as usize, heads.padded() as usize);
    let padded =
        |column: &[f32]| column.iter().copied().chain(std::iter::repeat_n(0.0, width - dim)).collect::<Vec<_>>();
    state.chunks_exact(dim).flat_map(padded).collect()
}

fn case(caps: &Caps, random: &mut Random, problem: Problem) -> Case {
    let Problem { heads, form, pass, see_state } = problem;
    let data = Data::new(random, heads, form, pass.rows.len());
    let (y_rows, states) = data.expected(heads, form, pass);
    let mut bench = Bench::of(pass.clone());
    let rwkv = [0, 1, 2, 3].map(|i| bench.floats(&data.rwkv[i]).into());
    let of_heads = bench.floats(&data.of_heads.concat()).into();
    let state = bench.floats(&packed(&data.state, heads));
    let y = bench.floats(&vec![0.0; y_rows.len()]);
    let problem = Wkv { heads, form, sequences: SEQUENCES, rwkv, of_heads, state: state.into(), y: y.into() };
    let dispatch = wkv(caps, Bench::PASS.into(), &problem);
    let (output, expected, of) = if see_state { (state, packed(&states, heads), "state") } else { (y, y_rows, "y") };
    let DeltaHeads { k_heads, v_heads, head_dim, .. } = heads;
    let rows = pass.rows.len();
    let name = format!("{form:?}, {k_heads}/{v_heads} heads of {head_dim}, {rows} rows, {}, {of}", places(&pass.rows));
    bench.case(name, vec![dispatch], output, Expected::Close(expected, TOLERANCE))
}
