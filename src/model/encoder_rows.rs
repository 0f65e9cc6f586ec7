//! Rows of encoders that stand for no patch.

use super::program::{Op, Program};

impl Program {
    /// Each [`Op::Repeat`].
    pub fn repeats(&self) -> impl Iterator<Item = &Op> {
        self.ops().filter(|op| matches!(op, Op::Repeat { .. }))
    }
}
