//! Text ↔ ids without a model: what `Tokenizer.load` gives, and what the engine shares with it.

use wasm_bindgen::prelude::*;

use super::errors::{from_value, to_js};
use super::load::{read_header, read_tokenizer};
use super::promise::promise;
use super::source::{ByteSource, PartReader};
use crate::Error;
use crate::tokenizer::{Conversation, Date, Tokenizer};

/// The tokenizer of a GGUF file whose tensors were not read.
#[wasm_bindgen]
pub struct VocabularyHandle {
    tokenizer: Tokenizer,
}

#[wasm_bindgen]
impl VocabularyHandle {
    /// Reads the vocabulary of the first part and cancels all parts.
    pub fn load(sources: Vec<ByteSource>) -> js_sys::Promise {
        promise(async move {
            let mut readers: Vec<PartReader> = sources.into_iter().map(PartReader::new).collect();
            let first = readers.first_mut().ok_or_else(|| to_js(Error::invalid_argument("no file to read")))?;
            let gguf = read_header(first, true).await?;
            let tokenizer = read_tokenizer(&gguf).await.map_err(to_js)?;
            Ok(Self { tokenizer })
        })
    }

    /// Token ids of `text`.
    pub fn tokenize(&self, text: &str, add_special: bool, parse_special: bool) -> Vec<u32> {
        self.tokenizer.encode(text, add_special, parse_special)
    }

    /// Text of `ids`.
    pub fn detokenize(&self, ids: &[u32], show_special: bool) -> String {
        self.tokenizer.decode(ids, show_special)
    }

    /// The conversation as the model's template writes it.
    #[wasm_bindgen(js_name = applyChatTemplate)]
    pub fn apply_chat_template(&self, conversation: JsValue) -> Result<String, JsValue> {
        template(&self.tokenizer, conversation)
    }
}

/// The conversation as the template of `tokenizer` writes it, today.
pub fn template(tokenizer: &Tokenizer, conversation: JsValue) -> Result<String, JsValue> {
    let conversation: Conversation = from_value(conversation, "conversation")?;
    tokenizer.template_text(&conversation, today().map_err(to_js)?).map_err(to_js)
}

fn today() -> crate::Result<Date> {
    let now = js_sys::Date::new_0();
    let date = Date::new(now.get_full_year() as _, (now.get_month() + 1) as _, now.get_date() as _)?;
    date.at(now.get_hours() as _, now.get_minutes() as _, now.get_seconds() as _)
}
