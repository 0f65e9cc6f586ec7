//! Which texts are kept, in blocks of tokens. Blocks are found by content: a path of blocks from the first position on
//! is a text, and texts that begin alike share the blocks of their beginning.

use crate::runtime::adapter_use::{AdapterUse, positions_kept};

/// Tokens of a block; the last one of a text may have fewer.
pub const BLOCK: usize = 256;

/// Number of a block, for as long as it is kept.
pub type Key = usize;

/// A text, and the adapters with which it was read.
#[derive(Debug, Clone, Copy)]
pub struct TextRead<'a> {
    pub ids: &'a [u32],
    pub with: &'a [AdapterUse],
}

impl TextRead<'_> {
    /// The adapters at work before position `end`.
    fn with_before(&self, end: usize) -> Vec<AdapterUse> {
        self.with.iter().filter(|of| of.from < end).copied().collect()
    }
}

/// Tokens that follow another block.
#[derive(Debug)]
struct Block<R, E> {
    before: Option<Key>,
    /// The position of its first token.
    start: usize,
    ids: Vec<u32>,
    /// The adapters at work in it or before it.
    with: Vec<AdapterUse>,
    rows: R,
    /// What goes with the end of a text that ends with this block, and its bytes.
    end: Option<(E, u64)>,
    bytes: u64,
    /// When it was used last.
    used: u64,
}

impl<R, E> Block<R, E> {
    /// Whether it begins with these ids of `text`, as that was read.
    fn holds(&self, ids: &[u32], text: TextRead<'_>) -> bool {
        self.ids.starts_with(ids) && self.with == text.with_before(self.start + self.ids.len())
    }
}

/// A block to be kept, of the text's tokens from `start` on.
#[derive(Debug)]
pub struct Made<R> {
    pub start: usize,
    pub rows: R,
    pub bytes: u64,
}

/// What is kept of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The blocks, the first one first.
    pub path: Vec<Key>,
    /// Tokens, from the first on, that can be taken from there.
    pub tokens: usize,
}

/// Blocks of texts, as many as a number of bytes allows. `R`: keys and values of a block's tokens; `E`: what can only
/// be used at the end of a text.
#[derive(Debug)]
pub struct Tree<R, E> {
    blocks: Vec<Option<Block<R, E>>>,
    now: u64,
    bytes: u64,
    /// Most bytes that it may take.
    pub budget: u64,
    /// How often a text was taken.
    pub hits: u32,
}

impl<R, E> Default for Tree<R, E> {
    fn default() -> Self {
        Self { blocks: Vec::new(), now: 0, bytes: 0, budget: 0, hits: 0 }
    }
}

impl<R, E> Tree<R, E> {
    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of blocks, and of their tokens.
    pub fn size(&self) -> (usize, usize) {
        self.all().fold((0, 0), |(blocks, tokens), (_, block)| (blocks + 1, tokens + block.ids.len()))
    }

    /// Whether these blocks are still kept, one behind the other: a number is given again once its block has gone.
    pub fn is_path(&self, path: &[Key]) -> bool {
        let mut before = None;
        path.iter().all(|&key| {
            let block = self.blocks.get(key).and_then(Option::as_ref);
            block.is_some_and(|block| block.before == before.replace(key))
        })
    }

    /// The rows of a block, and its tokens.
    pub fn block(&self, key: Key) -> Option<(&R, &[u32])> {
        let block = self.blocks.get(key)?.as_ref()?;
        Some((&block.rows, &block.ids))
    }

    /// The adapters at work in a block or before it.
    pub fn with(&self, key: Key) -> &[AdapterUse] {
        self.blocks.get(key).and_then(Option::as_ref).map_or(&[], |block| &block.with)
    }

    /// What goes with the end of a text that ends with this block.
    pub fn end(&self, key: Key) -> Option<&E> {
        self.blocks.get(key)?.as_ref()?.end.as_ref().map(|(end, _)| end)
    }

