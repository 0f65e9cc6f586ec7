//! Embeddings of every type, also split, with ids that are no rows.

use crate::gguf::GgmlType;
use crate::harness::data::Tensor;
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::gather::{gather, gather_places, gather_slots};
use crate::kernels::pass::{Pass, ROW_DONE};
use crate::kernels::reference;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("gather");
    let sizes = |ty: GgmlType| match ty.block_len() {
        1 => vec![[33, 1], [31, 33], [257, 1000]],
        32 => vec![[33, 32], [257, 288]],
        len @ (64 | 128) => vec![[31, 3 * len as u32], [33, 1024]],
        _ => vec![[31, 256], [33, 1024]],
    };
    let cases = GgmlType::ALL.into_iter().flat_map(|ty| sizes(ty).into_iter().map(move |size| (ty, size)));
    let mut cases: Vec<Case> =
        cases.flat_map(|(ty, size)| [case(random, ty, size, false), case(random, ty, size, true)]).collect();
    cases.push(done_case(random));
    cases.push(scaled_case(random));
    cases.extend([false, true].map(|first| places_case(random, first)));
    cases.push(slots_case(random));
    cases.extend(GgmlType::ALL.into_iter().filter(|ty| ty.is_quantised()).map(|ty| subnormal_case(random, ty)));
    cases
}

/// Once the run is done nothing is written.
fn done_case(random: &mut Random) -> Case {
    let tensor = Tensor::new(random, GgmlType::F16, [33, 31], 1.0);
    let mut bench = Bench::done();
    let matrix = tensor.upload(&mut bench, &[0]);
    let before = random.floats(31);
    let y = bench.floats(&before);
    let dispatches = gather(bench.fixed().0, &matrix, y.into(), 1.0);
    bench.case("the text is done".into(), dispatches, y, Expected::Close(before, Tolerance::READ))
}

/// As Gemma's embeddings are.
fn scaled_case(random: &mut Random) -> Case {
    let tensor = Tensor::new(random, GgmlType::Q8_0, [5, 96], 1.0);
    let mut bench = Bench::of(Pass::chunk(0, 0, &[4, 1]));
    let matrix = tensor.upload(&mut bench, &[0]);
    let y = bench.floats(&[0.0; 192]);
    let mut expected = vec![0.0; 192];
    reference::gather(&tensor.reference(), &[4, 1], &mut expected).expect("the ids are rows");
    expected.iter_mut().for_each(|x| *x *= 25.5);
    let dispatches = gather(bench.fixed().0, &matrix, y.into(), 25.5);
    bench.case("5x96 times 25.5".into(), dispatches, y, Expected::Close(expected, Tolerance::PLAIN))
}

/// By position, or row 0 for all; the sequence of the first row is done.
fn places_case(random: &mut Random, first: bool) -> Case {
    const COLS: usize = 67;
    let tensor = Tensor::new(random, GgmlType::F16, [9, COLS as u32], 1.0);
    let mut pass = Pass::batch(&[&[3, 1, 4], &[1, 5]]);
    pass.rows[0].flags = ROW_DONE;
    let mut bench = Bench::of(pass);
    let matrix = tensor.upload(&mut bench, &[0, 2]);
    let before = random.floats(5 * COLS);
    let y = bench.floats(&before);
    let mut expected = vec![0.0; 5 * COLS];
    let rows = if first { [0; 5] } else { [0, 1, 2, 0, 1] };
    reference::gather(&tensor.reference(), &rows, &mut expected).expect("the positions are rows");
    expected[..COLS].copy_from_slice(&before[..COLS]);
    let dispatches = gather_places(bench.fixed().0, &matrix, y.into(), first);
    let name = if first { "row 0 for all" } else { "by position" };
    bench.case(name.into(), dispatches, y, Expected::Close(expected, Tolerance::READ))
}

