//! Log-probabilities of tokens, as pages see them.

use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

use crate::runtime::ChosenToken;
use crate::tokenizer::Tokenizer;

/// Mirrors `ChosenToken[]` in `js/types.ts`.
pub fn chosen(tokens: &[ChosenToken], tokenizer: &Tokenizer) -> Result<JsValue, JsValue> {
    let made = Array::new();
    for token in tokens {
        let top = Array::new();
        for &(id, logprob) in &token.top {
            top.push(probability(id, logprob, tokenizer)?.as_ref());
        }
        let chosen = probability(token.id, token.logprob, tokenizer)?;
        Reflect::set(&chosen, &"top".into(), &top)?;
        made.push(&chosen);
    }
    Ok(made.into())
}

fn probability(id: u32, logprob: f32, tokenizer: &Tokenizer) -> Result<Object, JsValue> {
    let bytes = tokenizer.token_bytes(id).unwrap_or_default();
    let made = Object::new();
    let set = |key: &str, value: JsValue| Reflect::set(&made, &key.into(), &value).map(drop);
    set("id", id.into())?;
    set("text", String::from_utf8_lossy(bytes).as_ref().into())?;
    set("bytes", Uint8Array::from(bytes).into())?;
    set("logprob", logprob.into())?;
    Ok(made)
}
