//! What a prompt consists of: tokens, and rows that enter where the embedding of a token would, such as those of an
//! encoder of images.
//!
//! A prompt is a list of ids, one for each position. Ids below [`FIRST_ROW`] are tokens, those from there on rows. A
//! row keeps its id for as long as its model is loaded, and no other row ever gets that id: two prompts whose ids are
//! the same begin the same, with rows as without.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

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

/// What rows are, apart from their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct InputSource {
    /// Of the content, and of what made rows of it. The same rows have the same digest.
    pub digest: u64,
    /// How many rows.
    pub count: u32,
    /// Rows side by side in an image; 0 for rows that follow each other as tokens do.
    pub columns: u32,
}

/// The rows that prompts of a model may hold. `D` is where their numbers are, `[rows, hidden]` f32, and behind these as
/// many for each of the deeper layers that take more of them.
#[derive(Debug)]
pub struct InputRows<D> {
    known: RefCell<Vec<Known<D>>>,
}

#[derive(Debug)]
struct Known<D> {
    source: InputSource,
    /// Number of the first row.
    first: u32,
    /// `None` where a saved session had them and nobody has given them since, and after [`InputRows::release`].
    data: Option<Rc<D>>,
}

/// Rows of one source that follow each other in a prompt.
#[derive(Debug, Clone)]
pub struct InputRun<D> {
    /// Index of the first among the ids.
    pub at: usize,
    /// Its row in `data`.
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
        Self { known: RefCell::default() }
    }
}

impl<D> InputRows<D> {
    /// Adds rows, and returns their ids: those that they have already, where the source is known.
    ///
    /// # Errors
    /// `invalid_argument` for no rows, and where there are no ids left.
    pub fn add(&self, source: InputSource, data: D) -> Result<Range<u32>> {
        let ids = self.know(source)?;
        let data = Rc::new(data);
        let mut known = self.known.borrow_mut();
        known.iter_mut().filter(|known| known.source == source).for_each(|known| known.data = Some(data.clone()));
        Ok(ids)
    }

    /// The ids of the rows of a source, without the rows.
    ///
    /// # Errors
    /// Those of [`InputRows::add`].
    pub fn know(&self, source: InputSource) -> Result<Range<u32>> {
        let mut known = self.known.borrow_mut();
        let first = match known.iter().find(|known| known.source == source) {
            Some(known) => known.first,
            None => {
                let first = known.last().map_or(0, |last| last.first + last.source.count);
                let left = FIRST_ROW - 1 - first;
                if source.count == 0 || source.count > left {
                    let message = format!("{} rows for a prompt, expected 1 to {left}", source.count);
                    return Err(Error::invalid_argument(message));
                }
                known.push(Known { source, first, data: None });
                first
            }
        };
        Ok(Item::Row(first).into()..Item::Row(first + source.count).into())
    }

    /// Frees the numbers of a source. Its rows keep their ids.
    pub fn release(&self, source: InputSource) {
        let mut known = self.known.borrow_mut();
        known.iter_mut().filter(|known| known.source == source).for_each(|known| known.data = None);
    }

    /// Whether an id is that of a row that is here.
    pub fn holds(&self, id: u32) -> bool {
        self.find(id, |known, _| known.data.is_some()).unwrap_or(false)
    }

    /// The rows among `ids`, neighbours together.
    ///
    /// # Errors
    /// `invalid_argument` for a row that is not here.
    pub fn runs(&self, ids: &[u32]) -> Result<Vec<InputRun<D>>> {
        let mut runs: Vec<InputRun<D>> = Vec::new();
        for (at, &id) in ids.iter().enumerate() {
            let Item::Row(number) = Item::from(id) else { continue };
            let of = |known: &Known<D>, row| Some((known.data.clone()?, row as usize, known.source.count as usize));
            let Some((data, row, of)) = self.find(id, of).flatten() else {
                return Err(Error::invalid_argument(format!("row {number} of a prompt is not held")));
            };
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
            let found = self.find(id, |known, _| (known.source, Item::Row(known.first).into()));
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
            let image = |known: &Known<D>, _| (known.source.columns > 0).then_some(known.first);
            let Some(first) = self.find(id, image).flatten() else { continue };
            match images.last_mut().filter(|(of, range)| *of == first && range.end == at) {
                Some((_, range)) => range.end += 1,
                None => images.push((first, at..at + 1)),
            }
        }
        images.into_iter().map(|(_, range)| range).collect()
    }

    /// What `of` makes of the source of a row and of its number there.
    fn find<T>(&self, id: u32, of: impl FnOnce(&Known<D>, u32) -> T) -> Option<T> {
        let Item::Row(number) = Item::from(id) else { return None };
        let known = self.known.borrow();
        let next = known.partition_point(|known| known.first <= number);
        let known = known.get(next.checked_sub(1)?)?;
        (number - known.first < known.source.count).then(|| of(known, number - known.first))
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
    /// Of each position: its place, and the place of a token behind it.
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
            match rows.find(id, |known, row| (known.source.columns, row)) {
                Some((columns, row)) if columns > 0 => self.push_cell(row, columns),
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
        InputSource { digest, count, columns: 0 }
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
        let rows = InputRows::default();
        let image = rows.add(InputSource { digest: 1, count: 6, columns: 3 }, 'a').expect("room").start;
        let sound = rows.add(source(2, 2), 'b').expect("room").start;
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
        let rows = InputRows::default();
        let first = rows.add(source(1, 4), 'a').expect("room");
        let second = rows.add(source(2, 4), 'b').expect("room");
        assert_eq!(second.start, first.end, "others have others");
        assert_eq!(rows.add(source(1, 4), 'a').expect("room"), first);
        assert_ne!(rows.add(source(1, 3), 'a').expect("room"), first, "cut off elsewhere");
        assert!(rows.add(source(3, 0), 'c').is_err() && rows.add(source(3, u32::MAX), 'c').is_err());
    }

    #[test]
    fn neighbours_are_one_run() {
        let rows = InputRows::default();
        let [a, b] = [(1, 'a'), (2, 'b')].map(|(digest, data)| rows.add(source(digest, 3), data).expect("room").start);
        let ids = [9, a, a + 1, a + 2, b, 9, b + 1, b + 2, b + 1];
        let runs = rows.runs(&ids).expect("rows that are here");
        let shown: Vec<_> = runs.iter().map(|run| (*run.data, run.at, run.row, run.count)).collect();
        assert_eq!(shown, [('a', 1, 0, 3), ('b', 4, 0, 1), ('b', 6, 1, 2), ('b', 8, 1, 1)]);
        assert_eq!(rows.sources(&ids), [(source(1, 3), a), (source(2, 3), b)]);
    }

    #[test]
    fn a_pass_has_one_whole_image() {
        let rows = InputRows::default();
        let image = |digest| rows.add(InputSource { digest, count: 4, columns: 2 }, 'a').expect("room");
        let (a, b, sound) = (image(1), image(2), rows.add(source(3, 2), 'c').expect("room"));
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
        let rows = InputRows::default();
        let ids = rows.add(source(1, 2), 'a').expect("room");
        assert!(rows.holds(ids.start + 1) && !rows.holds(ids.end) && !rows.holds(5));
        assert!(rows.runs(&[ids.end]).is_err());
        rows.release(source(1, 2));
        assert!(!rows.holds(ids.start) && rows.runs(&[ids.start]).is_err());
        assert_eq!(rows.add(source(1, 2), 'a').expect("room"), ids, "the ids are kept");
        assert!(rows.holds(ids.start));
    }
}