/// From the slots that rows have in their flags; one sequence is done, one token has no slot.
fn slots_case(random: &mut Random) -> Case {
    const COLS: usize = 96;
    const SLOTS: [u32; 5] = [3, 0, 6, 2, 1];
    let tensor = Tensor::new(random, GgmlType::Q5_1, [7, COLS as u32], 1.0);
    let mut pass = Pass::chunk(0, 0, &[5; SLOTS.len()]);
    pass.rows.iter_mut().zip(SLOTS).for_each(|(row, slot)| row.flags = (slot + 1) << 1);
    (pass.rows[2].flags, pass.rows[3].flags) = (ROW_DONE, 0);
    let mut bench = Bench::of(pass);
    let matrix = tensor.upload(&mut bench, &[0]);
    let before = random.floats(SLOTS.len() * COLS);
    let y = bench.floats(&before);
    let mut expected = vec![0.0; SLOTS.len() * COLS];
    reference::gather(&tensor.reference(), &SLOTS, &mut expected).expect("the slots are rows");
    expected.iter_mut().for_each(|x| *x *= 0.5);
    expected[2 * COLS..3 * COLS].copy_from_slice(&before[2 * COLS..3 * COLS]);
    expected[3 * COLS..4 * COLS].fill(0.0);
    let dispatches = gather_slots(bench.fixed().0, &matrix, y.into(), 0.5);
    bench.case("by slot".into(), dispatches, y, Expected::Close(expected, Tolerance::READ))
}

/// Blocks whose f16 are below 2^-14, where f16 has subnormal numbers and a device may have zeros: see
/// `kernels/unpack_f16/mod.rs`.
fn subnormal_case(random: &mut Random, ty: GgmlType) -> Case {
    const SIZE: f32 = 1.0 / 32768.0;
    let [rows, cols] = [3, 512];
    let mut tensor = Tensor::new(random, ty, [rows, cols], 1.0);
    for block in tensor.raw.chunks_exact_mut(ty.block_bytes()) {
        ty.format().numbers.iter().for_each(|number| number.set(block, random.floats(1)[0] * SIZE));
    }
    let ids: Vec<u32> = (0..rows).collect();
    let mut bench = Bench::of(Pass::chunk(0, 0, &ids));
    let matrix = tensor.upload(&mut bench, &[0]);
    let mut expected = vec![0.0; (rows * cols) as usize];
    let y = bench.floats(&expected);
    reference::gather(&tensor.reference(), &ids, &mut expected).expect("the ids are rows");
    let dispatches = gather(bench.fixed().0, &matrix, y.into(), 1.0);
    let largest = expected.iter().fold(0f32, |largest, weight| largest.max(weight.abs()));
    let tolerance = Tolerance { abs: Tolerance::READ.abs * largest, ..Tolerance::READ };
    bench.case("subnormal scales".into(), dispatches, y, Expected::Close(expected, tolerance))
}

fn case(random: &mut Random, ty: GgmlType, [rows, cols]: [u32; 2], split: bool) -> Case {
    let tensor = Tensor::new(random, ty, [rows, cols], 1.0);
    let count = 9;
    let mut ids: Vec<u32> = (0..count).map(|_| random.below(rows)).collect();
    (ids[0], ids[3], ids[5], ids[7]) = (rows - 1, rows, 0, u32::MAX);
    let mut pass = Pass::chunk(0, 0, &ids);
    pass.rows[4].flags = ROW_DONE;
    let mut bench = Bench::of(pass);
    let starts: &[u32] = if split { &[0, 3, rows / 2] } else { &[0] };
    let matrix = tensor.upload(&mut bench, starts);
    // One row more than the pass has: it stays as it is.
    let before = random.floats((count as usize + 1) * cols as usize);
    let y = bench.floats(&before);
    let mut expected = before;
    let found = ids.iter().zip(expected.chunks_exact_mut(cols as usize)).enumerate();
    for (_, (&id, row)) in found.filter(|(t, _)| *t != 4) {
        match id < rows {
            true => reference::gather(&tensor.reference(), &[id], row).expect("the id is a row"),
            false => row.fill(0.0),
        }
    }
    let dispatches = gather(bench.fixed().0, &matrix, y.into(), 1.0);
    let name = format!("{rows}x{cols} in {} shards", starts.len());
    bench.case(name, dispatches, y, Expected::Close(expected, Tolerance::READ))
}
