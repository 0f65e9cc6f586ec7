//! Resized images, byte by byte as Pillow makes them; `tools/make_image_fixtures.py` writes what is expected.

use webgguf_media::resample::{Filter, resize};
use webgguf_media::sizes::Size;

/// `[height, width, 3]`: noise on a slope.
fn pixels(Size { width, height }: Size) -> Vec<u8> {
    let count = (width * height * 3) as u64;
    let byte = |at: u64| ((((at * 2_654_435_761 + 12_345) % (1 << 32)) >> 24) + at * 255 / count) as u8;
    (0..count).map(byte).collect()
}

#[test]
fn images_are_resized_as_pillow_does_it() {
    let mut rest: &[u8] = include_bytes!("fixtures/resized.bin");
    let mut count = 0;
    while !rest.is_empty() {
        let number = |at: usize| usize::from(u16::from_le_bytes([rest[2 * at], rest[2 * at + 1]]));
        let filter = [Filter::Bilinear, Filter::Bicubic, Filter::Lanczos][number(0)];
        let from = Size { width: number(1), height: number(2) };
        let to = Size { width: number(3), height: number(4) };
        let (expected, others) = rest[10..].split_at(to.area() * 3);
        assert!(resize(&pixels(from), from, to, filter) == expected, "{filter:?} of {from:?} to {to:?}");
        (rest, count) = (others, count + 1);
    }
    assert_eq!(count, 21);
}
