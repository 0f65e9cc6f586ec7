//! Both pairings, partial rotation, q/k norms, large positions; q is written as f32, keys and values as f16.

use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::f16_from_f32;
use crate::kernels::rope_kv::{Cache, Heads, Rope, RopeKv, frequency_table, rope_kv};
use crate::kernels::spec::BufferId;
use crate::kernels::state::State;
use crate::model::RopeStyle;
use crate::reference;

/// Large, so that a kernel without it fails.
const EPS: f32 = 0.01;
const TOKENS: usize = 3;

/// Which of the outputs a case compares.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Output {
    Q,
    K,
    V,
}

struct Shape {
    heads: Heads,
    rope: Rope,
    norm: bool,
    position: u32,
}

pub fn cases(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads { heads, kv_heads, head_dim, context: 40 };
    let rope = |dims, split_half| Rope { dims, split_half };
    let shapes = [
        Shape { heads: heads(4, 2, 64), rope: rope(64, false), norm: false, position: 0 },
        Shape { heads: heads(3, 1, 80), rope: rope(80, true), norm: true, position: 37 },
        Shape { heads: heads(8, 1, 32), rope: rope(32, true), norm: false, position: 5 },
        Shape { heads: heads(2, 2, 128), rope: rope(64, false), norm: true, position: 11 },
        Shape { heads: heads(4, 2, 100), rope: rope(100, true), norm: false, position: 9 },
        Shape { heads: heads(2, 1, 256), rope: rope(128, true), norm: false, position: 1 },
    ];
    let outputs = [Output::Q, Output::K, Output::V];
    let mut cases: Vec<Case> = Vec::new();
    for shape in &shapes {
        cases.extend(outputs.map(|output| case(random, shape, output)));
    }
    let far = Shape { heads: heads(2, 1, 128), rope: rope(128, true), norm: false, position: 0 };
    cases.push(far_case(random, &far));
    cases.push(done_case(random, &shapes[0]));
    cases
}

fn case(random: &mut Random, shape: &Shape, output: Output) -> Case {
    run(random, shape, output, shape.position)
}

/// Only q at position 100,000: the case's cache is small, and the device drops writes past its end.
fn far_case(random: &mut Random, shape: &Shape) -> Case {
    run(random, shape, Output::Q, 100_000)
}

/// Once the run is done nothing is written.
fn done_case(random: &mut Random, shape: &Shape) -> Case {
    let case = run(random, shape, Output::K, 3);
    let zeros = case.expected.bytes() / 2;
    let state = State { done: 1, ..case.state };
    let mut buffers = case.buffers;
    buffers[0].1 = bytemuck::bytes_of(&state).to_vec();
    let expected = Expected::Halves(vec![0; zeros], Tolerance::HALF);
    Case { name: format!("{}, the text is done", case.name), state, buffers, expected, ..case }
}

fn run(random: &mut Random, shape: &Shape, output: Output, position: u32) -> Case {
    let Heads { heads, kv_heads, head_dim, context } = shape.heads;
    let (h, kv, d) = (heads as usize, kv_heads as usize, head_dim as usize);
    let qkv = random.floats(TOKENS * (h + 2 * kv) * d);
    let norms = [random.floats(d), random.floats(d)];
    let mut bench = Bench::at(position, TOKENS as u32);
    let (state, dummy) = bench.fixed();
    let table = frequency_table(shape.rope.dims, 10_000.0, 1.0, None);
    let [q_norm, k_norm] = [bench.floats(&norms[0]), bench.floats(&norms[1])];
    let cache_words = kv * context as usize * shape.heads.row() as usize / 2;
    let [k, v] = [(); 2].map(|()| bench.bytes(&vec![0; cache_words * 4]));
    let q = bench.floats(&vec![0.0; TOKENS * h * d]);
    let problem = RopeKv {
        heads: shape.heads,
        rope: shape.rope,
        qkv: bench.floats(&qkv).into(),
        frequencies: bench.bytes(bytemuck::cast_slice(&table)).into(),
        qk_norm: shape.norm.then(|| (q_norm.into(), k_norm.into(), EPS)),
        q: q.into(),
        cache: Cache { k: k.into(), v: v.into() },
    };
    let dispatch = rope_kv(state, dummy, &problem);
    let [q_rows, k_rows, v_rows] = expected(shape, &qkv, &norms, position as usize);
    let packed = |rows: &[f32]| pack(rows, shape.heads, position as usize);
    let (buffer, expected): (BufferId, Expected) = match output {
        Output::Q => (q, Expected::Close(q_rows, Tolerance::TURNED)),
        Output::K => (k, Expected::Halves(packed(&k_rows), Tolerance::HALF)),
        Output::V => (v, Expected::Halves(packed(&v_rows), Tolerance::HALF)),
    };
    let name = format!("{h}/{kv} heads of {d}, {} turning, position {position}, {output:?}", shape.rope.dims);
    bench.case(name, vec![dispatch], buffer, expected)
}

/// q, k and v `[tokens, heads, head_dim]` by the reference.
fn expected(shape: &Shape, qkv: &[f32], norms: &[Vec<f32>; 2], position: usize) -> [Vec<f32>; 3] {
    let Heads { heads, kv_heads, head_dim, .. } = shape.heads;
    let (q_width, kv_width, d) = ((heads * head_dim) as usize, (kv_heads * head_dim) as usize, head_dim as usize);
    let style = if shape.rope.split_half { RopeStyle::SplitHalf } else { RopeStyle::Interleaved };
    let frequencies = reference::frequencies(shape.rope.dims as usize, 10_000.0, 1.0, None);
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    for (token, row) in qkv.chunks_exact(q_width + 2 * kv_width).enumerate() {
        let (q, rest) = row.split_at(q_width);
        let (k, v) = rest.split_at(kv_width);
        for (index, part) in [q, k, v].into_iter().enumerate() {
            let mut part = part.to_vec();
            if index < 2 {
                if shape.norm {
                    reference::rms_norm(&mut part, &norms[index], EPS);
                }
                reference::rope(&mut part, d, position + token, &frequencies, style);
            }
            rows[index].extend(part);
        }
    }
    rows
}

/// Rows `[tokens, kv_heads, head_dim]` as the cache `[kv_heads, context, head_dim]` holds them, f16.
fn pack(rows: &[f32], heads: Heads, position: usize) -> Vec<u16> {
    let (kv, d, context) = (heads.kv_heads as usize, heads.head_dim as usize, heads.context as usize);
    let stride = heads.row() as usize;
    let mut cache = vec![0; kv * context * stride];
    for (token, row) in rows.chunks_exact(kv * d).enumerate() {
        for (head, values) in row.chunks_exact(d).enumerate() {
            let Some(to) = cache.get_mut((head * context + position + token) * stride..).and_then(|c| c.get_mut(..d))
            else {
                continue;
            };
            to.iter_mut().zip(values).for_each(|(to, &value)| *to = f16_from_f32(value));
        }
    }
    cache
}
