//! Headers: of all parts of a file, and of a drafter's file behind them.

use wasm_bindgen::prelude::*;

use super::errors::to_js;
use super::source::PartReader;
use crate::gguf::{Gguf, HeaderReader};
use crate::time_slice::TimeSlice;
use crate::{Error, Result};

/// Bytes of a header between two yields to the page: about a millisecond of work.
const HEADER_STEP: usize = 256 << 10;

/// Reads the header of one part, and leaves the reader right behind it.
pub async fn read_header(reader: &mut PartReader, vocabulary_only: bool) -> std::result::Result<Gguf, JsValue> {
    let mut header = HeaderReader::new(reader.size());
    if vocabulary_only {
        header = header.vocabulary_only();
    }
    let named = |error: Error, name: String| to_js(Error::new(error.code(), format!("{name}: {}", error.message())));
    let mut time_slice = TimeSlice::new();
    loop {
        let Some(bytes) = reader.some().await? else { return Err(named(header.finish(), reader.name())) };
        for step in bytes.chunks(HEADER_STEP) {
            let found = header.push(step).map_err(|error| named(error, reader.name()))?;
            if let Some(gguf) = found {
                let beyond = reader.position().saturating_sub(gguf.header_bytes);
                reader.back(beyond.min(bytes.len() as u64) as u32);
                return Ok(gguf);
            }
            time_slice.yield_if_over().await;
        }
    }
}

/// The header of a model, and of a drafter's file.
pub struct Headers {
    pub gguf: Gguf,
    pub draft: Option<Gguf>,
    /// The number of the model's files.
    pub own: usize,
}

impl Headers {
    /// Joins the headers of a model's parts. `own`: how many are the model's, where a drafter's follow.
    pub fn join(mut parts: Vec<Gguf>, own: Option<usize>) -> Result<Self> {
        let own = own.unwrap_or(parts.len()).min(parts.len());
        let others = parts.split_off(own);
        let draft = if others.is_empty() { None } else { Some(Gguf::join(others)?) };
        Ok(Self { gguf: Gguf::join(parts)?, draft, own })
    }
}
