//! A block of the model's own file as a drafter: multi-token prediction (DeepSeek-V3, arXiv 2412.19437, 2.2).

use super::Drafter;
use crate::runtime::passes::layout::Layout;
use crate::runtime::passes::round::Drafted;
use crate::runtime::passes::{block, whole};
use crate::runtime::plan::Plan;

/// The block behind the layers of a model with this many positions.
pub(in crate::runtime) struct Block {
    pub context: usize,
}

impl Drafter for Block {
    fn context(&self) -> usize {
        self.context
    }

    fn is_own_block(&self) -> bool {
        true
    }

    fn draft(&self, plan: &mut Plan<'static>, layout: Layout<'_>, (rows, texts): (usize, &[Drafted])) {
        match &layout.buffers.whole {
            Some(of) => whole::draft(plan, layout, (of, rows), texts),
            None => block::draft(plan, layout, texts),
        }
    }
}
