//! Texts that the sessions of a model keep: keys and values in blocks of tokens, and what can only be used at the ends
//! of texts. `D`: a handle of bytes, in buffers of the GPU or in memory.

use std::cell::{Cell, RefCell};

use super::tree::{BLOCK, Found, Key, Made, TextRead, Tree};
use crate::runtime::positions::Positions;
use crate::runtime::session::AdapterUse;

/// What goes with the end of a text: rings, and copies of recurrent states.
#[derive(Debug, Clone)]
pub struct End<D> {
    pub tokens: usize,
    /// Positions that were written: a ring has lost what these overwrote.
    pub written: usize,
    /// The positions of the copies of states.
    pub copies: Vec<u32>,
    /// `None` for no bytes.
    pub data: Option<D>,
}

impl<D> End<D> {
    /// How many of the text's first `common` tokens it gives, where a ring can go back this many positions.
    fn reach(&self, common: usize, rewindable: usize) -> usize {
        let mut positions = Positions::new(self.copies.len());
        positions.restore(self.tokens, self.written, &self.copies);
        positions.rewind(common.min(self.tokens), rewindable).0
    }
}

/// The texts that the sessions of a model keep.
pub struct Prefixes<D> {
    tree: RefCell<Tree<Option<D>, End<D>>>,
    /// Whether texts go on from their ends alone, since the model has rings or recurrent states.
    has_ends: Cell<bool>,
}

impl<D> Default for Prefixes<D> {
    fn default() -> Self {
        Self { tree: RefCell::default(), has_ends: Cell::default() }
    }
}

/// What is known of the texts that are kept, on whichever device.
pub trait PrefixCache {
    /// Sets how many bytes may be kept, and drops what is more.
    fn set_budget(&self, bytes: u64);

    /// Maximum number of bytes that are kept.
    fn budget(&self) -> u64;

    /// Number of bytes that are kept.
    fn bytes(&self) -> u64;

    /// Number of blocks, of their tokens, and how often a text was taken.
    fn counts(&self) -> [u32; 3];

    /// Drops all texts.
    fn clear(&self);

    /// Drops texts that were read with this adapter.
    fn forget_adapter(&self, id: u32);

    /// Drops all texts where memory is lacking, and keeps half as many bytes from then on. False where there was
    /// nothing to drop.
    fn give_way(&self) -> bool;
}

/// A kept text that a session is to go on from.
pub struct Taken<D> {
    pub ids: Vec<u32>,
    pub with: Vec<AdapterUse>,
    /// Data, position of the first token and number of tokens of each block.
    pub blocks: Vec<(D, usize, usize)>,
    pub end: End<D>,
}

impl<D> PrefixCache for Prefixes<D> {
    fn set_budget(&self, bytes: u64) {
        let mut tree = self.tree.borrow_mut();
        tree.budget = bytes;
        tree.make_room(0, &[]);
    }

    fn budget(&self) -> u64 {
        self.tree.borrow().budget
    }

    fn bytes(&self) -> u64 {
        self.tree.borrow().bytes()
    }

    fn counts(&self) -> [u32; 3] {
        let tree = self.tree.borrow();
        let (blocks, tokens) = tree.size();
        [blocks as u32, tokens as u32, tree.hits]
    }

    fn clear(&self) {
        self.tree.borrow_mut().clear();
    }

    fn forget_adapter(&self, id: u32) {
        self.tree.borrow_mut().forget_adapter(id);
    }

    fn give_way(&self) -> bool {
        let mut tree = self.tree.borrow_mut();
        let bytes = tree.bytes();
        tree.budget = bytes / 2;
        tree.clear();
        bytes > 0
    }
}

impl<D: Clone> Prefixes<D> {
    /// Notes whether texts go on from their ends alone, since the model has rings or recurrent states.
    pub fn set_has_ends(&self, has_ends: bool) {
        self.has_ends.set(has_ends);
    }

    /// The kept text that gives most of `text`, whose last token is read in any case. `rewindable`: number of positions
    /// that a ring can go back.
    pub fn find(&self, text: TextRead<'_>, rewindable: usize) -> Option<Found> {
        let most = text.ids.len().saturating_sub(1);
        let reach = |common: usize, end: Option<&End<D>>| match (self.has_ends.get(), end) {
            (false, _) => common.min(most),
            (true, None) => 0,
            (true, Some(end)) => end.reach(common.min(most), rewindable),
        };
        self.tree.borrow().find(text, reach)
    }

    /// The blocks that are kept of a text, and where further ones begin, as far as there is room beside what is
    /// `wanted`. `bytes`: of a token, and of the text's end.
    pub fn new_blocks(
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

    /// Keeps blocks of `text` behind the blocks of `path`: of each the position of its first token, its data and their
    /// number of bytes; and its end, if it has any.
    pub fn put(
        &self,
        text: TextRead<'_>,
        path: Vec<Key>,
        blocks: impl Iterator<Item = (usize, Option<D>, u64)>,
        end: (End<D>, u64),
    ) {
        let blocks = blocks.map(|(start, rows, bytes)| Made { start, rows, bytes }).collect();
        self.tree.borrow_mut().keep(text, path, blocks, self.has_ends.get().then_some(end));
    }

    /// A kept text; `None` where it is no longer kept.
    pub fn taken(&self, found: &Found) -> Option<Taken<D>> {
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
    /// Counts a text that was taken.
    pub fn took(&self, found: &Found) {
        let mut tree = self.tree.borrow_mut();
        tree.touch(&found.path);
        tree.hits += 1;
    }
}

/// The slots and positions of the states to keep, given the position of the copy in each slot: those at the end of the
/// text, and those before the end of its prompt of `asked` tokens.
pub fn copies_to_keep(copies: &[Option<usize>], asked: usize) -> (Vec<usize>, Vec<u32>) {
    let (mut slots, mut at) = (Vec::new(), Vec::new());
    for most in [asked.saturating_sub(1), usize::MAX] {
        let mut newest: Option<(usize, usize)> = None;
        for (slot, copy) in copies.iter().enumerate() {
            newest = newest.max(copy.filter(|&copy| copy <= most).map(|copy| (copy, slot)));
        }
        if let Some((copy, slot)) = newest.filter(|(_, slot)| !slots.contains(slot)) {
            slots.push(slot);
            at.push(copy as u32);
        }
    }
    (slots, at)
}
