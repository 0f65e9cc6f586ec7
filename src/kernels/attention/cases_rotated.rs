//! One row whose queries, key and value come as the product gave them: `attention_decode` with norms, rotation and
//! cache write. Where the new key belongs the cache has NaN.

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::attention::cases::cache;
use crate::kernels::attention::{Attention, Limits, Splits, attention_rotated, can_rotate, split_count};
use crate::kernels::pass::{Pass, Row};
use crate::kernels::reference;
use crate::kernels::rope_kv::cases::{EPS, PLAIN, Shape, expected, layout};
use crate::kernels::rope_kv::{HeadNorms, Heads, Rope, RopeKv, frequency_table};
use crate::model::program::Temperature;

const SEQUENCE: u32 = 1;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_rotated");
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let rope = |dims, split_half| Rope { dims, first: 0, split_half };
    let temperature = Some(Temperature { scale: 0.4, span: 3 });
    let scaled = Shape { position: 131, magnitude: 1.3, temperature, norm: true, ..PLAIN };
    let own = [
        Shape { heads: heads(4, 2, 64), rope: rope(64, false), position: 0, ..PLAIN },
        Shape { heads: heads(4, 2, 64), rope: rope(64, false), position: 700, ..PLAIN },
        Shape { heads: heads(3, 1, 80), rope: rope(36, true), ..scaled },
        Shape { heads: heads(8, 1, 128), rope: rope(128, true), norm: true, v_norm: true, position: 37, ..PLAIN },
        Shape { heads: heads(2, 2, 100), rope: rope(100, true), position: 64, ..PLAIN },
        Shape {
            heads: heads(4, 2, 48),
            rope: rope(48, true),
            norm: true,
            v_norm: true,
            v_is_k: true,
            position: 33,
            ..PLAIN
        },
        Shape {
            heads: Heads { capacity: 70, ring: true, ..heads(4, 1, 256) },
            rope: rope(256, true),
            norm: true,
            position: 333,
            ..PLAIN
        },
    ];
    let shared = [
        Shape { heads: heads(8, 1, 256), rope: rope(256, true), norm: true, position: 131, ..PLAIN },
        Shape { heads: heads(2, 1, 512), rope: rope(128, true), norm: true, position: 40, ..PLAIN },
    ];
    let cases = own.iter().map(|shape| (shape, true)).chain(shared.iter().map(|shape| (shape, false)));
    cases.map(|(shape, own)| case(random, shape, own)).collect()
}

/// `own`: the layer has keys of its own, else the cache has that of the row, too.
fn case(random: &mut Random, shape: &Shape, own: bool) -> Case {
    let Heads { heads, kv_heads, head_dim, capacity, ring, .. } = shape.heads;
    debug_assert!(can_rotate(&shape.heads, own));
    let row = Row { sequence: SEQUENCE, position: shape.position, ..Row::default() };
    let mut bench = Bench::of(Pass::decode(&[row]));
    let (pass, dummy) = bench.fixed();
    let norms = [(); 2].map(|()| random.floats(head_dim as usize));
    let values = heads + if shape.v_is_k { kv_heads } else { 2 * kv_heads };
    let qkv: Vec<f32> = random.floats((values * head_dim) as usize).into_iter().map(|x| 2.0 * x).collect();
    let [q, k, v] = expected(shape, &qkv, &norms, &[row]);
    let seen = shape.position + u32::from(!own);
    let (cache, mut sequences) = cache(random, &mut bench, shape.heads, &[1, seen]);
    let [keys, of_values] = &mut sequences[SEQUENCE as usize];
    if own {
        keys.extend(k.iter().map(|&x| f16_to_f32(f16_from_f32(x))));
        of_values.extend(v.iter().map(|&x| f16_to_f32(f16_from_f32(x))));
    }
    let limits = Limits { window: if ring { capacity } else { 0 }, soft_cap: 0.0, ..Limits::default() };
    let sizes = [heads, kv_heads, head_dim].map(|n| n as usize);
    let window = ring.then_some(capacity as usize);
    let of = reference::AttentionShape { window, ..reference::AttentionShape::plain(sizes, shape.position as usize) };
    let mut out = vec![0.0; q.len()];
    reference::attention(of, &q, keys, of_values, &mut out);

    let count = split_count(capacity);
    let y = bench.floats(&vec![0.0; q.len()]);
    let splits = Splits {
        count,
        partial: bench.floats(&vec![f32::NAN; q.len() * count as usize]).into(),
        stats: bench.floats(&vec![f32::NAN; (heads * count * 2) as usize]).into(),
    };
    let table = frequency_table(shape.rope.dims, 10_000.0, 1.0, None);
    let rope = RopeKv {
        heads: Heads { kv_heads: if own { kv_heads } else { 0 }, ..shape.heads },
        rope: shape.rope,
        magnitude: shape.magnitude,
        temperature: shape.temperature.map(|of| (of.scale, of.span as u32)),
        qkv: layout(shape, bench.floats(&qkv).into()),
        frequencies: bench.bytes(bytemuck::cast_slice(&table)).into(),
        axes: false,
        norms: HeadNorms { qk: shape.norm.then_some((dummy, dummy)), rotated: false, v: shape.v_norm, eps: EPS },
        q: dummy,
        cache,
    };
    let scale = (head_dim as f32).sqrt().recip();
    let problem = Attention { heads: shape.heads, scale, q: dummy, cache, sinks: None, y: y.into() };
    let of_heads = bench.floats(&norms.concat()).into();
    let dispatches = attention_rotated([pass, of_heads], &rope, &problem, &splits, limits).to_vec();
    let whose = if own { "own" } else { "shared" };
    let name = format!(
        "{heads}/{kv_heads} heads of {head_dim}, {} turning, position {}, keys {whose}, norm {}, v norm {}",
        shape.rope.dims, shape.position, shape.norm, shape.v_norm
    );
    bench.case(name, dispatches, y, Expected::Close(out, Tolerance::HALF))
}
