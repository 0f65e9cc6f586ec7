//! Tokenizers without a model, for `Tokenizer.load`, and the chat template, which models have, too.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::engine::is_mark;
use super::errors::{to_js, to_value};
use super::header::read_header;
use super::load::read_tokenizer;
use super::promise::promise;
use super::source::{ByteSource, PartReader};
use crate::Error;
use crate::tokenizer::Tokenizer;

/// The tokenizer of a GGUF file whose tensors were not read.
#[wasm_bindgen]
pub struct VocabularyHandle {
    tokenizer: Tokenizer,
}

#[wasm_bindgen]
impl VocabularyHandle {
    /// Reads the vocabulary from the first part, and cancels all parts.
    pub fn load(sources: Vec<ByteSource>) -> js_sys::Promise {
        promise(async move {
            let mut readers: Vec<PartReader> = sources.into_iter().map(PartReader::new).collect();
            let first = readers.first_mut().ok_or_else(|| to_js(Error::invalid_argument("no file to read")))?;
            let gguf = read_header(first, true).await?;
            crate::model::check_kind(&gguf.metadata, false).map_err(to_js)?;
            let tokenizer = read_tokenizer(&gguf).await.map_err(to_js)?;
            for warning in tokenizer.warnings() {
                web_sys::console::warn_1(&format!("webgguf: {warning}").into());
            }
            Ok(Self { tokenizer })
        })
    }

    /// Converts `text` to token ids.
    pub fn tokenize(&self, text: &str, add_special: bool, parse_special: bool) -> Vec<u32> {
        self.tokenizer.encode(text, add_special, parse_special)
    }

    /// Converts `ids` to text.
    pub fn detokenize(&self, ids: &[u32], show_special: bool) -> String {
        self.tokenizer.decode(ids, show_special)
    }

    /// Changes a text for a prompt so that the names of control tokens in it stay text, as that of a model does.
    pub fn protect(&self, text: &str, of_model: bool) -> String {
        self.tokenizer.protect(text, |name| of_model && is_mark(name))
    }

    /// The chat template, and the names of tokens that it is given.
    #[wasm_bindgen(js_name = chatTemplate)]
    pub fn chat_template(&self) -> Result<JsValue, JsValue> {
        to_value(&ChatTemplate::of(&self.tokenizer))
    }
}

/// Mirrors `ChatTemplate` in `js/templates/types.ts`.
#[derive(Serialize)]
pub struct ChatTemplate {
    source: Option<String>,
    tools: Option<String>,
    speech: Option<String>,
    bos: String,
    eos: String,
    unknown: String,
    padding: String,
}

impl ChatTemplate {
    /// The chat template of a tokenizer.
    pub fn of(tokenizer: &Tokenizer) -> Self {
        Self {
            source: tokenizer.conversation_template().map(str::to_owned),
            tools: tokenizer.tool_template().map(str::to_owned),
            speech: tokenizer.speech_template().map(str::to_owned),
            bos: tokenizer.name(tokenizer.bos()),
            eos: tokenizer.name(tokenizer.eos()),
            unknown: tokenizer.name(tokenizer.unknown()),
            padding: tokenizer.name(tokenizer.padding()),
        }
    }
}
