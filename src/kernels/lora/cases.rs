//! Rows of several sequences with and without the adapter at work, all rows and those with logits; products side by
//! side, of different ranks; tables.

use super::{Lora, OfRows, Places, RowOfA, Segment, WORDS, scale_words};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::pass::{Pass, Row};
use crate::kernels::reference::{lora_a, lora_b};

/// The slot of the adapter at hand.
pub(super) const SLOT: usize = 3;

/// A name, a pass and which of its rows are computed; values of x, or a table; outputs and rank of each product.
type Kind<'a> = (&'a str, &'a Pass, OfRows, Option<usize>, &'a [(usize, usize)]);

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("lora");
    let several = [(2, 5), (0, 0), (1, 6), (2, 6), (1, 7)].map(|(sequence, position)| row(sequence, position));
    let decode = Pass::decode(&several);
    let mut chunk = Pass::decode(&(0..5).map(|at| row(1, 4 + at)).collect::<Vec<_>>());
    chunk.header.outputs = 2;
    let many = OfRows::First(5);
    let three: &[(usize, usize)] = &[(70, 3), (9, 8), (300, 1)];
    let kinds: [Kind; 6] = [
        ("one product", &decode, OfRows::All, Some(64), &[(64, 4)]),
        ("three products of one x", &decode, many, Some(300), three),
        ("few rows", &decode, OfRows::First(2), Some(7), &[(5, 2)]),
        ("more ranks than threads to them", &decode, many, Some(40), &[(33, 200)]),
        ("rows with logits", &chunk, OfRows::Last(2), Some(130), &[(267, 5)]),
        ("a table", &decode, many, None, &[(33, 6)]),
    ];
    let both = kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]);
    let both = both.filter(|((_, _, _, cols, _), at_once)| cols.is_some() || !at_once);
    let mut cases: Vec<Case> = both
        .map(|((name, pass, rows, cols, sizes), at_once)| case(random, name, (pass, rows), (cols, sizes), at_once))
        .collect();
    let mut last = chunk.clone();
    last.header.outputs = 1;
    let begun = Pass::decode(&[row(1, 6)]);
    let not_begun = Pass::decode(&[row(1, 5)]);
    cases.extend([
        row_of_a(random, &Pass::decode(&[row(2, 5)]), (8196, 5), false),
        row_of_a(random, &begun, (1028, 3), true),
        row_of_a(random, &not_begun, (64, 3), true),
        row_of_a(random, &last, (260, 2), true),
        direction(random, &decode),
    ]);
    cases
}

/// A control vector, added to rows behind three other values.
fn direction(random: &mut Random, pass: &Pass) -> Case {
    let (before, width, factor) = (3, 70, 0.75);
    let values = random.floats(width);
    let mut y = random.floats(pass.rows.len() * (before + width));
    let mut bench = Bench::of(pass.clone());
    let (pass_slice, dummy) = bench.fixed();
    let y_buffer = bench.floats(&y);
    let plan = [Segment { output: before as u32, outputs: width as u32, first: 0, rank: 1, at: 0 }];
    let segments = bench.bytes(bytemuck::cast_slice(&plan)).into();
    let lora = Lora { slot: SLOT, a: dummy, b: bench.floats(&values).into(), segments, plan: &plan, ranks: 0 };
    let scales = bench.bytes(bytemuck::cast_slice(&scales())).into();
    let t = bench.floats(&[f32::NAN; 4]).into();
    let output = Rows { slice: y_buffer.into(), stride: (before + width) as u32, offset: 0 };
    let rows = OfRows::First(pass.rows.len() as u32);
    let dispatches = lora.dispatches(Places { pass: pass_slice, scales, t }, rows, None, (output, factor));
    for (y, row) in y.chunks_exact_mut(before + width).zip(&pass.rows) {
        lora_b(factor, &values, &[scale_of(row)], &mut y[before..]);
    }
    let expected = Expected::Close(y, Tolerance::PLAIN);
    bench.case(format!("a direction, dispatches: {}", dispatches.len()), dispatches, y_buffer, expected)
}

/// The scales of three sequences: 0 has no adapter, 1 has it from position 6 on, 2 from the start.
pub(super) fn scales() -> Vec<u32> {
    let uses = [vec![], vec![(SLOT, 0.5, 6)], vec![(SLOT, -2.0, 0), (SLOT + 1, 9.0, 0)]];
    uses.into_iter().flat_map(scale_words).chain(std::iter::repeat(0)).take(WORDS).collect()
}

/// The scale of a row by [`scales`].
pub(super) fn scale_of(row: &Row) -> f32 {
    [0.0, if row.position >= 6 { 0.5 } else { 0.0 }, -2.0][row.sequence as usize]
}

