//! What was read of texts, kept on the GPU: keys and values in blocks of tokens, rings and recurrent states at the ends
//! of texts.
//!
//! Keeping and taking are copies on the GPU, which cost far less than reading the tokens. A kept text has the rows of
//! its tokens and no more, so it takes less memory than a session, whose caches have room for more tokens.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::lane::GpuLane;
use super::session::GpuSession;
use crate::gpu::Buffer;
use crate::kernels::spec::Slice;
use crate::runtime::passes::saved::{Direction, copy, end_of_text, rows_of_tokens};
use crate::runtime::passes::states;
use crate::runtime::plan::{Place, Plan};
use crate::runtime::positions::Positions;
use crate::runtime::prefixes::tree::{BLOCK, Found, Key, Made, TextRead, Tree};
use crate::runtime::saved::regions::{Region, bytes_of};
use crate::runtime::session::AdapterUse;
use crate::{ErrorCode, Result};

/// A buffer of kept bytes; `None` for no bytes.
type Data = Option<Rc<Buffer>>;

/// What goes with the end of a text: rings, and copies of recurrent states.
#[derive(Debug, Clone)]
struct End {
    tokens: usize,
    /// Positions that were written: a ring has lost what these overwrote.
    written: usize,
    /// The positions of the copies of states.
    copies: Vec<u32>,
    data: Data,
}

impl End {
    /// How many of the text's first `common` tokens it gives, where a ring can go back this many positions.
    fn reach(&self, common: usize, rewindable: usize) -> usize {
        let mut positions = Positions::new(self.copies.len());
        positions.restore(self.tokens, self.written, &self.copies);
        positions.rewind(common.min(self.tokens), rewindable).0
    }
}

/// The texts that the sessions of a model keep.
#[derive(Default)]
pub struct Prefixes {
    tree: RefCell<Tree<Data, End>>,
    /// Whether texts go on from their ends alone, since the model has rings or recurrent states.
    has_ends: Cell<bool>,
}

/// A kept text that a lane is to go on from.
struct Taken {
    ids: Vec<u32>,
    with: Vec<AdapterUse>,
    /// Data, position of the first token and number of tokens of each block.
    blocks: Vec<(Rc<Buffer>, usize, usize)>,
    end: End,
}

impl Prefixes {
    /// Sets how many bytes may be kept, and drops what is more.
    pub fn set_budget(&self, bytes: u64) {
        let mut tree = self.tree.borrow_mut();
        tree.budget = bytes;
        tree.make_room(0, &[]);
    }

    /// Maximum number of bytes that are kept.
    pub fn budget(&self) -> u64 {
        self.tree.borrow().budget
    }

    /// Number of bytes that are kept.
    pub fn bytes(&self) -> u64 {
        self.tree.borrow().bytes()
    }

    /// Number of blocks, of their tokens, and how often a text was taken.
    pub fn counts(&self) -> [u32; 3] {
        let tree = self.tree.borrow();
        let (blocks, tokens) = tree.size();
        [blocks as u32, tokens as u32, tree.hits]
    }

    /// Drops all texts.
    pub fn clear(&self) {
        self.tree.borrow_mut().clear();
    }

    /// Drops texts that were read with this adapter.
    pub(super) fn forget_adapter(&self, id: u32) {
        self.tree.borrow_mut().forget_adapter(id);
    }

    /// Drops all texts where the device lacks memory, and keeps half as many bytes from then on. False where there was
    /// nothing to drop.
    pub(super) fn give_way(&self) -> bool {
        let mut tree = self.tree.borrow_mut();
        let bytes = tree.bytes();
        tree.budget = bytes / 2;
        tree.clear();
        bytes > 0
    }

