//! Both pairings, partial rotation, q/k norms, far positions, several sequences, ring caches; q comes out as f32, keys
//! and values as f16 in the cache.

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::cache::packed_row;
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::kv_type::KvType;
use crate::kernels::pass::{Pass, ROW_DONE, Row};
use crate::kernels::reference;
use crate::kernels::rope_kv::{Axes, Cache, HeadNorms, Heads, Qkv, Rope, RopeKv, frequency_table, rope_kv};
use crate::kernels::spec::{BufferId, Slice};
use crate::model::program::Temperature;
use crate::model::{InputRows, InputSource, Places, RopeSections, RopeStyle};

/// Large, so that a kernel without it fails.
pub(crate) const EPS: f32 = 0.01;
const ROWS: usize = 3;

/// Which of the outputs a case compares.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Output {
    Q,
    K,
    V,
}

/// The shape of a case.
pub(crate) struct Shape {
    pub(crate) heads: Heads,
    pub(crate) rope: Rope,
    pub(crate) norm: bool,
    /// Whether the norm follows the rotation.
    pub(crate) rotated_norm: bool,
    pub(crate) v_norm: bool,
    /// v is what k is before its norm.
    pub(crate) v_is_k: bool,
    pub(crate) position: u32,
    /// Factor of rotated values.
    pub(crate) magnitude: f32,
    pub(crate) temperature: Option<Temperature>,
    /// Whether positions have three axes, those of an image of [`COLUMNS`] columns.
    pub(crate) axes: bool,
}

pub(crate) fn layout(shape: &Shape, slice: Slice) -> Qkv {
    let packed = Qkv::packed(&shape.heads, slice);
    let [k, v] = packed.kv_at;
    if shape.v_is_k { Qkv { stride: v, kv_at: [k, k], ..packed } } else { packed }
}

pub(crate) const PLAIN: Shape = Shape {
    heads: Heads::f16(1, 1, 2, 40),
    rope: Rope { dims: 2, first: 0, split_half: true },
    norm: false,
    rotated_norm: false,
    v_norm: false,
    v_is_k: false,
    position: 0,
    magnitude: 1.0,
    temperature: None,
    axes: false,
};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("rope_kv");
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 40);
    let rope = |dims, split_half| Rope { dims, first: 0, split_half };
    let shapes = [
        Shape { heads: heads(4, 2, 64), rope: rope(64, false), norm: false, position: 0, ..PLAIN },
        Shape { heads: heads(3, 1, 80), rope: rope(80, true), norm: true, position: 37, ..PLAIN },
        Shape { heads: heads(8, 1, 32), rope: rope(32, true), norm: false, position: 5, ..PLAIN },
        Shape { heads: heads(2, 2, 128), rope: rope(64, false), norm: true, position: 11, ..PLAIN },
        Shape { heads: heads(4, 2, 100), rope: rope(100, true), norm: false, position: 9, ..PLAIN },
        Shape { heads: heads(2, 1, 256), rope: rope(128, true), norm: false, position: 1, ..PLAIN },
        Shape { heads: heads(4, 2, 48), rope: rope(48, true), norm: true, v_norm: true, position: 3, ..PLAIN },
        Shape {
            heads: heads(2, 1, 512),
            rope: rope(512, true),
            norm: true,
            v_norm: true,
            v_is_k: true,
            position: 2,
            ..PLAIN
        },
    ];
    let tail = |first, dims, split_half| Rope { dims, first, split_half };
    let tails = [
        Shape { heads: heads(3, 1, 24), rope: tail(18, 6, true), position: 7, ..PLAIN },
        Shape { heads: heads(2, 1, 576), rope: tail(512, 64, false), position: 5, magnitude: 1.2, ..PLAIN },
    ];
    let outputs = [Output::Q, Output::K, Output::V];
    let mut cases: Vec<Case> = Vec::new();
    for shape in shapes.iter().chain(&tails) {
        cases.extend(outputs.map(|output| case(random, shape, output)));
    }
    let temperature = Some(Temperature { scale: 0.4, span: 3 });
    let of = heads(3, 1, 80);
    let scaled =
        Shape { heads: of, rope: rope(36, true), norm: true, position: 7, magnitude: 1.3, temperature, ..PLAIN };
    cases.extend(outputs.map(|output| case(random, &scaled, output)));
    let normed_last = Shape { rotated_norm: true, ..scaled };
    cases.extend([Output::Q, Output::K].map(|output| case(random, &normed_last, output)));
    let far = Shape { heads: heads(2, 1, 128), rope: rope(128, true), norm: false, position: 0, ..PLAIN };
    cases.push(far_case(random, &far));
    cases.push(done_case(random, &shapes[0]));
    cases.extend(several(random));
    cases.extend(quantised(random));
    for position in [2, 6, 12, 17] {
        let heads = heads(2, 1, 64);
        let shape = Shape { heads, rope: rope(48, true), position, axes: true, ..PLAIN };
        cases.extend([Output::Q, Output::K].map(|output| case(random, &shape, output)));
    }
    cases
}

