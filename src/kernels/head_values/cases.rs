//! Both ways round, from the first row of a head and from a later one, rows that fill no workgroup.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::head_values::{HeadValues, head_values};
use crate::kernels::reference;
use crate::model::program::HeadRows;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("head_values");
    let rows = |first, transposed| HeadRows { of: 17, first, transposed };
    vec![
        case(random, 9, [3, 5, 44], rows(0, true)),
        case(random, 1, [2, 36, 7], rows(10, false)),
        case(random, 17, [1, 64, 12], rows(5, false)),
    ]
}

/// Rows of x have two values behind their heads.
fn case(random: &mut Random, rows: usize, [heads, of_x, of_y]: [usize; 3], part: HeadRows) -> Case {
    let cols = if part.transposed { of_y } else { of_x };
    let (width, stride) = (heads * of_x, heads * of_x + 2);
    let [x, w] = [rows * stride, heads * part.of * cols].map(|count| random.floats(count));
    let mut expected = vec![0.0; rows * heads * of_y];
    for (x, y) in x.chunks_exact(stride).zip(expected.chunks_exact_mut(heads * of_y)) {
        reference::head_values(&x[..width], &w, heads, [of_x, of_y], part, y);
    }
    let mut bench = Bench::new(rows as u32);
    let y = bench.floats(&vec![0.0; expected.len()]);
    let problem = HeadValues {
        heads: heads as u32,
        sizes: [of_x, of_y].map(|n| n as u32),
        rows: part,
        x: bench.floats(&x).into(),
        x_stride: stride as u32,
        w: bench.floats(&w).into(),
        y: y.into(),
    };
    let dispatch = head_values(Bench::PASS.into(), &problem);
    let name = format!("{rows} rows, {heads} heads of {of_x} to {of_y}, rows of W from {}", part.first);
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
