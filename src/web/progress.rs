//! Progress of loading, as a page sees it.

use js_sys::Function;
use wasm_bindgen::prelude::*;

/// Reports progress to the page, which cancels loading by throwing.
pub struct Progress {
    pub(super) report: Function,
    pub(super) total: u64,
    pub(super) loaded: u64,
}

impl Progress {
    /// Reports how far a stage is.
    pub(super) fn stage(&self, stage: &str, loaded: u64, total: u64) -> Result<(), JsValue> {
        self.report.call3(&JsValue::NULL, &stage.into(), &(loaded as f64).into(), &(total as f64).into()).map(drop)
    }

    /// Reports bytes that were received.
    pub fn received(&mut self, bytes: u64) -> Result<(), JsValue> {
        self.loaded += bytes;
        self.stage("download", self.loaded, self.total)
    }
}
