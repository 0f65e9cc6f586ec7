//! What drafts tokens for a model: a second model, or a block of its own.

use super::any::AnySession;
use super::draft::drafting::Drafting;
use super::run::engine::Engine;
use super::session::Session;
use crate::{Error, Result};

impl Engine {
    /// Lets the model of `draft`, which is used up, draft tokens for this one and for sessions made from it.
    ///
    /// # Errors
    /// `invalid_argument` where the vocabularies differ, where one of the models is on the CPU or on another device,
    /// and where passes of one of them cannot be taken back.
    pub fn use_draft(&mut self, draft: Self) -> Result<()> {
        let [own, theirs] = [&self.session, &draft.session].map(|session| session.config().vocab);
        if own != theirs {
            let message = format!("option 'draft': a vocabulary of {theirs} tokens, that of the model has {own}");
            return Err(Error::invalid_argument(message));
        }
        self.tokenizer.check_like(&draft.tokenizer)?;
        match (&mut self.session, draft.session) {
            (AnySession::Gpu(lane), AnySession::Gpu(other)) => lane.use_draft(*other),
            _ => Err(Error::invalid_argument("option 'draft': a model on the CPU, where no model drafts")),
        }
    }

    /// Checks that what is to draft tokens is there. Nothing drafts on the CPU.
    ///
    /// # Errors
    /// `invalid_argument` where it is not.
    pub fn check_drafting(&self, drafting: Drafting) -> Result<()> {
        let AnySession::Gpu(lane) = &self.session else { return Ok(()) };
        let [has_model, predicts_next] = lane.drafters();
        let message = match drafting {
            Drafting::Model if !has_model => {
                "option 'draft': 'model', and the model was loaded without one: load it with 'draft'"
            }
            Drafting::Mtp if !predicts_next => {
                "option 'draft': 'mtp', and no block of the model drafts: its file has none that is of use, or it was \
                 loaded with 'draft'"
            }
            _ => return Ok(()),
        };
        Err(Error::invalid_argument(message))
    }
}
