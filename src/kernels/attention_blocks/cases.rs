//! Blocks that are whole and a last one that is not; fewer keys than a workgroup has threads, and more; rows of a pass
//! and rows of another one, whose last block is filled up; queries, keys and values beside each other in a row.

use super::{BlockBuffers, attention_blocks};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::reference;
use crate::model::program::BlockSpec;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_blocks");
    let spec = |[heads, head_dim]: [usize; 2], [queries, keys, farthest]: [usize; 3]| {
        let scale = 0.6;
        BlockSpec { heads, group: 1, head_dim, scale, queries, keys, farthest, filled: false }
    };
    let shares = |spec, group| BlockSpec { group, ..spec };
    [
        (spec([2, 10], [7, 7, 9]), 31, None),
        (spec([3, 70], [130, 130, 129]), 135, None),
        (spec([1, 6], [3, 3, 0]), 12, None),
        (spec([2, 18], [2, 5, 0]), 8, Some(17)),
        (spec([3, 24], [3, 80, 0]), 6, Some(90)),
        (shares(spec([6, 10], [30, 9, 0]), 3), 30, None),
        (shares(spec([4, 70], [81, 81, 0]), 4), 81, None),
    ]
    .into_iter()
    .map(|(spec, rows, seen)| case(random, spec, rows, seen))
    .collect()
}

/// `seen`: rows that are seen, where they are rows of another pass.
fn case(random: &mut Random, spec: BlockSpec, rows: usize, seen: Option<usize>) -> Case {
    let spec = BlockSpec { filled: seen.is_some(), ..spec };
    let BlockSpec { heads, group, head_dim, queries, keys, farthest, .. } = spec;
    let width = heads * head_dim;
    let widths = [width, width / group, width / group];
    let count = seen.unwrap_or(rows);
    let mut side_by_side = random.floats(rows.max(count) * 3 * width);
    // The last key is the best one: what was summed before it shrinks.
    side_by_side[(count - 1) * 3 * width + width..][..width].iter_mut().for_each(|key| *key *= 4.0);
    let wide = if spec.filled { width } else { (2 * farthest + 1) * head_dim };
    let weights = [0, 1].map(|_| random.floats(wide));
    let part = |of: usize, rows: usize| -> Vec<f32> {
        let all = side_by_side.chunks_exact(3 * width).take(rows);
        all.flat_map(|row| row[of * width..][..widths[of]].to_vec()).collect()
    };
    let (q, [k, v]) = (part(0, rows), [1, 2].map(|of| part(of, count)));
    let mut expected = vec![0.0; rows * width];
    let given = [0, 1].map(|of: usize| weights[of].as_slice());
    reference::attention_blocks(spec, [&q, &k, &v], given, &mut expected);
    let mut bench = Bench::new(rows as u32);
    let slice = bench.floats(&side_by_side).into();
    let place = |of: usize| Rows { slice, stride: 3 * width as u32, offset: (of * width) as u32 };
    let y = bench.floats(&vec![0.0; rows * width]);
    let buffers = BlockBuffers {
        qkv: [0, 1, 2].map(place),
        spans: bench.bytes(bytemuck::cast_slice(&[0, count as u32])).into(),
        weights: given.map(|of| bench.floats(of).into()),
        y: y.into(),
    };
    let dispatch = attention_blocks(spec, buffers);
    let seen = seen.map_or_else(String::new, |seen| format!(" that see {seen}"));
    let name = format!("{rows} rows in blocks of {queries}{seen} in blocks of {keys}, {heads} heads of {head_dim}");
    let name = if group > 1 { format!("{name} that share keys by {group}") } else { name };
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}
