//! Convolutions and means over the cells of a square grid, see [`Op::ConvGrid`](super::program::Op::ConvGrid).

use super::program::Weight;
use super::roles::WeightKey;

/// What becomes of the cells that a cell of the result sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// They lie side by side, value by value.
    Beside,
    /// Their mean.
    Mean,
    /// A depthwise convolution with a kernel `[kernel · kernel, width]`.
    Depthwise(WeightKey),
    /// A convolution with a kernel `[kernel · kernel · width, outputs]` and a bias `[outputs]`.
    Dense(WeightKey, Option<Weight>),
}

/// Which cells of one grid a cell of another one sees. There is nothing outside of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellSpec {
    /// What becomes of them.
    pub kind: CellKind,
    /// Cells along a side of the grid that is read ...
    pub side: usize,
    /// ... and of the grid that is written.
    pub out: usize,
    /// Cells along a side of what a cell sees.
    pub kernel: usize,
    /// Cells from what one cell sees to what the next one does.
    pub stride: usize,
    /// Cells before the grid that the first cell sees.
    pub before: usize,
    /// Each cell that is read stands for this many along both sides.
    pub up: usize,
    /// Values of a cell that is read.
    pub width: usize,
    /// Values of a cell that is written.
    pub outputs: usize,
    /// Whether the following operations run on the rows of the result.
    pub opens: bool,
}

impl CellSpec {
    /// Every cell sees the cells around it; with a stride of 2 there are half as many along a side, and what is
    /// missing at the sides is shared out, with the larger part behind.
    pub fn around(kind: CellKind, [side, width]: [usize; 2], kernel: usize, stride: usize) -> Self {
        let out = side.div_ceil(stride);
        let before = ((out - 1) * stride + kernel).saturating_sub(side) / 2;
        let before = if stride == 1 { kernel / 2 } else { before };
        let outputs = if kind == CellKind::Beside { width * kernel * kernel } else { width };
        Self { kind, side, out, kernel, stride, before, up: 1, width, outputs, opens: stride > 1 }
    }

    /// Cells that a cell sees.
    pub const fn taps(&self) -> usize {
        self.kernel * self.kernel
    }

    /// The cell that is the `tap`th one that cell `cell` sees, in the order of rows.
    pub fn seen(&self, cell: usize, tap: usize) -> Option<usize> {
        let at = |cell: usize, tap: usize| {
            let at = (cell * self.stride + tap).checked_sub(self.before)? / self.up;
            Some(at).filter(|&at| at < self.side)
        };
        let line = at(cell / self.out, tap / self.kernel)?;
        Some(line * self.side + at(cell % self.out, tap % self.kernel)?)
    }
}
