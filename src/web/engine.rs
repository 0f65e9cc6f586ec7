//! The class that `js/model/model.ts` wraps. Overlapping calls are refused rather than queued.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Float32Array, Function, Promise};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::device_handle::DeviceHandle;
use super::errors::{from_value, to_js, to_value};
use super::generate_options::JsGenerateOptions;
use super::info::Info;
use super::load::load;
use super::place::Place;
use super::promise::promise;
use super::results::{evaluation, hidden_states, result, split};
use super::session::Siblings;
use super::source::ByteSource;
use super::tensor::TensorEngine;
use super::vocabulary::ChatTemplate;
use crate::Error;
use crate::model::RowIds;
use crate::runtime::{AnySession, EmbedOptions, Loaded, Session};
use crate::sampler::SamplingOptions;
use crate::time_slice::now;
use crate::tokenizer::Tokenizer;

/// A loaded model. JavaScript's class of the same name (`js/model/model.ts`) wraps it.
#[wasm_bindgen]
pub struct WasmModel {
    pub(super) engine: Place,
    tokenizer: Rc<Tokenizer>,
    /// The engine's stop flag, which can be set while a generation has the engine.
    stop: Rc<Cell<bool>>,
    pub(super) siblings: Siblings,
    /// Why `load` chose the CPU, where the page left the choice open.
    why_cpu: Option<String>,
    /// The ids of rows, shared with the models that replace this one after a lost device.
    pub(super) rows: Rc<RowIds>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Started {
    prompt_tokens: usize,
    cached_tokens: usize,
}

#[wasm_bindgen]
impl WasmModel {
    /// Loads a model; `js/wasm/webgguf.d.ts` describes the arguments.
    pub fn load(
        sources: Vec<ByteSource>,
        options: JsValue,
        on_progress: Function,
        device: Option<DeviceHandle>,
    ) -> Promise {
        promise(async move {
            let options = from_value(options, "options")?;
            let (loaded, why_cpu) = load(sources, options, on_progress, device).await?;
            Ok(Self { why_cpu, ..Self::new(loaded, Siblings::default()) })
        })
    }

    /// The device of a model that writes text on the GPU, for another to be loaded on.
    pub fn device(&self) -> Result<Option<DeviceHandle>, JsValue> {
        let engine = self.engine.text()?;
        let AnySession::Gpu(lane) = &engine.session else { return Ok(None) };
        Ok(Some(DeviceHandle { device: lane.model().device().clone(), tuning: None }))
    }

    /// Lets `draft`, which is used up, draft tokens for this model and for sessions made from it later.
    #[wasm_bindgen(js_name = useDraft)]
    pub fn use_draft(&self, draft: WasmModel) -> Result<(), JsValue> {
        match draft.engine.into_inner()? {
            Loaded::Text(draft) => self.engine.text()?.use_draft(draft).map_err(to_js),
            Loaded::Embed(_) => Err(to_js(Error::invalid_argument("option 'draft': the model writes no text"))),
        }
    }

    /// What the model is and where it runs.
    pub fn info(&self) -> Result<JsValue, JsValue> {
        let mut info = match &self.engine {
            Place::Text(_) => Info::of_text(&*self.engine.text()?),
            Place::Embed(_) => Info::of_embedder(&*self.engine.embedder(false)?),
        };
        info.backend_reason = self.why_cpu.clone();
        to_value(&info)
    }

    /// Converts `text` to token ids.
    pub fn tokenize(&self, text: &str, add_special: bool, parse_special: bool) -> Vec<u32> {
        self.tokenizer.encode(text, add_special, parse_special)
    }

    /// Converts `ids` to text.
    pub fn detokenize(&self, ids: &[u32], show_special: bool) -> String {
        self.tokenizer.decode(ids, show_special)
    }

    /// The chat template, and the names of tokens that it is given.
    #[wasm_bindgen(js_name = chatTemplate)]
    pub fn chat_template(&self) -> Result<JsValue, JsValue> {
        to_value(&ChatTemplate::of(&self.tokenizer))
    }

