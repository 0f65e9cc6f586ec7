//! Odd heads, states and groups; from the first token and from a state; one step, several rows and sequences, one of
//! them done; chunks that are full and that are not; results and states.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::norm::Rows;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference;
use crate::kernels::reference::{SsmHeads, SsmSizes, SsmToken};
use crate::kernels::ssm_scan::{SsmScan, SsmShape, ssm_scan, ssm_scan_chunked};

const SEQUENCES: usize = 3;

/// Sums over a hundred tokens and more, each with a rounded exponential.
const TOLERANCE: Tolerance = Tolerance { abs: 5e-5, rel: 5e-5 };

/// In chunks decays are differences of sums over up to 64 tokens. Of a head that decays by 1 a token these are right to
/// 2e-5, and a result is a few such terms of up to 4.
const CHUNKED: Tolerance = Tolerance { abs: 1e-4, rel: 5e-5 };

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("ssm_scan");
    let shape = |[heads, head_dim, state, groups]: [u32; 4]| SsmShape { heads, head_dim, state, groups };
    let row = |sequence, position| Row { sequence, position, ..Row::default() };
    let mut several = Pass::decode(&[row(2, 5), row(0, 0), row(1, 3), row(2, 6), row(0, 1)]);
    several.rows[2].flags = ROW_DONE;
    let mut cases = Vec::new();
    for shape in [[3, 20, 17, 1], [6, 33, 8, 3], [4, 64, 128, 2], [2, 7, 300, 1]].map(shape) {
        for rows in [vec![row(0, 7)], vec![row(1, 0)], vec![row(2, 1), row(2, 2), row(2, 3)]] {
            cases.extend(both(random, &shape, &Pass::decode(&rows), true));
        }
        cases.extend(both(random, &shape, &several, true));
        for (position, rows) in [(0, 64), (1, 1), (7, 71)] {
            cases.extend(both(random, &shape, &Pass::chunk(1, position, &vec![0; rows]), false));
        }
    }
    // Many chunks, over several of which a state lasts.
    cases.extend(both(random, &shape([2, 18, 33, 1]), &Pass::chunk(0, 3, &[0; 300]), false));
    cases.push(products(random));
    cases
}

fn both(random: &mut Random, shape: &SsmShape, pass: &Pass, few: bool) -> [Case; 2] {
    [false, true].map(|see_state| case(random, shape, pass, [few, see_state]))
}

/// Random inputs as a model has them: time steps above and below 0, decays of all speeds.
struct Data {
    /// `[rows, 1 + inner + 1 + heads]`: z and dt, each behind a column of something else.
    zdt: Vec<f32>,
    xbc: Vec<f32>,
    heads: Vec<f32>,
    state: Vec<f32>,
}

impl Data {
    fn new(random: &mut Random, shape: &SsmShape, rows: usize) -> Self {
        let heads = shape.heads as usize;
        let mut zdt = random.floats(rows * Self::stride(shape));
        zdt.iter_mut().for_each(|value| *value *= 3.0);
        let [bias, a, d] = [(); 3].map(|()| random.floats(heads));
        let a = a.iter().map(|a| -(4.0 * a).exp() / 8.0).collect();
        let xbc = random.floats(rows * shape.xbc_width() as usize);
        Self { zdt, xbc, heads: [bias, a, d].concat(), state: random.floats(SEQUENCES * shape.state_len()) }
    }

    fn stride(shape: &SsmShape) -> usize {
        (2 + shape.inner() + shape.heads) as usize
    }
}

