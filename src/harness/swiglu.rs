//! Widths around the workgroup, and gates so large that exp would overflow.

use super::{Bench, Case, Expected, Random, Tolerance};
use crate::kernels::swiglu::swiglu;
use crate::reference;

pub fn cases(random: &mut Random) -> Vec<Case> {
    [1, 31, 33, 257, 1000].into_iter().map(|width| case(random, width)).collect()
}

fn case(random: &mut Random, width: u32) -> Case {
    let mut bench = Bench::new(3);
    let mut x = random.floats((2 * width * 3) as usize);
    for row in x.chunks_exact_mut(2 * width as usize) {
        row[..width as usize].iter_mut().for_each(|gate| *gate *= 10.0);
    }
    (x[0], x[2 * width as usize]) = (-200.0, 200.0);
    // One row more than the pass has tokens: it stays as it is.
    let mut expected = random.floats((width * 4) as usize);
    let y = bench.floats(&expected);
    let dispatch = swiglu(width, bench.floats(&x).into(), y.into());
    for (x, y) in x.chunks_exact(2 * width as usize).zip(expected.chunks_exact_mut(width as usize)) {
        let (gate, up) = x.split_at(width as usize);
        y.copy_from_slice(gate);
        reference::swiglu(y, up);
    }
    bench.case(format!("3×{width}"), vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
