//! Which row of a table is in which slot on the GPU, as the host knows it. The least recently used rows make room for
//! others.

use crate::sort::sort_by;
use std::cmp::Reverse;

/// A row that gets a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Number of the row.
    pub row: u32,
    /// Its new slot.
    pub slot: u32,
    /// The row that had the slot before.
    pub before: Option<u32>,
}

/// The slots of a table, and the rows in them.
#[derive(Debug, Clone)]
pub struct Slots {
    /// Slot + 1 of each row of the table; 0 for a row without a slot.
    slot_of_row: Vec<u32>,
    /// For each slot, its row and the value of `now` when that was last used.
    slots: Vec<(Option<u32>, u64)>,
    /// Number of requests so far: the clock of the least recently used.
    now: u64,
}

impl Slots {
    /// Makes `slots` slots, which hold the first of the table's `rows` rows.
    pub fn new(rows: u32, slots: u32) -> Self {
        let slot_of_row = (0..rows).map(|row| if row < slots { row + 1 } else { 0 }).collect();
        Self { slot_of_row, slots: (0..slots).map(|row| (Some(row), 0)).collect(), now: 0 }
    }

    /// Slot + 1 of each row of the table; 0 for a row without a slot.
    pub fn table(&self) -> &[u32] {
        &self.slot_of_row
    }

    /// Marks rows as used now. Returns those without a slot, sorted and each once. Numbers that are no row of the table
    /// are skipped.
    pub fn missing(&mut self, rows: &[u32]) -> Vec<u32> {
        self.now += 1;
        let mut missing = Vec::new();
        for &row in rows {
            match self.slot_of_row.get(row as usize) {
                Some(0) => missing.push(row),
                Some(slot) => self.slots[*slot as usize - 1].1 = self.now,
                None => {}
            }
        }
        sort_by(&mut missing, |a, b| a < b);
        missing.dedup();
        missing
    }

    /// Gives slots to rows that have none. The rows that were used longest ago lose theirs; of rows that were never
    /// used, the last ones. Rows of the last call of [`Slots::missing`] keep theirs, so some rows get no slot where
    /// others are too few.
    pub fn place(&mut self, missing: &[u32]) -> Vec<Placed> {
        let key = |slot: usize| {
            let (row, used) = self.slots[slot];
            (used, Reverse(row))
        };
        let mut free: Vec<usize> = (0..self.slots.len()).filter(|&slot| self.slots[slot].1 < self.now).collect();
        if missing.len() < free.len() {
            sort_by(&mut free, |a, b| key(a) < key(b));
            free.truncate(missing.len());
        }
        // Rows that are neighbours in the file become neighbours here, and are uploaded together.
        sort_by(&mut free, |a, b| a < b);
        let place = |(&row, slot): (&u32, usize)| {
            let before = self.slots[slot].0.replace(row);
            self.slots[slot].1 = self.now;
            if let Some(before) = before {
                self.slot_of_row[before as usize] = 0;
            }
            self.slot_of_row[row as usize] = slot as u32 + 1;
            Placed { row, slot: slot as u32, before }
        };
        missing.iter().zip(free).map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests rows and gives them slots; returns those that were missing.
    fn ask(slots: &mut Slots, rows: &[u32]) -> Vec<u32> {
        let missing = slots.missing(rows);
        let placed = slots.place(&missing);
        assert_eq!(placed.iter().map(|placed| placed.row).collect::<Vec<_>>(), missing);
        for (slot, (row, _)) in slots.slots.iter().enumerate() {
            let row = row.expect("every slot is full");
            assert_eq!(slots.table()[row as usize], slot as u32 + 1);
        }
        assert_eq!(slots.table().iter().filter(|&&slot| slot > 0).count(), slots.slots.len());
        missing
    }

    #[test]
    fn a_row_stays_while_it_is_used() {
        let mut slots = Slots::new(100, 4);
        assert_eq!(ask(&mut slots, &[0, 3, 1]), [0; 0]);
        assert_eq!(ask(&mut slots, &[50, 3, 50, 200]), [50], "an id that is no row is nothing to wait for");
        // 2 was never used. Then 0 and 1 were used longest ago, and the larger one goes.
        assert_eq!(ask(&mut slots, &[2]), [2]);
        assert_eq!(ask(&mut slots, &[0, 2, 3, 50]), [0; 0]);
        assert_eq!(ask(&mut slots, &[1, 60, 61]), [1, 60, 61]);
    }

    #[test]
    fn rows_of_one_request_do_not_drive_each_other_out() {
        let mut slots = Slots::new(1000, 16);
        let mut next = 7u32;
        for _ in 0..200 {
            let rows: Vec<u32> = (0..16)
                .map(|_| {
                    next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (next >> 16) % 40
                })
                .collect();
            ask(&mut slots, &rows);
            assert_eq!(slots.missing(&rows), [0; 0]);
        }
    }

    #[test]
    fn more_rows_than_slots_are_placed_as_far_as_they_go() {
        let mut slots = Slots::new(10, 3);
        let missing = slots.missing(&[0, 5, 6, 7, 8]);
        assert_eq!(missing, [5, 6, 7, 8]);
        let placed = slots.place(&missing);
        assert_eq!(
            placed.iter().map(|placed| (placed.row, placed.before)).collect::<Vec<_>>(),
            [(5, Some(1)), (6, Some(2))]
        );
        assert_eq!(slots.missing(&[0]), [0; 0], "what was asked for stays");
    }
}
