//! Fewer rows than a workgroup has threads, and more; heads of fewer and more values; queries, keys and values beside
//! each other in a row.

use super::{FarBuffers, attention_far};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;
use crate::model::program::FarSpec;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_far");
    [([2, 10], 31), ([3, 70], 9), ([1, 6], 135)].map(|(sizes, rows)| case(random, sizes, rows)).into()
}

fn case(random: &mut Random, [heads, head_dim]: [usize; 2], rows: usize) -> Case {
    let shape = FarSpec { heads, head_dim, scale: 0.6 };
    let width = heads * head_dim;
    let mut side_by_side = random.floats(rows * 3 * width);
    // The last key is the best one: what was summed before it shrinks.
    side_by_side[(rows - 1) * 3 * width + width..][..width].iter_mut().for_each(|key| *key *= 4.0);
    let far = [0, 1].map(|_| random.floats(rows * width));
    let biases = [0, 1].map(|_| random.floats(width));
    let part = |of: usize| -> Vec<f32> {
        side_by_side.chunks_exact(3 * width).flat_map(|row| row[of * width..][..width].to_vec()).collect()
    };
    let [q, k, v] = [0, 1, 2].map(part);
    let mut expected = vec![0.0; rows * width];
    let [before, ahead] = [0, 1].map(|of: usize| far[of].as_slice());
    let given = [0, 1].map(|of: usize| biases[of].as_slice());
    reference::attention_far(shape, [&q, &k, &v], [before, ahead], given, &mut expected);
    let mut bench = Bench::new(rows as u32);
    let slice = bench.floats(&side_by_side).into();
    let place = |of: usize| Rows { slice, stride: 3 * width as u32, offset: (of * width) as u32 };
    let y = bench.floats(&vec![0.0; rows * width]);
    let buffers = FarBuffers {
        qkv: [0, 1, 2].map(place),
        far: [before, ahead].map(|far| Rows { slice: bench.floats(far).into(), stride: width as u32, offset: 0 }),
        biases: given.map(|bias| bench.floats(bias).into()),
        y: y.into(),
    };
    let dispatch = attention_far(shape, buffers);
    let name = format!("{rows} rows of {heads} heads of {head_dim}");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
