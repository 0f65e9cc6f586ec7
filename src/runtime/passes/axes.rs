//! RoPE tables whose pairs rotate by several axes of a position: images have such positions.

use super::layout::Layout;
use crate::gpu::Buffer;
use crate::kernels::rope_kv::Axes;
use crate::kernels::spec::Slice;
use crate::model::{InputRows, Places, RopeSections};
use crate::runtime::plan::Plan;

/// Layout, slice and sections of each table.
fn tables(layout: Layout<'_>) -> Vec<(Axes, Slice, RopeSections)> {
    let tables = layout.program.rope_tables.iter().zip(&layout.buffers.frequencies);
    let tables = tables.filter(|_| layout.buffers.room.axes);
    tables.filter_map(|(of, slice)| Some((Axes { pairs: of.dims / 2 }, *slice, of.sections?))).collect()
}

/// Initialises the tables, before any position is known.
pub(in crate::runtime) fn start(plan: &mut Plan<'_>, layout: Layout<'_>) {
    for (axes, slice, sections) in tables(layout) {
        plan.write_at(slice, axes.offset(), bytemuck::cast_slice(&axes.start(&sections)));
    }
}

/// Writes where `ids`, at `position` and after, lie on each axis.
pub(in crate::runtime) fn write(
    plan: &mut Plan<'_>,
    layout: Layout<'_>,
    places: &mut Places,
    (ids, position): (&[u32], usize),
    rows: &InputRows<Buffer>,
) {
    let tables = tables(layout);
    if tables.is_empty() {
        return;
    }
    let from = position.min(places.len());
    places.extend(position, ids, rows);
    for (axes, slice, _) in tables {
        let ((offset, found), (at, known)) = (axes.places(places, from), axes.known(places));
        plan.write_at(slice, offset, bytemuck::cast_slice(&found));
        plan.write_at(slice, at, bytemuck::cast_slice(&known));
    }
}
