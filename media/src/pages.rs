//! Pages for DeepSeek-OCR (Wei et al. 2025, <https://arxiv.org/abs/2510.18234>): an overview on grey, and tiles of an
//! image that is larger than one. Rows become others three times before the layers.

use crate::image::Image;
use crate::plan::{Encoder, GREY, Tile};
use crate::resample::Filter;
use crate::sizes::{Size, Sizes};
use crate::sound::{Fold, NOTHING};
use crate::tables::{Grid, Taps, bicubic};

/// Taps of a row into a table of positions: between 4 × 4 neighbours.
const TAPS: usize = 16;

impl Encoder {
    /// The image in the size of an overview.
    pub(crate) async fn overview(&self, image: &Image, size: Size, filter: Filter) -> Image {
        match self.projector.as_str() {
            "deepseekocr" => image.fitted_near(GREY, size, filter).await,
            _ => image.stretched(size, filter).await,
        }
    }

    /// Pixels along a side of a tile: five eighths of the overview's.
    fn tile_side(&self) -> usize {
        self.image_size * 5 / 8
    }

    /// Rows along a side of a square of this many pixels.
    fn lines(&self, side: usize) -> usize {
        side / self.align().max(1)
    }

    /// The sizes of a page: the tiles make the size whose shape is nearest to the image's.
    pub(crate) fn pages(&self, size: Size) -> Sizes {
        let (tile, whole) = (self.tile_side().max(1), Size::square(self.image_size));
        if size.width.max(size.height) <= tile {
            return Sizes::one(whole);
        }
        let shape = |of: Size| of.width as f32 / of.height as f32;
        let (mut best, mut smallest) = (Size::square(tile), f32::MAX);
        for &candidate in &self.tiled {
            let apart = (shape(size) - shape(candidate)).abs();
            let is_as_near = apart == smallest && size.area() as f32 > 0.5 * candidate.area() as f32;
            if apart < smallest || is_as_near {
                (best, smallest) = (candidate, apart);
            }
        }
        Sizes::cut(best, Size::square(tile), whole)
    }

    /// The number of rows of a page: lines of the tiles and of the overview, each with one at its end, and one behind.
    pub(crate) fn rows_of_page(&self, sizes: &Sizes) -> usize {
        let [tile, whole] = [self.tile_side(), self.image_size].map(|side| self.lines(side));
        let Size { width, height } = sizes.grid().unwrap_or(Size::square(0));
        tile * height * (tile * width + 1) + whole * (whole + 1) + 1
    }

    /// As [`Encoder::order`]: the lines of the tiles, if any, the lines of the overview, and the row behind them.
    pub(crate) fn order_of_page(&self, [columns, height]: [usize; 2]) -> Vec<u32> {
        let [tile, whole] = [self.tile_side(), self.image_size].map(|side| self.lines(side));
        let mut order = Vec::new();
        for line in 0..tile * height {
            for column in 0..tile * columns {
                let number = line / tile * columns + column / tile;
                order.push(number << 16 | (line % tile * tile + column % tile));
            }
            order.push(tile * tile);
        }
        let overview = columns * height << 16;
        for line in 0..whole {
            order.extend((0..=whole).map(|column| {
                let row = if column == whole { whole * whole } else { line * whole + column };
                overview | row
            }));
        }
        order.push(overview | (whole * whole + 1));
        order.into_iter().map(|row| row as u32).collect()
    }

    /// The encoder's input for a square: its patches for the first layers, in three steps fewer rows behind a class
    /// token for the others, and two rows behind those that come out.
    ///
    /// # Errors
    /// A message for a table of positions that has no square of them.
    pub(crate) fn twice(&self, image: &Image) -> Result<Tile, String> {
        let side = image.size.width / self.patch_size;
        let (first, last) = (Grid::new(Size::square(side), 1, false), side / 4);
        let rows = last * last + 1;
        let mut places = first.resized(self.image_size / self.patch_size, TAPS, bicubic)?;
        let table = self.places.saturating_sub(1).isqrt();
        let own = Grid::new(Size::square(last), 1, false).resized(table, TAPS, bicubic)?;
        places.extend((0..TAPS).map(|tap| (0, if tap == 0 { 1.0 } else { 0.0 })));
        places.extend(own.indices.iter().zip(&own.weights).map(|(&index, &weight)| (index + 1, weight)));
        places.extend((0..rows).map(|row| (0, if row == 0 { 1.0 } else { 0.0 })));
        let mut behind = vec![NOTHING; 9];
        behind.extend(around(side / 2, 2));
        let folds = [(side, around(side, 1)), (side, around(side, 2)), (side / 2, behind)];
        let mut groups = Taps::default();
        groups.extend((1..rows as u32).map(|row| (row, 1.0)).chain([(0, 0.0); 2]));
        let only = |of: usize| (0..=rows).map(move |row| f32::from(u8::from(row == of)));
        Ok(Tile {
            rows,
            folds: folds.into_iter().map(|(side, taps)| Fold { rows: side * side, taps }).collect(),
            outputs: [0, rows + 1],
            patches: self.pixels(&first, image),
            places,
            groups,
            breaks: only(rows - 1).chain(only(rows)).collect(),
            ..Tile::default()
        })
    }
}

/// The rows of a square that a convolution over 3 × 3 of them with this stride reads.
fn around(side: usize, stride: usize) -> Vec<u32> {
    let count = side / stride;
    let cells = (0..count * count).flat_map(|at| (0..9).map(move |tap| (at, tap)));
    cells
        .map(|(at, tap)| {
            // One more: 0 is outside.
            let [y, x] = [at / count * stride + tap / 3, at % count * stride + tap % 3];
            let is_inside = (1..=side).contains(&y) && (1..=side).contains(&x);
            if is_inside { ((y - 1) * side + x - 1) as u32 } else { NOTHING }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convolutions_read_what_is_around() {
        let whole = around(3, 1);
        assert_eq!(whole[..9], [NOTHING, NOTHING, NOTHING, NOTHING, 0, 1, NOTHING, 3, 4]);
        assert_eq!(whole[36..45], [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let half = around(4, 2);
        assert_eq!(half.len(), 4 * 9);
        assert_eq!(half[27..36], [5, 6, 7, 9, 10, 11, 13, 14, 15]);
    }
}