    /// The text that gives most of `text`. `reach(common, end)`: how many of `common` tokens that a kept text begins
    /// with can be taken, given what goes with its end.
    pub fn find(&self, text: TextRead<'_>, reach: impl Fn(usize, Option<&E>) -> usize) -> Option<Found> {
        let mut best: Option<Found> = None;
        for (key, block) in self.all() {
            if block.end.is_none() && self.has_behind(key) {
                continue;
            }
            let path = self.path(key);
            let tokens = reach(self.common(&path, text), self.end(key));
            if tokens > best.as_ref().map_or(0, |found| found.tokens) {
                best = Some(Found { path, tokens });
            }
        }
        best
    }

    /// The blocks that hold `text` from its first token on, as far as there are such blocks, and how many of its tokens
    /// they hold. `whole`: the last one must hold no more.
    pub fn known(&self, text: TextRead<'_>, whole: bool) -> Found {
        let mut found = Found { path: Vec::new(), tokens: 0 };
        while found.tokens < text.ids.len() {
            let left = &text.ids[found.tokens..];
            let left = &left[..left.len().min(BLOCK)];
            let before = found.path.last().copied();
            let holds = |block: &Block<R, E>| {
                block.before == before && (!whole || block.ids.len() == left.len()) && block.holds(left, text)
            };
            let Some((key, _)) = self.all().find(|(_, block)| holds(block)) else { break };
            found.path.push(key);
            found.tokens += left.len();
        }
        found
    }

    /// Notes that these blocks are used now.
    pub fn touch(&mut self, path: &[Key]) {
        self.now += 1;
        for &key in path {
            if let Some(Some(block)) = self.blocks.get_mut(key) {
                block.used = self.now;
            }
        }
    }

    /// Drops blocks, the least used first, until `bytes` more are within the budget. Blocks in `kept` stay. Returns how
    /// many bytes there is room for then, at most `bytes`.
    pub fn make_room(&mut self, bytes: u64, kept: &[Key]) -> u64 {
        while self.bytes + bytes > self.budget {
            let ends = self.all().filter(|(key, _)| !kept.contains(key) && !self.has_behind(*key));
            let Some((key, _)) = ends.min_by_key(|(_, block)| block.used) else { break };
            self.remove(key);
        }
        bytes.min(self.budget.saturating_sub(self.bytes))
    }

    /// Keeps blocks of `text` behind the blocks of `path`, and its `end` with the bytes of that. A block that holds the
    /// beginning of a new one goes.
    pub fn keep(&mut self, text: TextRead<'_>, mut path: Vec<Key>, made: Vec<Made<R>>, end: Option<(E, u64)>) {
        if !self.is_path(&path) {
            return;
        }
        for Made { start, rows, bytes } in made {
            let stop = (start + BLOCK).min(text.ids.len());
            let (before, ids) = (path.last().copied(), &text.ids[start..stop]);
            for key in 0..self.blocks.len() {
                let is_part = |of: &Block<R, E>| {
                    of.before == before && ids.get(..of.ids.len()).is_some_and(|ids| of.holds(ids, text))
                };
                if self.blocks[key].as_ref().is_some_and(is_part) {
                    self.remove(key);
                }
            }
            let (ids, with) = (ids.to_vec(), text.with_before(stop));
            path.push(self.add(Block { before, start, ids, with, rows, end: None, bytes, used: 0 }));
        }
        if let Some((end, last)) = end.zip(path.last().copied()) {
            self.end_with(last, end);
        }
        self.touch(&path);
    }

    fn end_with(&mut self, key: Key, end: (E, u64)) {
        let Some(Some(block)) = self.blocks.get_mut(key) else { return };
        self.bytes += end.1;
        if let Some((_, bytes)) = block.end.replace(end) {
            self.bytes -= bytes;
        }
    }

