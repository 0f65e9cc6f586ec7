//! Sessions of one model: handles like the model's own, each with its own cache. They share weights and tokenizer.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

use super::engine::WasmModel;
use super::errors::{from_value, to_js};
use super::one_at_a_time::{OneAtATime, WeakPlace};
use super::place::{Place, busy};
use super::promise::promise;
use crate::runtime::{AdapterUse, Engine, Loaded, Session};
use crate::time_slice::now;

/// The engines of a model and its sessions, without those that are freed.
#[derive(Clone, Default)]
pub struct Siblings(Rc<RefCell<Vec<WeakPlace<Engine>>>>);

impl Siblings {
    /// Adds an engine.
    pub(super) fn join(&self, engine: &OneAtATime<Engine>) {
        let mut all = self.0.borrow_mut();
        all.retain(|sibling| sibling.upgrade().is_some());
        all.push(engine.downgrade());
    }

    /// All engines but the one at a place.
    fn others(&self, own: &Place) -> Vec<OneAtATime<Engine>> {
        let is_other = |sibling: &OneAtATime<Engine>| !matches!(own, Place::Text(own) if sibling.is(own));
        self.0.borrow().iter().filter_map(WeakPlace::upgrade).filter(is_other).collect()
    }

    /// The idle engine that has most of `ids` cached, if that is worth a copy for `engine`, and how many tokens it has.
    fn best_for(&self, engine: &Engine, ids: &[u32], adapters: &[AdapterUse]) -> Option<(usize, OneAtATime<Engine>)> {
        let gain = |sibling: &OneAtATime<Engine>| engine.gains_from(&*sibling.take()?, ids, adapters);
        let all = self.0.borrow();
        let gains = all.iter().filter_map(WeakPlace::upgrade).filter_map(|sibling| Some((gain(&sibling)?, sibling)));
        gains.max_by_key(|(tokens, _)| *tokens)
    }
}

#[wasm_bindgen]
impl WasmModel {
    /// Recovers from a lost device: this model and its sessions go on with `fresh`, the same model loaded again. What
    /// they had cached is read again when it is needed, and a running generation goes on.
    pub fn recover(&self, fresh: WasmModel) -> Promise {
        let (engine, siblings) = (self.engine.clone(), self.siblings.clone());
        promise(async move {
            match fresh.engine.into_inner()? {
                Loaded::Text(fresh) => {
                    fresh.session.share_row_ids(engine.text()?.session.row_ids());
                    for sibling in siblings.others(&engine) {
                        let session = fresh.another(false).await.map_err(to_js)?.session;
                        sibling.take().ok_or_else(busy)?.recover(session, now()).map_err(to_js)?;
                    }
                    engine.text()?.recover(fresh.session, now()).map_err(to_js)?;
                }
                Loaded::Embed(fresh) => engine.embedder(false)?.recover(fresh.embedder).map_err(to_js)?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Makes another session of the same model, with a copy of this one's cache (`with_cache`) or empty, and with room
    /// for `tokens` tokens. No generation may be running.
    pub fn another(&self, with_cache: bool, tokens: u32) -> Promise {
        let (engine, siblings) = (self.engine.clone(), self.siblings.clone());
        promise(async move {
            let engine = engine.text()?;
            let mut made = engine.another(with_cache).await.map_err(to_js)?;
            made.session.make_room(tokens as usize).await.map_err(to_js)?;
            Ok(Self::new(Loaded::Text(made), siblings))
        })
    }

    /// See [`Engine::save_head`].
    #[wasm_bindgen(js_name = saveHead)]
    pub fn save_head(&self, notes: String, text: Option<Vec<u32>>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let head = engine.text()?.save_head(notes, text.as_deref()).await.map_err(to_js)?;
            Ok(Uint8Array::from(head.as_slice()))
        })
    }

    /// See [`Engine::read_part`].
    #[wasm_bindgen(js_name = readPart)]
    pub fn read_part(&self, number: u32) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let part = engine.text()?.read_part(number).await.map_err(to_js)?;
            Ok(part.map_or(JsValue::UNDEFINED, |bytes| Uint8Array::from(bytes.as_slice()).into()))
        })
    }

    /// See [`Engine::check_saved`].
    #[wasm_bindgen(js_name = checkSaved)]
    pub fn check_saved(&self, start: &[u8], size: f64) -> Result<Vec<u32>, JsValue> {
        self.engine.text()?.check_saved(start, size as u64).map(Vec::from).map_err(to_js)
    }

    /// See [`Engine::restore_head`].
    #[wasm_bindgen(js_name = restoreHead)]
    pub fn restore_head(&self, head: Vec<u8>, size: f64) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let (notes, part) = engine.text()?.restore_head(&head, size as u64).await.map_err(to_js)?;
            Ok(Array::of2(&notes.into(), &part.into()))
        })
    }

    /// See [`Engine::write_part`].
    #[wasm_bindgen(js_name = writePart)]
    pub fn write_part(&self, number: u32, part: Vec<u8>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.text()?.write_part(number, &part).await.map_err(to_js)?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Before a start over `ids` with these adapters: keeps what this session would lose, and copies what is kept of
    /// `ids` (if it `takes` that) or what another session of the model has, where that is enough more of them.
    pub fn adopt(&self, ids: Vec<u32>, adapters: JsValue, takes: bool) -> Promise {
        let (engine, siblings) = (self.engine.clone(), self.siblings.clone());
        promise(async move {
            let adapters: Vec<(u32, f32)> = from_value(adapters, "adapters")?;
            let mut engine = engine.text()?;
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
            // Only this handle's engine stays taken: another request may begin in that lane meanwhile.
            let other = best.take().ok_or_else(busy)?;
            match other.read() {
                Some(read) => {
                    drop(other);
                    engine.take_over_lane(read).await.map_err(to_js)?;
                }
                None => engine.take_over(&other).await.map_err(to_js)?,
            }
            Ok(JsValue::UNDEFINED)
        })
    }
}