/// Rows of the image side by side, and which pairs turn by which of its axes.
const COLUMNS: u32 = 2;
const SECTIONS: RopeSections = RopeSections { pairs: [8, 6, 7, 0], by_turns: false };

/// Three tokens, an image of six cells, a token, and an image of two lines in a frame.
fn image() -> Places {
    let rows = InputRows::<()>::default();
    let source = InputSource { digest: 1, count: 6, columns: COLUMNS, canvas: 0 };
    let cells = rows.ids().know(source).expect("a few rows");
    let mut places = Places::default();
    let framed = InputSource { digest: 2, count: 8, columns: 3 | 1 << 31, canvas: 0 };
    let framed = rows.ids().know(framed).expect("a few rows");
    places.extend(0, &[0, 0, 0].into_iter().chain(cells).chain([0]).chain(framed).collect::<Vec<u32>>(), &rows);
    places
}

/// The frequencies, and behind them what a kernel with axes reads.
fn turns(shape: &Shape) -> Vec<[u32; 2]> {
    let mut table = frequency_table(shape.rope.dims, 10_000.0, 1.0, None);
    if shape.axes {
        let (axes, places) = (Axes { pairs: table.len() }, image());
        table.extend(axes.start(&SECTIONS));
        *table.last_mut().expect("the number of places") = axes.known(&places).1;
        table.extend(axes.places(&places, 0).1);
    }
    table
}

/// The angle of a pair.
fn turned(shape: &Shape, position: usize, pair: usize) -> usize {
    let axis = SECTIONS.axis(pair).filter(|_| shape.axes);
    axis.map_or(position, |axis| image().at(position)[axis] as usize)
}

/// Caches in blocks, of values that no rounding on the way moves to another quant: not turned, and none near the middle
/// between two quants.
fn quantised(random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    for kv_type in [KvType::Q8_0, KvType::Q4_0] {
        let heads = |head_dim| Heads { heads: 3, kv_heads: 2, head_dim, capacity: 7, ring: true, kv_type };
        for head_dim in [32, 64, 72, 100, 192, 512] {
            let rope = Rope { dims: 0, first: 0, split_half: true };
            let shape = Shape { heads: heads(head_dim), rope, position: 5, ..PLAIN };
            for output in [Output::K, Output::V] {
                let qkv = steps(random, &shape);
                cases.push(run_on(random, &shape, output, (&Pass::chunk(1, 5, &[0; ROWS]), qkv)));
            }
        }
    }
    cases
}

/// Rows of q, k and v of which every 32 values of a head are numbers of steps, up to 0.4 from a whole number: 127 steps
/// for Q8_0, 8 for Q4_0. The step is exact in f16.
fn steps(random: &mut Random, shape: &Shape) -> Vec<f32> {
    let Heads { heads, kv_heads, head_dim, kv_type, .. } = shape.heads;
    let most = if kv_type == KvType::Q8_0 { 127.0 } else { 8.0 };
    let head = |random: &mut Random| -> Vec<f32> {
        let blocks = (0..head_dim).step_by(32).map(|at| 32.min(head_dim - at) as usize).collect::<Vec<_>>();
        let blocks = blocks.into_iter().flat_map(|len| {
            let step = f16_to_f32(f16_from_f32(0.02 + random.floats(1)[0].abs()));
            let sign = random.floats(1)[0].signum();
            let mut block: Vec<f32> = random.floats(len).into_iter().map(|x| (most * x).trunc() + 0.4 * x).collect();
            block.iter_mut().for_each(|x| *x = x.clamp(0.4 - most, most - 0.4));
            // The farthest from 0, and nearly as far on the other side: the largest quants.
            (block[0], block[len / 2]) = (sign * (0.4 - most), sign * most);
            block.into_iter().map(|x| x * step).collect::<Vec<f32>>()
        });
        blocks.collect()
    };
    (0..ROWS as u32 * (heads + 2 * kv_heads)).flat_map(|_| head(random)).collect()
}

