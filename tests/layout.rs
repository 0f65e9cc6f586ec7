//! The packed layout against the definition of the block formats: random blocks of every type, packed by the twin of
//! the repack kernel and read by the twin of the shaders' readers, are the weights that `gguf::dequantize` gives, bit
//! for bit.
#![cfg(not(target_arch = "wasm32"))]

use webgguf::gguf::{GgmlType, dequantize};
use webgguf::kernels::layout::{PackedLayout, max_rows};
use webgguf::kernels::repack::packed::Packed;
use webgguf::kernels::repack::reference::{packed, repack};

/// Splitmix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Widths to try: odd numbers of blocks, and rows that end inside a block where the type has them.
fn widths(ty: GgmlType) -> &'static [u32] {
    match ty.block_len() {
        1 => &[1, 31, 32, 33, 257, 1000],
        32 => &[32, 96, 1056],
        64 | 128 => &[128, 384],
        _ => &[256, 768],
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// Equal, where a NaN equals any NaN: random scales hold infinities, and `0 · ∞` need not have one sign.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a == b || a.is_nan() && b.is_nan()
}

fn assert_packed(layout: &PackedLayout, raw: &[u8], packed: &[u8]) {
    let mut row = vec![0.0; layout.cols as usize];
    let (words, blocks) = (words(packed), layout.blocks_per_row() as usize);
    let reader = Packed::new(layout, &words);
    for (r, raw) in raw.chunks_exact(layout.raw_row_bytes() as usize).enumerate() {
        dequantize(layout.ty, raw, &mut row).unwrap();
        let read: Vec<f32> = (0..blocks).flat_map(|b| reader.block(r * blocks + b)).collect();
        for (c, (&found, &expected)) in read.iter().zip(&row).enumerate() {
            assert!(same(found, expected), "{layout:?} row {r} column {c}: {found} for {expected}");
        }
        assert!(read[row.len()..].iter().all(|&v| v == 0.0), "{layout:?} row {r}: padding is not zero");
    }
}

#[test]
fn packed_blocks_are_the_blocks() {
    let mut random = Random(1);
    for ty in GgmlType::ALL {
        for (&cols, rows) in widths(ty).iter().zip([1, 3, 2, 5, 4, 7].into_iter().cycle()) {
            let layout = PackedLayout::new(ty, rows, cols);
            let raw = random.bytes(layout.raw_row_bytes() * u64::from(rows));
            assert_packed(&layout, &raw, &packed(&layout, &raw));
        }
    }
}

#[test]
fn slices_of_rows_make_the_same_tensor() {
    let mut random = Random(2);
    for ty in GgmlType::ALL {
        let layout = PackedLayout::new(ty, 7, widths(ty)[1]);
        let row = layout.raw_row_bytes() as usize;
        let raw = random.bytes(row as u64 * 7);
        let mut pieces = vec![0; layout.bytes() as usize];
        for rows in [3..7, 0..1, 1..3] {
            repack(&layout, rows.start as u32, &raw[rows.start * row..rows.end * row], &mut pieces);
        }
        assert_eq!(pieces, packed(&layout, &raw), "{}", ty.name());
    }
}

#[test]
fn packing_adds_no_bits() {
    for ty in GgmlType::ALL {
        // Sixteen rows fill whole units and whole alignments.
        let layout = PackedLayout::new(ty, 16, 512);
        let grid = layout.grid().map_or(0, |grid| 4 * u64::from(grid.words));
        // The base-3 digits of TQ1_0 become bit pairs: 52 bytes of a super-block become 64.
        let grown = if ty == GgmlType::TQ1_0 { 12 * 2 * 16 } else { 0 };
        assert_eq!(layout.bytes(), layout.raw_row_bytes() * 16 + grid + grown, "{}", ty.name());
        let starts: Vec<u32> = layout.sections().iter().map(|(_, at)| *at).collect();
        assert!(starts.iter().all(|at| at % 4 == 0) && starts.is_sorted(), "{} {starts:?}", ty.name());
        assert_eq!(layout.constants().len(), ty.format().sections.len() - 1);
    }
}

#[test]
fn the_most_rows_that_fit() {
    for ty in GgmlType::ALL {
        for cols in [256, 4096, 14336] {
            for bytes in [100_000, 128 << 20, u64::from(u32::MAX)] {
                let rows = max_rows(ty, cols, bytes);
                let layout = |rows| PackedLayout::new(ty, rows, cols);
                assert!(rows == 0 || layout(rows).bytes() <= bytes, "{} {cols} {bytes}", ty.name());
                assert!(layout(rows + 2).bytes() + 100 > bytes, "{} {cols} {bytes}: {rows}", ty.name());
            }
        }
    }
    assert_eq!(max_rows(GgmlType::F32, 4096, 16_000), 0);
}
