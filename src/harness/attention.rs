//! One and many queries over caches of 1 to 5,000 keys: head sizes, groups, and lengths around the tiles.

use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::kernels::attention::{
    Attention, Limits, Splits, attention_decode_limited, attention_limited, attention_merge, split_count,
};
use crate::kernels::rope_kv::{Cache, Heads};
use crate::reference::{self, AttentionRules, Head, attention_head};

pub fn cases(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads { heads, kv_heads, head_dim, context: 704 };
    let sizes = [(4, 1, 32), (3, 1, 64), (2, 2, 80), (2, 1, 96), (8, 1, 128), (2, 1, 256), (4, 2, 100)];
    let shapes = sizes.map(|(h, kv, dim)| heads(h, kv, dim));
    let mut cases = Vec::new();
    let none = Limits::default();
    for shape in shapes {
        cases.extend([0, 31, 256, 700].map(|position| decode_case(random, shape, none, position)));
        let passes = [[0, 1], [0, 33], [257, 17], [1, 16]];
        cases.extend(passes.map(|pass| prefill_case(random, shape, none, pass)));
    }
    let limited = [(heads(4, 2, 64), 33, 0.0), (heads(8, 1, 128), 0, 5.0), (heads(2, 1, 80), 100, 3.0)];
    for (shape, window, soft_cap) in limited {
        let limits = Limits { window, soft_cap };
        cases.extend([0, 32, 33, 256, 700].map(|position| decode_case(random, shape, limits, position)));
        let passes = [[0, 33], [257, 17], [20, 40]];
        cases.extend(passes.map(|pass| prefill_case(random, shape, limits, pass)));
    }
    let long = Heads { context: 5000, ..heads(2, 1, 64) };
    cases.push(prefill_case(random, long, none, [4981, 19]));
    let own_key = Limits { window: 1, soft_cap: 0.0 };
    cases.push(prefill_case(random, heads(1, 1, 32), own_key, [5, 31]));
    cases.push(decode_case(random, heads(1, 1, 32), own_key, 90));
    // More query heads per kv head than a workgroup takes.
    cases.push(decode_case(random, heads(32, 2, 32), none, 40));
    cases.extend([(3, 1, 64), (1, 7, 100), (4, 64, 256), (2, 33, 1)].map(|shape| merge_case(random, shape)));
    cases
}

