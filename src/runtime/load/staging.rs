//! Uploads raw rows of matrices through a staging buffer, from which a kernel packs them into the matrix.

use crate::gpu::{BufferTable, CommandList, Device, Part};
use crate::kernels::layout::{Matrix, PackedLayout};
use crate::kernels::repack::{Source, repack, staged_grid_at};
use crate::kernels::spec::{Dispatch, Slice};
use crate::{Error, Result};

/// Neighbouring rows of one shard that a slice is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::runtime) struct RowRange {
    /// Number of the first row in the matrix.
    pub first: u32,
    pub rows: u32,
}

/// A staging buffer and the table that has it.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Staging<'a> {
    pub device: &'a Device,
    pub table: &'a BufferTable,
    pub buffer: Slice,
}

impl Staging<'_> {
    /// Packs rows into these ranges of the matrix. `bytes` has the rows as in the file, one after the other. Returns
    /// the id of the kernel.
    pub fn put(&self, matrix: &Matrix, ranges: &[RowRange], bytes: &[u8]) -> Result<String> {
        let without_rows = || Error::bad_file("a matrix without rows");
        // The kernel reads no byte beyond the last one of the slice.
        self.device.write(self.table.get(self.buffer.buffer), 0, bytes);
        let mut offset = 0;
        let mut dispatches: Vec<Dispatch> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let shard = matrix.shards.iter().rfind(|shard| shard.first_row <= range.first);
            let shard = shard.ok_or_else(without_rows)?;
            let layout = PackedLayout::new(matrix.ty, shard.rows, matrix.cols);
            let grid = if dispatches.is_empty() { self.stage_grid(&layout) } else { dispatches[0].buffers[1] };
            let source = Source { grid, offset, raw: self.buffer };
            let dispatch = repack(&layout, range.first - shard.first_row, range.rows, &source, shard.buffer.into());
            dispatches.push(dispatch);
            offset += range.rows * layout.raw_row_bytes() as u32;
        }
        let list = CommandList::record(self.device, &dispatches, self.table)?;
        self.device.submit([Part::from(&list)], 1, None);
        dispatches.into_iter().next().map(|dispatch| dispatch.kernel.id).ok_or_else(without_rows)
    }

    /// Writes the grid of the layout's type behind the rows, if that type has one.
    fn stage_grid(&self, layout: &PackedLayout) -> Slice {
        let Some(grid) = layout.grid() else { return self.buffer };
        let buffer = self.table.get(self.buffer.buffer);
        let offset = staged_grid_at(buffer.size());
        self.device.write(buffer, offset, bytemuck::cast_slice(&grid.packed()));
        Slice { offset, ..self.buffer }
    }
}
