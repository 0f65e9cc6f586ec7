//! Grids that are seen as a whole and in windows, of which the last ones reach over its edge; tables of the grid's size
//! and of another one; queries, keys and values beside each other in a row.

use super::{GridBuffers, attention_grid};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;
use crate::model::program::GridSpec;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_grid");
    let spec = |[heads, head_dim]: [usize; 2], window, places| GridSpec { heads, head_dim, scale: 0.6, window, places };
    [(spec([2, 10], 0, 9), 5), (spec([3, 70], 0, 9), 9), (spec([2, 6], 3, 5), 7), (spec([1, 18], 4, 7), 8)]
        .into_iter()
        .map(|(spec, side)| case(random, spec, side))
        .collect()
}

fn case(random: &mut Random, spec: GridSpec, side: usize) -> Case {
    let GridSpec { heads, head_dim, window, places, .. } = spec;
    let (width, rows) = (heads * head_dim, side * side);
    let mut side_by_side = random.floats(rows * 3 * width);
    // The last key is the best one: what was summed before it shrinks.
    side_by_side[(rows - 1) * 3 * width + width..][..width].iter_mut().for_each(|key| *key *= 4.0);
    let far = [0, 1].map(|_| random.floats(places * head_dim));
    let fill = [0, 1].map(|_| random.floats(width));
    let part = |of: usize| -> Vec<f32> {
        side_by_side.chunks_exact(3 * width).flat_map(|row| row[of * width..][..width].to_vec()).collect()
    };
    let qkv = [0, 1, 2].map(part);
    let weights = [&far, &fill].map(|two| [0, 1].map(|of: usize| two[of].as_slice()));
    let mut expected = vec![0.0; rows * width];
    for (cell, out) in expected.chunks_exact_mut(width).enumerate() {
        reference::attention_grid(spec, cell, [0, 1, 2].map(|of: usize| qkv[of].as_slice()), weights, out);
    }
    let mut bench = Bench::new(rows as u32);
    let slice = bench.floats(&side_by_side).into();
    let place = |of: usize| Rows { slice, stride: 3 * width as u32, offset: (of * width) as u32 };
    let y = bench.floats(&vec![0.0; rows * width]);
    let [far, fill] = weights.map(|two| two.map(|of| bench.floats(of).into()));
    let dispatch = attention_grid(spec, GridBuffers { qkv: [0, 1, 2].map(place), far, fill, y: y.into() });
    let seen = if window > 0 { format!("in windows of {window} x {window}") } else { "that see all".to_owned() };
    let name = format!("{side} x {side} cells {seen}, {places} distances, {heads} heads of {head_dim}");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
