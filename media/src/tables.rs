//! The patches of an image in the order of their rows, and the tables of their positions.

use crate::image::Image;
use crate::sizes::Size;

/// Weighted rows of a table or of an activation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taps {
    /// Indices of the rows.
    pub indices: Vec<u32>,
    /// Weights of the rows; a row with weight 0 is not read.
    pub weights: Vec<f32>,
}

impl Taps {
    /// Appends taps.
    pub fn extend(&mut self, taps: impl Iterator<Item = (u32, f32)>) {
        for (index, weight) in taps {
            self.indices.push(index);
            self.weights.push(weight);
        }
    }

    fn push(&mut self, index: usize, weight: f32) {
        self.indices.push(index as u32);
        self.weights.push(weight);
    }
}

impl Taps {
    /// Inserts an empty break row behind each line of `columns` rows but the last, for taps of `taps` per row. Also
    /// returns 1 for each break and 0 for other rows.
    pub fn with_breaks(self, columns: usize, taps: usize) -> (Self, Vec<f32>) {
        let (mut made, mut breaks) = (Self::default(), Vec::new());
        let of_line = columns * taps;
        for (line, (indices, weights)) in self.indices.chunks(of_line).zip(self.weights.chunks(of_line)).enumerate() {
            if line > 0 {
                made.indices.resize(made.indices.len() + taps, 0);
                made.weights.resize(made.weights.len() + taps, 0.0);
                breaks.push(1.0);
            }
            made.indices.extend(indices);
            made.weights.extend(weights);
            breaks.resize(breaks.len() + columns, 0.0);
        }
        (made, breaks)
    }

    /// Inserts an empty row before all rows and one behind them, for taps of `taps` per row. Also returns, for each of
    /// the two, 1 for it and 0 for others.
    pub fn enclosed(self, taps: usize) -> (Self, Vec<f32>) {
        let rows = self.indices.len() / taps + 2;
        let indices = [vec![0; taps], self.indices, vec![0; taps]].concat();
        let weights = [vec![0.0; taps], self.weights, vec![0.0; taps]].concat();
        let only = |of: usize| (0..rows).map(move |row| f32::from(u8::from(row == of)));
        (Self { indices, weights }, only(0).chain(only(rows - 1)).collect())
    }

    /// Inserts an empty row before all rows, one behind each line of `columns` rows, and one behind all. Also returns,
    /// for each of these three kinds, 1 for its rows and 0 for others: the ends of lines, the first row, the last row.
    pub fn framed(self, columns: usize, taps: usize) -> (Self, Vec<f32>) {
        let (mut made, mut ends) = (Self::default(), vec![0.0]);
        let of_line = columns * taps;
        let empty = |made: &mut Self| {
            made.indices.resize(made.indices.len() + taps, 0);
            made.weights.resize(made.weights.len() + taps, 0.0);
        };
        empty(&mut made);
        for (indices, weights) in self.indices.chunks(of_line).zip(self.weights.chunks(of_line)) {
            made.indices.extend(indices);
            made.weights.extend(weights);
            empty(&mut made);
            ends.resize(ends.len() + columns, 0.0);
            ends.push(1.0);
        }
        empty(&mut made);
        ends.push(0.0);
        let rows = ends.len();
        let only = |of: usize| (0..rows).map(move |row| f32::from(u8::from(row == of)));
        let marks = ends.into_iter().chain(only(0)).chain(only(rows - 1)).collect();
        (made, marks)
    }
}

/// Mean and standard deviation of each channel, and how normalised values are rounded.
pub type Levels = ([[f32; 3]; 2], fn(f32) -> f32);

/// The patches of a grid, block by block of `merge` × `merge`: blocks row by row, patches of a block row by row.
#[derive(Debug, Clone)]
pub struct Grid {
    /// Patches along both sides.
    pub patches: Size,
    /// Blocks along both sides.
    pub blocks: Size,
    /// The row and column of each patch.
    pub cells: Vec<[usize; 2]>,
    /// The index in `cells` of each patch of a block; `None` where a block is cut off.
    members: Vec<Option<usize>>,
    /// Patches of each window, for window attention.
    pub parts: Vec<u32>,
}

