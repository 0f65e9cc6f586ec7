//! Rows of images and sounds in prompts: their ids, and their numbers while a prompt is read.

use wasm_bindgen::prelude::*;

use super::engine::WasmModel;
use super::errors::to_js;
use super::place::Place;
use crate::Error;
use crate::model::InputSource;
use crate::runtime::Session;

#[wasm_bindgen]
impl WasmModel {
    /// Number of values of a prompt row.
    #[wasm_bindgen(js_name = rowWidth)]
    pub fn row_width(&self) -> Result<usize, JsValue> {
        match &self.engine {
            Place::Text(_) => Ok(self.engine.text()?.session.config().row_width()),
            Place::Embed(_) => self.engine.embedder(false)?.row_width().map_err(to_js),
        }
    }

    /// The id of the first of `count` rows of an image or a sound. The same `digest`, 16 hexadecimal digits, always
    /// gets the same ids. `columns` and `canvas`: see [`InputSource`].
    #[wasm_bindgen(js_name = knowRows)]
    pub fn know_rows(&self, digest: &str, columns: u32, count: u32, canvas: u32) -> Result<u32, JsValue> {
        let source = InputSource { digest: digest_of(digest)?, count, columns, canvas };
        self.rows.know(source).map(|ids| ids.start).map_err(to_js)
    }

    /// The digests of the rows that the next call of `next` needs and that are not there.
    #[wasm_bindgen(js_name = missingRows)]
    pub fn missing_rows(&self) -> Result<Vec<String>, JsValue> {
        let missing = self.engine.text()?.missing_rows();
        Ok(missing.iter().map(|source| format!("{:016x}", source.digest)).collect())
    }

    /// Gives rows, `[rows, width of the model]`, for the prompt that was started, which are kept until it is read, or
    /// for the next call of `embed`.
    #[wasm_bindgen(js_name = addRows)]
    pub fn add_rows(&self, digest: &str, columns: u32, rows: &[f32], canvas: u32) -> Result<(), JsValue> {
        let count = (rows.len() / self.row_width()?.max(1)) as u32;
        let source = InputSource { digest: digest_of(digest)?, count, columns, canvas };
        match &self.engine {
            Place::Text(_) => self.engine.text()?.hold_rows(source, rows).map_err(to_js),
            Place::Embed(_) => self.engine.embedder(false)?.hold_rows(source, rows).map_err(to_js),
        }
    }

    /// The position of a token that follows these ids.
    #[wasm_bindgen(js_name = countPositions)]
    pub fn count_positions(&self, ids: &[u32]) -> Result<u32, JsValue> {
        Ok(self.engine.text()?.session.count_positions(ids))
    }
}

fn digest_of(text: &str) -> Result<u64, JsValue> {
    u64::from_str_radix(text, 16).map_err(|_| to_js(Error::invalid_argument("digest of rows")))
}
