//! The input of an encoder for an image, a tile or a piece of a sound, as plain numbers.

use super::program::{Op, Output, Program};
use crate::{Error, Result};

/// The terms of weighted sums of rows: indices, and the bits of f32 weights. A tap with weight 0 reads nothing.
pub type Taps = [Vec<u32>; 2];

/// The patches of an image or a tile, and the tables of their positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EncoderInput {
    /// Rows of the same sound that passes before had, for an encoder that [hears on](Program::hears_on).
    pub position: usize,
    /// The number of patches.
    pub rows: usize,
    /// The number of output rows.
    pub outputs: usize,
    /// `[rows, 3 · patch size · patch size]`
    pub patches: Vec<f32>,
    /// `[rows, taps]`, of the rows of the stage that adds them, see [`Op::AddPlaces`] and [`Op::ConvAround`].
    pub places: Taps,
    /// The same of operations of another number, from 1 on.
    pub later: Vec<Taps>,
    /// `[outputs, parts, taps]`, see [`Op::Regroup`].
    pub groups: Taps,
    /// `[rows, pairs, 2]`, see [`Op::Turn`]; or the values of each [`Op::Angles`], one after the other.
    pub turns: Vec<f32>,
    /// 1 for a row that is marked, else 0, `[marks, rows]` or, where rows are marked behind the encoder,
    /// `[marks, outputs]`; see [`Op::Break`].
    pub breaks: Vec<f32>,
    /// Rows of each window among the first rows, see [`Sight::Part`].
    pub parts: Vec<u32>,
    /// A fold for each [`Op::Regroup`] of the embedding.
    pub folds: Vec<Fold>,
}

/// The taps of an [`Op::Regroup`] of the embedding.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fold {
    /// The number of rows before it.
    pub rows: usize,
    /// `[rows behind it, parts, taps]`
    pub taps: Taps,
}

impl Program {
    /// Whether this is an encoder whose rows see rows of passes before.
    pub fn hears_on(&self) -> bool {
        self.output == Output::Rows && self.cached_attentions().next().is_some()
    }
}

/// Widths of the tables of a program: values for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableWidths {
    /// Values of a patch.
    pub patch: usize,
    /// Taps of a row into the position table, and rows of that table; 0 where they are taps into the rows themselves.
    pub places: [usize; 2],
    /// The same of other tables, which are read by rows of the layers.
    pub later: [[usize; 2]; 2],
    /// Taps of a regrouped row, over all parts.
    pub groups: usize,
    /// Cosines and sines.
    pub turns: usize,
    /// How many [`Op::Break`] there are.
    pub breaks: usize,
}

impl TableWidths {
    /// The table widths of a program.
    pub fn of(program: &Program) -> Self {
        let found = program.ops().fold(Self::default(), |found, op| match *op {
            Op::Input { y } => Self { patch: program.width(y), ..found },
            Op::AddPlaces { taps, rows, number: 0, .. } => Self { places: [taps, rows], ..found },
            Op::AddPlaces { taps, rows, number, .. } => {
                let mut later = found.later;
                later[number - 1] = [taps, rows];
                Self { later, ..found }
            }
            Op::ConvAround { taps, .. } => Self { places: [taps, 0], ..found },
            Op::Regroup { grouping, .. } => Self { groups: grouping.width(), ..found },
            Op::Break { number, .. } => Self { breaks: found.breaks.max(number + 1), ..found },
            Op::Angles { y, .. } => Self { turns: found.turns + program.width(y), ..found },
            Op::Turn { head_dim, .. } => Self { turns: head_dim / 2 * 2, ..found },
            _ => found,
        });
        // The groups of the embedding have their own tables.
        let is_regrouped = program.head.iter().any(|op| matches!(op, Op::Regroup { .. }));
        Self { groups: if is_regrouped { found.groups } else { 0 }, ..found }
    }
}

impl EncoderInput {
    /// Rows before each stage of the embedding, then the rows of the layers.
    pub fn rows_of_stages(&self) -> impl Iterator<Item = usize> {
        self.folds.iter().map(|fold| fold.rows).chain([self.rows])
    }

    /// Cuts the taps of all tables of positions, one behind the other, into the taps of each.
    pub fn with_later(mut self, program: &Program) -> Self {
        let TableWidths { later, .. } = TableWidths::of(program);
        let lengths = later.map(|[taps, _]| taps * self.rows).into_iter().filter(|&length| length > 0);
        let lengths: Vec<usize> = lengths.collect();
        let behind: usize = lengths.iter().sum();
        let mut at = self.places[0].len().min(self.places[1].len()).saturating_sub(behind);
        let all = self.places.clone();
        self.places.iter_mut().filter(|_| behind > 0).for_each(|of| of.truncate(at));
        for length in lengths {
            self.later.push([0, 1].map(|of: usize| all[of].iter().skip(at).take(length).copied().collect()));
            at += length;
        }
        self
    }

