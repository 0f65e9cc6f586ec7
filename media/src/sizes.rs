//! The size that an image is resized to, and how it is cut into tiles.

/// Width and height in pixels or patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Size {
    /// A square.
    pub const fn square(side: usize) -> Self {
        Self { width: side, height: side }
    }

    /// Width times height.
    pub const fn area(self) -> usize {
        self.width * self.height
    }

    /// Width times height, without overflow.
    pub const fn pixels(self) -> u64 {
        (self.width as u64).saturating_mul(self.height as u64)
    }

    fn map(self, of: impl Fn(usize) -> usize) -> Self {
        Self { width: of(self.width), height: of(self.height) }
    }
}

/// The sizes that an image is resized to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Size of a first resize of the whole image.
    pub resized: Option<Size>,
    /// Size of the image that is cut into tiles.
    pub refined: Option<Size>,
    /// Size of a tile.
    pub tile: Size,
    /// Size of the whole image: of the overview, where there are tiles.
    pub whole: Size,
}

impl Sizes {
    /// An image without tiles.
    pub fn one(whole: Size) -> Self {
        Self { resized: None, refined: None, tile: whole, whole }
    }

    /// Tiles and an overview.
    pub fn cut(refined: Size, tile: Size, whole: Size) -> Self {
        Self { resized: None, refined: Some(refined), tile, whole }
    }

    /// The most pixels among the sizes of whole images.
    pub fn most_pixels(&self) -> u64 {
        [self.resized, self.refined, Some(self.whole)].into_iter().flatten().map(Size::pixels).fold(0, u64::max)
    }

    /// Columns and rows of tiles.
    pub fn grid(&self) -> Option<Size> {
        let [width, height] = [self.tile.width, self.tile.height].map(|side| side.max(1));
        self.refined.map(|size| Size { width: size.width.div_ceil(width), height: size.height.div_ceil(height) })
    }
}

/// Constraints of a resized image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Both sides are multiples of this.
    pub align: usize,
    /// The least and the most pixels; 0: any number.
    pub pixels: [usize; 2],
}

impl Bounds {
    /// The same pixels as whole rows.
    pub fn in_rows(self) -> Self {
        let area = self.align.saturating_mul(self.align).max(1);
        Self { pixels: self.pixels.map(|pixels| pixels / area * area), ..self }
    }
}

/// The nearest size within the bounds with the same aspect ratio, up to rounding: "smart resize".
pub fn within(size: Size, bounds: Bounds) -> Size {
    within_by(size, bounds, f32::round)
}

/// The same with another way to round where the bounds allow it.
pub fn within_by(size: Size, Bounds { align, pixels: [least, most] }: Bounds, round: fn(f32) -> f32) -> Size {
    let f = align as f32;
    let rounded = size.map(|side| (round(side as f32 / f) as usize * align).max(align));
    let area = size.height as f32 * size.width as f32;
    if most > 0 && rounded.area() > most {
        let shrink = (area / most as f32).sqrt();
        return size.map(|side| ((side as f32 / shrink / f).floor() as usize * align).max(align));
    }
    if least > 0 && rounded.area() < least {
        let grow = (least as f32 / area).sqrt();
        return size.map(|side| (side as f32 * grow / f).ceil() as usize * align);
    }
    rounded
}

/// As [`within`], but sides are rounded to the nearest even multiple first, which may be none, and numbers are doubles.
pub fn nearest(size: Size, Bounds { align, pixels: [least, most] }: Bounds) -> Size {
    let f = align as f64;
    let multiple = |of: fn(f64) -> f64, by: f64| size.map(|side| of(side as f64 * by / f) as usize * align);
    let (rounded, area) = (multiple(f64::round_ties_even, 1.0), size.area() as f64);
    let found = match rounded.area() {
        pixels if pixels > most => {
            let shrink = (area / most as f64).sqrt();
            size.map(|side| (side as f64 / shrink / f).floor() as usize * align)
        }
        pixels if pixels < least => multiple(f64::ceil, (least as f64 / area).sqrt()),
        _ => rounded,
    };
    found.map(|side| side.max(align))
}

/// Idefics 3: the longer side has `longest` pixels, the other an even number.
pub fn with_longest_edge(size: Size, longest: usize) -> Size {
    let ratio = size.width as f64 / size.height as f64;
    let even = |side: f64| (side as usize + side as usize % 2).max(2);
    match size.width >= size.height {
        true => Size { width: longest, height: even(longest as f64 / ratio) },
        false => Size { width: even(longest as f64 * ratio), height: longest },
    }
}

/// The smallest multiple of `align` around a size whose longer side has at most `longest` pixels, unless that is more
/// than the most pixels.
pub fn along_edge(size: Size, longest: usize, bounds: Bounds) -> Size {
    let longest = longest.min(size.width.max(size.height)) as f32;
    let scale = (longest / size.width as f32).min(longest / size.height as f32);
    let found = size.map(|side| (side as f32 * scale / bounds.align as f32).ceil() as usize * bounds.align);
    if found.area() > bounds.pixels[1] { within(size, bounds) } else { found }
}

/// The smallest multiple of a tile that covers a size.
pub fn covering(size: Size, tile: usize) -> Size {
    size.map(|side| side.div_ceil(tile) * tile)
}

