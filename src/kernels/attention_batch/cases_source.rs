//! Rows of several sequences that attend to sources of their own, few rows and many.

use super::{BatchHeads, SourceBuffers, attention_to_source};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::pass::{Pass, Row};
use crate::kernels::reference::{AttentionShape, attention};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_to_source");
    let heads = |heads, kv_heads, head_dim| BatchHeads { heads, kv_heads, head_dim };
    // Rows of each source, and the sequences of the pass.
    let sets: [(BatchHeads, u32, &[usize], &[u32]); 8] = [
        (heads(3, 3, 20), 1, &[70], &[0]),
        (heads(2, 2, 64), 1, &[1], &[0]),
        (heads(4, 2, 64), 3, &[33, 5, 40], &[0, 2]),
        (heads(2, 1, 80), 4, &[9, 1, 64, 31], &[1, 2, 3]),
        (heads(3, 3, 18), 8, &[40, 17], &[0, 0, 0, 0, 0, 1, 1, 1]),
        (heads(2, 2, 256), 2, &[21, 35], &[0, 1]),
        (heads(2, 1, 32), 512, &[7, 130], &[1; 50]),
        (heads(2, 2, 256), 512, &[45], &[0; 19]),
    ];
    sets.into_iter().map(|(of, rows, sources, sequences)| case(random, (of, rows), sources, sequences)).collect()
}

fn case(random: &mut Random, (of, most): (BatchHeads, u32), sources: &[usize], sequences: &[u32]) -> Case {
    let BatchHeads { heads, kv_heads, head_dim } = of;
    // There is room for more rows of each source than it has.
    let room = sources.iter().max().copied().unwrap_or(0) + 3;
    let rows: Vec<Row> = sequences.iter().map(|&sequence| Row { sequence, ..Row::default() }).collect();
    let mut bench = Bench::of(Pass::decode(&rows));
    let (pass, _) = bench.fixed();
    let width = (heads * head_dim) as usize;
    // So large that the softmax is peaked, as trained models have it.
    let mut floats = |rows: usize| -> Vec<f32> { random.floats(rows * width).into_iter().map(|x| 3.0 * x).collect() };
    let (q, k, v, after) = (floats(rows.len()), floats(sources.len() * room), floats(sources.len() * room), floats(1));
    let spans: Vec<[u32; 2]> =
        (0..).zip(sources).map(|(at, &rows)| [at * room as u32, at * room as u32 + rows as u32]).collect();
    // One row more than the pass has: it stays as it is.
    let y = bench.floats(&[vec![f32::NAN; q.len()], after.clone()].concat());
    let buffers = SourceBuffers {
        pass,
        spans: bench.bytes(bytemuck::cast_slice(&spans)).into(),
        q: bench.floats(&q).into(),
        kv: [&k, &v].map(|values| bench.floats(values).into()),
        y: y.into(),
    };
    let dispatch = attention_to_source(most, of, 0.3, buffers);
    let mut expected = vec![0.0; q.len()];
    let kv_width = (kv_heads * head_dim) as usize;
    for ((row, q), y) in rows.iter().zip(q.chunks_exact(width)).zip(expected.chunks_exact_mut(width)) {
        let [first, end] = spans[row.sequence as usize].map(|row| row as usize);
        let [k, v] = [&k, &v].map(|values| -> Vec<f32> {
            values[first * width..end * width].chunks_exact(width).flat_map(|row| row[..kv_width].to_vec()).collect()
        });
        let sizes = AttentionShape::plain([heads, kv_heads, head_dim].map(|n| n as usize), end - first - 1);
        attention(AttentionShape { scale: 0.3, ..sizes }, q, &k, &v, y);
    }
    let name = format!(
        "{heads}/{kv_heads} heads of {head_dim}, up to {most} rows, of sequences {sequences:?}, sources of {sources:?}"
    );
    bench.case(name, vec![dispatch], y, Expected::Close([expected, after].concat(), Tolerance::ATTENTION))
}
