//! Inputs of odd lengths beside each other, head sizes, groups, windows, caps.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::attention::Distances;
use crate::kernels::attention_batch::{BatchBuffers, BatchHeads, BatchRules, attention_batch};
use crate::kernels::pass::Pass;
use crate::kernels::reference::{self, Alibi, AttentionShape, ByDistance, Visible};
use crate::kernels::spec::{BufferId, Dispatch};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_batch");
    let heads = |heads, kv_heads, head_dim| BatchHeads { heads, kv_heads, head_dim };
    let full = BatchRules { causal: false, window: 0, scale: 0.3, soft_cap: 0.0, alibi: 0.0, distances: None };
    let causal = BatchRules { causal: true, ..full };
    let window = |window| BatchRules { window, ..full };
    let alibi = BatchRules { alibi: 8.0, ..full };
    let distances = |buckets, both_ways| {
        let table = BufferId(0).into(); // the case makes one
        BatchRules { distances: Some(Distances { table, buckets, both_ways }), ..full }
    };
    let sets: [(BatchHeads, BatchRules, &[usize]); 19] = [
        (heads(3, 3, 32), full, &[1, 40, 7, 15, 1]),
        (heads(4, 2, 64), full, &[100]),
        (heads(2, 1, 80), full, &[5, 31, 33]),
        (heads(2, 2, 256), full, &[9, 50]),
        (heads(4, 1, 128), causal, &[20, 3, 40]),
        (heads(3, 1, 18), full, &[17, 19]),
        (heads(2, 1, 18), BatchRules { causal: true, ..window(5) }, &[30, 12]),
        (heads(2, 2, 64), window(6), &[70, 2, 33]),
        (heads(2, 1, 32), window(9), &[40, 41]),
        (heads(1, 1, 4), window(1), &[3, 20]),
        (heads(2, 1, 64), BatchRules { soft_cap: 4.0, ..full }, &[21, 22]),
        (heads(1, 1, 32), full, &[600]),
        (heads(6, 3, 32), alibi, &[40, 7, 15]),
        (heads(3, 3, 18), BatchRules { causal: true, ..alibi }, &[30, 12]),
        (heads(4, 2, 64), BatchRules { window: 6, alibi: 5.0, ..full }, &[70, 2, 33]),
        (heads(6, 6, 32), distances(32, true), &[1, 300, 7]),
        (heads(3, 3, 18), distances(9, true), &[30, 140]),
        (heads(2, 1, 64), BatchRules { causal: true, ..distances(32, false) }, &[20, 170]),
        (heads(4, 2, 16), BatchRules { soft_cap: 4.0, ..distances(7, false) }, &[33, 150]),
    ];
    let each = |(of, rules, lengths): (BatchHeads, BatchRules, &[usize])| {
        case(random, (of, rules), lengths, "", |rules, buffers| attention_batch(of, rules, buffers))
    };
    sets.into_iter().map(each).collect()
}

/// A case with inputs of these lengths, as `dispatch` computes them.
pub(super) fn case(
    random: &mut Random,
    (heads, mut rules): (BatchHeads, BatchRules),
    lengths: &[usize],
    more: &str,
    dispatch: impl Fn(BatchRules, BatchBuffers) -> Dispatch,
) -> Case {
    let ids: Vec<Vec<u32>> = lengths.iter().map(|&length| vec![0; length]).collect();
    let inputs: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
    let mut bench = Bench::of(Pass::batch(&inputs));
    let (pass, _) = bench.fixed();
    let rows = lengths.iter().sum::<usize>();
    // So large that the softmax is peaked, as trained models have it.
    let qkv: Vec<f32> = random.floats(rows * heads.row() as usize).into_iter().map(|x| 3.0 * x).collect();
    // One row more than the pass has: it stays as it is.
    let width = (heads.heads * heads.head_dim) as usize;
    let after = random.floats(width);
    let y = bench.floats(&[vec![f32::NAN; rows * width], after.clone()].concat());
    let buffers = BatchBuffers {
        pass,
        inputs: bench.bytes(bytemuck::cast_slice(&Pass::spans(&inputs))).into(),
        qkv: bench.floats(&qkv).into(),
        y: y.into(),
    };
    let mut biases = Vec::new();
    if let Some(distances) = &mut rules.distances {
        biases = random.floats((distances.buckets * heads.heads) as usize).into_iter().map(|x| 5.0 * x).collect();
        distances.table = bench.floats(&biases).into();
    }
    let dispatch = dispatch(rules, buffers);
    let expected = [expected(heads, rules, lengths, (&qkv, &biases)), after].concat();
    let expected = Expected::Close(expected, Tolerance::ATTENTION);
    let BatchHeads { heads, kv_heads, head_dim } = heads;
    let BatchRules { causal, window, soft_cap, alibi, .. } = rules;
    let buckets = rules.distances.map_or_else(String::new, |of| format!(", {} buckets of distances", of.buckets));
    let name = format!(
        "{heads}/{kv_heads} heads of {head_dim}, inputs of {lengths:?}, causal {causal}, window {window}, \
         cap {soft_cap}, ALiBi {alibi}{buckets}{more}"
    );
    bench.case(name, vec![dispatch], y, expected)
}

fn expected(heads: BatchHeads, rules: BatchRules, lengths: &[usize], (qkv, table): (&[f32], &[f32])) -> Vec<f32> {
    let [h, kv, d] = [heads.heads, heads.kv_heads, heads.head_dim].map(|n| n as usize);
    let shape = AttentionShape {
        scale: rules.scale,
        soft_cap: (rules.soft_cap > 0.0).then_some(rules.soft_cap),
        alibi: (rules.alibi > 0.0).then_some(Alibi { bias: rules.alibi, ahead: 0 }),
        distances: rules.distances.map(|of| ByDistance { table, both_ways: of.both_ways, ahead: 0 }),
        ..AttentionShape::plain([h, kv, d], 0)
    };
    let visible = Visible { causal: rules.causal, window: (rules.window > 0).then_some(rules.window as usize) };
    let stride = heads.row() as usize;
    let (mut out, mut rest) = (Vec::new(), qkv);
    for length in lengths {
        let (input, others) = rest.split_at(length * stride);
        rest = others;
        let part = |from: usize, count: usize| -> Vec<f32> {
            input.chunks_exact(stride).flat_map(|row| row[from * d..][..count * d].to_vec()).collect()
        };
        let (q, k, v) = (part(0, h), part(h, kv), part(h + kv, kv));
        for row in q.chunks_exact(h * d).enumerate() {
            let mut y = vec![0.0; h * d];
            reference::attention_batch(shape, visible, row, [&k, &v], &mut y);
            out.extend(y);
        }
    }
    out
}
