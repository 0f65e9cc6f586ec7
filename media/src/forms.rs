//! Inputs of encoders that do more than merge the patches of each block.

use crate::image::Image;
use crate::plan::{Encoder, Tile};
use crate::sound::Fold;
use crate::tables::{Grid, Taps};

/// The longest period of sines and cosines of positions, divided by 2π.
const LONGEST: f64 = 10_000.0;

impl Encoder {
    /// The input whose convolutions read all pixels, line by line: `patches` `[height, width, 3]`.
    pub fn whole(&self, image: &Image) -> Tile {
        let pixels = |value: f32| value;
        Tile {
            rows: self.queries,
            outputs: [self.queries.isqrt(), self.queries],
            patches: Grid::new(image.size, 1, false).pixels(image, 1, ([self.mean, self.deviation], pixels)),
            ..Tile::default()
        }
    }

    /// The input whose patches are merged four by four, in two steps where 4 × 4 of them become one row.
    ///
    /// # Errors
    /// A message for an image that has incomplete squares.
    pub fn in_squares(&self, grid: Grid, image: &Image) -> Result<Tile, String> {
        let grid = if self.merge == 4 { grid.nested() } else { grid };
        let (patches, outputs) = (grid.cells.len(), grid.blocks.area());
        if patches != outputs * self.merge * self.merge {
            return Err(self.too_small(image.size));
        }
        let is_folded = self.merge == 4;
        let fold = is_folded.then(|| Fold { rows: patches, taps: (0..patches as u32).collect() });
        Ok(Tile {
            rows: if is_folded { patches / 4 } else { patches },
            folds: fold.into_iter().collect(),
            // Rows of slices follow each other as tokens do.
            outputs: [0, outputs],
            patches: self.pixels(&grid, image),
            places: self.places(&grid)?,
            groups: Taps { indices: (0..4 * outputs as u32).collect(), weights: vec![1.0; 4 * outputs] },
            parts: vec![4; if is_folded { patches / 4 } else { 0 }],
            ..Tile::default()
        })
    }

    /// The input with a class token behind the patches, which has the first position.
    ///
    /// # Errors
    /// A message for an image that the table of positions has no room for.
    pub fn with_class(&self, grid: &Grid, image: &Image) -> Result<Tile, String> {
        let patches = grid.cells.len();
        if patches + 1 > self.places {
            return Err(format!("an image of {patches} patches, the table has {} positions", self.places));
        }
        let mut tile = Tile {
            rows: patches + 1,
            outputs: [grid.blocks.width, grid.blocks.area()],
            patches: self.pixels(grid, image),
            places: grid.learned(),
            groups: grid.groups(1.0),
            breaks: vec![0.0; patches],
            ..Tile::default()
        };
        tile.patches.resize((patches + 1) * 3 * self.patch_size * self.patch_size, 0.0);
        tile.places.indices.iter_mut().for_each(|index| *index += 1);
        tile.places.indices.push(0);
        tile.places.weights.push(1.0);
        tile.breaks.push(1.0);
        Ok(tile)
    }

    /// The input whose patches are seen by queries, with sines and cosines of the column and the row of each.
    ///
    /// # Errors
    /// A message for a table of positions that is too small.
    pub fn resampled(&self, grid: &Grid, image: &Image) -> Result<Tile, String> {
        let count = (self.width / 4).max(1);
        let step = |pair: usize| (LONGEST.ln() * -(pair as f64) / count as f64).exp();
        let of_axis = |at: usize| {
            let angle = move |pair| at as f64 * step(pair);
            (0..count).map(move |pair| angle(pair).sin()).chain((0..count).map(move |pair| angle(pair).cos()))
        };
        let axes = grid.cells.iter().flat_map(|&[row, column]| [column, row]);
        Ok(Tile {
            rows: grid.cells.len(),
            // Rows of slices follow each other as tokens do.
            outputs: [0, self.queries],
            patches: self.pixels(grid, image),
            places: self.places(grid)?,
            turns: axes.flat_map(of_axis).map(|value| value as f32).collect(),
            ..Tile::default()
        })
    }
}
