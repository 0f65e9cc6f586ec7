//! Grammars: wraps the JavaScript object of a matcher in the WebAssembly module `grammar`, and lists the vocabulary for
//! that module.

use js_sys::{Object, Promise, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::runtime::{Compiling, Constraint};
use crate::tokenizer::Tokenizer;
use crate::{Error, ErrorCode};

#[wasm_bindgen]
extern "C" {
    /// The class `Matcher` of `js/grammar/webgguf_grammar.d.ts`.
    type Matcher;
    #[wasm_bindgen(method, catch)]
    fn mask(this: &Matcher) -> Result<Vec<u32>, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn commit(this: &Matcher, id: u32) -> Result<bool, JsValue>;
    #[wasm_bindgen(method, catch, js_name = commitForced)]
    fn commit_forced(this: &Matcher) -> Result<Vec<u32>, JsValue>;
    #[wasm_bindgen(method, js_name = isStopped)]
    fn is_stopped(this: &Matcher) -> bool;
    #[wasm_bindgen(method)]
    fn free(this: &Matcher);
}

struct Owned(Matcher);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.free();
    }
}

impl Constraint for Owned {
    fn mask(&mut self) -> crate::Result<Vec<u32>> {
        self.0.mask().map_err(|error| failed(&error))
    }

    fn commit(&mut self, id: u32) -> crate::Result<bool> {
        self.0.commit(id).map_err(|error| failed(&error))
    }

    fn commit_forced(&mut self) -> crate::Result<Vec<u32>> {
        self.0.commit_forced().map_err(|error| failed(&error))
    }

    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}

/// Makes an error in the middle of a text: the grammar takes more work than it may.
fn failed(error: &JsValue) -> Error {
    Error::new(ErrorCode::LimitExceeded, format!("the grammar cannot be followed further: {}", message(error)))
}

fn message(error: &JsValue) -> String {
    let text = error.as_string().or_else(|| Reflect::get(error, &"message".into()).ok()?.as_string());
    text.unwrap_or_else(|| format!("{error:?}"))
}

/// Awaits the promise of a matcher. If it rejects, its reason has a message and may have a code.
pub fn compiling(matcher: Promise) -> Compiling {
    Box::pin(async move {
        match JsFuture::from(matcher).await {
            Ok(matcher) => Ok(Box::new(Owned(matcher.unchecked_into())) as Box<dyn Constraint>),
            Err(error) => {
                let code = Reflect::get(&error, &"code".into()).ok().and_then(|code| code.as_string());
                let code = match code.as_deref() {
                    Some("download_failed") => ErrorCode::DownloadFailed,
                    Some("feature_missing") => ErrorCode::FeatureMissing,
                    _ => ErrorCode::InvalidArgument,
                };
                Err(Error::new(code, message(&error)))
            }
        }
    })
}

/// The vocabulary as `{ bytes, ends, kinds, endOfGeneration }`: see `Tokens` of the crate `grammar`.
pub fn tokens(tokenizer: &Tokenizer) -> Result<JsValue, JsValue> {
    let count = tokenizer.vocab_size() as u32;
    let (mut bytes, mut ends, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    for id in 0..count {
        bytes.extend_from_slice(tokenizer.token_bytes(id).unwrap_or_default());
        ends.push(bytes.len() as u32);
        kinds.push(u8::from(!tokenizer.is_text(id)));
    }
    let end_of_generation: Vec<u32> = tokenizer.end_of_generation_ids().into_iter().filter(|&id| id < count).collect();
    let made = Object::new();
    let set = |key: &str, value: JsValue| Reflect::set(&made, &key.into(), &value).map(drop);
    set("bytes", Uint8Array::from(bytes.as_slice()).into())?;
    set("ends", Uint32Array::from(ends.as_slice()).into())?;
    set("kinds", Uint8Array::from(kinds.as_slice()).into())?;
    set("endOfGeneration", Uint32Array::from(end_of_generation.as_slice()).into())?;
    Ok(made.into())
}