    /// The blocks that are kept of a text, and where further ones begin, as far as there is room beside what is
    /// `wanted`. `bytes`: of a token, and of the text's end.
    fn new_blocks(
        &self,
        text: TextRead<'_>,
        bytes: [u64; 2],
        wanted: Option<&Found>,
    ) -> Option<(Vec<Key>, Vec<usize>)> {
        let (mut tree, [per_token, of_end]) = (self.tree.borrow_mut(), bytes);
        let (has_ends, count) = (self.has_ends.get(), text.ids.len());
        let known = tree.known(text, has_ends);
        tree.touch(&known.path);
        let has_end = !has_ends || known.path.last().is_some_and(|&last| tree.end(last).is_some());
        let needed = (count - known.tokens) as u64 * per_token + of_end;
        if (known.tokens == count && has_end) || (has_ends && needed > tree.budget) {
            return None;
        }
        let in_use = [&known.path[..], wanted.map_or(&[], |found| &found.path)].concat();
        let room = tree.make_room(needed, &in_use);
        if has_ends && room < needed {
            return None;
        }
        let fits = |start: &usize| ((start + BLOCK).min(count) - known.tokens) as u64 * per_token <= room;
        Some((known.path, (known.tokens..count).step_by(BLOCK).take_while(fits).collect()))
    }

    fn taken(&self, found: &Found) -> Option<Taken> {
        let tree = self.tree.borrow();
        let last = *found.path.last().filter(|_| tree.is_path(&found.path))?;
        let end = match self.has_ends.get() {
            true => tree.end(last)?.clone(),
            false => End { tokens: found.tokens, written: found.tokens, copies: Vec::new(), data: None },
        };
        let (mut ids, mut blocks) = (Vec::new(), Vec::new());
        for &key in &found.path {
            let (data, tokens) = tree.block(key)?;
            blocks.extend(data.clone().map(|data| (data, ids.len(), tokens.len())));
            ids.extend_from_slice(tokens);
        }
        ids.truncate(end.tokens);
        Some(Taken { ids, with: tree.with(last).to_vec(), blocks, end })
    }
}

/// The slots and positions of the states to keep: those at the end of the text, and those before the end of its prompt
/// of `asked` tokens.
fn copies_to_keep(positions: &Positions, asked: usize) -> (Vec<usize>, Vec<u32>) {
    let (mut slots, mut at) = (Vec::new(), Vec::new());
    for most in [asked.saturating_sub(1), usize::MAX] {
        let mut newest: Option<(usize, usize)> = None;
        for (slot, copy) in positions.copies().into_iter().enumerate() {
            newest = newest.max(copy.filter(|&copy| copy <= most).map(|copy| (copy, slot)));
        }
        if let Some((copy, slot)) = newest.filter(|(_, slot)| !slots.contains(slot)) {
            slots.push(slot);
            at.push(copy as u32);
        }
    }
    (slots, at)
}

/// Copies rows of `taken` tokens into regions, from data in which each region has rows of `count` tokens.
fn copy_rows<'a>(plan: &mut Plan<'a>, regions: &[Region], data: &'a Buffer, [count, taken]: [usize; 2]) {
    let mut at = 0;
    for region in regions {
        let to = Slice { offset: region.offset, ..Slice::from(region.buffer) };
        plan.copy(Place::from(data).after(at), to, region.bytes);
        at += region.bytes / taken as u64 * count as u64;
    }
}

impl GpuLane {
    /// The kept text that gives most of `text`, whose last token is read in any case.
    pub(in crate::runtime) fn find_prefix(&self, text: TextRead<'_>) -> Option<Found> {
        let (prefixes, most) = (&self.model().prefixes, text.ids.len().saturating_sub(1));
        let reach = |common: usize, end: Option<&End>| match (prefixes.has_ends.get(), end) {
            (false, _) => common.min(most),
            (true, None) => 0,
            (true, Some(end)) => end.reach(common.min(most), self.rewindable),
        };
        prefixes.tree.borrow().find(text, reach)
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
        prefixes.has_ends.set(has_rings || positions.has_states());
        let (slots, copies) = copies_to_keep(&positions, asked);
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
        let end = prefixes.has_ends.get().then_some((End { tokens, written, copies, data }, bytes[1]));
        let mut blocks = Vec::new();
        for ((&start, rows), regions) in starts.iter().zip(made).zip(&parts) {
            blocks.push(Made { start, rows, bytes: bytes_of(regions) });
        }
        prefixes.tree.borrow_mut().keep(text, path, blocks, end);
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
    async fn copied(&self, session: &mut GpuSession, parts: &[Vec<Region>]) -> Result<Option<Vec<Data>>> {
        let device = self.model().device();
        let make = || -> Result<Vec<Data>> {
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
        {
            let mut tree = self.model().prefixes.tree.borrow_mut();
            tree.touch(&found.path);
            tree.hits += 1;
        }
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
