//! Neighbours, halves and quarters; heads beside others in a row; more and fewer pairs than a workgroup has threads.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;
use crate::kernels::turn::turn;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("turn");
    let sets: [([u32; 3], usize); 5] =
        [([3, 8, 1], 0), ([2, 72, 36], 0), ([5, 16, 4], 7), ([1, 64, 32], 3), ([9, 20, 5], 1)];
    sets.map(|(sizes, before)| case(random, sizes, before)).into()
}

/// Heads with `before` values before them in a row, and two after them.
fn case(random: &mut Random, sizes @ [heads, head_dim, apart]: [u32; 3], before: usize) -> Case {
    const ROWS: usize = 4;
    let width = (heads * head_dim) as usize;
    let stride = before + width + 2;
    let mut x = random.floats(ROWS * stride);
    let angles = random.floats(ROWS * (head_dim as usize / 2));
    let turns: Vec<f32> = angles.into_iter().flat_map(|angle| [angle.cos(), angle.sin()]).collect();
    let mut bench = Bench::new(ROWS as u32);
    let y = bench.floats(&x);
    let rows = Rows { slice: y.into(), stride: stride as u32, offset: before as u32 };
    let dispatch = turn(sizes, bench.floats(&turns).into(), rows);
    for (row, turns) in x.chunks_exact_mut(stride).zip(turns.chunks_exact(head_dim as usize)) {
        reference::turn(sizes.map(|n| n as usize), turns, &mut row[before..before + width]);
    }
    let name = format!("{heads} heads of {head_dim}, pairs {apart} apart, {before} values before them");
    bench.case(name, vec![dispatch], y, Expected::Close(x, Tolerance::PLAIN))
}
