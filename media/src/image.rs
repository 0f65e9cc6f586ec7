//! Pixels: three bytes each, red, green and blue, row by row.

use crate::resample::{Filter, resize};
use crate::sizes::Size;
use crate::steps::Meter;

/// Upper bound of the pixels along a side ...
const MAX_SIDE: u32 = 1 << 15;
/// ... and of all pixels.
const MAX_PIXELS: u64 = 1 << 26;

/// An image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Width and height, at least 1 each.
    pub size: Size,
    /// `[height, width, 3]`
    pub rgb: Vec<u8>,
}

/// Checks that an image is neither empty nor too large.
///
/// # Errors
/// A message with both numbers.
pub fn check_size(width: u32, height: u32) -> Result<(), String> {
    if width == 0 || height == 0 {
        return Err(format!("an image of {width} × {height} pixels has none"));
    }
    let pixels = u64::from(width) * u64::from(height);
    if width > MAX_SIDE || height > MAX_SIDE || pixels > MAX_PIXELS {
        return Err(format!("an image of {width} × {height} = {pixels} pixels, at most {MAX_PIXELS} are taken"));
    }
    Ok(())
}

impl Image {
    /// Makes an image from RGBA pixels; alpha is dropped.
    ///
    /// # Errors
    /// A message for a size out of range, and for a wrong number of bytes.
    pub async fn of_rgba(width: u32, height: u32, rgba: Vec<u8>) -> Result<Self, String> {
        check_size(width, height)?;
        let expected = width as usize * height as usize * 4;
        if rgba.len() != expected {
            return Err(format!(
                "an image of {width} × {height} pixels: expected {expected} bytes, found {}",
                rgba.len()
            ));
        }
        let (mut rgb, mut meter) = (Vec::with_capacity(expected / 4 * 3), Meter::default());
        for line in rgba.chunks_exact(width as usize * 4) {
            meter.add(line.len()).await;
            rgb.extend(line.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]));
        }
        Ok(Self { size: Size { width: width as usize, height: height as usize }, rgb })
    }

    /// The image stretched to this size.
    pub async fn stretched(&self, size: Size, filter: Filter) -> Self {
        Self { size, rgb: resize(&self.rgb, self.size, size, filter).await }
    }

    /// The image scaled to fit this size, centred on black.
    pub async fn fitted(&self, size: Size, filter: Filter) -> Self {
        self.fitted_on([0; 3], size, filter).await
    }

    /// The image scaled to fit this size, centred on a colour.
    pub async fn fitted_on(&self, colour: [u8; 3], size: Size, filter: Filter) -> Self {
        if self.size == size {
            return self.clone();
        }
        let ratio = |to: usize, of: usize| to as f32 / of as f32;
        let scale = ratio(size.width, self.size.width).min(ratio(size.height, self.size.height));
        let side = |of: usize, most: usize| ((of as f32 * scale).ceil() as usize).clamp(1, most);
        let inner = Size { width: side(self.size.width, size.width), height: side(self.size.height, size.height) };
        let at = [(size.width - inner.width) / 2, (size.height - inner.height) / 2];
        self.stretched(inner, filter).await.on(colour, size, at)
    }

    /// The same with sides and places rounded to the nearest.
    pub async fn fitted_near(&self, colour: [u8; 3], size: Size, filter: Filter) -> Self {
        if self.size == size {
            return self.clone();
        }
        let ratio = |to: usize, of: usize| to as f32 / of as f32;
        let scale = ratio(size.width, self.size.width).min(ratio(size.height, self.size.height));
        let side = |of: usize, most: usize| ((of as f32 * scale).round() as usize).clamp(1, most);
        let inner = Size { width: side(self.size.width, size.width), height: side(self.size.height, size.height) };
        let before = |all: usize, of: usize| ((all - of) as f32 / 2.0).round() as usize;
        let at = [before(size.width, inner.width), before(size.height, inner.height)];
        self.stretched(inner, filter).await.on(colour, size, at)
    }

    /// The image on a colour, `at` pixels from its left and its top.
    fn on(&self, colour: [u8; 3], size: Size, [left, top]: [usize; 2]) -> Self {
        let mut rgb = colour.repeat(size.area());
        for (y, row) in self.rgb.chunks_exact(self.size.width * 3).enumerate() {
            let at = ((top + y) * size.width + left) * 3;
            rgb[at..at + row.len()].copy_from_slice(row);
        }
        Self { size, rgb }
    }

    /// The part of this size at `[x, y]`, which lies inside the image.
    pub fn cut(&self, [x, y]: [usize; 2], size: Size) -> Self {
        let row = |line: usize| ((y + line) * self.size.width + x) * 3;
        let rgb = (0..size.height).flat_map(|line| &self.rgb[row(line)..row(line) + size.width * 3]).copied().collect();
        Self { size, rgb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::Steps;

    fn finish<T>(work: impl Future<Output = T> + 'static) -> T {
        Steps::new(work).finish().1
    }

    #[test]
    fn sizes_out_of_range_are_refused_with_both_numbers() {
        for (width, height) in [(0, 0), (0, 5), (5, 0), (30_000, 30_000), (u32::MAX, 1), (1, u32::MAX)] {
            let why = check_size(width, height).expect_err("refused");
            assert!(why.contains(&format!("{width} × {height}")), "{why}");
        }
        assert_eq!(check_size(1, 1), Ok(()));
        assert!(finish(Image::of_rgba(2, 2, vec![0; 15])).is_err());
    }

    #[test]
    fn a_fitted_image_lies_in_the_middle_of_black() {
        let white = Image { size: Size { width: 4, height: 2 }, rgb: vec![255; 24] };
        let fitted = finish(async move { white.fitted(Size { width: 4, height: 5 }, Filter::Bilinear).await });
        let lines: Vec<u8> = fitted.rgb.chunks_exact(12).map(|line| line[0]).collect();
        assert_eq!(lines, [0, 255, 255, 0, 0]);
        assert_eq!(fitted.cut([1, 2], Size { width: 2, height: 2 }).rgb, [[255; 6], [0; 6]].concat());
    }
}