fn case(random: &mut Random, shape: &Shape, output: Output) -> Case {
    run(random, shape, output, &Pass::chunk(0, shape.position, &[0; ROWS]))
}

/// Rows of several sequences, one of which is done; and rings that hold fewer positions than there are.
fn several(random: &mut Random) -> Vec<Case> {
    let row = |sequence, position| Row { sequence, position, ..Row::default() };
    let rows = |rows: [Row; ROWS]| Pass::decode(&rows);
    let outputs = [Output::Q, Output::K, Output::V];
    let (rope, norm, position) = (Rope { dims: 64, first: 0, split_half: true }, false, 0);
    let heads = Heads::f16(4, 2, 64, 40);
    let plain = Shape { heads, rope, norm, position, ..PLAIN };
    let ring = Shape { heads: Heads { capacity: 7, ring: true, ..heads }, ..plain };
    let mut done = rows([row(2, 39), row(0, 11), row(1, 0)]);
    done.rows[1].flags = ROW_DONE;
    let mut cases: Vec<Case> = outputs.map(|output| run(random, &plain, output, &done)).into();
    cases.extend(outputs.map(|output| run(random, &ring, output, &rows([row(0, 6), row(1, 7), row(2, 100_003)]))));
    cases.push(run(random, &ring, Output::K, &Pass::chunk(1, 20, &[0; ROWS])));
    cases
}

/// Only q at position 100,000: the case's cache is small, and the device drops writes past its end.
fn far_case(random: &mut Random, shape: &Shape) -> Case {
    run(random, shape, Output::Q, &Pass::chunk(0, 100_000, &[0; ROWS]))
}

/// Once the run is done nothing is written.
fn done_case(random: &mut Random, shape: &Shape) -> Case {
    let case = run(random, shape, Output::K, &Pass::chunk(0, 3, &[0; ROWS]));
    let zeros = case.expected.bytes() / 2;
    let mut pass = case.pass;
    pass.rows.iter_mut().for_each(|row| row.flags = ROW_DONE);
    let mut buffers = case.buffers;
    buffers[0].1 = pass.bytes();
    let expected = Expected::Halves(vec![0; zeros], Tolerance::HALF);
    Case { name: format!("{}, the text is done", case.name), pass, buffers, expected, ..case }
}

fn run(random: &mut Random, shape: &Shape, output: Output, rows: &Pass) -> Case {
    let Heads { heads, kv_heads, head_dim, .. } = shape.heads;
    let qkv = random.floats(ROWS * ((heads + if shape.v_is_k { kv_heads } else { 2 * kv_heads }) * head_dim) as usize);
    run_on(random, shape, output, (rows, qkv))
}

fn run_on(random: &mut Random, shape: &Shape, output: Output, (rows, qkv): (&Pass, Vec<f32>)) -> Case {
    let Heads { heads, kv_heads, head_dim, capacity, kv_type, .. } = shape.heads;
    let (h, kv, d) = (heads as usize, kv_heads as usize, head_dim as usize);
    let norms = [random.floats(d), random.floats(d)];
    let mut bench = Bench::of(rows.clone());
    let (pass, dummy) = bench.fixed();
    let table = turns(shape);
    let [q_norm, k_norm] = [bench.floats(&norms[0]), bench.floats(&norms[1])];
    let sequences = rows.rows.iter().map(|row| row.sequence as usize + 1).max().unwrap_or_default();
    let cache_words = sequences * kv * capacity as usize * shape.heads.row_bytes() as usize / 4;
    let [k, v] = [(); 2].map(|()| bench.bytes(&vec![0; cache_words * 4]));
    let q = bench.floats(&vec![0.0; ROWS * h * d]);
    let problem = RopeKv {
        heads: shape.heads,
        rope: shape.rope,
        magnitude: shape.magnitude,
        temperature: shape.temperature.map(|of| (of.scale, of.span as u32)),
        qkv: layout(shape, bench.floats(&qkv).into()),
        frequencies: bench.bytes(bytemuck::cast_slice(&table)).into(),
        axes: shape.axes,
        norms: HeadNorms {
            qk: shape.norm.then(|| (q_norm.into(), k_norm.into())),
            rotated: shape.rotated_norm,
            v: shape.v_norm,
            eps: EPS,
        },
        q: q.into(),
        cache: Cache { k: k.into(), v: v.into() },
    };
    let dispatch = rope_kv(pass, dummy, &problem);
    let [q_rows, k_rows, v_rows] = expected(shape, &qkv, &norms, &rows.rows);
    let packed = |values: &[f32]| {
        let words = pack(values, shape.heads, (sequences, &rows.rows));
        match kv_type {
            KvType::F16 => Expected::Halves(bytemuck::cast_slice(&words).to_vec(), Tolerance::HALF),
            _ => Expected::Exact(words),
        }
    };
    let (buffer, expected): (BufferId, Expected) = match output {
        Output::Q => (q, Expected::Close(q_rows, Tolerance::TURNED)),
        Output::K => (k, packed(&k_rows)),
        Output::V => (v, packed(&v_rows)),
    };
    let ring = if shape.heads.ring { format!("ring of {capacity}, ") } else { String::new() };
    let at = places(&rows.rows);
    let of_v = if shape.v_is_k { "v is k, " } else { "" };
    let scaled = if shape.magnitude == 1.0 { "" } else { "scaled, " };
    let Rope { dims: turning, first, .. } = shape.rope;
    let last = if shape.rotated_norm { "normed last, " } else { "" };
    let axes = if shape.axes { "by axes, " } else { "" };
    let turning = format!("{turning} from {first} on turning, {last}{axes}");
    let name = format!("{h}/{kv} heads of {d}, {turning}{of_v}{scaled}{ring}{at}, {output:?}");
    bench.case(name, vec![dispatch], buffer, expected)
}

