//! In which slot the row of each token of a pass lies.

use crate::kernels::pass::{Pass, ROW_DONE, WAITING};

/// Puts slot + 1 of each token into the flags of its row of the pass; where `slot_of_row` has 0, the sequence waits.
pub fn find_rows(pass: &mut Pass, slot_of_row: &[u32]) {
    for row in pass.rows.iter_mut().take(pass.header.rows as usize).filter(|row| row.flags & ROW_DONE == 0) {
        match slot_of_row.get(row.token as usize) {
            Some(0) => {
                row.flags = ROW_DONE;
                pass.header.sequences[row.sequence as usize].done = WAITING;
            }
            Some(slot) => row.flags = slot << 1,
            None => {}
        }
    }
}
