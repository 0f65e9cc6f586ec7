//! Rows of embeddings in prompts, as long as someone holds them.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

/// Rows that prompts may hold, as long as this lives.
pub struct HeldRows {
    /// Of the rows.
    pub ids: Range<u32>,
    _rows: Rc<dyn Any>,
}

impl HeldRows {
    /// Holds rows with these ids.
    pub(super) fn new(ids: Range<u32>, rows: Rc<dyn Any>) -> Self {
        Self { ids, _rows: rows }
    }
}

impl fmt::Debug for HeldRows {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("HeldRows").field("ids", &self.ids).finish_non_exhaustive()
    }
}
