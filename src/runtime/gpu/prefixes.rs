//! What was read of texts, kept on the GPU.
//!
//! Keeping and taking are copies on the GPU, which cost far less than reading the tokens. A kept text has the rows of
//! its tokens and no more, so it takes less memory than a session, whose caches have room for more tokens.

use std::rc::Rc;

use super::lane::GpuLane;
use super::session::GpuSession;
use crate::gpu::Buffer;
use crate::kernels::spec::Slice;
use crate::runtime::passes::saved::{Direction, copy, end_of_text, rows_of_tokens};
use crate::runtime::passes::states;
use crate::runtime::plan::{Place, Plan};
use crate::runtime::positions::Positions;
use crate::runtime::prefixes::store::{End, PrefixCache, Taken, copies_to_keep};
use crate::runtime::prefixes::tree::{BLOCK, Found, TextRead};
use crate::runtime::saved::regions::{Region, begins, bytes_of};
use crate::runtime::session::AdapterUse;
use crate::{ErrorCode, Result};

/// A buffer of kept bytes.
type Data = Rc<Buffer>;

/// Copies rows of `taken` tokens into regions, from data in which each region has rows of `count` tokens.
fn copy_rows<'a>(plan: &mut Plan<'a>, regions: &[Region], data: &'a Buffer, [count, taken]: [usize; 2]) {
    for (region, at) in regions.iter().zip(begins(regions, [count, taken])) {
        let to = Slice { offset: region.offset, ..Slice::from(region.buffer) };
        plan.copy(Place::from(data).after(at), to, region.bytes);
    }
}

impl GpuLane {
    /// The kept text that gives most of `text`, whose last token is read in any case.
    pub(in crate::runtime) fn find_prefix(&self, text: TextRead<'_>) -> Option<Found> {
        self.model().prefixes.find(text, self.rewindable)
    }

    /// Keeps `text`, all that the lane has read, as far as there is room beside what is `wanted`. `asked`: number of
    /// tokens of its prompt.
    ///
    /// # Errors
    /// `device_lost`.
    pub(in crate::runtime) async fn keep_prefix(
        &self,
        text: TextRead<'_>,
        asked: usize,
        wanted: Option<&Found>,
    ) -> Result<()> {
        let mut session = self.turn().await?;
        let positions = self.positions_with_states(&mut session)?;
        let (prefixes, layout) = (&self.model().prefixes, session.layout());
        let has_rings = layout.buffers.cache.iter().any(|layer| layer.heads.ring);
        prefixes.set_has_ends(has_rings || positions.has_states());
        let (slots, copies) = copies_to_keep(&positions.copies(), asked);
        if positions.has_states() && slots.is_empty() {
            return Ok(());
        }
        let (tokens, written) = (text.ids.len(), positions.written());
        let of_end = end_of_text(layout, self.number, written, &slots);
        let bytes = [bytes_of(&rows_of_tokens(layout, self.number, 0..1)), bytes_of(&of_end)];
        let Some((path, starts)) = prefixes.new_blocks(text, bytes, wanted) else { return Ok(()) };
        let mut parts = Vec::new();
        for &start in &starts {
            parts.push(rows_of_tokens(layout, self.number, start..(start + BLOCK).min(tokens)));
        }
        parts.push(of_end);
        let Some(mut made) = self.copied(&mut session, &parts).await? else { return Ok(()) };
        let data = made.pop().flatten();
        let blocks = starts.into_iter().zip(made).zip(&parts);
        let blocks = blocks.map(|((start, rows), regions)| (start, rows, bytes_of(regions)));
        prefixes.put(text, path, blocks, (End { tokens, written, copies, data }, bytes[1]));
        Ok(())
    }

    /// Where the lane's text is, once there is a copy of its recurrent states as they are.
    fn positions_with_states(&self, session: &mut GpuSession) -> Result<Positions> {
        let mut plan = Plan::default();
        let positions = self.state(|text| {
            states::keep(&mut plan, session.layout(), self.number, &mut text.positions);
            text.positions.clone()
        });
        session.gpu.execute(&plan)?;
        Ok(positions)
    }

    /// Copies of parts of the session's buffers; `None` where the device has no room for them.
    async fn copied(&self, session: &mut GpuSession, parts: &[Vec<Region>]) -> Result<Option<Vec<Option<Data>>>> {
        let device = self.model().device();
        let make = || -> Result<Vec<Option<Data>>> {
            let mut made = Vec::new();
            for regions in parts {
                let bytes = bytes_of(regions);
                made.push(if bytes > 0 { Some(device.storage_buffer("kept prefix", bytes)?.into()) } else { None });
            }
            Ok(made)
        };
        // Where one is too large for a buffer, it is as if there were no room.
        let Some(made) = device.try_make(make).await.ok().flatten() else {
            device.check()?;
            self.model().prefixes.give_way();
            return Ok(None);
        };
        let mut plan = Plan::default();
        for (regions, buffer) in parts.iter().zip(&made) {
            buffer.iter().for_each(|buffer| plan.append(copy(regions, buffer, Direction::Out)));
        }
        session.gpu.execute(&plan)?;
        device.check()?;
        Ok(Some(made))
    }

    /// Lets the lane go on from a kept text. Returns its tokens and the adapters that they were read with; `None`, with
    /// nothing changed, where it is no longer kept, or the device has no room for a cache of its length.
    ///
    /// # Errors
    /// `device_lost`.
    pub(in crate::runtime) async fn take_prefix(&self, found: &Found) -> Result<Option<(Vec<u32>, Vec<AdapterUse>)>> {
        let Some(Taken { ids, with, blocks, end }) = self.model().prefixes.taken(found) else { return Ok(None) };
        let mut session = self.turn().await?;
        let longest = self.drive.schedule.borrow().written();
        match session.grow_to(end.tokens, longest).await {
            Err(error) if error.code() == ErrorCode::OutOfMemory => return Ok(None),
            grown => grown?,
        }
        self.model().prefixes.took(found);
        let (layout, mut plan) = (session.layout(), Plan::default());
        for (data, start, count) in &blocks {
            let taken = (*count).min(end.tokens.saturating_sub(*start));
            let regions = rows_of_tokens(layout, self.number, *start..start + taken);
            if taken > 0 {
                copy_rows(&mut plan, &regions, data, [*count, taken]);
            }
        }
        if let Some(data) = &end.data {
            let slots: Vec<usize> = (0..end.copies.len()).collect();
            plan.append(copy(&end_of_text(layout, self.number, end.written, &slots), data, Direction::In));
        }
        self.state(|text| {
            text.stop();
            text.restores = None;
            text.positions.restore(end.tokens, end.written, &end.copies);
            text.has_read(end.tokens);
        });
        session.gpu.execute(&plan)?;
        Ok(Some((ids, with)))
    }
}
