//! Narrow and wide rows, with shares of all rows, of each row, and of both, which lie among other values.

use super::{Way, lerp};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;

const ROWS: usize = 3;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("lerp");
    let sets = [(1, true, false), (64, false, true), (65, true, true), (300, true, false), (130, false, true)];
    sets.map(|(width, shared, by_row)| case(random, width, [shared, by_row])).into()
}

fn case(random: &mut Random, width: usize, [shared, by_row]: [bool; 2]) -> Case {
    let (before, stride) = (5, width + 7);
    let [x, to, share, by] = [ROWS * width, ROWS * width, width, ROWS * stride].map(|count| random.floats(count));
    let part = |row: usize, i: usize| {
        let of_row = if by_row { by[row * stride + before + i] } else { 0.0 };
        of_row + if shared { share[i] } else { 0.0 }
    };
    let expected = (0..ROWS * width).map(|at| reference::lerp(x[at], to[at], part(at / width, at % width))).collect();
    let mut bench = Bench::new(ROWS as u32);
    let [x, to, share, by] = [&x, &to, &share, &by].map(|values| bench.floats(values).into());
    let y = bench.floats(&vec![0.0; ROWS * width]);
    let by = Rows { slice: by, stride: stride as u32, offset: before as u32 };
    let way = Way { share: shared.then_some(share), by: by_row.then_some(by) };
    let dispatch = lerp(width as u32, way, [x, to, y.into()], Bench::DUMMY.into());
    let of = [(shared, ", a share"), (by_row, ", shares of rows")].map(|(is, name)| if is { name } else { "" });
    let name = format!("{width} values{}", of.concat());
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