    /// Changes a text for a prompt so that the names of control tokens in it stay text. `of_model`: the model has
    /// written the text, so that the marks of thoughts and calls in it are tokens.
    pub fn protect(&self, text: &str, of_model: bool) -> String {
        self.tokenizer.protect(text, |name| of_model && is_mark(name))
    }

    /// Converts a prompt to token ids. Special tokens are parsed; BOS is added where the file asks for it and the text
    /// does not begin with it.
    #[wasm_bindgen(js_name = encodePrompt)]
    pub fn encode_prompt(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode_prompt(text)
    }

    /// Starts a generation. `listener`, which throws nothing, is called with the number of tokens of the prompt that
    /// are read, after each pass over it.
    pub fn start(&self, ids: Vec<u32>, options: JsValue, listener: Option<Function>) -> Result<JsValue, JsValue> {
        let sampling: SamplingOptions = from_value(options.clone(), "options")?;
        let others: JsGenerateOptions = from_value(options, "options")?;
        let options = others.with(sampling).map_err(to_js)?;
        let prompt_tokens = ids.len();
        let mut engine = self.engine.text()?;
        engine.check_drafting(options.drafting).map_err(to_js)?;
        let cached_tokens = engine.start(ids, options, now()).map_err(to_js)?;
        if let Some(listener) = listener {
            engine.listen(Rc::new(move |read| drop(listener.call1(&JsValue::UNDEFINED, &JsValue::from(read as f64)))));
        }
        to_value(&Started { prompt_tokens, cached_tokens })
    }

    /// Makes the started generation follow a grammar, given the promise of a matcher of the module `grammar`.
    pub fn constrain(&self, matcher: js_sys::Promise) -> Result<(), JsValue> {
        self.engine.text()?.constrain(super::constraint::compiling(matcher));
        Ok(())
    }

    /// The vocabulary for the module `grammar`: `{ bytes, ends, kinds, endOfGeneration }`.
    pub fn tokens(&self) -> Result<JsValue, JsValue> {
        super::constraint::tokens(&self.tokenizer)
    }

    /// Converts a text in the middle of an answer to token ids.
    #[wasm_bindgen(js_name = tokenizeInside)]
    pub fn tokenize_inside(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode_inside(text)
    }

    /// The next tokens and the text that became final; `undefined` when the generation has ended.
    pub fn next(&self) -> Promise {
        let (engine, tokenizer) = (self.engine.clone(), self.tokenizer.clone());
        promise(async move {
            let Some(piece) = engine.text()?.next(now).await.map_err(to_js)? else { return Ok(JsValue::UNDEFINED) };
            let made = js_sys::Object::new();
            js_sys::Reflect::set(&made, &"ids".into(), &js_sys::Uint32Array::from(piece.ids.as_slice()))?;
            js_sys::Reflect::set(&made, &"text".into(), &piece.text.into())?;
            if !piece.tokens.is_empty() {
                let tokens = super::logprobs::chosen(&piece.tokens, &tokenizer)?;
                js_sys::Reflect::set(&made, &"tokens".into(), &tokens)?;
            }
            Ok(made.into())
        })
    }

    /// Makes a running generation end soon, even within a long prompt: `next` then resolves to `undefined`.
    pub fn cancel(&self) {
        self.stop.set(true);
    }

    /// Ends the generation and returns its result.
    pub fn finish(&self) -> Promise {
        let engine = self.engine.clone();
        promise(async move { result(&engine.text()?.finish().map_err(to_js)?) })
    }

    /// Forced decoding: for each position the most likely id, and the log-probability of the id that follows. `logits`
    /// is filled with all logits, `[ids, vocab]`; the caller allocates it, because an allocation that fails here would
    /// be an exception inside WebAssembly. `undefined` where the call was cancelled.
    pub fn evaluate(&self, ids: Vec<u32>, logits: Option<Float32Array>, adapters: JsValue) -> Promise {
        let engine = self.engine.clone();
        self.stop.set(false);
        promise(async move {
            let adapters: Vec<(u32, f32)> = from_value(adapters, "adapters")?;
            evaluation(&mut *engine.text()?, &ids, logits, &adapters).await
        })
    }

