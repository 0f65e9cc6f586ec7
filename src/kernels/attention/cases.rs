//! One and many rows over caches of 1 to 5,000 keys: head sizes, groups, lengths around the tiles, several sequences,
//! rings.

use crate::harness::cache::{packed_row, rounded_row};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance, places};
use crate::kernels::attention::matrices::attention_subgroup_matrix;
use crate::kernels::attention::tiled::{attention_tiled, can_tile};
use crate::kernels::attention::{
    Attention, Distances, Limits, MATRICES, Splits, attention_decode, attention_few, attention_merge, split_count,
};
use crate::kernels::kv_type::KvType;
use crate::kernels::pass::{Pass, Row};
use crate::kernels::reference::{self, AttentionRules, Head, attention_head};
use crate::kernels::rope_kv::{Cache, Heads};
use crate::kernels::spec::{BufferId, Dispatch};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention");
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let sizes = [(4, 1, 32), (3, 1, 64), (2, 2, 80), (2, 1, 96), (8, 1, 128), (2, 1, 256), (4, 2, 100)];
    let shapes = sizes.map(|(h, kv, dim)| heads(h, kv, dim));
    let mut cases = Vec::new();
    let none = Limits::default();
    for shape in shapes {
        cases.extend([0, 31, 256, 700].map(|position| decode_case(random, shape, none, position)));
        let passes = [[0, 1], [0, 33], [257, 17], [1, 16]];
        cases.extend(passes.map(|pass| prefill_case(random, shape, none, pass)).into_iter().flatten());
    }
    let limited = [(heads(4, 2, 64), 33, 0.0), (heads(8, 1, 128), 0, 5.0), (heads(2, 1, 80), 100, 3.0)];
    for (shape, window, soft_cap) in limited {
        let limits = Limits { window, soft_cap, ..Limits::default() };
        cases.extend([0, 32, 33, 256, 700].map(|position| decode_case(random, shape, limits, position)));
        let passes = [[0, 33], [257, 17], [20, 40]];
        cases.extend(passes.map(|pass| prefill_case(random, shape, limits, pass)).into_iter().flatten());
    }
    let long = Heads { capacity: 5000, ..heads(2, 1, 64) };
    cases.extend(prefill_case(random, long, none, [4981, 19]));
    let own_key = Limits { window: 1, soft_cap: 0.0, ..Limits::default() };
    cases.extend(prefill_case(random, heads(1, 1, 32), own_key, [5, 31]));
    cases.push(decode_case(random, heads(1, 1, 32), own_key, 90));
    // More query heads per kv head than a workgroup takes.
    cases.push(decode_case(random, heads(32, 2, 32), none, 40));
    cases.push(decode_case(random, heads(8, 1, 256), none, 131));
    cases.extend(several(random));
    cases.extend(with_sinks(random));
    cases.extend(with_alibi(random));
    cases.extend(with_narrow_values(random));
    cases.extend(with_distances(random));
    cases.extend(images(random));
    cases.extend(rings(random));
    cases.extend(quantised(random));
    cases.extend(
        [(3, 1, 64), (1, 7, 100), (4, 64, 256), (2, 33, 1), (3, 5, 400), (2, 150, 24)]
            .map(|shape| merge_case(random, shape)),
    );
    cases
}

/// Decode passes of several rows: of different sequences, of one (a draft to verify), and of both kinds.
fn several(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let draft: Vec<(u32, u32)> = (95..103).map(|position| (0, position)).collect();
    let limits = Limits { window: 40, soft_cap: 5.0, ..Limits::default() };
    [
        (heads(4, 2, 64), Limits::default(), vec![(1, 31), (0, 256)]),
        (heads(8, 1, 128), Limits::default(), vec![(3, 0), (0, 700), (2, 33), (1, 64)]),
        (heads(3, 1, 64), Limits::default(), draft.clone()),
        (heads(32, 2, 32), limits, draft),
        (heads(2, 2, 80), Limits::default(), vec![(0, 5), (0, 6), (0, 7), (1, 200), (2, 0), (2, 1), (2, 2), (2, 3)]),
        (heads(4, 1, 256), limits, vec![(1, 90), (0, 41)]),
    ]
    .map(|(heads, limits, rows)| rows_case(random, heads, limits, &rows))
    .into()
}

