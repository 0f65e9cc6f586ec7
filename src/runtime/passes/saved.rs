//! The part of a saved session that is on the GPU: which bytes of caches and recurrent states belong to a text.

use std::ops::Range;

use super::layout::Layout;
use super::states;
use crate::digest::{digest, extend};
use crate::forward::{Buffers, LayerCache};
use crate::gpu::Buffer;
use crate::kernels::spec::Slice;
use crate::runtime::plan::{Place, Plan};
use crate::runtime::positions::Positions;
use crate::runtime::saved::regions::Region;

/// A digest of everything that decides how caches and states lie in their buffers and what their bytes mean.
pub(in crate::runtime) fn digest_of(layout: Layout<'_>) -> u64 {
    let room = layout.buffers.room;
    let numbers = [room.kv_type as u32, room.context as u32, u32::from(room.axes)];
    let mut found = extend(digest(env!("CARGO_PKG_VERSION").as_bytes()), bytemuck::bytes_of(&numbers));
    for layer in &layout.buffers.cache {
        let of = layer.heads;
        let numbers = [of.kv_heads, of.head_dim, if of.ring { of.capacity } else { 0 }];
        found = extend(found, bytemuck::bytes_of(&numbers));
    }
    for (_, bytes) in states::parts(layout.program, 0) {
        found = extend(found, &(bytes as u32).to_le_bytes());
    }
    found
}

/// The regions to save of a sequence: keys and values of the first `tokens` positions (of a ring, all that it still
/// holds), then the checkpoints of the states.
pub(in crate::runtime) fn regions(
    layout: Layout<'_>,
    number: usize,
    positions: &Positions,
    tokens: usize,
) -> Vec<Region> {
    let mut regions = Vec::new();
    for layer in &layout.buffers.cache {
        let rows = if layer.heads.ring { positions.written() } else { tokens };
        push_rows(&mut regions, layer, number, 0..rows);
    }
    for (slot, copy) in positions.copies().iter().enumerate() {
        if copy.is_some() {
            push_states(&mut regions, layout, number, slot);
        }
    }
    regions
}

/// Adds keys and values of these positions of a sequence in a layer, of a ring those that it has room for.
fn push_rows(regions: &mut Vec<Region>, layer: &LayerCache, number: usize, positions: Range<usize>) {
    let (row, capacity) = (u64::from(layer.heads.row_bytes()), u64::from(layer.heads.capacity));
    let (first, heads) = (positions.start as u64, u64::from(layer.heads.kv_heads));
    let bytes = capacity.min(positions.end as u64).saturating_sub(first) * row;
    for slice in [layer.cache.k, layer.cache.v] {
        for head in number as u64 * heads..(number as u64 + 1) * heads {
            regions.push(Region { buffer: slice.buffer, offset: (head * capacity + first) * row, bytes });
        }
    }
}

/// Adds the copy of a sequence's states in a slot.
fn push_states(regions: &mut Vec<Region>, layout: Layout<'_>, number: usize, slot: usize) {
    for (slice, (offset, bytes)) in layout.buffers.checkpoints[slot].iter().zip(states::parts(layout.program, number)) {
        regions.push(Region { buffer: slice.buffer, offset, bytes });
    }
}

/// Keys and values of these positions of a sequence, without those in rings.
pub(in crate::runtime) fn rows_of_tokens(layout: Layout<'_>, number: usize, positions: Range<usize>) -> Vec<Region> {
    let mut regions = Vec::new();
    for layer in layout.buffers.cache.iter().filter(|layer| !layer.heads.ring) {
        push_rows(&mut regions, layer, number, positions.clone());
    }
    regions
}

/// What of a sequence is of use at the end of its text alone: rings, of whose positions `written` were written, and
/// the copies of states in these slots.
pub(in crate::runtime) fn end_of_text(
    layout: Layout<'_>,
    number: usize,
    written: usize,
    slots: &[usize],
) -> Vec<Region> {
    let mut regions = Vec::new();
    for layer in layout.buffers.cache.iter().filter(|layer| layer.heads.ring) {
        push_rows(&mut regions, layer, number, 0..written);
    }
    slots.iter().for_each(|&slot| push_states(&mut regions, layout, number, slot));
    regions
}

/// The buffers that outlast a run: keys, values, positions on several axes, recurrent states and their checkpoints.
pub(in crate::runtime) fn kept(buffers: &Buffers) -> impl Iterator<Item = &Slice> {
    let caches = buffers.cache.iter().flat_map(|layer| [&layer.cache.k, &layer.cache.v]);
    let places = buffers.frequencies.iter().filter(|_| buffers.room.axes);
    caches.chain(places).chain(&buffers.states).chain(buffers.checkpoints.iter().flatten())
}

/// Direction in which regions are copied.
#[derive(Clone, Copy)]
pub(in crate::runtime) enum Direction {
    Out,
    In,
}

/// Copies regions out to a buffer, one after the other, or in from there.
pub(in crate::runtime) fn copy<'a>(regions: &[Region], other: &'a Buffer, direction: Direction) -> Plan<'a> {
    let (mut plan, mut end) = (Plan::default(), 0);
    for region in regions {
        let own = Place::from(Slice { offset: region.offset, ..Slice::from(region.buffer) });
        let there = Place::from(other).after(end);
        match direction {
            Direction::Out => plan.copy(own, there, region.bytes),
            Direction::In => plan.copy(there, own, region.bytes),
        }
        end += region.bytes;
    }
    plan
}
