//! Rows narrower and wider than the workgroup, parts of rows, beside other values.

use super::{Kind, spread};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;

const ROWS: usize = 3;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("spread");
    let cuts = [(7, 0.2), (56, 1.6448536), (1000, 1.0)].map(|(width, cut)| ([1, width], Some(cut)));
    let lengths = [[1, 300], [3, 24], [2, 515]].map(|sizes| (sizes, None));
    cuts.into_iter().chain(lengths).map(|(sizes, cut)| case(random, sizes, cut)).collect()
}

/// `parts` of `width` values, with others before and after them in each row.
fn case(random: &mut Random, [parts, width]: [usize; 2], deviations: Option<f32>) -> Case {
    let before = 3;
    let stride = before + parts * width + 2;
    let [of, mut x] = [width, stride].map(|stride| random.floats(ROWS * stride));
    // Not around 0.
    x.iter_mut().for_each(|x| *x += 0.3);
    let mut bench = Bench::new(ROWS as u32);
    let [of_buffer, x_buffer] = [&of, &x].map(|values| bench.floats(values));
    let rows = Rows { slice: x_buffer.into(), stride: stride as u32, offset: before as u32 };
    let kind = deviations.map_or(Kind::LengthOf(of_buffer.into()), Kind::Cut);
    let sizes = [parts, width].map(|size| size as u32);
    let dispatch = spread(sizes, kind, rows, Bench::DUMMY.into());
    for (x, of) in x.chunks_exact_mut(stride).zip(of.chunks_exact(width)) {
        let x = &mut x[before..][..parts * width];
        match deviations {
            Some(deviations) => reference::cut(x, width, deviations),
            None => reference::set_length(x, of, width),
        }
    }
    let name = match deviations {
        Some(deviations) => format!("{deviations} deviations in {width} values"),
        None => format!("lengths of {parts} parts of {width} values"),
    };
    bench.case(name, vec![dispatch], x_buffer, Expected::Close(x, Tolerance::PLAIN))
}
