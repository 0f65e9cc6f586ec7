//! Random bytes of every type, packed in slices of rows, against the CPU twin: bit for bit.

use crate::gguf::GgmlType;
use crate::harness::{Bench, Case, Expected, Random, Suite};
use crate::kernels::layout::PackedLayout;
use crate::kernels::repack::reference::packed;
use crate::kernels::repack::{Source, repack};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("repack");
    let sizes = |ty: GgmlType| match ty.block_len() {
        1 => vec![[1, 1], [3, 31], [5, 33], [9, 257], [3, 1000]],
        32 => vec![[1, 32], [5, 96], [33, 1056]],
        len @ (64 | 128) => vec![[1, len as u32], [5, 3 * len as u32], [7, 1024]],
        _ => vec![[1, 256], [5, 768], [7, 1024]],
    };
    let cases = GgmlType::ALL.into_iter().flat_map(|ty| sizes(ty).into_iter().map(move |size| (ty, size)));
    cases.map(|(ty, size)| case(random, ty, size)).collect()
}

/// Two slices, the later rows first, from a staging buffer in which they start at odd offsets, over other rows.
fn case(random: &mut Random, ty: GgmlType, [rows, cols]: [u32; 2]) -> Case {
    let layout = PackedLayout::new(ty, rows, cols);
    let row_bytes = layout.raw_row_bytes() as usize;
    let raw = random.bytes(row_bytes * rows as usize);
    let (cut, gap) = (random.below(rows), random.below(7) as usize);
    let mut bench = Bench::new(1);
    let (first, last) = raw.split_at(cut as usize * row_bytes);
    let staged = [&vec![0xff; gap], last, first].concat();
    let staging = bench.bytes(&staged).into();
    let dst = bench.bytes(&packed(&layout, &random.bytes(raw.len())));
    let second = (gap + (rows - cut) as usize * row_bytes) as u32;
    let grid = layout.grid().map_or(staging, |grid| bench.bytes(bytemuck::cast_slice(&grid.packed())).into());
    let source = |offset| Source { raw: staging, offset, grid };
    let mut dispatches = vec![repack(&layout, cut, rows - cut, &source(gap as u32), dst.into())];
    if cut > 0 {
        dispatches.push(repack(&layout, 0, cut, &source(second), dst.into()));
    }
    let words = packed(&layout, &raw);
    let words = words.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let expected = Expected::Exact(words.collect());
    bench.case(format!("{rows}x{cols}, {cut} rows last, from byte {gap}"), dispatches, dst, expected)
}
