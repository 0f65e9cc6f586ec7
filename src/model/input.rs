//! What a prompt consists of: tokens, and rows that enter where the embedding of a token would, such as those of an
//! encoder of images.
//!
//! A prompt is a list of ids, one for each position. Ids below [`FIRST_ROW`] are tokens, those from there on rows. A
//! row keeps its id for as long as its model is loaded, and no other row ever gets that id: two prompts whose ids are
//! the same begin the same, with rows as without.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::{Rc, Weak};

use super::{ModelConfig, WholeImages};
use crate::{Error, Result};

/// The first id of a row: far above any vocabulary.
const FIRST_ROW: u32 = 1 << 31;

/// The token that stands for a row where a kernel asks for one: tables of embeddings per layer have their padding
/// there, as llama.cpp takes it.
const PADDING: u32 = 0;

/// One position of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A token, by its id.
    Token(u32),
    /// A row, by its number among all rows of the model.
    Row(u32),
}

impl Item {
    /// The tokens of a pass: [`PADDING`] for rows.
    pub fn tokens(ids: &[u32]) -> Vec<u32> {
        let token = |&id: &u32| match Self::from(id) {
            Self::Token(token) => token,
            Self::Row(_) => PADDING,
        };
        ids.iter().map(token).collect()
    }
}

impl From<u32> for Item {
    fn from(id: u32) -> Self {
        if id < FIRST_ROW { Self::Token(id) } else { Self::Row(id - FIRST_ROW) }
    }
}

impl From<Item> for u32 {
    fn from(item: Item) -> Self {
        match item {
            Item::Token(token) => token,
            Item::Row(row) => FIRST_ROW + row,
        }
    }
}

/// The bit of [`InputSource::columns`] for an image in a frame, as HunyuanOCR has them.
const FRAMED: u32 = 1 << 31;
/// The bit for an overview that is stretched over the canvas of its slices, as MiniCPM-V 4.7 has them ...
const OVERVIEW: u32 = 1 << 30;
/// ... and for such a slice.
const SLICE: u32 = 1 << 29;

/// What rows are, apart from their numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InputSource {
    /// Digest of the content and of the encoder and its options: equal rows have equal digests.
    pub digest: u64,
    /// How many rows.
    pub count: u32,
    /// Rows side by side in an image; 0 for rows that follow each other as tokens do. With [`FRAMED`], a row stands
    /// before and one behind the image, and each line ends with one, which counts.
    pub columns: u32,
    /// With [`OVERVIEW`] columns and lines of the canvas, with [`SLICE`] the column and the line of it where the slice
    /// begins: the first in the low 16 bits, the second above.
    pub canvas: u32,
}

/// Which rows have which ids. A model that is loaded again goes on with those of the one before.
#[derive(Debug, Default)]
pub struct RowIds {
    /// Each source with the number of its first row, in the order of these numbers.
    known: RefCell<Vec<(InputSource, u32)>>,
}

impl RowIds {
    /// The ids of the rows of a source: the same ones at every call.
    ///
    /// # Errors
    /// `invalid_argument` for a source without rows, and where no ids are left.
    pub fn know(&self, source: InputSource) -> Result<Range<u32>> {
        let mut known = self.known.borrow_mut();
        let first = match known.iter().find(|known| known.0 == source) {
            Some(known) => known.1,
            None => {
                let first = known.last().map_or(0, |(last, first)| first + last.count);
                let left = FIRST_ROW - 1 - first;
                if source.count == 0 || source.count > left {
                    let message = format!("{} rows for a prompt, expected 1 to {left}", source.count);
                    return Err(Error::invalid_argument(message));
                }
                known.push((source, first));
                first
            }
        };
        Ok(Item::Row(first).into()..Item::Row(first + source.count).into())
    }

    /// The source of a row, the number of its first row, and which of its rows it is.
    fn find(&self, id: u32) -> Option<(InputSource, u32, u32)> {
        let Item::Row(number) = Item::from(id) else { return None };
        let known = self.known.borrow();
        let next = known.partition_point(|known| known.1 <= number);
        let &(source, first) = known.get(next.checked_sub(1)?)?;
        (number - first < source.count).then_some((source, first, number - first))
    }
}

/// The rows that prompts of a model may hold. `D` is where their numbers are, `[rows, hidden]` f32, and behind these as
/// many for each of the deeper layers that take more of them. Numbers stay as long as whoever added them holds them.
#[derive(Debug)]
pub struct InputRows<D> {
    ids: RefCell<Rc<RowIds>>,
    held: RefCell<Vec<(InputSource, Weak<D>)>>,
}