    /// Drops all blocks.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.bytes = 0;
    }

    /// Drops the blocks of texts that were read with this adapter.
    pub fn forget_adapter(&mut self, id: u32) {
        for key in 0..self.blocks.len() {
            let is_with = |block: &Block<R, E>| block.with.iter().any(|of| of.id == id);
            if self.blocks[key].as_ref().is_some_and(is_with) {
                self.remove(key);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = (Key, &Block<R, E>)> {
        self.blocks.iter().enumerate().filter_map(|(key, block)| Some((key, block.as_ref()?)))
    }

    /// Whether there are blocks behind this one.
    fn has_behind(&self, key: Key) -> bool {
        self.all().any(|(_, block)| block.before == Some(key))
    }

    fn path(&self, key: Key) -> Vec<Key> {
        let mut path = vec![key];
        while let Some(before) = path.last().and_then(|&key| self.blocks[key].as_ref()?.before) {
            path.push(before);
        }
        path.reverse();
        path
    }

    /// How many tokens of `text` the blocks of a path begin with.
    fn common(&self, path: &[Key], text: TextRead<'_>) -> usize {
        let mut common = 0;
        for block in path.iter().filter_map(|&key| self.blocks[key].as_ref()) {
            let left = text.ids.iter().skip(block.start);
            let same = block.ids.iter().zip(left).take_while(|(a, b)| a == b).count();
            let end = block.start + block.ids.len();
            common = (block.start + same).min(positions_kept(&block.with, &text.with_before(end)));
            if common < end {
                break;
            }
        }
        common
    }

    fn add(&mut self, block: Block<R, E>) -> Key {
        self.bytes += block.bytes;
        let free = self.blocks.iter().position(Option::is_none);
        let key = free.unwrap_or(self.blocks.len());
        match free {
            Some(key) => self.blocks[key] = Some(block),
            None => self.blocks.push(Some(block)),
        }
        key
    }

    fn remove(&mut self, key: Key) {
        if let Some(block) = self.blocks[key].take() {
            self.bytes -= block.bytes + block.end.map_or(0, |(_, bytes)| bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Texts = Tree<(), usize>;

    fn text(ids: &[u32]) -> TextRead<'_> {
        TextRead { ids, with: &[] }
    }

    /// Keeps what is new of a text, a byte for each token.
    fn keep(tree: &mut Texts, of: TextRead<'_>) {
        let known = tree.known(of, false);
        let new = of.ids.len() - known.tokens;
        let room = tree.make_room(new as u64, &known.path) as usize;
        let starts = (known.tokens..of.ids.len()).step_by(BLOCK);
        let made = starts.map(|start| Made { start, rows: (), bytes: (of.ids.len() - start).min(BLOCK) as u64 });
        let made = made.take_while(|of| of.start + of.bytes as usize - known.tokens <= room).collect();
        tree.keep(of, known.path.clone(), made, None);
        tree.touch(&known.path);
    }

    fn found(tree: &Texts, of: TextRead<'_>) -> usize {
        tree.find(of, |common, _| common).map_or(0, |found| found.tokens)
    }

    fn with_budget(budget: u64) -> Texts {
        Texts { budget, ..Texts::default() }
    }

    fn ids(count: usize, of: u32) -> Vec<u32> {
        (0..count as u32).map(|at| at * 7 + of).collect()
    }

    #[test]
    fn texts_that_begin_alike_share_blocks() {
        let mut tree = with_budget(10_000);
        let begin = ids(600, 1);
        let [one, other] = [2, 3].map(|of| [begin.clone(), ids(300, of)].concat());
        keep(&mut tree, text(&one));
        assert_eq!(tree.bytes(), 900);
        keep(&mut tree, text(&other));
        assert_eq!(tree.bytes(), 900 + 900 - 512, "two blocks are in both");
        assert_eq!(tree.size(), (4 + 2, 900 + 900 - 512));
        assert_eq!([found(&tree, text(&one)), found(&tree, text(&other))], [900, 900]);
        assert_eq!(found(&tree, text(&[begin, ids(9, 4)].concat())), 600, "a part of a block");
        assert_eq!(found(&tree, text(&ids(600, 5))), 0);
    }

    #[test]
    fn a_text_that_grows_takes_the_place_of_its_beginning() {
        let mut tree = with_budget(10_000);
        let whole = ids(1000, 1);
        for length in [300, 400, 400, 390, 1000] {
            keep(&mut tree, text(&whole[..length]));
        }
        assert_eq!((tree.bytes(), found(&tree, text(&whole))), (1000, 1000));
        assert_eq!(tree.find(text(&whole), |common, _| common).map(|found| found.path.len()), Some(4));
    }

    #[test]
    fn the_least_used_go_first_from_their_ends() {
        let mut tree = with_budget(1500);
        let texts = [1, 2, 3].map(|of| ids(600, of));
        keep(&mut tree, text(&texts[0]));
        keep(&mut tree, text(&texts[1]));
        let first = tree.find(text(&texts[0]), |common, _| common).expect("it is there");
        tree.touch(&first.path);
        keep(&mut tree, text(&texts[2]));
        let all = [0, 1, 2].map(|of| found(&tree, text(&texts[of])));
        assert_eq!(all, [600, 256, 600], "the second one has lost its end");
        assert!(tree.bytes() <= 1500);
        // More than all: as much of its beginning as there is room for.
        keep(&mut tree, text(&ids(3000, 4)));
        assert_eq!(found(&tree, text(&ids(3000, 4))), 5 * BLOCK);
        assert!(tree.bytes() <= 1500);
    }

    #[test]
    fn blocks_that_are_needed_stay() {
        let mut tree = with_budget(700);
        keep(&mut tree, text(&ids(600, 1)));
        let path = tree.find(text(&ids(600, 1)), |common, _| common).expect("it is there").path;
        assert_eq!(tree.make_room(500, &path), 100);
        assert_eq!(tree.make_room(500, &[]), 500);
        assert!(!tree.is_path(&path), "its end has gone");
        keep(&mut tree, text(&ids(100, 2)));
        assert!(!tree.is_path(&path) && tree.is_path(&path[..1]), "another text has its number");
        tree.clear();
        assert_eq!((tree.bytes(), found(&tree, text(&ids(600, 1)))), (0, 0));
    }

    #[test]
    fn what_was_read_with_other_adapters_is_another_text() {
        let mut tree = with_budget(10_000);
        let ids = ids(600, 1);
        let of = |id: u32, scale: f32, from: usize| [AdapterUse { id, scale, from }];
        let (one, late) = (of(1, 1.0, 0), of(2, 1.0, 300));
        keep(&mut tree, TextRead { ids: &ids, with: &one });
        assert_eq!(found(&tree, text(&ids)), 0);
        assert_eq!(found(&tree, TextRead { ids: &ids, with: &of(1, 0.5, 0) }), 0, "another scale");
        assert_eq!(found(&tree, TextRead { ids: &ids, with: &one }), 600);
        keep(&mut tree, TextRead { ids: &ids, with: &late });
        assert_eq!(found(&tree, text(&ids)), 300, "up to the position from which the adapter works");
        assert_eq!(found(&tree, TextRead { ids: &ids, with: &late }), 600);
        keep(&mut tree, text(&ids));
        assert_eq!(tree.bytes(), 600 + 600 + 600 - 256);
        tree.forget_adapter(2);
        assert_eq!((found(&tree, text(&ids)), tree.bytes()), (600, 1200));
    }

    #[test]
    fn an_end_goes_with_its_text_alone() {
        let mut tree = with_budget(10_000);
        let whole = ids(700, 1);
        let keep = |tree: &mut Texts, length: usize| {
            let of = text(&whole[..length]);
            let known = tree.known(of, true);
            let starts = (known.tokens..length).step_by(BLOCK);
            let made =
                starts.map(|start| Made { start, rows: (), bytes: (length - start).min(BLOCK) as u64 }).collect();
            tree.keep(of, known.path, made, Some((length, 50)));
        };
        let reach = |tree: &Texts, length: usize| {
            let least = |common: usize, end: Option<&usize>| end.map_or(0, |&end| if end <= common { end } else { 0 });
            tree.find(text(&whole[..length]), least).map_or(0, |found| found.tokens)
        };
        keep(&mut tree, 600);
        assert_eq!((reach(&tree, 599), reach(&tree, 700), tree.bytes()), (0, 600, 650));
        keep(&mut tree, 512);
        assert_eq!((reach(&tree, 599), reach(&tree, 700), tree.bytes()), (512, 600, 700));
        keep(&mut tree, 700);
        assert_eq!((reach(&tree, 699), reach(&tree, 700), tree.bytes()), (512, 700, 800), "the end at 600 has gone");
    }
}