impl Grid {
    /// With `whole`, patches outside of whole blocks belong to no row; otherwise incomplete blocks are padded with
    /// zeros.
    pub fn new(patches: Size, merge: usize, whole: bool) -> Self {
        let count = |side: usize| if whole { side / merge } else { side.div_ceil(merge) };
        let blocks = Size { width: count(patches.width), height: count(patches.height) };
        let (mut cells, mut members) = (Vec::new(), Vec::new());
        for block in 0..blocks.area() {
            let [top, left] = [block / blocks.width * merge, block % blocks.width * merge];
            for cell in (0..merge * merge).map(|at| [top + at / merge, left + at % merge]) {
                let is_inside = cell[0] < patches.height && cell[1] < patches.width;
                members.push(is_inside.then_some(cells.len()));
                cells.extend(is_inside.then_some(cell));
            }
        }
        if whole {
            // Patches outside of whole blocks are still read, since all patches see each other.
            let rest = (0..patches.area()).map(|at| [at / patches.width, at % patches.width]);
            let is_left = |&[row, column]: &[usize; 2]| row >= blocks.height * merge || column >= blocks.width * merge;
            cells.extend(rest.filter(is_left));
        }
        Self { patches, blocks, cells, members, parts: Vec::new() }
    }

    /// Orders patches by windows of `side` × `side` blocks of `merge` × `merge` patches. Windows at the right and at
    /// the bottom may be smaller.
    pub fn in_parts(mut self, merge: usize, side: usize) -> Self {
        let part = |[row, column]: [usize; 2]| [row, column].map(|at| at / (merge * side));
        let mut order: Vec<usize> = (0..self.cells.len()).collect();
        // The sort is stable: inside a window the blocks stay in their order.
        order.sort_by_key(|&at| part(self.cells[at]));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, &from)| place[from] = to);
        self.cells = order.iter().map(|&at| self.cells[at]).collect();
        self.members.iter_mut().flatten().for_each(|member| *member = place[*member]);
        self.parts = self.cells.chunk_by(|&a, &b| part(a) == part(b)).map(|part| part.len() as u32).collect();
        self
    }

    /// Orders the patches of blocks of 4 × 4 by squares of 2 × 2.
    pub fn nested(mut self) -> Self {
        let by = |cell: &[usize; 2], side: usize| cell.map(|at| at / side);
        self.cells.sort_by_key(|cell| (by(cell, 4), by(cell, 2), *cell));
        self
    }

    /// Taps `[blocks, merge · merge]` that sum the patches of each block with this weight.
    pub fn groups(&self, weight: f32) -> Taps {
        let mut taps = Taps::default();
        for member in &self.members {
            taps.push(member.unwrap_or(0), if member.is_some() { weight } else { 0.0 });
        }
        taps
    }

    /// Pixels `(value / 255 − mean) / deviation` of each patch, `[patches, 3, side, side]`, rounded as llama.cpp's
    /// convolutions round to f16.
    pub fn pixels(&self, image: &Image, side: usize, ([mean, deviation], round): Levels) -> Vec<f32> {
        let table = |channel: usize| {
            let value = |byte: usize| (byte as f32 / 255.0 - mean[channel]) / deviation[channel];
            std::array::from_fn(|byte| round(value(byte)))
        };
        let [red, green, blue]: [[f32; 256]; 3] = std::array::from_fn(table);
        let area = side * side;
        let mut values = vec![0.0; self.cells.len() * 3 * area];
        for (patch, &[row, column]) in values.chunks_exact_mut(3 * area).zip(&self.cells) {
            let (reds, others) = patch.split_at_mut(area);
            let (greens, blues) = others.split_at_mut(area);
            for line in 0..side {
                let from = ((row * side + line) * image.size.width + column * side) * 3;
                let pixels = image.rgb[from..][..3 * side].chunks_exact(3);
                let to = line * side..(line + 1) * side;
                let [reds, greens, blues] = [&mut reds[to.clone()], &mut greens[to.clone()], &mut blues[to]];
                for (at, pixel) in pixels.enumerate() {
                    reds[at] = red[usize::from(pixel[0])];
                    greens[at] = green[usize::from(pixel[1])];
                    blues[at] = blue[usize::from(pixel[2])];
                }
            }
        }
        values
    }

    /// One tap for each patch into a learned position table.
    pub fn learned(&self) -> Taps {
        let mut taps = Taps::default();
        self.cells.iter().for_each(|[row, column]| taps.push(row * self.patches.width + column, 1.0));
        taps
    }

    /// One tap for each patch into a table of `side` × `side` positions that the image is spread over.
    pub fn in_buckets(&self, side: usize) -> Taps {
        let mut taps = Taps::default();
        let bucket = |at: usize, of: usize| at * side / of;
        for [row, column] in &self.cells {
            taps.push(bucket(*row, self.patches.height) * side + bucket(*column, self.patches.width), 1.0);
        }
        taps
    }

    /// Two taps for each patch into two concatenated tables of `rows` rows: by column, and by row.
    pub fn by_axis(&self, rows: usize) -> Taps {
        let mut taps = Taps::default();
        for [row, column] in &self.cells {
            taps.push(*column, 1.0);
            taps.push(rows + row, 1.0);
        }
        taps
    }

    /// Nine taps for each patch into the patches: those around it row by row, of weight 0 outside of the image.
    pub fn around(&self) -> Taps {
        let Size { width, height } = self.patches;
        let mut places = vec![0; width * height];
        self.cells.iter().enumerate().for_each(|(at, [row, column])| places[row * width + column] = at);
        let mut taps = Taps::default();
        for &[row, column] in &self.cells {
            for (y, x) in (0..9).map(|tap| (row + tap / 3, column + tap % 3)) {
                let is_inside = (1..=height).contains(&y) && (1..=width).contains(&x);
                let place = if is_inside { places[(y - 1) * width + x - 1] } else { 0 };
                taps.push(place, if is_inside { 1.0 } else { 0.0 });
            }
        }
        taps
    }

    /// Taps of a table of `side` × `side` rows resized to the grid, `count` each.
    ///
    /// # Errors
    /// A message where a row would need more than `count` taps.
    pub fn resized(&self, side: usize, count: usize, of_axis: OfAxis) -> Result<Taps, String> {
        let is_same = self.patches == Size::square(side);
        self.interpolated(side, count, if is_same { same } else { of_axis })
    }

    /// The same, also where the grid is as large as the table.
    ///
    /// # Errors
    /// As [`Self::resized`].
    pub fn interpolated(&self, side: usize, count: usize, of_axis: OfAxis) -> Result<Taps, String> {
        let Size { width, height } = self.patches;
        let (columns, rows) = (of_axis(side, width), of_axis(side, height));
        let mut taps = Taps::default();
        for &[row, column] in &self.cells {
            let end = taps.indices.len() + count;
            for &(y, of_row) in &rows[row] {
                columns[column].iter().for_each(|&(x, of_column)| taps.push(y * side + x, of_row * of_column));
            }
            if taps.indices.len() > end {
                return Err(format!(
                    "an image of {width} × {height} patches is too narrow for {side} × {side} positions"
                ));
            }
            taps.indices.resize(end, 0);
            taps.weights.resize(end, 0.0);
        }
        Ok(taps)
    }

    /// Cosines and sines `[patches, head_dim / 2, 2]`. `of_pair` returns the axis of a pair, 0 for rows, and its angle
    /// per position.
    pub fn turns(&self, head_dim: usize, of_pair: impl Fn(usize) -> (usize, f64)) -> Vec<f32> {
        let pairs = head_dim / 2;
        let places = self.patches.width.max(self.patches.height);
        let turn = |angle: f64| [angle.cos() as f32, angle.sin() as f32];
        let of_places = |(axis, step)| (axis, (0..places).map(|place| turn(place as f64 * step)).collect());
        let tables: Vec<(usize, Vec<[f32; 2]>)> = (0..pairs).map(|pair| of_places(of_pair(pair))).collect();
        self.cells.iter().flat_map(|cell| tables.iter().flat_map(|(axis, turns)| turns[cell[*axis]])).collect()
    }
}