/// q, k and v `[rows, heads, head_dim]` by the reference.
pub(crate) fn expected(shape: &Shape, qkv: &[f32], norms: &[Vec<f32>; 2], of: &[Row]) -> [Vec<f32>; 3] {
    let Heads { heads, kv_heads, head_dim, .. } = shape.heads;
    let (q_width, kv_width, d) = ((heads * head_dim) as usize, (kv_heads * head_dim) as usize, head_dim as usize);
    let style = if shape.rope.split_half { RopeStyle::SplitHalf } else { RopeStyle::Interleaved };
    let frequencies = reference::frequencies(shape.rope.dims as usize, 10_000.0, 1.0, None);
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    let width = q_width + if shape.v_is_k { kv_width } else { 2 * kv_width };
    for (of, row) in of.iter().zip(qkv.chunks_exact(width)) {
        let (q, rest) = row.split_at(q_width);
        let (k, v) = (&rest[..kv_width], &rest[rest.len() - kv_width..]);
        for (index, part) in [q, k, v].into_iter().enumerate() {
            let mut part = part.to_vec();
            if index < 2 {
                if shape.norm && !shape.rotated_norm {
                    reference::rms_norm(&mut part, &norms[index], EPS);
                }
                let turned = |pair| turned(shape, of.position as usize, pair);
                let turns = (frequencies.as_slice(), shape.magnitude);
                reference::rope_scaled(&mut part, [d, shape.rope.first as usize], turned, turns, style);
                if shape.norm && shape.rotated_norm {
                    reference::rms_norm(&mut part, &norms[index], EPS);
                }
            } else if shape.v_norm {
                reference::rms_norm(&mut part, &vec![1.0; d], EPS);
            }
            if let Some(temperature) = shape.temperature.filter(|_| index == 0) {
                part.iter_mut().for_each(|q| *q *= temperature.at(of.position as usize));
            }
            if index == 0 && of.flags != 0 {
                part.fill(0.0);
            }
            rows[index].extend(part);
        }
    }
    rows
}

/// The words of the cache of this many sequences that holds rows `[rows, kv_heads, head_dim]`.
fn pack(values: &[f32], heads: Heads, (sequences, of): (usize, &[Row])) -> Vec<u32> {
    let (kv, d, capacity) = (heads.kv_heads as usize, heads.head_dim as usize, heads.capacity as usize);
    let stride = heads.row_bytes() as usize / 4;
    let mut cache = vec![0; sequences * kv * capacity * stride];
    for (of, row) in of.iter().zip(values.chunks_exact(kv * d)).filter(|(of, _)| of.flags == 0) {
        let position = of.position as usize;
        let slot = if heads.ring { position % capacity } else { position };
        for (head, values) in row.chunks_exact(d).enumerate() {
            let at = ((of.sequence as usize * kv + head) * capacity + slot) * stride;
            let Some(to) = cache.get_mut(at..at + stride) else { continue };
            to.copy_from_slice(&packed_row(heads.kv_type, values));
        }
    }
    cache
}
