//! One and many queries over caches of 1 to 700 keys: head sizes, groups, and lengths around the tiles.

use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::f16_from_f32;
use crate::kernels::attention::{Attention, Splits, attention, attention_decode, split_count};
use crate::kernels::rope_kv::{Cache, Heads};
use crate::reference;

pub fn cases(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads { heads, kv_heads, head_dim, context: 704 };
    let shapes = [heads(4, 1, 32), heads(3, 1, 64), heads(2, 2, 80), heads(2, 1, 96), heads(8, 1, 128), heads(2, 1, 256), heads(4, 2, 100)];
    let mut cases = Vec::new();
    for shape in shapes {
        for position in [0, 31, 256, 700] {
            cases.push(decode_case(random, shape, position));
        }
        for (position, tokens) in [(0, 1), (0, 33), (257, 17), (1, 16)] {
            cases.push(prefill_case(random, shape, position, tokens));
        }
    }
    cases
}

/// A cache filled with random keys and values up to `keys`, on the bench and as `[positions, kv_heads, head_dim]`.
fn cache(random: &mut Random, bench: &mut Bench, heads: Heads, keys: usize) -> (Cache, [Vec<u16>; 2]) {
    let (kv, d, context) = (heads.kv_heads as usize, heads.head_dim as usize, heads.context as usize);
    let stride = heads.row() as usize;
    let mut make = || {
        let rows: Vec<u16> = random.floats(keys * kv * d).into_iter().map(|x| f16_from_f32(2.0 * x)).collect();
        // What lies past the last key must not matter: it is NaN.
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

fn expected(heads: Heads, position: u32, q: &[f32], [keys, values]: &[Vec<u16>; 2]) -> Vec<f32> {
    let shape = reference::AttentionShape {
        heads: heads.heads as usize,
        kv_heads: heads.kv_heads as usize,
        head_dim: heads.head_dim as usize,
        position: position as usize,
    };
    let mut out = vec![0.0; q.len()];
    reference::attention(shape, q, keys, values, &mut out);
    out
}

/// Queries large enough that the softmax is peaked, as trained models have it.
fn queries(random: &mut Random, heads: Heads, tokens: u32) -> Vec<f32> {
    random.floats((tokens * heads.heads * heads.head_dim) as usize).into_iter().map(|x| 3.0 * x).collect()
}

fn decode_case(random: &mut Random, heads: Heads, position: u32) -> Case {
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
    let dispatches = attention_decode(state, &problem, &splits).to_vec();
    let expected = Expected::Close(expected(heads, position, &q, &rows), Tolerance::ATTENTION);
    bench.case(name(heads, position, 1), dispatches, y, expected)
}

fn prefill_case(random: &mut Random, heads: Heads, position: u32, tokens: u32) -> Case {
    let mut bench = Bench::at(position, tokens);
    let (state, _) = bench.fixed();
    let q = queries(random, heads, tokens);
    let (cache, rows) = cache(random, &mut bench, heads, (position + tokens) as usize);
    let y = bench.floats(&vec![0.0; q.len()]);
    let scale = (heads.head_dim as f32).sqrt().recip();
    let problem = Attention { heads, scale, q: bench.floats(&q).into(), cache, y: y.into() };
    let dispatch = attention(state, &problem);
    let expected = Expected::Close(expected(heads, position, &q, &rows), Tolerance::ATTENTION);
    bench.case(name(heads, position, tokens), vec![dispatch], y, expected)
}

fn name(heads: Heads, position: u32, tokens: u32) -> String {
    let Heads { heads, kv_heads, head_dim, .. } = heads;
    format!("{heads}/{kv_heads} heads of {head_dim}, {tokens} tokens at {position}")
}
