//! Sessions of one model: handles like the model's own, each with its cache. They share weights and tokenizer.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use wasm_bindgen::prelude::*;

use super::engine::{WasmModel, borrow, borrow_embedder, busy};
use super::errors::to_js;
use super::load::Loaded;
use crate::runtime::Engine;
use crate::time_slice::now;

/// The engines of a model and its sessions that are not freed.
#[derive(Clone, Default)]
pub struct Siblings(Rc<RefCell<Vec<Weak<RefCell<Loaded>>>>>);

impl Siblings {
    /// Takes note of one more.
    pub fn join(&self, engine: &Rc<RefCell<Loaded>>) {
        let mut all = self.0.borrow_mut();
        all.retain(|sibling| sibling.strong_count() > 0);
        all.push(Rc::downgrade(engine));
    }

    /// All but one.
    fn others(&self, engine: &Rc<RefCell<Loaded>>) -> Vec<Rc<RefCell<Loaded>>> {
        let all = self.0.borrow();
        all.iter().filter_map(Weak::upgrade).filter(|sibling| !Rc::ptr_eq(sibling, engine)).collect()
    }

    /// The one at rest that has most of `ids` cached, where that is worth a copy for `engine`.
    fn best_for(&self, engine: &Engine, ids: &[u32]) -> Option<Rc<RefCell<Loaded>>> {
        let gain = |sibling: &Rc<RefCell<Loaded>>| match &*sibling.try_borrow().ok()? {
            Loaded::Text(other) => engine.gains_from(other, ids),
            Loaded::Embed(_) => None,
        };
        let at_rest = self.0.borrow();
        let gains = at_rest.iter().filter_map(Weak::upgrade).filter_map(|sibling| Some((gain(&sibling)?, sibling)));
        gains.max_by_key(|(tokens, _)| *tokens).map(|(_, sibling)| sibling)
    }
}

#[wasm_bindgen]
impl WasmModel {
    /// After the device was lost: this model and its sessions go on with `fresh`, the same model loaded again. What
    /// they have read is read again when it is needed; a generation that is on goes on.
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub async fn recover(&self, fresh: WasmModel) -> Result<(), JsValue> {
        let fresh = Rc::try_unwrap(fresh.engine).map_err(|_| busy())?.into_inner();
        match fresh {
            Loaded::Text(fresh) => {
                for sibling in self.siblings.others(&self.engine) {
                    let session = fresh.another(false).await.map_err(to_js)?.session;
                    borrow(&sibling)?.recover(session, now()).map_err(to_js)?;
                }
                borrow(&self.engine)?.recover(fresh.session, now()).map_err(to_js)
            }
            Loaded::Embed(fresh) => borrow_embedder(&self.engine)?.recover(fresh.embedder).map_err(to_js),
        }
    }

    /// Another session of the same model, `with_cache`: with a copy of what this one has read. No generation may be on.
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub async fn another(&self, with_cache: bool) -> Result<WasmModel, JsValue> {
        let engine = self.engine.clone();
        let engine = borrow(&engine)?;
        let made = engine.another(with_cache).await.map_err(to_js)?;
        Ok(Self::new(Loaded::Text(made), self.siblings.clone()))
    }

    /// Before a start: where another session of the model has read more of `ids`, this one gets a copy of that.
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub async fn adopt(&self, ids: &[u32]) -> Result<(), JsValue> {
        let engine = self.engine.clone();
        let mut engine = borrow(&engine)?;
        let Some(best) = self.siblings.best_for(&engine, ids) else { return Ok(()) };
        let best = borrow(&best)?;
        engine.take_over(&best).await.map_err(to_js)
    }
}
