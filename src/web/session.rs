//! Sessions of one model: handles like the model's own, each with its own cache. They share weights and tokenizer.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use js_sys::{Array, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

use super::engine::{WasmModel, borrow, borrow_embedder, busy};
use super::errors::{from_value, to_js};
use super::promise::promise;
use crate::runtime::{AdapterUse, Engine, Loaded, Session};
use crate::time_slice::now;

/// The engines of a model and its sessions, without those that are freed.
#[derive(Clone, Default)]
pub struct Siblings(Rc<RefCell<Vec<Weak<RefCell<Loaded>>>>>);

impl Siblings {
    /// Adds an engine.
    pub fn join(&self, engine: &Rc<RefCell<Loaded>>) {
        let mut all = self.0.borrow_mut();
        all.retain(|sibling| sibling.strong_count() > 0);
        all.push(Rc::downgrade(engine));
    }

    /// All engines but one.
    fn others(&self, engine: &Rc<RefCell<Loaded>>) -> Vec<Rc<RefCell<Loaded>>> {
        let all = self.0.borrow();
        all.iter().filter_map(Weak::upgrade).filter(|sibling| !Rc::ptr_eq(sibling, engine)).collect()
    }

    /// The idle engine that has most of `ids` cached, if that is worth a copy for `engine`, and how many tokens it has.
    fn best_for(&self, engine: &Engine, ids: &[u32], adapters: &[AdapterUse]) -> Option<(usize, Rc<RefCell<Loaded>>)> {
        let gain = |sibling: &Rc<RefCell<Loaded>>| match &*sibling.try_borrow().ok()? {
            Loaded::Text(other) => engine.gains_from(other, ids, adapters),
            Loaded::Embed(_) => None,
        };
        let at_rest = self.0.borrow();
        let gains = at_rest.iter().filter_map(Weak::upgrade).filter_map(|sibling| Some((gain(&sibling)?, sibling)));
        gains.max_by_key(|(tokens, _)| *tokens)
    }
}

#[wasm_bindgen]
impl WasmModel {
    /// Recovers from a lost device: this model and its sessions go on with `fresh`, the same model loaded again. What
    /// they had cached is read again when it is needed, and a running generation goes on.
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn recover(&self, fresh: WasmModel) -> Promise {
        let (engine, siblings) = (self.engine.clone(), self.siblings.clone());
        promise(async move {
            let fresh = Rc::try_unwrap(fresh.engine).map_err(|_| busy())?.into_inner();
            match fresh {
                Loaded::Text(fresh) => {
                    fresh.session.share_row_ids(borrow(&engine)?.session.row_ids());
                    for sibling in siblings.others(&engine) {
                        let session = fresh.another(false).await.map_err(to_js)?.session;
                        borrow(&sibling)?.recover(session, now()).map_err(to_js)?;
                    }
                    borrow(&engine)?.recover(fresh.session, now()).map_err(to_js)?;
                }
                Loaded::Embed(fresh) => borrow_embedder(&engine, false)?.recover(fresh.embedder).map_err(to_js)?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Makes another session of the same model, with a copy of this one's cache (`with_cache`) or empty, and with room
    /// for `tokens` tokens. No generation may be running.
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn another(&self, with_cache: bool, tokens: u32) -> Promise {
        let (engine, siblings) = (self.engine.clone(), self.siblings.clone());
        promise(async move {
            let engine = borrow(&engine)?;
            let mut made = engine.another(with_cache).await.map_err(to_js)?;
            made.session.make_room(tokens as usize).await.map_err(to_js)?;
            Ok(Self::new(Loaded::Text(made), siblings))
        })
    }

    /// See [`Engine::save_head`].
    #[wasm_bindgen(js_name = saveHead)]
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn save_head(&self, notes: String, text: Option<Vec<u32>>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let head = borrow(&engine)?.save_head(notes, text.as_deref()).await.map_err(to_js)?;
            Ok(Uint8Array::from(head.as_slice()))
        })
    }

    /// See [`Engine::read_part`].
    #[wasm_bindgen(js_name = readPart)]
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn read_part(&self, number: u32) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let part = borrow(&engine)?.read_part(number).await.map_err(to_js)?;
            Ok(part.map_or(JsValue::UNDEFINED, |bytes| Uint8Array::from(bytes.as_slice()).into()))
        })
    }

    /// See [`Engine::check_saved`].
    #[wasm_bindgen(js_name = checkSaved)]
    pub fn check_saved(&self, start: &[u8], size: f64) -> Result<Vec<u32>, JsValue> {
        borrow(&self.engine)?.check_saved(start, size as u64).map(Vec::from).map_err(to_js)
    }

    /// See [`Engine::restore_head`].
    #[wasm_bindgen(js_name = restoreHead)]
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn restore_head(&self, head: Vec<u8>, size: f64) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let (notes, part) = borrow(&engine)?.restore_head(&head, size as u64).await.map_err(to_js)?;
            Ok(Array::of2(&notes.into(), &part.into()))
        })
    }

    /// See [`Engine::write_part`].
    #[wasm_bindgen(js_name = writePart)]
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn write_part(&self, number: u32, part: Vec<u8>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            borrow(&engine)?.write_part(number, &part).await.map_err(to_js)?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Before a start over `ids` with these adapters: keeps what this session would lose, and copies what is kept of
    /// `ids` (if it `takes` that) or what another session of the model has, where that is enough more of them.
    #[allow(clippy::await_holding_refcell_ref, reason = "overlapping calls fail in borrow() with a clear error")]
    pub fn adopt(&self, ids: Vec<u32>, adapters: JsValue, takes: bool) -> Promise {
        let (engine, siblings) = (self.engine.clone(), self.siblings.clone());
        promise(async move {
            let adapters: Vec<(u32, f32)> = from_value(adapters, "adapters")?;
            let mut engine = borrow(&engine)?;
            let adapters = engine.adapters_of(&adapters, &ids).map_err(to_js)?;
            let wanted = engine.kept_of(&ids, &adapters);
            engine.keep_before(&ids, &adapters, wanted.as_ref()).await.map_err(to_js)?;
            // Another lane may have kept its text meanwhile.
            let kept = engine.kept_of(&ids, &adapters).filter(|_| takes);
            let best = siblings.best_for(&engine, &ids, &adapters);
            if let Some(kept) = kept.filter(|kept| best.as_ref().is_none_or(|(tokens, _)| *tokens <= kept.tokens)) {
                engine.take_kept(&kept).await.map_err(to_js)?;
                return Ok(JsValue::UNDEFINED);
            }
            let Some((_, best)) = best else { return Ok(JsValue::UNDEFINED) };
            // Only this handle stays borrowed: another request may begin in that lane meanwhile.
            let read = borrow(&best)?.read();
            match read {
                Some(read) => engine.take_over_lane(read).await.map_err(to_js)?,
                None => engine.take_over(&*borrow(&best)?).await.map_err(to_js)?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }
}
