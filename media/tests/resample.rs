//! Resized images, byte by byte as Pillow makes them; `tools/make_image_fixtures.py` writes what is expected.

use webgguf_media::resample::{Filter, resize};
use webgguf_media::sizes::Size;
use webgguf_media::steps::Steps;

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
        let work = async move { resize(&pixels(from), from, to, filter).await };
        assert!(Steps::new(work).finish().1 == expected, "{filter:?} of {from:?} to {to:?}");
        (rest, count) = (others, count + 1);
    }
    assert_eq!(count, 21);
}

/// A million multiplications a step: the steps of a photograph are short.
#[test]
fn a_photograph_is_resized_in_many_steps() {
    let (from, to) = (Size { width: 1008, height: 756 }, Size { width: 224, height: 168 });
    let steps = |filter| Steps::new(async move { resize(&pixels(from), from, to, filter).await }).finish().0;
    // Each pixel of the narrowed image has nine taps of three channels, those of the result the same.
    let multiplications = 27 * (224 * 756 + 224 * 168);
    assert!(steps(Filter::Bilinear) >= multiplications >> 21, "{} steps", steps(Filter::Bilinear));
    assert!(steps(Filter::Lanczos) > 2 * steps(Filter::Bilinear));
}