/// Rows of one source that follow each other in a prompt.
#[derive(Debug, Clone)]
pub struct InputRun<D> {
    /// Index of the first among the ids.
    pub at: usize,
    /// The row in `data` of the first id.
    pub row: usize,
    /// How many.
    pub count: usize,
    /// Rows of the source: those for deeper layers follow them.
    pub of: usize,
    /// Where they are.
    pub data: Rc<D>,
}

impl<D> Default for InputRows<D> {
    fn default() -> Self {
        Self { ids: RefCell::default(), held: RefCell::default() }
    }
}

impl<D> InputRows<D> {
    /// The ids of all rows.
    pub fn ids(&self) -> Rc<RowIds> {
        self.ids.borrow().clone()
    }

    /// Goes on with the ids that another model gave to the same rows.
    pub fn share(&self, ids: Rc<RowIds>) {
        self.ids.replace(ids);
    }

    /// The numbers of a source, if anyone holds them.
    pub fn held(&self, source: InputSource) -> Option<Rc<D>> {
        self.held.borrow().iter().find(|held| held.0 == source).and_then(|held| held.1.upgrade())
    }

    /// Adds the numbers of a source. They are here as long as what this returns, or a clone of it.
    pub fn add(&self, source: InputSource, data: D) -> Rc<D> {
        let data = Rc::new(data);
        let mut held = self.held.borrow_mut();
        held.retain(|held| held.0 != source && held.1.strong_count() > 0);
        held.push((source, Rc::downgrade(&data)));
        data
    }

    /// Whether an id is that of a row of a source that is known.
    pub fn knows(&self, id: u32) -> bool {
        self.find(id).is_some()
    }

    /// Whether an id is that of a row whose numbers are here.
    pub fn holds(&self, id: u32) -> bool {
        self.find(id).is_some_and(|(source, ..)| self.held(source).is_some())
    }

    /// The rows among `ids`, neighbours together.
    ///
    /// # Errors
    /// `invalid_argument` for a row that is not here.
    pub fn runs(&self, ids: &[u32]) -> Result<Vec<InputRun<D>>> {
        let mut runs: Vec<InputRun<D>> = Vec::new();
        for (at, &id) in ids.iter().enumerate() {
            let Item::Row(number) = Item::from(id) else { continue };
            let found = self.find(id).and_then(|(source, _, row)| Some((self.held(source)?, row as usize, source)));
            let Some((data, row, source)) = found else {
                return Err(Error::invalid_argument(format!("row {number} of a prompt is not held")));
            };
            let of = source.count as usize;
            match runs.last_mut().filter(|run| Rc::ptr_eq(&run.data, &data)) {
                Some(run) if (run.at + run.count, run.row + run.count) == (at, row) => run.count += 1,
                _ => runs.push(InputRun { at, row, count: 1, of, data }),
            }
        }
        Ok(runs)
    }

    /// The sources of the rows among `ids`, and the id of the first row of each.
    pub fn sources(&self, ids: &[u32]) -> Vec<(InputSource, u32)> {
        let mut sources: Vec<(InputSource, u32)> = Vec::new();
        for &id in ids {
            let found = self.find(id).map(|(source, first, _)| (source, Item::Row(first).into()));
            sources.extend(found.filter(|found| !sources.contains(found)));
        }
        sources
    }

    /// Where rows of one image that see each other follow each other among `ids`.
    pub fn whole_images(&self, config: &ModelConfig, ids: &[u32]) -> Vec<Range<usize>> {
        if super::whole_images(config) == WholeImages::Never { Vec::new() } else { self.images(ids) }
    }

    fn images(&self, ids: &[u32]) -> Vec<Range<usize>> {
        let mut images: Vec<(u32, Range<usize>)> = Vec::new();
        for (at, &id) in ids.iter().enumerate() {
            let Some((_, first, _)) = self.find(id).filter(|(source, ..)| source.columns > 0) else { continue };
            match images.last_mut().filter(|(of, range)| *of == first && range.end == at) {
                Some((_, range)) => range.end += 1,
                None => images.push((first, at..at + 1)),
            }
        }
        images.into_iter().map(|(_, range)| range).collect()
    }