/// Caches that hold fewer positions than there are: no more than the window and the rows of a pass need.
fn rings(random: &mut Random) -> Vec<Case> {
    let ring =
        |heads, kv_heads, head_dim, capacity| Heads { ring: true, ..Heads::f16(heads, kv_heads, head_dim, capacity) };
    let window = |window| Limits { window, soft_cap: 0.0, ..Limits::default() };
    let mut cases: Vec<Case> =
        [0, 32, 44, 45, 1000].map(|position| decode_case(random, ring(4, 2, 64, 45), window(33), position)).into();
    let draft: Vec<(u32, u32)> = (1000..1008).map(|position| (0, position)).collect();
    cases.push(rows_case(random, ring(3, 1, 64, 45), window(38), &draft));
    cases.push(rows_case(random, ring(2, 2, 80, 33), window(33), &[(1, 500), (0, 7), (2, 98)]));
    cases.push(decode_case(random, ring(4, 1, 256, 70), window(70), 333));
    cases.push(decode_case(random, ring(3, 1, 512, 70), window(70), 333));
    let (first, rest) = (window(33), window(100));
    let passes = [
        (ring(4, 2, 64, 72), first, [0, 500, 40]),
        (ring(4, 2, 64, 65), first, [1, 64, 33]),
        (ring(4, 1, 256, 41), first, [2, 1000, 9]),
        (ring(2, 1, 480, 61), first, [0, 300, 19]),
        (ring(1, 1, 32, 132), rest, [0, 4000, 33]),
        (ring(1, 1, 32, 132), rest, [0, 0, 33]),
    ];
    cases.extend(passes.map(|(heads, limits, pass)| chunk_case(random, heads, limits, pass)).into_iter().flatten());
    cases
}