    /// Reads `ids` and leaves the hidden states of the last layer in a tensor `[ids, hidden]` of `tensors`; `undefined`
    /// where the call was cancelled.
    #[wasm_bindgen(js_name = hiddenStates)]
    pub fn hidden_states(&self, ids: Vec<u32>, tensors: &TensorEngine) -> Promise {
        let (engine, tensors) = (self.engine.clone(), tensors.clone());
        self.stop.set(false);
        promise(async move { hidden_states(&mut *engine.text()?, &ids, &tensors).await })
    }

    /// Reads `ids` and gives the hidden states behind the output norm, `[ids, hidden]`; `undefined` where the call was
    /// cancelled.
    #[wasm_bindgen(js_name = normedStates)]
    pub fn normed_states(&self, ids: Vec<u32>) -> Promise {
        let engine = self.engine.clone();
        self.stop.set(false);
        promise(async move {
            let found = engine.text()?.normed_states(&ids).await.map_err(to_js)?;
            Ok(found.map(|values| Float32Array::from(values.as_slice())))
        })
    }

    /// Reads what of `ids` is not cached, whose rows were given before, and gives the hidden state of the last one
    /// behind the output norm, `[hidden]`; `undefined` where the call was cancelled.
    #[wasm_bindgen(js_name = nextState)]
    pub fn next_state(&self, ids: Vec<u32>) -> Promise {
        let engine = self.engine.clone();
        self.stop.set(false);
        promise(async move {
            let found = engine.text()?.next_state(&ids).await.map_err(to_js)?;
            Ok(found.map(|values| Float32Array::from(values.as_slice())))
        })
    }

    /// Reads the last of `ids`, which stand for `tokens` with `rows` of a sound, and gives the likeliest token behind
    /// them, with `logprobs` as `ChosenToken[]`; `null` for one that ends the text, `undefined` where the call was
    /// cancelled.
    pub fn hear(&self, ids: Vec<u32>, tokens: Vec<u32>, rows: Vec<f32>, logprobs: Option<u32>) -> Promise {
        let (engine, tokenizer) = (self.engine.clone(), self.tokenizer.clone());
        self.stop.set(false);
        promise(async move {
            let count = logprobs.map(|count| count as usize);
            let found = engine.text()?.hear(&ids, &tokens, &rows, count).await.map_err(to_js)?;
            let Some((token, likely)) = found else { return Ok(JsValue::UNDEFINED) };
            if token.end {
                return Ok(JsValue::NULL);
            }
            likely.map_or_else(|| Ok(token.id.into()), |of| super::logprobs::chosen(&[of], &tokenizer))
        })
    }

    /// The tokens by which words lag behind a sound, of a model that writes while it hears.
    pub fn delay(&self) -> Result<Option<u32>, JsValue> {
        Ok(self.engine.text()?.session.config().delay.map(|[tokens, _]| tokens as u32))
    }

