//! Mean, first and last row of inputs of odd lengths; widths below and above the workgroup.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::pass::Pass;
use crate::kernels::pool::pool;
use crate::kernels::reference;
use crate::model::program::PoolKind;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("pool");
    let sets: [(PoolKind, usize, &[usize]); 6] = [
        (PoolKind::Mean, 65, &[3, 1, 40]),
        (PoolKind::Mean, 31, &[200]),
        (PoolKind::First, 130, &[5, 2, 1]),
        (PoolKind::Last, 64, &[1, 7, 3]),
        (PoolKind::Last, 1, &[9]),
        (PoolKind::First, 33, &[4, 4]),
    ];
    sets.map(|(kind, width, lengths)| case(random, kind, width, lengths)).into()
}

fn case(random: &mut Random, kind: PoolKind, width: usize, lengths: &[usize]) -> Case {
    let ids: Vec<Vec<u32>> = lengths.iter().map(|&length| vec![0; length]).collect();
    let inputs: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    // As many rows as inputs: it runs over these.
    let mut bench = Bench::new(lengths.len() as u32);
    let x = random.floats(lengths.iter().sum::<usize>() * width);
    let y = bench.floats(&vec![f32::NAN; lengths.len() * width]);
    let spans = Pass::spans(&inputs);
    let of_inputs = bench.bytes(bytemuck::cast_slice(&spans)).into();
    let dispatch = pool(kind, width as u32, of_inputs, bench.floats(&x).into(), y.into());
    let rows = |&[first, end]: &[u32; 2]| &x[first as usize * width..end as usize * width];
    let expected = spans.iter().flat_map(|span| reference::pool(kind, width, rows(span))).collect();
    let name = format!("{kind:?} of inputs of {lengths:?} x {width}");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
