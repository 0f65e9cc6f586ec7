//! Widths below and above the workgroup.

use super::{Bench, Case, Expected, Random, Tolerance};
use crate::kernels::rms_norm::rms_norm;
use crate::reference;

pub fn cases(random: &mut Random) -> Vec<Case> {
    [1, 31, 33, 257, 1000].into_iter().map(|width| case(random, width)).collect()
}

fn case(random: &mut Random, width: u32) -> Case {
    const EPS: f32 = 1e-5;
    let mut bench = Bench::new(3);
    let mut x = random.floats((width * 3) as usize);
    let weight = random.floats(width as usize);
    let y = bench.floats(&vec![0.0; x.len()]);
    let dispatch = rms_norm(width, EPS, bench.floats(&x).into(), bench.floats(&weight).into(), y.into());
    reference::rms_norm(&mut x, &weight, EPS);
    bench.case(format!("3x{width}"), vec![dispatch], y, Expected::Close(x, Tolerance::PLAIN))
}
