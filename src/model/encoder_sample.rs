//! Sample inputs for the self-check of an encoder's kernels: few rows, independent of the sizes of images and sounds.

use super::encoder_input::{EncoderInput, Fold, TableWidths, Taps};
use super::program::{Op, Program};

impl EncoderInput {
    /// Made up numbers for `rows` rows that become as many at every stage, and behind the layers.
    pub fn sample(program: &Program, rows: usize) -> Self {
        let TableWidths { patch, places: [places, table], later, groups, turns, breaks } = TableWidths::of(program);
        let folds: Vec<Fold> = program.folds().map(|of| Fold { rows, taps: taps([rows, of.width()], rows) }).collect();
        let halves = [rows / 2, rows - rows / 2].into_iter().filter(|&part| part > 0 && program.has_parts());
        Self {
            position: 0,
            rows,
            outputs: rows,
            patches: values(rows * patch),
            places: taps([rows, places], Self::sampled_places(table, rows)),
            later: later.iter().filter(|of| of[0] > 0).map(|of| taps([rows, of[0]], of[1])).collect(),
            groups: taps([rows, groups], rows),
            turns: values(rows * turns),
            breaks: (0..rows * breaks).map(|row| f32::from(row % 7 == 5)).collect(),
            parts: halves.map(|part| part as u32).collect(),
            folds,
        }
    }

    /// How many rows of a table of positions [`Self::sample`] names.
    pub fn sampled_places(table: usize, rows: usize) -> usize {
        table.min(rows)
    }

    /// The taps that an operation of `program` makes rows by.
    pub fn taps_of(&self, program: &Program, op: &Op) -> &Taps {
        let mut folds = program.embed.iter().filter(|op| matches!(op, Op::Regroup { .. }));
        let fold = folds.position(|fold| fold == op).and_then(|number| self.folds.get(number));
        fold.map_or(&self.groups, |fold| &fold.taps)
    }
}

/// Numbers between -1 and 1 that look random.
fn values(count: usize) -> Vec<f32> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Taps whose results are means of some of `among` rows.
fn taps([rows, count]: [usize; 2], among: usize) -> Taps {
    let index = |at: usize| ((at / count.max(1) + 7 * (at % count.max(1))) % among.max(1)) as u32;
    let weight = (count.max(1) as f32).recip().to_bits();
    [(0..rows * count).map(index).collect(), vec![weight; rows * count]]
}