/// Computes the taps of each position along an axis, from the length of the table and the number of positions.
pub type OfAxis = fn(usize, usize) -> Vec<Vec<(usize, f32)>>;

fn same(_: usize, length: usize) -> Vec<Vec<(usize, f32)>> {
    (0..length).map(|at| vec![(at, 1.0)]).collect()
}

/// Bilinear interpolation that aligns the corners.
pub fn between_corners(side: usize, length: usize) -> Vec<Vec<(usize, f32)>> {
    let scale = match length > 1 && side > 1 {
        true => (length - 1) as f32 / (side - 1) as f32,
        false => length as f32 / side as f32,
    };
    let of = |at: usize| {
        let place = at as f32 / scale;
        let first = (place.floor() as usize).min(side - 1);
        let share = (place - first as f32).clamp(0.0, 1.0);
        vec![(first, 1.0 - share), ((first + 1).min(side - 1), share)]
    };
    (0..length).map(of).collect()
}

/// Bilinear interpolation as HunyuanOCR does it: to a tenth of a position more than there are.
pub fn almost_bilinear(side: usize, length: usize) -> Vec<Vec<(usize, f32)>> {
    let scale = (length as f32 + 0.1) / side as f32;
    let row = |at: f32| at.clamp(0.0, (side - 1) as f32);
    let of = |at: usize| {
        let place = (at as f32 + 0.5) / scale - 0.5;
        let (first, second) = (row(place.floor()), row(place.floor() + 1.0));
        let share = (place - first).clamp(0.0, 1.0);
        vec![(first as usize, 1.0 - share), (second as usize, share)]
    };
    (0..length).map(of).collect()
}

