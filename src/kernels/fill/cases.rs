//! Lengths around a workgroup's words; what follows them must stay as it is.

use crate::harness::{Bench, Case, Expected, Suite};
use crate::kernels::fill::fill;
use crate::kernels::reference;

pub(crate) fn cases(_: &Suite) -> Vec<Case> {
    [(1, 0), (31, 0x7fc0_0000), (1024, 0), (1025, u32::MAX), (5000, 3)].map(|(words, value)| case(words, value)).into()
}

fn case(words: u32, value: u32) -> Case {
    let mut bench = Bench::new(1);
    let mut expected: Vec<u32> = (0..words + 7).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let y = bench.bytes(bytemuck::cast_slice(&expected));
    reference::fill(words as usize, value, &mut expected);
    bench.case(format!("{words} words"), vec![fill(words, value, y.into())], y, Expected::Exact(expected))
}
