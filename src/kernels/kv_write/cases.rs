//! New rows at the start, in the middle, and wrapped around the end; more of them than the cache has; and one token's
//! attention over them.

use std::ops::Range;

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference::{self, AttentionRules, Head, attention_head};
use crate::tensor::Tensor;
use crate::tensor::kv_cache::{AttentionDecodeOptions, KvWriteOptions, attention_decode, kv_write};
use crate::tensor::rope::Layout;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("kv_write"));
    use Layout::{Bhsd, Bshd};
    let sets = [
        ([1, 2, 40], 1, 64, Bshd, 0),
        ([1, 3, 40], 7, 80, Bhsd, 11),
        ([2, 2, 33], 5, 32, Bshd, 30),
        ([1, 1, 257], 31, 128, Bshd, 100_000),
        ([2, 3, 10], 33, 36, Bhsd, 7),
        ([1, 2, 1], 3, 8, Bshd, 1000),
        ([1, 2, 7], 4, 33, Bhsd, 5),
    ];
    let sets = sets.into_iter().map(|(cache, tokens, dim, layout, at)| (cache, (tokens, dim), (layout, at)));
    let mut cases: Vec<Case> = sets.map(|(cache, x, at)| case(caps, random, cache, x, at)).collect();
    let options = |length| AttentionDecodeOptions { length, ..Default::default() };
    // Caches that are large enough, and caches that have wrapped around.
    cases.push(decode_case(caps, random, ([1, 4, 2], 200, 64), options(200)));
    cases.push(decode_case(caps, random, ([1, 4, 1], 5000, 64), options(5000)));
    cases.push(decode_case(caps, random, ([2, 4, 2], 50, 36), options(70)));
    cases.push(decode_case(caps, random, ([3, 2, 2], 130, 33), options(1)));
    let capped = AttentionDecodeOptions { window: Some(31), soft_cap: Some(4.0), scale: Some(0.3), ..options(100) };
    cases.push(decode_case(caps, random, ([1, 8, 1], 257, 80), capped));
    cases
}

/// Writes `options.length` tokens in two pieces, then runs the last one's attention over what is left of them.
fn decode_case(
    caps: &Caps,
    random: &mut Random,
    ([batch, heads, kv_heads], rows, dim): ([u32; 3], u32, u32),
    options: AttentionDecodeOptions,
) -> Case {
    let (length, d) = (options.length, dim as usize);
    let mut bench = OpBench::new(caps);
    let mut values = |n: u32| -> Vec<f32> { random.floats(n as usize).into_iter().map(|x| 2.0 * x).collect() };
    let q = values(batch * heads * dim);
    let [k, v] = [(); 2].map(|()| values(batch * kv_heads * length * dim));
    let q_tensor = bench.floats(&[batch, heads, dim], &q);
    let cache_shape = [batch, kv_heads, rows, dim.next_multiple_of(8)];
    let nothing = vec![f32::NAN; cache_shape.iter().product::<u32>() as usize];
    let pieces = [0..length / 3, length / 3..length].into_iter().filter(|tokens| !tokens.is_empty());
    // The bench takes all inputs before the first operation.
    let inputs = [&k, &v].map(|x| {
        let pieces: Vec<(u32, Tensor)> = pieces
            .clone()
            .map(|tokens| {
                let shape = [batch, kv_heads, tokens.len() as u32, dim];
                (tokens.start, bench.floats(&shape, &of_tokens(x, (length * dim) as usize, dim, tokens)))
            })
            .collect();
        (bench.halves(&cache_shape, &nothing), pieces)
    });
    let caches = inputs.map(|(cache, pieces)| {
        for (position, x) in pieces {
            let at = KvWriteOptions { layout: Layout::Bhsd, position };
            kv_write(&mut bench.tape, &cache, &x, &at).expect("shapes fit");
        }
        cache
    });
    let y = attention_decode(&mut bench.tape, &q_tensor, &caches[0], &caches[1], &options).expect("shapes fit");

    let rules = AttentionRules {
        causal: true,
        window: Some(options.window.unwrap_or(length).min(rows) as usize),
        scale: options.scale.map_or((d as f64).sqrt().recip(), f64::from),
        soft_cap: options.soft_cap.map(f64::from),
    };
    let [k, v] = [k, v].map(|x| x.into_iter().map(|x| f16_to_f32(f16_from_f32(x))).collect::<Vec<f32>>());
    let expected = q.chunks_exact(d).enumerate().flat_map(|(head, q)| {
        let of_kv = head / (heads / kv_heads) as usize * length as usize * d;
        let [k, v] = [&k, &v].map(|x| x[of_kv..][..length as usize * d].chunks_exact(d).collect::<Vec<_>>());
        attention_head(&rules, Head { q: &[q], k: &k, v: &v }, |_, _| 0.0)
    });
    let expected = Expected::Close(expected.collect(), Tolerance::ATTENTION);
    let limits = format!("window {:?}, cap {:?}", options.window, options.soft_cap);
    let name = format!("{batch}x{heads}/{kv_heads} heads of {dim}, {length} tokens in caches of {rows}, {limits}");
    bench.case("attention_decode", name, &y, expected)
}

fn case(
    caps: &Caps,
    random: &mut Random,
    [batch, heads, rows]: [u32; 3],
    (tokens, dim): (u32, u32),
    (layout, position): (Layout, u32),
) -> Case {
    let width = dim.next_multiple_of(8);
    let mut bench = OpBench::new(caps);
    let shape = match layout {
        Layout::Bhsd => [batch, heads, tokens, dim],
        Layout::Bshd => [batch, tokens, heads, dim],
    };
    let values: Vec<f32> = random.floats(shape.iter().product::<u32>() as usize);
    let old = random.floats((batch * heads * rows * width) as usize);
    let x = bench.floats(&shape, &values);
    let cache = bench.halves(&[batch, heads, rows, width], &old);
    let cache = kv_write(&mut bench.tape, &cache, &x, &KvWriteOptions { layout, position }).expect("shapes fit");

    let mut expected: Vec<u16> = old.into_iter().map(f16_from_f32).collect();
    for (index, cache) in expected.chunks_exact_mut((rows * width) as usize).enumerate() {
        let (b, h) = (index as u32 / heads, index as u32 % heads);
        let row = |t: u32| match layout {
            Layout::Bhsd => (b * heads + h) * tokens + t,
            Layout::Bshd => (b * tokens + t) * heads + h,
        };
        let new: Vec<&[f32]> = (0..tokens).map(|t| &values[(row(t) * dim) as usize..][..dim as usize]).collect();
        reference::kv_write(cache, width as usize, position as usize, &new);
    }
    let name = format!("{shape:?} {layout:?} at {position} of {rows}");
    bench.case("kv_write", name, &cache, Expected::Halves(expected, Tolerance::HALF))
}

/// The rows of some tokens from heads of `head_len` numbers.
fn of_tokens(x: &[f32], head_len: usize, dim: u32, tokens: Range<u32>) -> Vec<f32> {
    let range = (tokens.start * dim) as usize..(tokens.end * dim) as usize;
    x.chunks_exact(head_len).flat_map(|head| head[range.clone()].to_vec()).collect()
}