/// Bilinear interpolation with antialiasing.
pub fn antialiased(side: usize, length: usize) -> Vec<Vec<(usize, f32)>> {
    let scale = length as f32 / side as f32;
    let support = (1.0 / scale).max(1.0);
    let of = |at: usize| {
        let place = (at as f32 + 0.5) / scale;
        let first = (place - support + 0.5) as usize;
        let end = ((place + support + 0.5) as usize).min(side);
        let weight = |i: usize| (1.0 - ((i as f32 - place + 0.5) / support).abs()).max(0.0);
        let sum: f32 = (first..end).map(weight).sum();
        (first..end).map(|i| (i, weight(i) / sum)).filter(|(_, weight)| *weight > 0.0).collect()
    };
    (0..length).map(of).collect()
}

/// Bicubic interpolation (Keys 1981, with the parameter −3/4).
pub fn bicubic(side: usize, length: usize) -> Vec<Vec<(usize, f32)>> {
    const A: f32 = -0.75;
    let near = |x: f32| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f32| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    let scale = length as f32 / side as f32;
    let of = |at: usize| {
        let place = (at as f32 + 0.5) / scale - 0.5;
        let (first, share) = (place.floor(), place - place.floor());
        let weights = [far(share + 1.0), near(share), near(1.0 - share), far(2.0 - share)];
        let row = |i: usize| (first + i as f32 - 1.0).clamp(0.0, (side - 1) as f32) as usize;
        (0..4).map(|i| (row(i), weights[i])).collect()
    };
    (0..length).map(of).collect()
}

