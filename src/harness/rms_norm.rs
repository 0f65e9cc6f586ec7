//! Widths below and above the workgroup.

use super::{Bench, Case, Expected, Random, Tolerance};
use crate::kernels::rms_norm::{RmsNorm, rms_norm};
use crate::reference;

pub fn cases(random: &mut Random) -> Vec<Case> {
    [(1, false), (31, true), (33, false), (257, true), (1000, false)]
        .map(|(width, add)| case(random, width, add))
        .into()
}

fn case(random: &mut Random, width: u32, add: bool) -> Case {
    const EPS: f32 = 1e-5;
    let mut bench = Bench::new(3);
    let mut x = random.floats((width * 3) as usize);
    let weight = random.floats(width as usize);
    let before = random.floats(x.len());
    let y = bench.floats(&before);
    let (x_slice, weight_slice) = (bench.floats(&x).into(), bench.floats(&weight).into());
    let dispatch = rms_norm(&RmsNorm { width, eps: EPS, x: x_slice, weight: weight_slice, y: y.into(), add });
    reference::rms_norm(&mut x, &weight, EPS);
    if add {
        x.iter_mut().zip(&before).for_each(|(x, before)| *x += before);
    }
    let name = if add { format!("3x{width}, added") } else { format!("3x{width}") };
    bench.case(name, vec![dispatch], y, Expected::Close(x, Tolerance::PLAIN))
}
