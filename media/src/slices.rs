//! Slices of large images as MiniCPM-V has them (LLaVA-UHD, Xu et al. 2024, <https://arxiv.org/abs/2403.11703>): all of
//! one size, whose sides need not be equal.

use crate::image::Image;
use crate::plan::{Encoder, Tiles};
use crate::sizes::{Size, Sizes};

/// In the columns of an overview that is stretched over a canvas ...
const OVERVIEW: usize = 1 << 30;
/// ... and of a slice that lies on it.
const SLICE: usize = 1 << 29;

/// What an encoder says of its slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slicing {
    /// A slice has about as many pixels as a square with this side.
    pub side: usize,
    /// Both sides of a slice are multiples of this.
    pub align: usize,
    /// Slices, at most.
    pub most: usize,
}

impl Slicing {
    /// The overview, and the size that is cut into slices where an image has more pixels than one.
    pub fn sizes(self, size: Size) -> Sizes {
        let ratio = size.width as f32 * size.height as f32 / (self.side * self.side) as f32;
        let whole = self.resized(size);
        if ratio <= 1.0 {
            return Sizes::one(whole);
        }
        let grid = best_grid(size, (ratio.ceil() as usize).min(self.most), self.most);
        let of = |side: usize, parts: usize| rounded(side, parts) / parts;
        let slice = Size { width: of(size.width, grid.width), height: of(size.height, grid.height) };
        let tile = self.resized(slice);
        Sizes::cut(Size { width: tile.width * grid.width, height: tile.height * grid.height }, tile, whole)
    }

    /// A size of the same shape with as many pixels as a slice.
    fn resized(self, size: Size) -> Size {
        let shape = size.width as f32 / size.height as f32;
        let height = (self.side as f32 / shape.sqrt()) as usize;
        let width = (height as f32 * shape) as usize;
        Size { width: rounded(width, self.align), height: rounded(height, self.align) }
    }
}

impl Encoder {
    /// Columns of a tile on the canvas that all share, with [`OVERVIEW`] or [`SLICE`]; then columns and lines of the
    /// canvas, or where the slice begins: the first in the low 16 bits, the second above.
    pub fn canvas(&self, tiles: &Tiles, number: usize) -> (usize, usize) {
        let of = |image: &Image| [image.size.width, image.size.height].map(|side| side / self.align());
        let [width, height] = tiles.images.first().map_or([0; 2], of);
        let [columns, lines] = tiles.grid.map(|count| count.max(1));
        let packed = |[x, y]: [usize; 2]| x.min(0xffff) | y.min(0xffff) << 16;
        match tiles.images.get(number) {
            Some(whole) if number + 1 == tiles.images.len() => {
                (of(whole)[0] | OVERVIEW, packed([columns * width, lines * height]))
            }
            _ => (width | SLICE, packed([number % columns * width, number / columns * height])),
        }
    }
}

/// The nearest multiple, at least one.
fn rounded(length: usize, of: usize) -> usize {
    ((length as f64 / of as f64).round_ties_even() as usize * of).max(of)
}

/// Among grids of about `wanted` slices that whose shape is nearest to the image's.
fn best_grid(size: Size, wanted: usize, most: usize) -> Size {
    let shape = f64::from(size.width as f32 / size.height as f32).ln() as f32;
    let (mut best, mut smallest) = (Size::square(1), f32::INFINITY);
    for count in (wanted.saturating_sub(1)..=wanted + 1).filter(|&count| count != 1 && count <= most) {
        for width in (1..=count).filter(|width| count % width == 0) {
            let grid = Size { width, height: count / width };
            let apart = (f64::from(shape) - (grid.width as f64 / grid.height as f64).ln()).abs() as f32;
            if apart < smallest {
                (best, smallest) = (grid, apart);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_have_the_shape_of_their_part() {
        let slicing = Slicing { side: 448, align: 56, most: 9 };
        let size = |width, height| Size { width, height };
        assert_eq!(slicing.sizes(size(300, 200)), Sizes::one(size(560, 392)));
        assert_eq!(slicing.sizes(size(1000, 500)), Sizes::cut(size(896, 448), size(448, 448), size(616, 336)));
        assert_eq!(slicing.sizes(size(1000, 700)), Sizes::cut(size(1120, 784), size(560, 392), size(560, 392)));
    }
}
