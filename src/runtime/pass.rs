//! How a text is cut into passes. The GPU, its lanes and the CPU all take the rows of each pass from [`Chunks`], and
//! stop reading where it ends.

use std::cell::Cell;
use std::ops::Range;

use crate::model::end_with_images;

/// Tokens to read into the cache, and how many of them are in it.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    pub ids: &'a [u32],
    /// Position of the first id.
    pub position: usize,
    /// Number of ids that complete passes have read.
    pub done: usize,
}

impl<'a> Reading<'a> {
    pub fn new(ids: &'a [u32], position: usize) -> Self {
        Self { ids, position, done: 0 }
    }

    /// The position after the last id.
    pub fn end(&self) -> usize {
        self.position + self.ids.len()
    }

    /// The position after the ids that are read.
    pub fn next(&self) -> usize {
        self.position + self.done
    }

    pub fn is_done(&self) -> bool {
        self.done == self.ids.len()
    }
}

/// The sizes of the passes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Maximum number of rows of a pass.
    pub most: usize,
    /// Number of rows at the end of the text that get a pass of their own each.
    pub single: usize,
}

/// What ends a reading before its last pass, and who hears of its passes. The first pass of a text always begins.
#[derive(Clone, Copy)]
pub(super) struct Until<'a> {
    /// Set where the caller does not want the rest: a pass may then be left half-way.
    pub stop: &'a Cell<bool>,
    /// Whether others want the device, so that the reading should go on later. At least one pass runs before.
    pub pause: &'a dyn Fn() -> bool,
    /// Hears how many tokens the cache holds, after each pass.
    pub tell: &'a dyn Fn(usize),
}

impl<'a> Until<'a> {
    /// Stops only by this flag; never pauses.
    pub fn stopped(stop: &'a Cell<bool>) -> Self {
        Self { stop, pause: &|| false, tell: &|_| {} }
    }
}

/// The rows of one pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    pub rows: Range<usize>,
    /// Whether this is one of the rows that have a pass of their own.
    pub is_single: bool,
    /// Whether the text ends with these rows.
    pub is_last: bool,
}

/// The passes of a reading, in order.
pub(super) struct Chunks<'a> {
    /// Index ranges of the images that must not be cut.
    images: Vec<Range<usize>>,
    first: usize,
    next: usize,
    len: usize,
    sizes: Sizes,
    until: Until<'a>,
}

impl<'a> Chunks<'a> {
    pub fn new(reading: &Reading, sizes: Sizes, until: Until<'a>) -> Self {
        Self { images: Vec::new(), first: reading.done, next: reading.done, len: reading.ids.len(), sizes, until }
    }

    /// Puts at most one of these images into a pass, and that one whole.
    pub fn with_whole(self, images: Vec<Range<usize>>) -> Self {
        Self { images, ..self }
    }

    fn is_over(&self) -> bool {
        let is_stopped = self.next > 0 && self.until.stop.get();
        self.next == self.len || is_stopped || (self.next > self.first && (self.until.pause)())
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        if self.is_over() {
            return None;
        }
        let many = self.len.saturating_sub(self.sizes.single);
        let start = self.next;
        let is_single = start >= many;
        let most = self.sizes.most.max(1);
        self.next = match is_single {
            true => start + 1,
            false => end_with_images(start, many.min(start + most), most, &self.images),
        };
        Some(Chunk { rows: start..self.next, is_single, is_last: self.next == self.len })
    }
}

/// Cuts inputs into batches of at most `rows` rows; no input may have more.
pub(super) fn batches<'a, 'i>(inputs: &'a [&'i [u32]], rows: usize) -> impl Iterator<Item = &'a [&'i [u32]]> {
    let mut rest = inputs;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let count = rest.iter().take_while(|ids| {
            sum += ids.len();
            sum <= rows
        });
        let (batch, others) = rest.split_at(count.count().max(1).min(rest.len()));
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never() -> bool {
        false
    }

    /// The passes over `len` ids, `done` of which are read: the rows of each, with ' for a single one and . for the
    /// last.
    fn passes(len: usize, done: usize, sizes: Sizes, until: Until) -> String {
        let ids = vec![0; len];
        let reading = Reading { done, ..Reading::new(&ids, 0) };
        let mark = |is: bool, mark: &'static str| if is { mark } else { "" };
        let shown = Chunks::new(&reading, sizes, until).map(|Chunk { rows, is_single, is_last }| {
            format!("{}-{}{}{}", rows.start, rows.end, mark(is_single, "'"), mark(is_last, "."))
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_row_is_in_one_pass() {
        let stop = Cell::new(false);
        let until = Until { pause: &never, ..Until::stopped(&stop) };
        let cut = |len, most, single| passes(len, 0, Sizes { most, single }, until);
        assert_eq!(cut(0, 4, 0), "");
        assert_eq!(cut(4, 4, 0), "0-4.");
        assert_eq!(cut(9, 4, 0), "0-4 4-8 8-9.");
        assert_eq!(cut(9, 4, 1), "0-4 4-8 8-9'.");
        assert_eq!(cut(6, 4, 1), "0-4 4-5 5-6'.");
        assert_eq!(cut(1, 4, 1), "0-1'.");
        assert_eq!(cut(3, 4, 3), "0-1' 1-2' 2-3'.");
        assert_eq!(cut(2, 4, 3), "0-1' 1-2'.", "fewer than would have a pass each");
        assert_eq!(passes(9, 5, Sizes { most: 3, single: 1 }, until), "5-8 8-9'.", "from where it was left");
    }

    #[test]
    fn a_stop_leaves_before_the_next_pass() {
        let sizes = Sizes { most: 4, single: 1 };
        let stop = Cell::new(true);
        assert_eq!(passes(9, 0, sizes, Until::stopped(&stop)), "0-4", "the first pass always begins");
        assert_eq!(passes(9, 4, sizes, Until::stopped(&stop)), "", "and it was not the first");
        assert_eq!(passes(1, 0, sizes, Until::stopped(&stop)), "0-1'.");
        stop.set(false);
        let ids = [0; 12];
        let mut chunks = Chunks::new(&Reading::new(&ids, 7), sizes, Until::stopped(&stop));
        assert_eq!(chunks.by_ref().take(2).last().map(|chunk| chunk.rows), Some(4..8));
        stop.set(true);
        assert_eq!(chunks.next(), None);
    }

    #[test]
    fn a_pause_comes_after_a_pass() {
        let sizes = Sizes { most: 4, single: 0 };
        let stop = Cell::new(false);
        let until = Until { pause: &|| true, ..Until::stopped(&stop) };
        assert_eq!(passes(9, 0, sizes, until), "0-4");
        assert_eq!(passes(9, 4, sizes, until), "4-8");
        assert_eq!(passes(9, 8, sizes, until), "8-9.");
    }

    #[test]
    fn a_reading_knows_where_it_is() {
        let ids = [0; 5];
        let mut reading = Reading::new(&ids, 10);
        assert_eq!((reading.next(), reading.end(), reading.is_done()), (10, 15, false));
        reading.done = 5;
        assert_eq!((reading.next(), reading.is_done()), (15, true));
    }

    #[test]
    fn inputs_of_a_batch_are_not_cut() {
        let (long, short) = ([0; 5], [0; 2]);
        let inputs: [&[u32]; 5] = [&short, &short, &long, &short, &long];
        let lengths: Vec<usize> = batches(&inputs, 6).map(<[_]>::len).collect();
        assert_eq!(lengths, [2, 1, 1, 1]);
        assert_eq!(batches(&inputs, 7).map(<[_]>::len).collect::<Vec<_>>(), [2, 2, 1]);
    }
}
