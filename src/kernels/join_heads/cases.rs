//! One head and several, parts of one value, more values than a workgroup has threads; parts and results beside others.

use crate::harness::{Bench, Case, Expected, Random, Suite};
use crate::kernels::join_heads::join_heads;
use crate::kernels::norm::Rows;
use crate::kernels::reference;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("join_heads");
    let sets: [([usize; 3], usize); 4] = [([1, 512, 64], 0), ([3, 20, 6], 5), ([5, 1, 33], 0), ([4, 16, 16], 2)];
    sets.map(|(sizes, before)| case(random, sizes, before)).into()
}

/// Heads with `before` values before them in a row of each activation, and three after them.
fn case(random: &mut Random, [heads, of_a, of_b]: [usize; 3], before: usize) -> Case {
    const ROWS: usize = 3;
    let widths = [of_a, of_b, of_a + of_b].map(|of| heads * of);
    let strides = widths.map(|width| before + width + 3);
    let [a, b, mut y] = strides.map(|stride| random.floats(ROWS * stride));
    let mut bench = Bench::new(ROWS as u32);
    let buffers = [&a, &b, &y].map(|values| bench.floats(values));
    let rows = |i: usize| Rows { slice: buffers[i].into(), stride: strides[i] as u32, offset: before as u32 };
    let dispatch = join_heads([heads, of_a, of_b].map(|n| n as u32), [rows(0), rows(1), rows(2)]);
    for row in 0..ROWS {
        let [a, b] = [(&a, 0), (&b, 1)].map(|(of, i)| &of[row * strides[i] + before..][..widths[i]]);
        reference::join_heads([a, b], heads, &mut y[row * strides[2] + before..][..widths[2]]);
    }
    let name = format!("{heads} heads of {of_a} and {of_b}, {before} values before them");
    bench.case(name, vec![dispatch], buffers[2], Expected::Exact(bytemuck::cast_slice(&y).to_vec()))
}