/// Caches in blocks: rows of one block, of blocks that are not full, of several elements of scales.
fn quantised(random: &mut Random) -> Vec<Case> {
    let none = Limits::default();
    let mut cases = Vec::new();
    for kv_type in [KvType::Q8_0, KvType::Q4_0] {
        let heads = |heads, kv_heads, head_dim| Heads { heads, kv_heads, head_dim, capacity: 80, ring: false, kv_type };
        let ring = Heads { capacity: 72, ring: true, ..heads(2, 1, 80) };
        let window = Limits { window: 33, soft_cap: 5.0, ..Limits::default() };
        for shape in [heads(4, 2, 64), heads(3, 1, 72), heads(2, 2, 100), heads(2, 1, 256), heads(1, 1, 32)] {
            cases.push(decode_case(random, shape, none, 70));
            cases.extend(prefill_case(random, shape, none, [31, 20]));
        }
        cases.push(rows_case(random, heads(2, 1, 512), none, &[(0, 45)]));
        cases.push(rows_case(random, heads(4, 2, 128), none, &[(1, 31), (0, 66), (2, 0)]));
        cases.push(decode_case(random, ring, window, 500));
        cases.extend(chunk_case(random, ring, window, [1, 300, 40]));
        cases.extend(chunk_case(random, heads(2, 1, 512), none, [0, 20, 9]));
    }
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
    let dispatch = attention_merge(heads, head_dim, &splits, None, y.into());
    let expected = reference::attention_merge(&partial, &stats, count as usize, head_dim as usize);
    let name = format!("{heads} heads of {head_dim}, {count} splits");
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

/// Caches filled with random keys and values of sequences of these lengths, on the bench and each as the
/// `[positions, kv_heads, head_dim]` that it holds.
pub(crate) fn cache(
    random: &mut Random,
    bench: &mut Bench,
    heads: Heads,
    lengths: &[u32],
) -> (Cache, Vec<[Vec<f32>; 2]>) {
    let (kv, d, capacity) = (heads.kv_heads as usize, heads.head_dim as usize, heads.capacity as usize);
    let stride = heads.row_bytes() as usize / 4;
    let sequences: Vec<[Vec<f32>; 2]> = lengths
        .iter()
        .map(|&length| {
            let count = length as usize * kv * d;
            [(); 2].map(|()| random.floats(count).into_iter().map(|x| 2.0 * x).collect())
        })
        .collect();
    let mut upload = |of: usize| {
        // Values past the last key must not matter: they are NaN.
        let mut by_head = vec![0x7e00_7e00u32; sequences.len() * kv * capacity * stride];
        for (sequence, rows) in sequences.iter().enumerate() {
            for (i, values) in rows[of].chunks_exact(d).enumerate() {
                let (position, head) = (i / kv, sequence * kv + i % kv);
                let slot = if heads.ring { position % capacity } else { position };
                let row = &mut by_head[(head * capacity + slot) * stride..][..stride];
                row.copy_from_slice(&packed_row(heads.kv_type, values));
            }
        }
        bench.bytes(bytemuck::cast_slice(&by_head)).into()
    };
    let cache = Cache { k: upload(0), v: upload(1) };
    let rounded = |rows: &Vec<f32>| rows.chunks_exact(d).flat_map(|row| rounded_row(heads.kv_type, row)).collect();
    (cache, sequences.iter().map(|kv| kv.each_ref().map(rounded)).collect())
}

fn expected(
    heads: Heads,
    limits: Limits,
    position: u32,
    (q, sinks, table): (&[f32], Option<&[f32]>, &[f32]),
    [keys, values]: &[Vec<f32>; 2],
) -> Vec<f32> {
    if limits.distances.is_some() || sinks.is_some() || limits.alibi > 0.0 || limits.value_dim > 0 {
        let sizes = [heads.heads, heads.kv_heads, heads.head_dim].map(|n| n as usize);
        let window = (limits.window > 0).then_some(limits.window as usize);
        let alibi = (limits.alibi > 0.0).then_some(reference::Alibi { bias: limits.alibi, ahead: 0 });
        let plain = reference::AttentionShape::plain(sizes, position as usize);
        let value_dim = value_dim(heads, limits);
        let distances = limits.distances.map(|of| reference::ByDistance { table, both_ways: of.both_ways, ahead: 0 });
        let shape = reference::AttentionShape { window, alibi, distances, value_dim, ..plain };
        let mut out = vec![0.0; q.len() / plain.head_dim * value_dim];
        reference::attention_over(shape, sinks, q, [keys, values], &mut out);
        return out;
    }
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
fn limited(heads: Heads, limits: Limits, q: &[f32], [k, v]: [&Vec<f32>; 2]) -> Vec<f32> {
    let (h, kv_heads, d) = (heads.heads as usize, heads.kv_heads as usize, heads.head_dim as usize);
    let rules = AttentionRules {
        causal: true,
        window: (limits.window > 0).then_some(limits.window as usize),
        scale: (d as f64).sqrt().recip(),
        soft_cap: (limits.soft_cap > 0.0).then_some(limits.soft_cap.into()),
    };
    let mut out = vec![0.0; q.len()];
    for head in 0..h {
        let of_kv = head / (h / kv_heads) * d;
        let q: Vec<&[f32]> = q.chunks_exact(h * d).map(|row| &row[head * d..][..d]).collect();
        let [k, v] = [k, v].map(|x| x.chunks_exact(kv_heads * d).map(|row| &row[of_kv..][..d]).collect::<Vec<_>>());
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
    rows_case(random, heads, limits, &[(0, position)])
}

/// Rows of an image among those of a text: within a tile, around its edges, over several, with a window and a ring.
fn images(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let window = Limits { window: 33, soft_cap: 0.0, ..Limits::default() };
    let ring = Heads { capacity: 120, ring: true, ..heads(4, 2, 64) };
    let in_windows = |end: u32| end | Pass::SEEN_IN_WINDOWS;
    let cases: [(Heads, Limits, [u32; 2], [u32; 2]); 8] = [
        (heads(4, 2, 64), window, [100, 60], [7, in_windows(50)]),
        (heads(4, 2, 64), Limits::default(), [100, 60], [7, in_windows(50)]),
        (heads(4, 1, 32), Limits::default(), [0, 33], [3, 12]),
        (heads(2, 1, 80), Limits::default(), [20, 40], [16, 32]),
        (heads(3, 1, 64), Limits::default(), [257, 70], [9, 61]),
        (heads(2, 1, 256), Limits::default(), [5, 30], [0, 30]),
        (heads(4, 2, 64), window, [100, 60], [7, 50]),
        (ring, window, [130, 60], [15, 49]),
    ];
    cases.into_iter().map(|(heads, limits, rows, image)| image_case(random, heads, limits, rows, image)).collect()
}

/// A chunk of a sequence whose rows from `first` on and before `end` see each other.
fn image_case(
    random: &mut Random,
    heads: Heads,
    limits: Limits,
    [position, rows]: [u32; 2],
    [first, end]: [u32; 2],
) -> Case {
    let mut pass = Pass::chunk(0, position, &vec![0; rows as usize]);
    pass.header.seen = [first, end];
    let mut bench = Bench::of(pass);
    let (pass, _) = bench.fixed();
    let q = queries(random, heads, rows);
    let (cache, sequences) = cache(random, &mut bench, heads, &[position + rows]);
    let y = bench.floats(&vec![0.0; q.len()]);
    let scale = (heads.head_dim as f32).sqrt().recip();
    let problem = Attention { heads, scale, q: bench.floats(&q).into(), cache, sinks: None, y: y.into() };
    let dispatch = attention_few(pass, &problem, limits);
    let mut expected = vec![0.0; q.len()];
    let width = (heads.heads * heads.head_dim) as usize;
    let sizes = [heads.heads, heads.kv_heads, heads.head_dim].map(|n| n as usize);
    let [keys, values] = &sequences[0];
    let is_here = end & Pass::SEEN_IN_WINDOWS == 0 || limits.window > 0;
    let end = end & !Pass::SEEN_IN_WINDOWS;
    for (row, (q, out)) in (0..rows).zip(q.chunks_exact(width).zip(expected.chunks_exact_mut(width))) {
        let last = if is_here && (first..end).contains(&row) { end - 1 } else { row };
        // It sees as far back as by itself.
        let window = (limits.window > 0).then(|| (limits.window + last - row) as usize);
        let plain = reference::AttentionShape::plain(sizes, (position + last) as usize);
        let shape = reference::AttentionShape { window, ..plain };
        reference::attention_over(shape, None, q, [keys, values], out);
    }
    let name = format!("{}, rows {first} to {end} see each other", name(heads, limits, &bench.pass.rows));
    bench.case(name, vec![dispatch], y, Expected::Close(expected, Tolerance::ATTENTION))
}

/// One more score in each softmax, larger and smaller than the others.
fn with_sinks(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let window = Limits { window: 33, soft_cap: 0.0, ..Limits::default() };
    let ring = Heads { capacity: 72, ring: true, ..heads(8, 2, 64) };
    let decode = [
        (heads(4, 2, 64), Limits::default(), vec![(0, 0)]),
        (heads(3, 1, 80), Limits::default(), vec![(1, 300), (0, 33)]),
        (ring, window, vec![(0, 1000)]),
    ];
    let chunks = [
        (heads(4, 2, 64), Limits::default(), [0, 0, 33]),
        (heads(3, 1, 80), Limits::default(), [0, 257, 17]),
        (ring, window, [0, 500, 40]),
    ];
    let sinks = |random: &mut Random, heads: Heads| -> Vec<f32> {
        random.floats(heads.heads as usize).into_iter().map(|x| 12.0 * x).collect()
    };
    let mut cases = Vec::new();
    for (heads, limits, rows) in decode {
        let sinks = sinks(random, heads);
        cases.push(rows_case_with(random, heads, limits, &rows, Some(&sinks)));
    }
    for (heads, limits, chunk) in chunks {
        let sinks = sinks(random, heads);
        cases.extend(chunk_case_with(random, heads, limits, chunk, (1, Some(&sinks))));
    }
    cases
}

/// Scores that fall with the distance: heads that are a power of two and more than that, several to a workgroup.
fn with_alibi(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let alibi = Limits { alibi: 8.0, ..Limits::default() };
    let ring = Heads { capacity: 72, ring: true, ..heads(6, 2, 64) };
    let window = Limits { window: 33, ..alibi };
    let mut cases = vec![
        rows_case(random, heads(4, 2, 64), alibi, &[(0, 0)]),
        rows_case(random, heads(3, 3, 80), Limits { alibi: 5.0, ..alibi }, &[(1, 300), (0, 33)]),
        rows_case(random, heads(12, 1, 32), alibi, &[(0, 701)]),
        rows_case(random, ring, window, &[(0, 1000)]),
    ];
    cases.extend(chunk_case(random, heads(4, 2, 64), alibi, [0, 0, 33]));
    cases.extend(chunk_case(random, heads(7, 7, 80), alibi, [0, 257, 17]));
    cases.extend(chunk_case(random, ring, window, [0, 500, 40]));
    cases
}

/// Learned biases: near and far keys, several heads to a workgroup, keys that a chunk masks, an odd number of buckets.
fn with_distances(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let buckets = |buckets| {
        let table = BufferId(0).into(); // the case makes one
        let distances = Some(Distances { table, buckets, both_ways: false });
        Limits { distances, ..Limits::default() }
    };
    let mut cases = vec![
        rows_case(random, heads(4, 4, 64), buckets(32), &[(0, 0)]),
        rows_case(random, heads(6, 2, 32), buckets(32), &[(1, 300), (0, 33)]),
        rows_case(random, heads(3, 3, 80), buckets(9), &[(0, 130)]),
    ];
    cases.extend(chunk_case(random, heads(4, 4, 64), buckets(32), [0, 0, 33]));
    cases.extend(chunk_case(random, heads(6, 3, 32), buckets(9), [1, 257, 17]));
    cases
}

/// A table of biases for a case that has them.
fn table(random: &mut Random, bench: &mut Bench, heads: Heads, limits: &mut Limits) -> Vec<f32> {
    let Some(distances) = &mut limits.distances else { return Vec::new() };
    let table: Vec<f32> =
        random.floats((distances.buckets * heads.heads) as usize).into_iter().map(|x| 5.0 * x).collect();
    distances.table = bench.floats(&table).into();
    table
}

/// Values of a head of v that count.
fn value_dim(heads: Heads, limits: Limits) -> usize {
    (if limits.value_dim > 0 { limits.value_dim } else { heads.head_dim }) as usize
}

/// Fewer values of v than of k count: sizes around those of a workgroup, and those of latent vectors in real models.
fn with_narrow_values(random: &mut Random) -> Vec<Case> {
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 96);
    let values = |value_dim| Limits { value_dim, ..Limits::default() };
    let mut cases = vec![
        rows_case(random, heads(4, 1, 24), values(18), &[(0, 40)]),
        rows_case(random, heads(3, 1, 576), values(512), &[(1, 33), (0, 70)]),
        rows_case(random, heads(4, 1, 576), values(512), &[(0, 7)]),
        rows_case(random, heads(2, 2, 80), values(64), &[(0, 5), (0, 6)]),
    ];
    for (of, value_dim) in [(heads(4, 1, 24), 18), (heads(2, 1, 576), 512), (heads(2, 2, 80), 64)] {
        cases.extend(chunk_case(random, of, values(value_dim), [0, 20, 19]));
    }
    let of = Heads { kv_type: KvType::Q8_0, ..heads(2, 1, 288) };
    cases.push(decode_case(random, of, values(256), 50));
    cases
}

/// Rows (sequence, position) of a decode pass.
fn rows_case(random: &mut Random, heads: Heads, limits: Limits, rows: &[(u32, u32)]) -> Case {
    rows_case_with(random, heads, limits, rows, None)
}

fn rows_case_with(
    random: &mut Random,
    heads: Heads,
    mut limits: Limits,
    rows: &[(u32, u32)],
    sinks: Option<&[f32]>,
) -> Case {
    let rows: Vec<Row> =
        rows.iter().map(|&(sequence, position)| Row { sequence, position, ..Row::default() }).collect();
    let mut bench = Bench::of(Pass::decode(&rows));
    let (pass, _) = bench.fixed();
    let q = queries(random, heads, rows.len() as u32);
    let length = |sequence| rows.iter().filter(|row| row.sequence == sequence).map(|row| row.position + 1).max();
    let lengths: Vec<u32> = (0..).map_while(length).collect();
    let (cache, sequences) = cache(random, &mut bench, heads, &lengths);
    let count = split_count(heads.capacity);
    let y = bench.floats(&vec![0.0; q.len() / heads.head_dim as usize * value_dim(heads, limits)]);
    let splits = Splits {
        count,
        partial: bench.floats(&vec![f32::NAN; q.len() * count as usize]).into(),
        stats: bench.floats(&vec![f32::NAN; rows.len() * (heads.heads * count * 2) as usize]).into(),
    };
    let scale = (heads.head_dim as f32).sqrt().recip();
    let sink_buffer = sinks.map(|sinks| bench.floats(sinks).into());
    let problem = Attention { heads, scale, q: bench.floats(&q).into(), cache, sinks: sink_buffer, y: y.into() };
    let table = table(random, &mut bench, heads, &mut limits);
    let dispatches = attention_decode(pass, rows.len() as u32, &problem, &splits, limits).to_vec();
    let values = rows.iter().zip(q.chunks_exact(q.len() / rows.len())).flat_map(|(row, q)| {
        let seen = ((row.position + 1) * heads.kv_heads * heads.head_dim) as usize;
        let kv = sequences[row.sequence as usize].each_ref().map(|values| values[..seen].to_vec());
        expected(heads, limits, row.position, (q, sinks, &table), &kv)
    });
    let expected = Expected::Close(values.collect(), Tolerance::ATTENTION);
    let sinks = if sinks.is_some() { ", sinks" } else { "" };
    bench.case(format!("{}{sinks}", name(heads, limits, &rows)), dispatches, y, expected)
}

fn prefill_case(random: &mut Random, heads: Heads, limits: Limits, [position, tokens]: [u32; 2]) -> Vec<Case> {
    chunk_case(random, heads, limits, [0, position, tokens])
}

/// A chunk of rows of a sequence, whose cache lies behind the caches of earlier sequences: a case for each kernel that
/// can run it.
fn chunk_case(random: &mut Random, heads: Heads, limits: Limits, chunk: [u32; 3]) -> Vec<Case> {
    chunk_case_with(random, heads, limits, chunk, (1, None))
}

/// The same but for [`MATRICES`].
pub(super) fn chunk_case_with(
    random: &mut Random,
    heads: Heads,
    limits: Limits,
    chunk: [u32; 3],
    with: (u32, Option<&[f32]>),
) -> Vec<Case> {
    let mut cases = chunk_cases(random, heads, limits, chunk, with);
    cases.retain(|case| case.kernel_name != MATRICES.kernel_name);
    cases
}

pub(super) fn chunk_cases(
    random: &mut Random,
    heads: Heads,
    mut limits: Limits,
    [sequence, position, rows]: [u32; 3],
    (groups, sinks): (u32, Option<&[f32]>),
) -> Vec<Case> {
    let mut bench = Bench::of(Pass::chunk(sequence, position, &vec![0; rows as usize]));
    let (pass, _) = bench.fixed();
    let q = queries(random, heads, rows);
    let mut lengths = vec![1; sequence as usize];
    lengths.push(position + rows);
    let (cache, sequences) = cache(random, &mut bench, heads, &lengths);
    let y = bench.floats(&vec![0.0; q.len() / heads.head_dim as usize * value_dim(heads, limits)]);
    let scale = (heads.head_dim as f32).sqrt().recip();
    let sink_buffer = sinks.map(|sinks| bench.floats(sinks).into());
    let problem = Attention { heads, scale, q: bench.floats(&q).into(), cache, sinks: sink_buffer, y: y.into() };
    let table = table(random, &mut bench, heads, &mut limits);
    let expected = expected(heads, limits, position, (&q, sinks, &table), &sequences[sequence as usize]);
    let sinks = if sinks.is_some() { ", sinks" } else { "" };
    let name = format!("{}{sinks}", name(heads, limits, &bench.pass.rows));
    let is_plain = limits.alibi == 0.0 && limits.value_dim == 0 && limits.distances.is_none();
    let tiled = (is_plain && can_tile(heads.head_dim)).then(|| attention_tiled(pass, groups, &problem, limits));
    let matrices = is_plain.then(|| attention_subgroup_matrix(pass, &problem, limits));
    let few = attention_few(pass, &problem, limits);
    let rounded = Expected::Close(expected.clone(), Tolerance::HALF_ATTENTION);
    let case = bench.case(name, vec![few], y, Expected::Close(expected, Tolerance::ATTENTION));
    let other = |dispatch: Dispatch, expected: &Expected| {
        let (kernel_name, variant) = (dispatch.kernel.spec.kernel_name, dispatch.kernel.id.clone());
        Case { kernel_name, variant, dispatches: vec![dispatch], expected: expected.clone(), ..case.clone() }
    };
    let tiled = tiled.map(|dispatch| other(dispatch, &case.expected));
    let matrices = matrices.map(|dispatch| other(dispatch, &rounded));
    [case.clone()].into_iter().chain(tiled).chain(matrices).collect()
}

fn name(heads: Heads, limits: Limits, rows: &[Row]) -> String {
    let Heads { heads, kv_heads, head_dim, capacity, ring, .. } = heads;
    let window = if limits.window > 0 { format!(", window {}", limits.window) } else { String::new() };
    let cap = if limits.soft_cap > 0.0 { format!(", cap {}", limits.soft_cap) } else { String::new() };
    let alibi = if limits.alibi > 0.0 { format!(", ALiBi {}", limits.alibi) } else { String::new() };
    let values = if limits.value_dim > 0 { format!(", {} of v", limits.value_dim) } else { String::new() };
    let buckets = limits.distances.map_or_else(String::new, |of| format!(", {} buckets", of.buckets));
    let ring = if ring { format!(", ring of {capacity}") } else { String::new() };
    let (count, at) = (rows.len(), places(rows));
    format!("{heads}/{kv_heads} heads of {head_dim}, {count} rows, {at}{window}{cap}{alibi}{values}{buckets}{ring}")
}
