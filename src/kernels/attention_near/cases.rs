//! Fewer rows than a row sees, and more; heads of fewer and more values than a workgroup has threads; with and without
//! factors; queries, keys and values beside each other in a row.

use super::{NearBuffers, attention_near};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;
use crate::model::program::NearSpec;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_near");
    let sets = [([2, 10, 12], 31, [true, false]), ([3, 70, 4], 9, [false, true]), ([1, 6, 16], 5, [false, false])];
    sets.map(|(sizes, rows, weighted)| case(random, sizes, rows, weighted)).into()
}

fn case(random: &mut Random, [heads, head_dim, span]: [usize; 3], rows: usize, weighted: [bool; 2]) -> Case {
    // Small enough a cap to bend scores.
    let shape = NearSpec { heads, head_dim, span, scale: 0.7, k_scale: 1.3, soft_cap: 2.0 };
    let width = heads * head_dim;
    let side_by_side = random.floats(rows * 3 * width);
    let far = random.floats(rows * width);
    let weights = weighted.map(|is_there| is_there.then(|| random.floats(head_dim)));
    let part = |of: usize| -> Vec<f32> {
        side_by_side.chunks_exact(3 * width).flat_map(|row| row[of * width..][..width].to_vec()).collect()
    };
    let [q, k, v] = [0, 1, 2].map(part);
    let mut expected = vec![0.0; rows * width];
    let given = [0, 1].map(|of| weights[of].as_deref());
    reference::attention_near(shape, [&q, &k, &v], &far, given, &mut expected);
    let mut bench = Bench::new(rows as u32);
    let slice = bench.floats(&side_by_side).into();
    let place = |of: usize| Rows { slice, stride: 3 * width as u32, offset: (of * width) as u32 };
    let dummy = bench.floats(&[0.0; 4]).into();
    let y = bench.floats(&vec![0.0; rows * width]);
    let buffers = NearBuffers {
        qkv: [0, 1, 2].map(place),
        far: Rows { slice: bench.floats(&far).into(), stride: width as u32, offset: 0 },
        weights: weights.map(|weight| weight.map(|weight| bench.floats(&weight).into())),
        y: y.into(),
    };
    let dispatch = attention_near(shape, buffers, dummy);
    let name = format!("{rows} rows of {heads} heads of {head_dim}, each sees {span}, factors {weighted:?}");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
