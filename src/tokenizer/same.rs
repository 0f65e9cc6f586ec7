//! Whether two models mean the same by their ids.

use super::Tokenizer;
use crate::{Error, Result};

/// One in this many tokens may have another text: models of one family rename reserved tokens.
const ALIKE: usize = 100;

impl Tokenizer {
    /// Checks that the ids of a draft model's tokenizer have the same texts, but for a few.
    ///
    /// # Errors
    /// `invalid_argument`, with the first token whose texts differ.
    pub fn check_like(&self, draft: &Self) -> Result<()> {
        let count = self.vocab_size().max(draft.vocab_size());
        let mut differ = (0..count as u32).filter(|&id| self.token_bytes(id) != draft.token_bytes(id));
        let Some(first) = differ.next() else { return Ok(()) };
        let others = differ.count() + 1;
        if others * ALIKE <= count {
            return Ok(());
        }
        let [own, theirs] = [self, draft].map(|of| of.name(Some(first)));
        let message = format!(
            "option 'draft': another vocabulary: {others} of {count} tokens differ, the first is {first}, \
             '{theirs}', which the model has as '{own}'"
        );
        Err(Error::invalid_argument(message))
    }
}