/// A · x of the one row of a pass, or of the one that has logits; x with the weights of a norm.
fn row_of_a(random: &mut Random, pass: &Pass, (cols, ranks): (usize, usize), normed: bool) -> Case {
    let mut bench = Bench::of(pass.clone());
    let (pass_slice, dummy) = bench.fixed();
    let rows = pass.rows.len();
    let of_outputs = rows > 1;
    let [a, x, weight] = [cols * ranks, cols * rows, cols].map(|count| random.floats(count));
    let [before, norm_weight] = [&vec![f32::NAN; ranks + 2], &weight].map(|values| bench.floats(values));
    let row = RowOfA {
        slot: SLOT,
        a: bench.floats(&a).into(),
        ranks: ranks as u32,
        cols: cols as u32,
        x: bench.floats(&x).into(),
        norm_weight: normed.then(|| norm_weight.into()),
        of_outputs,
    };
    let scales = bench.bytes(bytemuck::cast_slice(&scales())).into();
    let dispatch = row.dispatch(Places { pass: pass_slice, scales, t: before.into() }, dummy);
    let number = if of_outputs { rows - pass.header.outputs as usize } else { 0 };
    let mut x = x[number * cols..][..cols].to_vec();
    if normed {
        x.iter_mut().zip(&weight).for_each(|(x, weight)| *x *= weight);
    }
    let t = lora_a(scale_of(&pass.rows[number]), &a, &x);
    let tolerance = Tolerance { abs: 2e-5, ..Tolerance::PLAIN };
    let name = format!(
        "{ranks} ranks of {cols} values, norm {normed}, row {number} of {rows}, scale {}",
        scale_of(&pass.rows[number])
    );
    bench.case(name, vec![dispatch], before, Expected::Close(t, tolerance))
}

pub(super) fn row(sequence: u32, position: u32) -> Row {
    Row { token: (3 * position + sequence) % 11, position, sequence, flags: 0 }
}

/// A case with the length of a row of x, or a table, and with outputs and rank of each product.
fn case(
    random: &mut Random,
    name: &str,
    (pass, rows): (&Pass, OfRows),
    (cols, sizes): (Option<usize>, &[(usize, usize)]),
    at_once: bool,
) -> Case {
    // In one dispatch x is read by fours.
    let (before, behind, factor) = (if at_once { 4 } else { 3 }, 2, 0.75);
    let cols = cols.map(|cols: usize| if at_once { cols.next_multiple_of(4) } else { cols });
    let ranks: usize = sizes.iter().map(|(_, rank)| rank).sum();
    let width = before + sizes.iter().map(|(outputs, _)| outputs).sum::<usize>() + behind;
    let a = random.floats(cols.unwrap_or(11) * ranks);
    let x_stride = cols.unwrap_or(1) + before;
    let x = random.floats(pass.rows.len() * x_stride);
    let b = random.floats(sizes.iter().map(|(outputs, rank)| outputs * rank).sum());
    let mut y = random.floats(pass.rows.len() * width);
    let plan = plan(before, sizes);
    let mut bench = Bench::of(pass.clone());
    let y_buffer = bench.floats(&y);
    let (pass_slice, _) = bench.fixed();
    let lora = Lora {
        slot: SLOT,
        a: bench.floats(&a).into(),
        b: bench.floats(&b).into(),
        segments: bench.bytes(bytemuck::cast_slice(&plan)).into(),
        plan: &plan,
        ranks: ranks as u32,
    };
    let places = Places {
        pass: pass_slice,
        scales: bench.bytes(bytemuck::cast_slice(&scales())).into(),
        t: bench.floats(&vec![f32::NAN; pass.rows.len() * ranks]).into(),
    };
    let input = Rows { slice: bench.floats(&x).into(), stride: x_stride as u32, offset: before as u32 };
    let output = Rows { slice: y_buffer.into(), stride: width as u32, offset: 0 };
    let (x_place, y_place) = (cols.map(|cols| (input, cols as u32)), (output, factor));
    let dispatches = match x_place.filter(|_| at_once) {
        Some(x) => vec![lora.at_once(places, rows, x, y_place)],
        None => lora.in_two(places, rows, x_place, y_place),
    };

    let (first, count) = match rows {
        OfRows::All => (0, pass.rows.len()),
        OfRows::First(count) => (0, count as usize),
        OfRows::Last(count) => (pass.rows.len() - count as usize, count as usize),
    };
    for (y, number) in y.chunks_exact_mut(width).zip(first..first + count) {
        let row = pass.rows[number];
        let scale = scale_of(&row);
        let t = match cols {
            Some(cols) => lora_a(scale, &a, &x[number * x_stride + before..][..cols]),
            None => a[row.token as usize * ranks..][..ranks].iter().map(|a| scale * a).collect(),
        };
        for Segment { output, outputs, first, rank, at } in plan.iter().copied() {
            let [output, outputs, first, rank, at] = [output, outputs, first, rank, at].map(|n| n as usize);
            let own = &b[at..at + outputs * rank];
            lora_b(factor, own, &t[first..first + rank], &mut y[output..output + outputs]);
        }
    }
    // Sums of hundreds of terms that may cancel, in two orders.
    let tolerance = Tolerance { abs: 8e-6 + 1e-7 * ranks as f32, ..Tolerance::PLAIN };
    bench.case(
        format!("{name}, {rows:?}, dispatches: {}", dispatches.len()),
        dispatches,
        y_buffer,
        Expected::Close(y, tolerance),
    )
}

fn plan(before: usize, sizes: &[(usize, usize)]) -> Vec<Segment> {
    let mut next = Segment { output: before as u32, outputs: 0, first: 0, rank: 0, at: 0 };
    let segment = |&(outputs, rank): &(usize, usize)| {
        let Segment { output, outputs: rows, first, rank: cols, at } = next;
        let [outputs, rank] = [outputs, rank].map(|n| n as u32);
        next = Segment { output: output + rows, outputs, first: first + cols, rank, at: at + rows * cols };
        next
    };
    sizes.iter().map(segment).collect()
}