/// Splits with maxima far apart, some without a key.
fn merge_case(random: &mut Random, (heads, count, head_dim): (u32, u32, u32)) -> Case {
    let mut bench = Bench::new(1);
    let rows = (heads * count) as usize;
    let partial = random.floats(rows * head_dim as usize);
    let stats: Vec<[f32; 2]> = (0..rows)
        .map(|i| {
            let empty = count > 1 && i % 3 == 1;
            if empty { [-3.0e38, 0.0] } else { [20.0 * random.floats(1)[0], 1.5 + random.floats(1)[0]] }
        })
        .collect();
    let y = bench.floats(&vec![f32::NAN; (heads * head_dim) as usize]);
    let splits = Splits {
        count,
        partial: bench.floats(&partial).into(),
        stats: bench.bytes(bytemuck::cast_slice(&stats)).into(),
    };
    let dispatch = attention_merge(heads, head_dim, &splits, y.into());
    let expected = reference::attention_merge(&partial, &stats, count as usize, head_dim as usize);
    let name = format!("{heads} heads of {head_dim}, {count} splits");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

/// A cache filled with random keys and values up to `keys`, on the bench and as `[positions, kv_heads, head_dim]`.
fn cache(random: &mut Random, bench: &mut Bench, heads: Heads, keys: usize) -> (Cache, [Vec<u16>; 2]) {
    let (kv, d, context) = (heads.kv_heads as usize, heads.head_dim as usize, heads.context as usize);
    let stride = heads.row() as usize;
    let mut make = || {
        let rows: Vec<u16> = random.floats(keys * kv * d).into_iter().map(|x| f16_from_f32(2.0 * x)).collect();
        // Rows past the last key must not matter: they are NaN.
        let mut by_head = vec![0x7e00u16; kv * context * stride];
        for (position, row) in rows.chunks_exact(kv * d).enumerate() {
            for (head, values) in row.chunks_exact(d).enumerate() {
                let row = &mut by_head[(head * context + position) * stride..][..stride];
                row.fill(0);
                row[..d].copy_from_slice(values);
            }
        }
        (bench.bytes(bytemuck::cast_slice(&by_head)), rows)
    };
    let ((k, keys), (v, values)) = (make(), make());
    (Cache { k: k.into(), v: v.into() }, [keys, values])
}

fn expected(heads: Heads, limits: Limits, position: u32, q: &[f32], [keys, values]: &[Vec<u16>; 2]) -> Vec<f32> {
    if limits != Limits::default() {
        return limited(heads, limits, q, [keys, values]);
    }
    let sizes = [heads.heads, heads.kv_heads, heads.head_dim].map(|n| n as usize);
    let shape = reference::AttentionShape::plain(sizes, position as usize);
    let mut out = vec![0.0; q.len()];
    reference::attention(shape, q, keys, values, &mut out);
    out
}

/// The same with a window or a soft cap, head by head.
fn limited(heads: Heads, limits: Limits, q: &[f32], kv: [&Vec<u16>; 2]) -> Vec<f32> {
    let (h, kv_heads, d) = (heads.heads as usize, heads.kv_heads as usize, heads.head_dim as usize);
    let rules = AttentionRules {
        causal: true,
        window: (limits.window > 0).then_some(limits.window as usize),
        scale: (d as f64).sqrt().recip(),
        soft_cap: (limits.soft_cap > 0.0).then_some(limits.soft_cap.into()),
    };
    let [k, v] = kv.map(|rows| rows.iter().map(|&bits| f16_to_f32(bits)).collect::<Vec<f32>>());
    let mut out = vec![0.0; q.len()];
    for head in 0..h {
        let of_kv = head / (h / kv_heads) * d;
        let q: Vec<&[f32]> = q.chunks_exact(h * d).map(|row| &row[head * d..][..d]).collect();
        let [k, v] = [&k, &v].map(|x| x.chunks_exact(kv_heads * d).map(|row| &row[of_kv..][..d]).collect::<Vec<_>>());
        let found = attention_head(&rules, Head { q: &q, k: &k, v: &v }, |_, _| 0.0);
        for (row, found) in out.chunks_exact_mut(h * d).zip(found.chunks_exact(d)) {
            row[head * d..][..d].copy_from_slice(found);
        }
    }
    out
}

/// Queries large enough that the softmax is peaked, as trained models have it.
fn queries(random: &mut Random, heads: Heads, tokens: u32) -> Vec<f32> {
    random.floats((tokens * heads.heads * heads.head_dim) as usize).into_iter().map(|x| 3.0 * x).collect()
}

fn decode_case(random: &mut Random, heads: Heads, limits: Limits, position: u32) -> Case {
    let mut bench = Bench::at(position, 1);
    let (state, _) = bench.fixed();
    let q = queries(random, heads, 1);
    let (cache, rows) = cache(random, &mut bench, heads, position as usize + 1);
    let count = split_count(heads.context);
    let y = bench.floats(&vec![0.0; q.len()]);
    let splits = Splits {
        count,
        partial: bench.floats(&vec![f32::NAN; q.len() * count as usize]).into(),
        stats: bench.floats(&vec![f32::NAN; (heads.heads * count * 2) as usize]).into(),
    };
    let scale = (heads.head_dim as f32).sqrt().recip();
    let problem = Attention { heads, scale, q: bench.floats(&q).into(), cache, y: y.into() };
    let dispatches = attention_decode_limited(state, &problem, &splits, limits).to_vec();
    let expected = Expected::Close(expected(heads, limits, position, &q, &rows), Tolerance::ATTENTION);
    bench.case(name(heads, limits, position, 1), dispatches, y, expected)
}

fn prefill_case(random: &mut Random, heads: Heads, limits: Limits, [position, tokens]: [u32; 2]) -> Case {
    let mut bench = Bench::at(position, tokens);
    let (state, _) = bench.fixed();
    let q = queries(random, heads, tokens);
    let (cache, rows) = cache(random, &mut bench, heads, (position + tokens) as usize);
    let y = bench.floats(&vec![0.0; q.len()]);
    let scale = (heads.head_dim as f32).sqrt().recip();
    let problem = Attention { heads, scale, q: bench.floats(&q).into(), cache, y: y.into() };
    let dispatch = attention_limited(state, &problem, limits);
    let expected = Expected::Close(expected(heads, limits, position, &q, &rows), Tolerance::ATTENTION);
    bench.case(name(heads, limits, position, tokens), vec![dispatch], y, expected)
}

fn name(heads: Heads, limits: Limits, position: u32, tokens: u32) -> String {
    let Heads { heads, kv_heads, head_dim, .. } = heads;
    let window = if limits.window > 0 { format!(", window {}", limits.window) } else { String::new() };
    let cap = if limits.soft_cap > 0.0 { format!(", cap {}", limits.soft_cap) } else { String::new() };
    format!("{heads}/{kv_heads} heads of {head_dim}, {tokens} tokens at {position}{window}{cap}")
}