/// Rounds to the nearest f16, ties to even.
pub fn round_f16(value: f32) -> f32 {
    let magnitude = value.abs();
    if !(magnitude < 65_520.0) {
        return value;
    }
    // The step between neighbouring f16 numbers: ten fractional bits, at least 2^-24.
    let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(-14);
    let step = f32::from_bits(((exponent - 10 + 127) as u32) << 23);
    (value / step).round_ties_even() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_of_a_block_follow_each_other() {
        let grid = Grid::new(Size { width: 3, height: 2 }, 2, false);
        assert_eq!(grid.cells, [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [1, 2]]);
        let groups = grid.groups(1.0);
        assert_eq!(groups.indices, [0, 1, 2, 3, 4, 0, 5, 0]);
        assert_eq!(groups.weights, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
        let whole = Grid::new(Size { width: 3, height: 2 }, 2, true);
        assert_eq!((whole.blocks.area(), whole.groups(0.25).weights.len(), whole.cells.len()), (1, 4, 6));
    }

    #[test]
    fn a_convolution_reads_the_patches_around() {
        let taps = Grid::new(Size { width: 3, height: 2 }, 2, false).around();
        // The second patch, at the top: behind it comes the third column.
        assert_eq!(taps.indices[9..18], [0, 0, 0, 0, 1, 4, 2, 3, 5]);
        assert_eq!(taps.weights[9..18], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn a_break_stands_between_two_lines() {
        let taps = Taps { indices: vec![1, 2, 3, 4], weights: vec![1.0; 4] };
        let (taps, breaks) = taps.with_breaks(2, 1);
        assert_eq!(taps, Taps { indices: vec![1, 2, 0, 3, 4], weights: vec![1.0, 1.0, 0.0, 1.0, 1.0] });
        assert_eq!(breaks, [0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_row_stands_before_all_and_one_behind() {
        let taps = Taps { indices: vec![1, 2, 3, 4], weights: vec![1.0; 4] };
        let (taps, marks) = taps.enclosed(2);
        assert_eq!(taps.indices, [0, 0, 1, 2, 3, 4, 0, 0]);
        assert_eq!(taps.weights, [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(marks, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn a_frame_stands_around_lines() {
        let taps = Taps { indices: vec![1, 2, 3, 4], weights: vec![1.0; 4] };
        let (taps, marks) = taps.framed(2, 1);
        assert_eq!(taps.indices, [0, 1, 2, 0, 3, 4, 0, 0]);
        assert_eq!(taps.weights, [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(marks[..8], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(
            marks.iter().skip(8).enumerate().filter(|mark| *mark.1 > 0.0).map(|mark| mark.0).collect::<Vec<_>>(),
            [0, 15]
        );
    }

    #[test]
    fn patches_of_a_part_follow_each_other() {
        let grid = Grid::new(Size { width: 6, height: 4 }, 2, false).in_parts(2, 2);
        assert_eq!(grid.parts, [16, 8]);
        assert_eq!(grid.cells[8..10], [[2, 0], [2, 1]], "the block below comes before the one beside the part");
        assert_eq!(grid.cells[16], [0, 4]);
        let groups = grid.groups(1.0);
        assert_eq!(groups.indices[8..16], [16, 17, 18, 19, 8, 9, 10, 11], "rows of the result go from left to right");
    }

    #[test]
    fn weights_of_a_resized_table_add_up_to_one() {
        for (side, length) in [(8, 14), (8, 8), (16, 5), (16, 2), (4, 1), (1, 3)] {
            for of_axis in [between_corners, almost_bilinear, antialiased, bicubic] {
                for taps in of_axis(side, length) {
                    let sum: f32 = taps.iter().map(|(_, weight)| weight).sum();
                    assert!((sum - 1.0).abs() < 1e-5, "{side} to {length}: {taps:?}");
                    assert!(taps.iter().all(|(row, _)| *row < side), "{side} to {length}: {taps:?}");
                }
            }
        }
        assert_eq!(between_corners(3, 5)[1], [(0, 0.5), (1, 0.5)]);
    }

    #[test]
    fn numbers_are_rounded_to_f16() {
        for (value, expected) in
            [(0.0, 0.0), (1.0, 1.0), (0.1, 0.099_975_586), (-2.1, -2.099_609_4), (1e-7, 1.192_092_9e-7)]
        {
            assert_eq!(round_f16(value), expected, "{value}");
        }
    }
}
