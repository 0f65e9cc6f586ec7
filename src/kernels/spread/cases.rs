//! Rows narrower and wider than the workgroup, parts of rows, beside other values.

use super::{Kind, spread};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;

const ROWS: usize = 3;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("spread");
    let cuts = [(7, 0.2), (56, 1.6448536), (1000, 1.0)].map(|(width, cut)| ([1, width], Change::Cut(cut)));
    let lengths = [[1, 300], [3, 24], [2, 515]].map(|sizes| (sizes, Change::Length));
    let divisions = [(7, 1e-5), (20, 0.3), (600, 1e-5)].map(|(width, eps)| ([1, width], Change::Divide(eps)));
    let shares = [5, 348, 700].map(|width| ([1, width], Change::Shares));
    cuts.into_iter()
        .chain(lengths)
        .chain(divisions)
        .chain(shares)
        .map(|(sizes, change)| case(random, sizes, change))
        .collect()
}

#[derive(Clone, Copy)]
enum Change {
    Cut(f32),
    Length,
    Divide(f32),
    Shares,
}

/// `parts` of `width` values, with others before and after them in each row.
fn case(random: &mut Random, [parts, width]: [usize; 2], change: Change) -> Case {
    let before = 3;
    let stride = before + parts * width + 2;
    let [of, mut x] = [width, stride].map(|stride| random.floats(ROWS * stride));
    // Not around 0.
    x.iter_mut().for_each(|x| *x += 0.3);
    if matches!(change, Change::Shares) {
        // Their exponentials are no numbers of f32.
        x.iter_mut().for_each(|x| *x = 100.0 + 20.0 * *x);
    }
    let mut bench = Bench::new(ROWS as u32);
    let [of_buffer, x_buffer] = [&of, &x].map(|values| bench.floats(values));
    let rows = Rows { slice: x_buffer.into(), stride: stride as u32, offset: before as u32 };
    let kind = match change {
        Change::Cut(deviations) => Kind::Cut(deviations),
        Change::Length => Kind::LengthOf(of_buffer.into()),
        Change::Divide(eps) => Kind::Deviation(eps),
        Change::Shares => Kind::Shares,
    };
    let sizes = [parts, width].map(|size| size as u32);
    let dispatch = spread(sizes, kind, rows, Bench::DUMMY.into());
    for (x, of) in x.chunks_exact_mut(stride).zip(of.chunks_exact(width)) {
        let x = &mut x[before..][..parts * width];
        match change {
            Change::Cut(deviations) => reference::cut(x, width, deviations),
            Change::Length => reference::set_length(x, of, width),
            Change::Divide(eps) => reference::divide_by_deviation(x, width, eps),
            Change::Shares => reference::shares(x, width),
        }
    }
    let name = match change {
        Change::Cut(deviations) => format!("{deviations} deviations in {width} values"),
        Change::Length => format!("lengths of {parts} parts of {width} values"),
        Change::Shares => format!("shares of {width} values"),
        Change::Divide(eps) => format!("{width} values divided by their deviation, {eps} apart from 0"),
    };
    bench.case(name, vec![dispatch], x_buffer, Expected::Close(x, Tolerance::PLAIN))
}
