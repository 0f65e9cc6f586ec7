//! Speculative decoding: who drafts tokens, and when passes have drafts.
//!
//! A pass with a draft has several rows of one text: its last token, and guesses at the tokens after it. The GPU
//! accepts as many as it would have chosen itself, so drafts change how fast a text is written, and nothing else. The
//! GPU finds drafts in the text so far ([`drafts`] follows whether that pays off); others are [`Drafter`]s.

use std::cell::Cell;
use std::pin::Pin;

use super::gpu::execute::Executor;
use super::passes::layout::Layout;
use super::passes::round::Drafted;
use super::plan::Plan;
use crate::Result;

pub(super) mod block;
pub(super) mod drafting;
pub(super) mod drafts;
pub(super) mod model;
pub(super) mod rounds;

/// Something that takes a while.
pub(super) type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// What drafts tokens on the GPU, before the pass that checks them.
pub(super) trait Drafter {
    /// Number of positions that it can draft for.
    fn context(&self) -> usize;

    /// Whether it is a block of the model itself. Otherwise it has a cache of its own, which must follow the text.
    fn is_own_block(&self) -> bool;

    /// Bytes that it takes on the GPU beside the session that it drafts for.
    fn bytes(&self) -> u64 {
        0
    }

    /// Reads the text with this number, as far as its cache does not hold it, up to `most` tokens. False where that was
    /// not all, or where `stop` was set before.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`; its cache of the text counts as empty then.
    fn follow<'a>(
        &'a self,
        (_number, _text): (usize, &'a [u32]),
        _most: usize,
        _stop: &'a Cell<bool>,
    ) -> Later<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    /// The verdict on its drafts for the text with this number, which is this one now.
    fn holds(&self, _number: usize, _text: &[u32]) {}

    /// Whether its cache has room for this many positions.
    fn has_room(&self, _positions: usize) -> bool {
        true
    }

    /// Makes room for this many positions.
    ///
    /// # Errors
    /// `out_of_memory`, which leaves everything as it was; `device_lost`.
    fn grow_to(&self, _positions: usize) -> Later<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Whether it can draft for this many texts at once right away.
    fn has_lists(&self, _texts: usize) -> bool {
        true
    }

    /// Records what it needs to draft for this many texts at once.
    ///
    /// # Errors
    /// `device_lost`.
    fn record(&self, _texts: usize) -> Later<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Adds a round: it drafts tokens after the last one of each of these texts, a step for all of them at a time, and
    /// leaves them in the rows of the next pass, whose number comes with the texts.
    fn draft(&self, plan: &mut Plan<'static>, layout: Layout<'_>, of: (usize, &[Drafted]));

    /// Calls `run` with the session that its steps run in, if that is another one and free.
    fn with_session(&self, run: &mut dyn FnMut(Option<&Executor>) -> Result<()>) -> Result<()> {
        run(None)
    }
}
