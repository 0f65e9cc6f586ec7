//! The classes that JavaScript sees; `js/grammar/webgguf_grammar.d.ts` declares them. Errors are strings.

use js_sys::{Function, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::vocabulary::{Tokenize, Tokens};
use crate::{grammar, vocabulary};

/// See [`vocabulary::Vocabulary`].
#[wasm_bindgen]
pub struct Vocabulary(vocabulary::Vocabulary);

/// A value of a module that has one thread.
struct OneThread<T>(T);
// SAFETY: the module is built without atomics, so that there is no other thread.
unsafe impl<T> Send for OneThread<T> {}
unsafe impl<T> Sync for OneThread<T> {}

#[wasm_bindgen]
impl Vocabulary {
    /// `tokenize` gives the ids of a text.
    #[wasm_bindgen(constructor)]
    pub fn new(
        bytes: &[u8],
        ends: &[u32],
        kinds: &[u8],
        end_of_generation: &[u32],
        tokenize: Option<Function>,
    ) -> Result<Self, JsValue> {
        let tokenize = tokenize.map(|function| {
            let function = OneThread(function);
            let ids = move |text: &str| {
                let ids = function.get().call1(&JsValue::NULL, &text.into());
                ids.map(|ids| Uint32Array::new(&ids).to_vec()).unwrap_or_default()
            };
            Box::new(ids) as Tokenize
        });
        let tokens = Tokens { bytes, ends, kinds, end_of_generation };
        vocabulary::Vocabulary::new(&tokens, tokenize).map(Self).map_err(text_of)
    }

    /// See [`grammar::Grammar::new`].
    pub fn compile(&self, kind: &str, text: &str) -> Result<Grammar, JsValue> {
        grammar::Grammar::new(&self.0, kind, text).map(Grammar).map_err(text_of)
    }
}

impl<T> OneThread<T> {
    /// A method, so that closures hold the wrapper and not what is in it.
    fn get(&self) -> &T {
        &self.0
    }
}

/// See [`grammar::Grammar`].
#[wasm_bindgen]
pub struct Grammar(grammar::Grammar);

#[wasm_bindgen]
impl Grammar {
    /// See [`grammar::Grammar::matcher`].
    pub fn matcher(&self) -> Matcher {
        Matcher(self.0.matcher())
    }

    /// See [`grammar::Grammar::notes`].
    pub fn notes(&self) -> Vec<String> {
        self.0.notes().to_vec()
    }
}

/// See [`grammar::Matcher`].
#[wasm_bindgen]
pub struct Matcher(grammar::Matcher);

#[wasm_bindgen]
impl Matcher {
    /// See [`grammar::Matcher::mask`].
    pub fn mask(&mut self) -> Result<Vec<u32>, JsValue> {
        self.0.mask().map_err(text_of)
    }

    /// See [`grammar::Matcher::commit`].
    pub fn commit(&mut self, id: u32) -> Result<bool, JsValue> {
        self.0.commit(&[id]).map(|taken| taken == 1).map_err(text_of)
    }

    /// See [`grammar::Matcher::commit_forced`].
    #[wasm_bindgen(js_name = commitForced)]
    pub fn commit_forced(&mut self) -> Result<Vec<u32>, JsValue> {
        self.0.commit_forced().map_err(text_of)
    }

    /// See [`grammar::Matcher::is_stopped`].
    #[wasm_bindgen(js_name = isStopped)]
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}

fn text_of(error: anyhow::Error) -> JsValue {
    format!("{error:#}").into()
}