fn case(random: &mut Random, shape: &SsmShape, pass: &Pass, [few, see_state]: [bool; 2]) -> Case {
    let rows = pass.rows.len();
    let data = Data::new(random, shape, rows);
    let mut bench = Bench::of(pass.clone());
    let zdt = bench.floats(&data.zdt).into();
    let columns = |offset| Rows { slice: zdt, offset, stride: Data::stride(shape) as u32 };
    let (z, dt) = (columns(1), columns(2 + shape.inner()));
    let [xbc, heads] = [&data.xbc, &data.heads].map(|values| bench.floats(values).into());
    let state = bench.floats(&data.state);
    let y = bench.floats(&vec![0.0; rows * shape.inner() as usize]);
    let problem = SsmScan { shape: *shape, z, dt, xbc, heads, state: state.into(), y: y.into() };
    let dispatches = match few {
        true => vec![ssm_scan(Bench::PASS.into(), &problem)],
        false => {
            let products = bench.floats(&vec![0.0; shape.products_len(rows)]).into();
            ssm_scan_chunked(Bench::PASS.into(), &problem, products).into()
        }
    };
    let (results, states) = expected(shape, &data, pass);
    let (output, expected) = if see_state { (state, states) } else { (y, results) };
    let SsmShape { heads, head_dim, state, groups } = *shape;
    let seen = if see_state { ", the state" } else { "" };
    let name = format!("{heads} heads of {head_dim}, state {state}, {groups} groups{seen}, {}", places(&pass.rows));
    // The case is named for its last kernel.
    let tolerance = if few { TOLERANCE } else { CHUNKED };
    let mut case = bench.case(name, dispatches, output, Expected::Close(expected, tolerance));
    let kernel = &case.dispatches[case.dispatches.len() - 1].kernel;
    (case.kernel_name, case.variant) = (kernel.spec.kernel_name, kernel.id.clone());
    case
}

fn expected(shape: &SsmShape, data: &Data, pass: &Pass) -> (Vec<f32>, Vec<f32>) {
    let SsmShape { heads, head_dim, state, groups } = *shape;
    let [heads, head_dim, state, groups] = [heads, head_dim, state, groups].map(|n| n as usize);
    let sizes = SsmSizes { heads, head_dim, state, groups };
    let of = SsmHeads { dt_bias: &data.heads[..heads], a: &data.heads[heads..2 * heads], d: &data.heads[2 * heads..] };
    let (inner, size) = (heads * head_dim, shape.state_len());
    let mut states = data.state.clone();
    let mut results = Vec::new();
    let rows = data.zdt.chunks_exact(Data::stride(shape)).zip(data.xbc.chunks_exact(shape.xbc_width() as usize));
    for (row, (zdt, xbc)) in pass.rows.iter().zip(rows) {
        let mut y = vec![0.0; inner];
        if row.flags == 0 {
            let h = &mut states[row.sequence as usize * size..][..size];
            if row.position == 0 {
                h.fill(0.0);
            }
            let token = SsmToken { z: &zdt[1..][..inner], dt: &zdt[2 + inner..], xbc };
            reference::ssm_scan(sizes, token, of, h, &mut y);
        }
        results.extend(y);
    }
    (results, states)
}

/// The products by themselves, of two chunks with two groups.
fn products(random: &mut Random) -> Case {
    const CHUNK: usize = 64;
    let shape = SsmShape { heads: 2, head_dim: 5, state: 19, groups: 2 };
    let rows = 70;
    let data = Data::new(random, &shape, rows);
    let mut bench = Bench::new(rows as u32);
    let [zdt, xbc, heads, state, y] =
        [&data.zdt, &data.xbc, &data.heads, &data.state, &data.zdt].map(|values| bench.floats(values).into());
    let columns = Rows { slice: zdt, offset: 0, stride: 0 };
    let problem = SsmScan { shape, z: columns, dt: columns, xbc, heads, state, y };
    let before = random.floats(shape.products_len(rows));
    let products = bench.floats(&before);
    let mut expected = before;
    let (width, inner, n) = (shape.xbc_width() as usize, shape.inner() as usize, shape.state as usize);
    for (at, value) in expected.iter_mut().enumerate() {
        let (i, t, group, chunk) = (at % CHUNK, at / CHUNK % CHUNK, at / (CHUNK * CHUNK) % 2, at / (2 * CHUNK * CHUNK));
        if i > t || chunk * CHUNK + t >= rows {
            continue;
        }
        let b = &data.xbc[(chunk * CHUNK + i) * width + inner + group * n..][..n];
        let c = &data.xbc[(chunk * CHUNK + t) * width + inner + (2 + group) * n..][..n];
        *value = b.iter().zip(c).map(|(b, c)| b * c).sum();
    }
    let [multiply, _] = ssm_scan_chunked(Bench::PASS.into(), &problem, products.into());
    let name = format!("{rows} rows, state {n}, 2 groups");
    bench.case(name, vec![multiply], products, Expected::Close(expected, Tolerance::PLAIN))
}
