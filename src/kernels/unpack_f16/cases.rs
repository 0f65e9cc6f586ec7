//! Every f16 but NaN, whose payload may differ: by the device's own conversion (one that takes subnormal numbers for 0
//! fails here, and its models are read in integers instead), and in integers.

use crate::gguf::f16_to_f32;
use crate::harness::{Bench, Case, Expected, Suite};
use crate::kernels::unpack_f16::unpack_f16;

pub(crate) fn cases(_: &Suite) -> Vec<Case> {
    [false, true].map(case).into()
}

fn case(integers: bool) -> Case {
    let halves: Vec<u16> = (0..=u16::MAX).filter(|bits| bits & 0x7fff <= 0x7c00).collect();
    let mut bench = Bench::new(1);
    let x = bench.bytes(bytemuck::cast_slice(&halves));
    // Past the last word nothing is written.
    let y = bench.bytes(&vec![0xff; 4 * halves.len() + 8]);
    let mut expected: Vec<u32> = halves.iter().map(|&bits| f16_to_f32(bits).to_bits()).collect();
    expected.extend([u32::MAX; 2]);
    let dispatch = unpack_f16(integers, halves.len() as u32 / 2, x.into(), y.into());
    bench.case("every number".into(), vec![dispatch], y, Expected::Exact(expected))
}
