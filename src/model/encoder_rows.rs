//! Rows of encoders that stand for no patch.

use super::program::{CellSpec, Grouping, Op, Program};

impl Op {
    /// Whether the following operations of the embedding run on other rows.
    pub const fn opens_stage(&self) -> bool {
        matches!(self, Self::Regroup { .. } | Self::ConvGrid { spec: CellSpec { opens: true, .. }, .. })
    }

    /// The grouping of one that does, without taps where the program knows them.
    pub const fn grouping(&self) -> Grouping {
        match self {
            Self::Regroup { grouping, .. } => *grouping,
            _ => Grouping { parts: 0, taps: 0, by_value: false },
        }
    }
}

impl Program {
    /// Each [`Op::Repeat`].
    pub fn repeats(&self) -> impl Iterator<Item = &Op> {
        self.ops().filter(|op| matches!(op, Op::Repeat { .. }))
    }
}
