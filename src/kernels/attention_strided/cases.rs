//! Attention of tensors: head sizes, groups, layouts, masks and windows; 1 to 5,000 keys.

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::reference::{AttentionRules, Head, attention_head};
use crate::tensor::attention::{AttentionOptions, attention};
use crate::tensor::rope::Layout;

/// Sizes of one attention.
#[derive(Debug, Clone, Copy)]
struct Size {
    batch: u32,
    heads: u32,
    kv_heads: u32,
    queries: u32,
    keys: u32,
    dim: u32,
}

/// What masks keys besides the options.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mask {
    None,
    /// Random numbers of this shape, a fifth of them -∞, and the first row of a head all -∞.
    Random([u32; 4]),
}

const fn size(batch: u32, [heads, kv_heads]: [u32; 2], [queries, keys]: [u32; 2], dim: u32) -> Size {
    Size { batch, heads, kv_heads, queries, keys, dim }
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("attention_strided"));
    let plain = AttentionOptions::default;
    let causal = || AttentionOptions { causal: true, ..plain() };
    let bshd = |options| AttentionOptions { layout: Layout::Bshd, ..options };
    let window = |n| AttentionOptions { window: Some(n), ..plain() };
    let capped = || AttentionOptions { soft_cap: Some(5.0), scale: Some(0.7), ..plain() };
    let sets = [
        (size(2, [4, 2], [33, 33], 64), causal(), false, Mask::None),
        (size(2, [4, 2], [33, 33], 64), bshd(causal()), true, Mask::None),
        (size(1, [1, 1], [1, 1], 32), plain(), false, Mask::None),
        (size(1, [4, 1], [17, 5000], 64), plain(), true, Mask::None),
        (size(1, [2, 2], [3, 5000], 64), bshd(causal()), false, Mask::None),
        (size(1, [3, 1], [31, 257], 80), bshd(causal()), false, Mask::None),
        (size(1, [2, 1], [40, 100], 80), window(7), true, Mask::None),
        (size(2, [2, 2], [19, 65], 96), plain(), false, Mask::Random([2, 2, 19, 65])),
        (size(1, [6, 2], [16, 32], 96), bshd(causal()), true, Mask::Random([1, 1, 16, 32])),
        (size(2, [2, 1], [9, 70], 128), bshd(plain()), false, Mask::Random([2, 1, 1, 70])),
        (size(1, [2, 2], [70, 70], 128), capped(), true, Mask::None),
        (size(1, [2, 1], [21, 40], 256), causal(), false, Mask::None),
        (size(1, [2, 1], [8, 33], 256), AttentionOptions { causal: true, ..capped() }, true, Mask::None),
        (size(1, [1, 1], [20, 20], 160), window(1), false, Mask::Random([1, 1, 1, 20])),
        // More queries than keys: the first attend to none.
        (size(1, [2, 2], [50, 20], 64), causal(), false, Mask::None),
        (size(1, [2, 1], [90, 70], 64), bshd(window(33)), false, Mask::Random([1, 2, 90, 1])),
        (size(1, [3, 3], [5, 37], 33), bshd(causal()), false, Mask::None),
        (size(2, [2, 1], [7, 31], 33), plain(), true, Mask::None),
        (size(1, [1, 1], [2, 3], 3), plain(), false, Mask::Random([1, 1, 2, 3])),
        (size(1, [2, 1], [4, 5], 2), causal(), true, Mask::None),
    ];
    sets.into_iter().map(|(size, options, half, mask)| case(caps, random, size, (&options, half, mask))).collect()
}

fn case(caps: &Caps, random: &mut Random, size: Size, (options, half, mask): (&AttentionOptions, bool, Mask)) -> Case {
    let mut bench = OpBench::new(caps);
    let [q_shape, k_shape] = size.shapes(options.layout);
    let q = scaled(random, &q_shape, 3.0);
    let [k, v] = [(); 2].map(|()| {
        let values = scaled(random, &k_shape, 2.0).into_iter();
        values.map(|x| if half { f16_to_f32(f16_from_f32(x)) } else { x }).collect::<Vec<f32>>()
    });
    let (mask_shape, mask) = match mask {
        Mask::None => ([1; 4], vec![0.0]),
        Mask::Random(shape) => (shape, mask_values(random, shape)),
    };
    let q_tensor = bench.floats(&q_shape, &q);
    let [k_tensor, v_tensor] =
        [&k, &v].map(|x| if half { bench.halves(&k_shape, x) } else { bench.floats(&k_shape, x) });
    let mask_tensor = (mask_shape != [1; 4]).then(|| bench.floats(&mask_shape, &mask));
    let y = attention(&mut bench.tape, &q_tensor, &k_tensor, &v_tensor, mask_tensor.as_ref(), options);
    let y = y.expect("shapes fit");
    let expected = expected(size, options, [&q, &k, &v], |place: [usize; 4]| {
        let at = place.iter().zip(mask_shape).fold(0, |at, (&i, n)| at * n as usize + if n > 1 { i } else { 0 });
        mask[at]
    });
    let kind = if half { "f16" } else { "f32" };
    let shown = if mask_tensor.is_some() { format!(", mask {mask_shape:?}") } else { String::new() };
    let name = format!("{}, {kind}{shown}", size.describe(options));
    let case = bench.case("attention_strided", name, &y, Expected::Close(expected, Tolerance::ATTENTION));
    Case { flops: size.flops(), ..case }
}