    fn find(&self, id: u32) -> Option<(InputSource, u32, u32)> {
        self.ids.borrow().find(id)
    }
}

/// The end of a pass from `start` on that would end at `end`, and that may have `most` rows: it has at most one of the
/// images, and that whole, since rows of it see each other; a larger one is cut.
pub fn end_with_images(start: usize, end: usize, most: usize, images: &[Range<usize>]) -> usize {
    let mut next = images.iter().filter(|image| image.end > start);
    let Some(image) = next.next() else { return end };
    let most_end = start + most;
    if image.start > start && image.end > most_end {
        return end.min(image.start);
    }
    let before_another = next.next().map_or(usize::MAX, |other| other.start);
    match image.start < end {
        true => end.max(image.end).min(most_end).min(before_another),
        false => end,
    }
}

/// Where a text's positions lie in time, height and width (M-RoPE). Tokens follow each other on all axes; the rows of
/// an image lie in a grid at one time, and what follows begins behind its longer side.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// For each position: its place, and the place of a token behind it.
    known: Vec<([u32; 3], u32)>,
}

impl Places {
    /// Takes note of the ids at `position` and after; forgets what was behind.
    pub fn extend<D>(&mut self, position: usize, ids: &[u32], rows: &InputRows<D>) {
        self.known.truncate(position);
        while self.known.len() < position {
            self.push_token();
        }
        for &id in ids {
            match rows.find(id) {
                Some((InputSource { columns, count, .. }, _, row)) if columns > FRAMED => {
                    self.push_framed(row, count, columns - FRAMED);
                }
                Some((source, _, row)) if source.columns & (OVERVIEW | SLICE) > 0 => self.push_on_canvas(row, source),
                Some((InputSource { columns, .. }, _, row)) if columns > 0 => self.push_cell(row, columns),
                _ => self.push_token(),
            }
        }
    }

    /// The place of a position; of those behind the ids that are known, that of a token.
    pub fn at(&self, position: usize) -> [u32; 3] {
        let behind = |known: usize| [self.next() + (position - known) as u32; 3];
        self.known.get(position).map_or_else(|| behind(self.known.len()), |known| known.0)
    }

    /// Positions that are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The place of a token behind those that are known.
    pub fn next(&self) -> u32 {
        self.known.last().map_or(0, |known| known.1)
    }

    fn push_token(&mut self) {
        let place = self.next();
        self.known.push(([place; 3], place + 1));
    }

    /// A row of an image in a frame: in time they follow each other as tokens do; the first and the last one do so on
    /// all axes, the others lie at a column and a line of the image.
    fn push_framed(&mut self, row: u32, count: u32, columns: u32) {
        if row == 0 || row + 1 == count {
            return self.push_token();
        }
        let time = self.next();
        self.known.push(([time, (row - 1) % columns, (row - 1) / columns], time + 1));
    }

    /// A row of an overview or of a slice. They lie at the time of the token before the overview, and at columns and
    /// lines of one canvas; what follows a tile is one position behind what came before it.
    fn push_on_canvas(&mut self, row: u32, source: InputSource) {
        let columns = (source.columns & (SLICE - 1)).max(1);
        let [x, y] = [source.canvas & 0xffff, source.canvas >> 16];
        let stretched = |at: u32, of: u32, to: u32| match of.min(to) {
            0 | 1 => 0,
            _ => (f64::from(at) * f64::from(to - 1) / f64::from(of - 1)).round_ties_even() as u32,
        };
        let cell = |origin: u32, row: u32| {
            let [column, line] = [row % columns, row / columns];
            let [column, line] = match source.columns & OVERVIEW {
                0 => [x + column, y + line],
                _ => [stretched(column, columns, x), stretched(line, source.count / columns, y)],
            };
            [origin, origin + line, origin + column]
        };
        let before = self.known.last().filter(|(place, _)| row > 0 && *place == cell(place[0], row - 1));
        if let Some(&(place, next)) = before {
            return self.known.push((cell(place[0], row), next));
        }
        // A token is right before its next place, a row of a tile is not.
        let of_tile = |(place, next): &&([u32; 3], u32)| *next > place[0] + 1;
        let tile = self.known.iter().rev().find(of_tile).filter(|_| source.columns & SLICE > 0);
        let origin = tile.map_or(self.next().saturating_sub(1), |(place, _)| place[0]);
        self.known.push((cell(origin, row), self.next() + 1));
    }

