//! Both pairings, partial rotation, q/k norms, several inputs: q and k are replaced, v stays.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::attention_batch::BatchHeads;
use crate::kernels::pass::Pass;
use crate::kernels::reference;
use crate::kernels::rope_batch::{RopeBatch, rope_batch};
use crate::kernels::rope_kv::{Rope, frequency_table};
use crate::model::RopeStyle;

/// Large, so that a kernel without it fails.
const EPS: f32 = 0.01;
const MAGNITUDE: f32 = 1.5;

/// Heads; rotated dimensions and those of the table; whether pairs are halves, and whether heads are normalised.
type Shape = (BatchHeads, [u32; 2], [bool; 2]);

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("rope_batch");
    let heads = |heads, kv_heads, head_dim| BatchHeads { heads, kv_heads, head_dim };
    let sets: [(Shape, &[usize]); 6] = [
        ((heads(4, 2, 64), [64, 64], [false, false]), &[3, 2]),
        ((heads(3, 1, 80), [80, 80], [true, true]), &[1, 4]),
        ((heads(2, 2, 128), [64, 64], [false, true]), &[2, 1, 3]),
        ((heads(2, 1, 256), [128, 128], [true, false]), &[5]),
        ((heads(1, 1, 18), [10, 10], [true, false]), &[7, 7]),
        ((heads(2, 1, 32), [0, 2], [true, true]), &[3, 3]),
    ];
    sets.map(|((heads, [dims, table], [split_half, norm]), lengths)| {
        case(random, heads, (Rope { dims, first: 0, split_half }, table), norm, lengths)
    })
    .into()
}

fn case(random: &mut Random, of: BatchHeads, (rope, table): (Rope, u32), norm: bool, lengths: &[usize]) -> Case {
    let ids: Vec<Vec<u32>> = lengths.iter().map(|&length| vec![0; length]).collect();
    let inputs: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let batch = Pass::batch(&inputs);
    let mut bench = Bench::of(batch.clone());
    let (pass, dummy) = bench.fixed();
    let d = of.head_dim as usize;
    let values = random.floats(batch.rows.len() * of.row() as usize);
    let norms = [random.floats(d), random.floats(d)];
    let qkv = bench.floats(&values);
    let [q_norm, k_norm] = [bench.floats(&norms[0]), bench.floats(&norms[1])];
    let problem = RopeBatch {
        heads: of,
        rope,
        magnitude: MAGNITUDE,
        frequencies: bench.bytes(bytemuck::cast_slice(&frequency_table(table, 10_000.0, 1.0, None))).into(),
        qk_norm: norm.then(|| (q_norm.into(), k_norm.into(), EPS)),
        qkv: qkv.into(),
    };
    let dispatch = rope_batch(pass, dummy, &problem);
    let style = if rope.split_half { RopeStyle::SplitHalf } else { RopeStyle::Interleaved };
    let frequencies = reference::frequencies(rope.dims as usize, 10_000.0, 1.0, None);
    let mut expected = values;
    for (row, x) in batch.rows.iter().zip(expected.chunks_exact_mut(of.row() as usize)) {
        let (q, rest) = x.split_at_mut(of.heads as usize * d);
        for (part, weight) in [q, &mut rest[..of.kv_heads as usize * d]].into_iter().zip(&norms) {
            if norm {
                reference::rms_norm(part, weight, EPS);
            }
            reference::rope_scaled(part, [d, 0], |_| row.position as usize, (&frequencies, MAGNITUDE), style);
        }
    }
    let BatchHeads { heads, kv_heads, .. } = of;
    let name = format!("{heads}/{kv_heads} heads of {d}, {rope:?}, norm {norm}, inputs of {lengths:?}");
    bench.case(name, vec![dispatch], qkv, Expected::Close(expected, Tolerance::TURNED))
}
