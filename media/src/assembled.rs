//! Images whose tiles' rows are put together line by line: of the tiles the rows of one line stand side by side, and a
//! row ends each line (LLaVA-NeXT, 2024, <https://llava-vl.github.io/blog/2024-01-30-llava-next/>).

use crate::image::Image;
use crate::plan::{Encoder, Tile};
use crate::sizes::{Size, Sizes};
use crate::tables::{Grid, Taps};

/// The rows of a tile: a square of them, and behind these one that ends a line.
#[derive(Debug, Clone, Copy)]
struct Lines {
    /// Rows along a side.
    side: usize,
    /// Rows along a side of a window, in which they follow each other.
    window: usize,
}

/// The part of all tiles that shows the image, in rows: what is around it was added to fill the tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shown {
    left: usize,
    top: usize,
    size: Size,
}

impl Lines {
    fn of(encoder: &Encoder) -> Self {
        let window = encoder.queries.isqrt();
        Self { side: encoder.image_size / encoder.align().max(1) * window, window }
    }

    /// With the one that ends a line.
    const fn rows(self) -> usize {
        self.side * self.side + 1
    }

    /// The row at a line and a column.
    const fn row(self, line: usize, column: usize) -> usize {
        let Self { side, window } = self;
        let square = line / window * (side / window) + column / window;
        (square * window + line % window) * window + column % window
    }
}

/// The part of `all` rows that shows an image of this size.
fn shown(all: Size, image: Size) -> Shown {
    let shape = |of: Size| of.width as f32 / of.height as f32;
    let fitted = |length: usize, all: usize, of: usize| (length as f64 * all as f64 / of as f64 + 1e-7) as usize;
    let (mut left, mut top) = (0, 0);
    if shape(image) > shape(all) {
        top = all.height.saturating_sub(fitted(image.height, all.width, image.width)) / 2;
    } else {
        left = all.width.saturating_sub(fitted(image.width, all.height, image.height)) / 2;
    }
    Shown { left, top, size: Size { width: all.width - 2 * left, height: all.height - 2 * top } }
}

impl Encoder {
    /// Whether rows of tiles are put together line by line.
    pub fn is_assembled(&self) -> bool {
        ["deepseekocr", "granite4_vision"].contains(&self.projector.as_str())
    }

    /// The number of rows of a tile.
    pub fn rows_of_tile(&self) -> usize {
        Lines::of(self).rows()
    }

    /// The number of rows of an image of this size, which becomes tiles of these sizes.
    pub fn assembled_rows(&self, image: Size, sizes: &Sizes) -> usize {
        let (lines, grid) = (Lines::of(self), sizes.grid().unwrap_or(Size::square(0)));
        if self.projector == "deepseekocr" {
            return self.rows_of_page(sizes);
        }
        let Shown { size, .. } =
            shown(Size { width: grid.width * lines.side, height: grid.height * lines.side }, image);
        lines.side * lines.side + size.height * (size.width + 1)
    }

    /// Which rows a prompt has, the overview's first, then the lines: the number of a tile in the high 16 bits, the
    /// overview last, and of its row. With `None` that is the only tile, and there are no lines.
    pub fn order(&self, cut: Option<(Size, [usize; 2])>) -> Vec<u32> {
        if self.projector == "deepseekocr" {
            return self.order_of_page(cut.map_or([0; 2], |(_, grid)| grid));
        }
        let lines = Lines::of(self);
        let (side, rows) = (lines.side, lines.rows());
        let [columns, height] = cut.map_or([0; 2], |(_, grid)| grid);
        let overview = columns * height << 16;
        let mut order: Vec<usize> = (0..side * side).map(|at| overview + lines.row(at / side, at % side)).collect();
        if let Some((image, _)) = cut {
            let Shown { left, top, size } = shown(Size { width: columns * side, height: height * side }, image);
            for line in top..top + size.height {
                order.extend((left..left + size.width).map(|column| {
                    let tile = line / side * columns + column / side;
                    (tile << 16) + lines.row(line % side, column % side)
                }));
                order.push(overview + rows - 1);
            }
        }
        order.into_iter().map(|row| row as u32).collect()
    }

    /// The encoder's input for a tile: patches window by window. A row brings the patches in the place of its query.
    pub(crate) fn in_windows(&self, grid: &Grid, image: &Image) -> Result<Tile, String> {
        let (window, rows) = (Lines::of(self).window.max(1), self.rows_of_tile());
        let parts = self.merge / window;
        let place = |row: usize, part: usize| {
            let (square, at) = (row / (window * window), row % (window * window));
            let [line, column] = [at / window * parts + part / parts, at % window * parts + part % parts];
            (square * self.merge + line) * self.merge + column
        };
        let taps = (0..rows - 1).flat_map(|row| (0..parts * parts).map(move |part| place(row, part) as u32));
        let mut groups = Taps { indices: taps.collect(), weights: vec![1.0; (rows - 1) * parts * parts] };
        groups.indices.resize(rows * parts * parts, 0);
        groups.weights.resize(rows * parts * parts, 0.0);
        let mut breaks = vec![0.0; rows - 1];
        breaks.push(1.0);
        Ok(Tile {
            rows: grid.cells.len(),
            outputs: [0, rows],
            patches: self.pixels(grid, image),
            places: self.places(grid)?,
            groups,
            breaks,
            ..Tile::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: usize, height: usize) -> Size {
        Size { width, height }
    }

    #[test]
    fn rows_around_an_image_are_left_out() {
        assert_eq!(shown(size(8, 8), size(60, 40)), Shown { left: 0, top: 1, size: size(8, 6) });
        assert_eq!(shown(size(8, 8), size(40, 60)), Shown { left: 1, top: 0, size: size(6, 8) });
        assert_eq!(shown(size(8, 4), size(200, 100)), Shown { left: 0, top: 0, size: size(8, 4) });
        assert_eq!(shown(size(12, 4), size(1, 900)), Shown { left: 6, top: 0, size: size(0, 4) });
    }

    #[test]
    fn rows_of_windows_become_lines() {
        let lines = Lines { side: 4, window: 2 };
        let row = |line| [0, 1, 2, 3].map(|column| lines.row(line, column));
        assert_eq!([row(0), row(1), row(2)], [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13]]);
    }
}