    /// A cell of an image: at the time of the one before it, if that is of the same image.
    fn push_cell(&mut self, row: u32, columns: u32) {
        let cell = |time: u32, row: u32| [time, time + row / columns, time + row % columns];
        let before = self.known.last().filter(|(place, _)| row > 0 && *place == cell(place[0], row - 1));
        let place = cell(before.map_or(self.next(), |(place, _)| place[0]), row);
        let next = self.next().max(place[1].max(place[2]) + 1);
        self.known.push((place, next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(digest: u64, count: u32) -> InputSource {
        InputSource { digest, count, ..InputSource::default() }
    }

    fn known(rows: &InputRows<char>, source: InputSource) -> Range<u32> {
        rows.ids().know(source).expect("room")
    }

    #[test]
    fn rows_of_a_framed_image_follow_each_other_in_time() {
        let rows = InputRows::default();
        let image = known(&rows, InputSource { columns: 3 | FRAMED, ..source(1, 8) });
        let mut places = Places::default();
        places.extend(0, &[5, 6].into_iter().chain(image).chain([7]).collect::<Vec<u32>>(), &rows);
        let found: Vec<[u32; 3]> = (2..11).map(|position| places.at(position)).collect();
        let cells = [[3, 0, 0], [4, 1, 0], [5, 2, 0], [6, 0, 1], [7, 1, 1], [8, 2, 1]];
        assert_eq!(found, [&[[2; 3]], &cells[..], &[[9; 3], [10; 3]]].concat());
    }

    #[test]
    fn tiles_lie_on_one_canvas() {
        let rows = InputRows::default();
        // An overview of 3 × 2 rows over two slices of 2 × 3 rows side by side.
        let overview = known(&rows, InputSource { columns: 3 | OVERVIEW, canvas: 4 | 3 << 16, ..source(1, 6) });
        let [left, right] = [(2, 0), (3, 2)]
            .map(|(digest, x)| known(&rows, InputSource { columns: 2 | SLICE, canvas: x, ..source(digest, 6) }));
        let mut ids: Vec<u32> = [5, 6].into_iter().chain(overview).chain([7, 8]).chain(left).chain([7, 8]).collect();
        ids.extend(right.chain([7]));
        let mut places = Places::default();
        places.extend(0, &ids, &rows);
        let found: Vec<[u32; 3]> = (0..ids.len()).map(|position| places.at(position)).collect();
        // The origin is the position of the token before the overview; 1 of 3 columns is column 2 of 4, at 1.5.
        let whole = [[1, 1, 1], [1, 1, 3], [1, 1, 4], [1, 3, 1], [1, 3, 3], [1, 3, 4]];
        let slice = |x: u32| [0, 1, 2, 3, 4, 5].map(|row| [1, 1 + row / 2, 1 + x + row % 2]);
        let token = |at: u32| [at; 3];
        let expected = [
            &[token(0), token(1)][..],
            &whole,
            &[token(3), token(4)],
            &slice(0),
            &[token(6), token(7)],
            &slice(2),
            &[token(9)],
        ];
        assert_eq!(found, expected.concat());
        // Again from within the second slice, and from its first row.
        for from in [20, 18] {
            let mut again = places.clone();
            again.extend(from, &ids[from..], &rows);
            assert_eq!(again.known, places.known, "from {from} on");
        }
        let mut alone = Places::default();
        alone.extend(0, &ids[20..21], &rows);
        assert_eq!(alone.at(0), [0, 1, 2], "a slice without anything before it");
    }

    #[test]
    fn rows_and_tokens_have_different_ids() {
        for item in [Item::Token(0), Item::Token((1 << 24) - 1), Item::Row(0), Item::Row(77)] {
            assert_eq!(Item::from(u32::from(item)), item);
        }
        assert_eq!(Item::tokens(&[5, Item::Row(3).into(), 7]), [5, PADDING, 7]);
    }

    #[test]
    fn an_image_lies_in_a_grid() {
        let rows = InputRows::<char>::default();
        let image = known(&rows, InputSource { columns: 3, ..source(1, 6) }).start;
        let sound = known(&rows, source(2, 2)).start;
        let ids: Vec<u32> = [9, 9].into_iter().chain(image..image + 6).chain([9, sound, sound + 1]).collect();
        let mut places = Places::default();
        places.extend(0, &ids, &rows);
        let grid = [[2, 2, 2], [2, 2, 3], [2, 2, 4], [2, 3, 2], [2, 3, 3], [2, 3, 4]];
        assert_eq!((2..8).map(|position| places.at(position)).collect::<Vec<_>>(), grid);
        assert_eq!(
            [0, 1, 8, 9, 10, 11, 13].map(|position| places.at(position)),
            [0, 1, 5, 6, 7, 8, 10].map(|at| [at; 3])
        );
        // Again from the middle of the image.
        let mut again = places.clone();
        again.extend(5, &ids[5..], &rows);
        assert_eq!(again.known, places.known);
        again.extend(5, &[9], &rows);
        assert_eq!((again.at(5), again.len()), ([5; 3], 6), "behind the first line alone");
        again.extend(8, &[image], &rows);
        assert_eq!([again.at(7), again.at(8)], [[7; 3], [8; 3]]);
    }

    #[test]
    fn the_same_source_has_the_same_ids() {
        let rows = InputRows::<char>::default();
        let first = known(&rows, source(1, 4));
        let second = known(&rows, source(2, 4));
        assert_eq!(second.start, first.end, "others have others");
        assert_eq!(known(&rows, source(1, 4)), first);
        assert_ne!(known(&rows, source(1, 3)), first, "cut off elsewhere");
        assert!(rows.ids().know(source(3, 0)).is_err() && rows.ids().know(source(3, u32::MAX)).is_err());
        let again = InputRows::<char>::default();
        again.share(rows.ids());
        assert_eq!(known(&again, source(2, 4)), second, "a model that is loaded again");
    }

    #[test]
    fn neighbours_are_one_run() {
        let rows = InputRows::<char>::default();
        let [a, b] = [1, 2].map(|digest| known(&rows, source(digest, 3)).start);
        let _held = [(1, 'a'), (2, 'b')].map(|(digest, data)| rows.add(source(digest, 3), data));
        let ids = [9, a, a + 1, a + 2, b, 9, b + 1, b + 2, b + 1];
        let runs = rows.runs(&ids).expect("rows that are here");
        let shown: Vec<_> = runs.iter().map(|run| (*run.data, run.at, run.row, run.count)).collect();
        assert_eq!(shown, [('a', 1, 0, 3), ('b', 4, 0, 1), ('b', 6, 1, 2), ('b', 8, 1, 1)]);
        assert_eq!(rows.sources(&ids), [(source(1, 3), a), (source(2, 3), b)]);
    }

    #[test]
    fn a_pass_has_one_whole_image() {
        let rows = InputRows::<char>::default();
        let image = |digest| known(&rows, InputSource { columns: 2, ..source(digest, 4) });
        let (a, b, sound) = (image(1), image(2), known(&rows, source(3, 2)));
        let ids: Vec<u32> = [9, 9].into_iter().chain(a).chain([9]).chain(b).chain([9]).chain(sound).collect();
        let images = rows.images(&ids);
        assert_eq!(images, [2..6, 7..11]);
        let end = |start, end, most| end_with_images(start, end, most, &images);
        assert_eq!(end(0, 2, 8), 2, "before the first image");
        assert_eq!(end(0, 4, 8), 6, "with all of it");
        assert_eq!(end(0, 8, 8), 7, "not with the second one");
        assert_eq!(end(0, 5, 5), 2, "it has no room");
        assert_eq!(end(2, 5, 3), 5, "it is larger than a pass");
        assert_eq!(end(6, 14, 8), 14);
        assert_eq!(end(11, 14, 8), 14);
    }

    #[test]
    fn rows_that_are_not_here_are_refused() {
        let rows = InputRows::<char>::default();
        let ids = known(&rows, source(1, 2));
        assert!(rows.knows(ids.start) && !rows.holds(ids.start), "known, and not added");
        let held = rows.add(source(1, 2), 'a');
        assert!(rows.holds(ids.start + 1) && !rows.holds(ids.end) && !rows.knows(ids.end) && !rows.knows(5));
        assert!(rows.runs(&[ids.end]).is_err());
        let other = rows.held(source(1, 2)).expect("someone holds them");
        drop(held);
        assert!(rows.runs(&[ids.start]).is_ok(), "held by another request");
        drop(other);
        assert!(!rows.holds(ids.start) && rows.runs(&[ids.start]).is_err(), "the last one has let go");
        assert_eq!(known(&rows, source(1, 2)), ids, "the ids are kept");
        let _held = rows.add(source(1, 2), 'a');
        assert!(rows.holds(ids.start));
    }
}