    /// The input of a program that reads pixels: it knows how many rows its stages have, and zeros follow the last
    /// pixel up to a whole row.
    pub fn with_cells(mut self, program: &Program) -> Self {
        if program.ops().any(|op| matches!(op, Op::ConvGrid { .. })) {
            let fold = |&rows: &usize| Fold { rows, taps: Taps::default() };
            self.folds = program.stage_rows.iter().map(fold).collect();
            let pixels = self.rows_of_stages().next().unwrap_or(0) * TableWidths::of(program).patch;
            self.patches.resize(pixels.max(self.patches.len()), 0.0);
        }
        self
    }

    /// Checks that the tables have the sizes that `program` reads, for up to `most` rows, and that indices are in
    /// range.
    ///
    /// # Errors
    /// `invalid_argument`, with both numbers.
    pub fn check(&self, program: &Program, most: usize) -> Result<()> {
        let TableWidths { patch, places: [places, table], groups, turns, breaks, later } = TableWidths::of(program);
        let (rows, outputs) = (self.rows, self.outputs);
        let before = self.folds.iter().zip(&program.stage_rows).map(|(fold, &most)| ("patches", fold.rows, most));
        for (what, count, most) in before.chain([("patches", rows, most), ("rows", outputs, most)]) {
            if !(1..=most).contains(&count) {
                return Err(Error::invalid_argument(format!("an image of {count} {what}, expected 1 to {most}")));
            }
        }
        let first = self.rows_of_stages().next().unwrap_or(0);
        let is_placed = |op: &Op| matches!(op, Op::AddPlaces { .. });
        let placed = if program.stages()[0].iter().any(is_placed) { first } else { rows };
        let is_early = program.embed.iter().any(|op| matches!(op, Op::Break { .. }));
        let marked = if is_early { rows } else { outputs };
        let lengths = [
            ("values of patches", self.patches.len(), first * patch),
            ("taps of positions", self.places[0].len(), placed * places),
            ("weights of positions", self.places[1].len(), placed * places),
            ("taps of groups", self.groups[0].len(), outputs * groups),
            ("weights of groups", self.groups[1].len(), outputs * groups),
            ("cosines and sines", self.turns.len(), rows * turns),
            ("marks of rows", self.breaks.len(), marked * breaks),
        ];
        let of_later = later.iter().enumerate().filter(|(_, [taps, _])| *taps > 0).flat_map(|(number, [taps, _])| {
            let found = self.later.get(number).map_or([0; 2], |of| [of[0].len(), of[1].len()]);
            found.map(|found| ("taps of further positions", found, rows * taps))
        });
        if let Some((what, found, expected)) =
            lengths.into_iter().chain(of_later).find(|(_, found, expected)| found != expected)
        {
            return Err(Error::invalid_argument(format!("{what} of an image: expected {expected}, found {found}")));
        }
        let of_parts = self.parts.iter().fold(0, |sum: usize, &part| sum.saturating_add(part as usize));
        if (program.has_parts() && of_parts != first) || self.parts.contains(&0) {
            return Err(Error::invalid_argument(format!("parts of an image: expected {first} rows, found {of_parts}")));
        }
        self.check_folds(program)?;
        let folds = self.folds.iter().zip(splits(program)).map(|(fold, split)| (&fold.taps, fold.rows * split));
        let table = if table > 0 { table } else { rows };
        let of_later = self.later.iter().zip(later.map(|[_, rows]| rows));
        for (taps, most) in folds.chain([(&self.places, table), (&self.groups, rows)]).chain(of_later) {
            let is_outside = |(index, weight): (&u32, &u32)| *index as usize >= most && f32::from_bits(*weight) != 0.0;
            if taps[0].iter().zip(&taps[1]).any(is_outside) {
                return Err(Error::invalid_argument(format!("a tap of an image is outside of {most} rows")));
            }
        }
        Ok(())
    }

    fn check_folds(&self, program: &Program) -> Result<()> {
        let (expected, found) = (program.stages().len() - 1, self.folds.len());
        let mut lengths = vec![(expected, found)];
        for ((grouping, fold), rows) in program.folds().zip(&self.folds).zip(self.rows_of_stages().skip(1)) {
            lengths.extend(fold.taps.iter().map(|taps| (grouping.width() * rows, taps.len())));
        }
        match lengths.into_iter().find(|(expected, found)| expected != found) {
            None => Ok(()),
            Some((expected, found)) => {
                let message = format!("rows that become others before the layers: expected {expected}, found {found}");
                Err(Error::invalid_argument(message))
            }
        }
    }
}

/// For each operation of the embedding that makes other rows, how many of them it takes a row of its input for.
fn splits(program: &Program) -> impl Iterator<Item = usize> {
    program.embed.iter().filter_map(|op| match *op {
        Op::Regroup { x, grouping, y, .. } => Some(program.width(x) * grouping.parts / program.width(y).max(1)),
        _ => None,
    })
}