impl Size {
    /// The shapes of q and k.
    fn shapes(self, layout: Layout) -> [[u32; 4]; 2] {
        let shape = |heads, positions| match layout {
            Layout::Bhsd => [self.batch, heads, positions, self.dim],
            Layout::Bshd => [self.batch, positions, heads, self.dim],
        };
        [shape(self.heads, self.queries), shape(self.kv_heads, self.keys)]
    }

    fn flops(self) -> u64 {
        4 * u64::from(self.batch * self.heads * self.queries) * u64::from(self.keys * self.dim)
    }

    fn describe(self, options: &AttentionOptions) -> String {
        let Self { batch, heads, kv_heads, queries, keys, dim } = self;
        let AttentionOptions { layout, causal, window, soft_cap, .. } = options;
        format!(
            "{layout:?} {batch}x{heads}/{kv_heads} heads of {dim}, {queries} queries, {keys} keys, causal {causal}, \
             window {window:?}, cap {soft_cap:?}"
        )
    }
}

/// Random numbers up to ±`most`: so large that the softmax is peaked, as trained models have it.
fn scaled(random: &mut Random, shape: &[u32], max: f32) -> Vec<f32> {
    random.floats(shape.iter().product::<u32>() as usize).into_iter().map(|x| max * x).collect()
}

fn mask_values(random: &mut Random, shape: [u32; 4]) -> Vec<f32> {
    let [_, _, rows, keys] = shape.map(|n| n as usize);
    let value = |(i, x): (usize, f32)| {
        // Where every query has a row of the mask, the first attends to no key.
        let hidden = (rows > 1 && i / keys % rows == 0) || (i % keys % 5 == 3 && keys > 1);
        if hidden { f32::NEG_INFINITY } else { x }
    };
    scaled(random, &shape, 2.0).into_iter().enumerate().map(value).collect()
}

/// The row of one head at one position, counted in rows.
fn row_of(layout: Layout, [batch, head, position]: [usize; 3], [heads, positions]: [usize; 2]) -> usize {
    match layout {
        Layout::Bhsd => (batch * heads + head) * positions + position,
        Layout::Bshd => (batch * positions + position) * heads + head,
    }
}

/// Attention by the reference, head by head; `mask` is asked by sequence, head, query and key.
fn expected(
    size: Size,
    options: &AttentionOptions,
    [q, k, v]: [&[f32]; 3],
    mask: impl Fn([usize; 4]) -> f32,
) -> Vec<f32> {
    let [heads, kv_heads, queries, keys, dim] =
        [size.heads, size.kv_heads, size.queries, size.keys, size.dim].map(|n| n as usize);
    let rules = AttentionRules {
        causal: options.causal || options.window.is_some(),
        window: options.window.map(|window| window as usize),
        scale: options.scale.map_or((dim as f64).sqrt().recip(), f64::from),
        soft_cap: options.soft_cap.map(f64::from),
    };
    let rows = |x, of: [usize; 2], [heads, positions]: [usize; 2]| -> Vec<&[f32]> {
        let row = |s| row_of(options.layout, [of[0], of[1], s], [heads, positions]);
        (0..positions).map(|s| slice_of(x, row(s), dim)).collect()
    };
    let mut out = vec![0.0; q.len()];
    for (b, h) in (0..size.batch as usize).flat_map(|b| (0..heads).map(move |h| (b, h))) {
        let of_kv = [b, h / (heads / kv_heads)];
        let q = rows(q, [b, h], [heads, queries]);
        let [k, v] = [k, v].map(|x| rows(x, of_kv, [kv_heads, keys]));
        let found = attention_head(&rules, Head { q: &q, k: &k, v: &v }, |i, j| mask([b, h, i, j]));
        for (i, row) in found.chunks_exact(dim).enumerate() {
            let at = row_of(options.layout, [b, h, i], [heads, queries]) * dim;
            out[at..at + dim].copy_from_slice(row);
        }
    }
    out
}

fn slice_of(x: &[f32], row: usize, dim: usize) -> &[f32] {
    &x[row * dim..][..dim]
}