/// InternVL: among grids of up to `most` tiles, the size that keeps the most pixels and wastes the fewest.
pub fn internvl_size(size: Size, tile: usize, most: usize) -> Size {
    let grids = (1..=most).flat_map(|width| (1..=most / width).map(move |height| Size { width, height }));
    fullest(size, Size::square(tile), grids.map(|grid| grid.map(|side| side * tile)))
}

/// Among sizes that which keeps the most pixels of an image, and wastes the fewest; `best` where there is none.
pub fn fullest(size: Size, mut best: Size, sizes: impl Iterator<Item = Size>) -> Size {
    let (mut kept, mut wasted) = (0, usize::MAX);
    for candidate in sizes {
        let ratio = |to: usize, of: usize| to as f32 / of as f32;
        let scale = ratio(candidate.width, size.width).min(ratio(candidate.height, size.height));
        let fitted = size.map(|side| (side as f32 * scale) as usize);
        let effective = fitted.area().min(size.area());
        let waste = candidate.area() - effective.min(candidate.area());
        if effective > kept || (effective == kept && waste < wasted) {
            (best, kept, wasted) = (candidate, effective, waste);
        }
    }
    best
}

/// Pixels along a side of LFM2-VL's tiles.
pub const LFM2_TILE: usize = 512;
const LFM2_TILES: std::ops::RangeInclusive<usize> = 2..=10;
/// An image with more than this multiple of the most pixels is cut into tiles.
const LFM2_TOLERANCE: f64 = 2.0;

/// Columns and rows of LFM2-VL's tiles; `None` where an image is not cut.
pub fn lfm2_tiles(size: Size, patch: usize, Bounds { align, pixels: [_, most] }: Bounds) -> Option<Size> {
    let rounded = |side: usize| ((side as f64 / align as f64).round_ties_even() * align as f64).max(patch as f64);
    if rounded(size.width) * rounded(size.height) <= most as f64 * LFM2_TOLERANCE {
        return None;
    }
    let ratio = |of: Size| of.width as f32 / of.height as f32;
    let all = LFM2_TILES.flat_map(|area| (1..=area).filter(move |w| area % w == 0).map(move |w| (w, area / w)));
    let (mut best, mut smallest) = (Size::square(1), f32::MAX);
    for grid in all.map(|(width, height)| Size { width, height }) {
        let difference = (ratio(size) - ratio(grid)).abs();
        let target = (LFM2_TILE * LFM2_TILE * grid.area()) as f32;
        let is_larger = difference == smallest && size.area() as f32 > 0.5 * target;
        if difference < smallest || is_larger {
            (best, smallest) = (grid, difference);
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: usize, height: usize) -> Size {
        Size { width, height }
    }

    #[test]
    fn sizes_are_multiples_within_bounds() {
        let bounds = Bounds { align: 8, pixels: [8 * 64, 256 * 64] };
        for (given, expected) in
            [((200, 121), (160, 96)), ((60, 40), (64, 40)), ((7, 5), (32, 24)), ((1, 900), (8, 904))]
        {
            assert_eq!(within(size(given.0, given.1), bounds), size(expected.0, expected.1), "{given:?}");
        }
        for (given, expected) in
            [((60, 40), (64, 40)), ((100, 36), (96, 32)), ((200, 121), (160, 96)), ((2, 900), (8, 480))]
        {
            assert_eq!(nearest(size(given.0, given.1), bounds), size(expected.0, expected.1), "{given:?}");
        }
        assert_eq!(within_by(size(100, 36), bounds, f32::round_ties_even), size(96, 32));
        assert_eq!(with_longest_edge(size(60, 40), 48), size(48, 32));
        assert_eq!(with_longest_edge(size(3, 1000), 48), size(2, 48));
        assert_eq!(covering(size(48, 32), 24), size(48, 48));
        let bounds = Bounds { align: 10, pixels: [0, 6000] };
        assert_eq!(along_edge(size(200, 121), 96, bounds), size(100, 60));
        assert_eq!(along_edge(size(21, 9), 96, bounds), size(30, 10));
        assert_eq!(along_edge(size(200, 100), 200, bounds), size(100, 50));
    }

    #[test]
    fn a_grid_keeps_pixels_and_wastes_few() {
        assert_eq!(internvl_size(size(60, 40), 24, 12), size(72, 48));
        assert_eq!(internvl_size(size(200, 121), 24, 12), size(96, 72));
    }

    #[test]
    fn large_images_are_cut_into_tiles_of_their_shape() {
        let bounds = Bounds { align: 32, pixels: [64 * 1024, 256 * 1024] };
        let tiles = |width, height| lfm2_tiles(size(width, height), 16, bounds);
        assert_eq!(tiles(512, 512), None);
        assert_eq!(tiles(1024, 512), None, "twice as many pixels are not more than twice");
        assert_eq!(tiles(1600, 800), Some(size(4, 2)), "of one shape the largest up to twice the image's pixels");
        assert_eq!(tiles(1100, 550), Some(size(2, 1)));
        assert_eq!(tiles(4000, 2000), Some(size(4, 2)));
        assert_eq!(tiles(800, 2400), Some(size(1, 3)));
    }
}
