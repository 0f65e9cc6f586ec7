//! Counts around workgroups, one round and runs; few different keys and many.

use crate::harness::{Bench, Case, Expected, Random, Suite};
use crate::kernels::sort_pairs::sort_pairs;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("sort_pairs");
    [(1, 1), (31, 7), (257, u32::MAX), (1024, 90), (1025, 1), (5000, 90), (16_385, u32::MAX)]
        .map(|(count, keys)| case(random, count, keys))
        .into()
}

/// `count` keys below `limit`, and a few at the ends of their range.
fn case(random: &mut Random, count: u32, limit: u32) -> Case {
    let mut keys: Vec<u32> = (0..count).map(|_| random.below(limit)).collect();
    keys.iter_mut().skip(5).zip([u32::MAX, 0, 1 << 31, u32::MAX]).for_each(|(key, end)| *key = end);
    let mut bench = Bench::new(1);
    let [first, second] = [(); 2].map(|()| bench.bytes(&vec![0xff; 8 * count as usize]));
    let keys_buffer = bench.bytes(bytemuck::cast_slice(&keys));
    let (dispatches, sorted) = sort_pairs(count, keys_buffer.into(), [first, second].map(Into::into));
    let mut pairs: Vec<[u32; 2]> = keys.into_iter().zip(0..).map(Into::into).collect();
    pairs.sort_unstable();
    let name = format!("{count} pairs, keys below {limit}, rounds: {}", dispatches.len());
    bench.case(name, dispatches, sorted.buffer, Expected::Exact(pairs.concat()))
}