    /// The vectors of inputs, `[inputs, dimensions]`; `undefined` where the call was cancelled. `ids` has the inputs
    /// one after the other, `lengths` the number of ids of each.
    pub fn embed(&self, ids: Vec<u32>, lengths: Vec<u32>, normalize: bool, dimensions: Option<u32>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let options = EmbedOptions { normalize, dimensions: dimensions.map(|n| n as usize) };
            let mut engine = engine.embedder(false)?;
            let found = engine.embed(&split(&ids, &lengths), &options).await.map_err(to_js)?;
            Ok(found.map(|values| Float32Array::from(values.as_slice())))
        })
    }

    /// The scores of inputs, which are given as for [`Self::embed`].
    pub fn rank(&self, ids: Vec<u32>, lengths: Vec<u32>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            let mut engine = engine.embedder(true)?;
            let found = engine.scores(&split(&ids, &lengths)).await.map_err(to_js)?;
            Ok(found.map(|values| Float32Array::from(values.as_slice())))
        })
    }

    /// Registers an adapter under this number, given the bytes of a GGUF file.
    #[wasm_bindgen(js_name = addAdapter)]
    pub fn add_adapter(&self, id: u32, file: Vec<u8>) -> Promise {
        let engine = self.engine.clone();
        promise(async move {
            engine.text()?.add_adapter(id, &file).await.map_err(to_js)?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Removes an adapter; false where none has this number.
    #[wasm_bindgen(js_name = removeAdapter)]
    pub fn remove_adapter(&self, id: u32) -> Result<bool, JsValue> {
        Ok(self.engine.text()?.remove_adapter(id))
    }

    /// Converts a text for `embed` to token ids.
    #[wasm_bindgen(js_name = encodeInput)]
    pub fn encode_input(&self, text: &str, truncate: bool) -> Result<Vec<u32>, JsValue> {
        Ok(self.engine.embedder(false)?.encode(text, truncate))
    }

    /// Converts a query and a document for `rank` to token ids.
    #[wasm_bindgen(js_name = encodePair)]
    pub fn encode_pair(&self, query: &str, document: &str, truncate: bool) -> Result<Vec<u32>, JsValue> {
        Ok(self.engine.embedder(true)?.encode_pair(query, document, truncate))
    }

    /// Forgets the KV cache, what is kept of prompts, and any generation.
    pub fn reset(&self) -> Result<(), JsValue> {
        if let Place::Text(_) = &self.engine {
            let mut engine = self.engine.text()?;
            engine.reset();
            engine.session.prefixes().clear();
        }
        Ok(())
    }

    /// Number of tokens of `ids` that are cached, from the first on, as these adapters, by default none, read them.
    #[wasm_bindgen(js_name = commonPrefix)]
    pub fn common_prefix(&self, ids: &[u32], adapters: JsValue) -> usize {
        let (Ok(engine), Ok(adapters)) = (self.engine.text(), from_value::<Option<Vec<_>>>(adapters, "adapters"))
        else {
            return 0;
        };
        let with = engine.adapters_of(&adapters.unwrap_or_default(), ids);
        with.map_or(0, |with| engine.cached_of(ids, &with))
    }

    /// Blocks, tokens, hits and bytes (the lower and the upper half) of the prefix cache; `undefined` while a call is
    /// under way, and for embedders.
    pub fn prefixes(&self) -> Option<Vec<u32>> {
        let engine = self.engine.text().ok()?;
        let held = engine.session.prefixes();
        let ([blocks, tokens, hits], bytes) = (held.counts(), held.bytes());
        Some(vec![blocks, tokens, hits, bytes as u32, (bytes >> 32) as u32])
    }

    /// Size of the WebAssembly memory in bytes.
    #[wasm_bindgen(js_name = wasmMemoryBytes)]
    pub fn wasm_memory_bytes(&self) -> f64 {
        core::arch::wasm32::memory_size::<0>() as f64 * 65_536.0
    }
}

impl WasmModel {
    /// Makes a handle for a model or a session of one, and adds it to its `siblings`.
    pub(super) fn new(loaded: Loaded, siblings: Siblings) -> Self {
        let (tokenizer, stop, rows) = match &loaded {
            Loaded::Text(engine) => (engine.tokenizer.clone(), engine.stop.clone(), engine.session.row_ids()),
            Loaded::Embed(engine) => (engine.tokenizer.clone(), engine.stop.clone(), engine.embedder.row_ids()),
        };
        let engine = Place::new(loaded);
        if let Place::Text(place) = &engine {
            siblings.join(place);
        }
        Self { engine, tokenizer, stop, siblings, why_cpu: None, rows }
    }
}

/// Whether a control token marks thoughts or calls, which templates look for in what the model wrote.
pub(super) fn is_mark(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["think", "thought", "reason", "channel", "tool", "call", "python"].iter().any(|part| name.contains(part))
}
