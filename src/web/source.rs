//! Byte sources: JavaScript hands over the bytes of a file in pieces, in file order.

use wasm_bindgen::prelude::*;

use super::errors::to_js;
use crate::{Error, ErrorCode};

#[wasm_bindgen]
extern "C" {
    /// One part of a file; `js/wasm/webgguf.d.ts` describes its methods.
    pub type ByteSource;

    #[wasm_bindgen(method, getter)]
    fn size(this: &ByteSource) -> Option<f64>;
    #[wasm_bindgen(method, getter)]
    fn name(this: &ByteSource) -> String;
    #[wasm_bindgen(method, catch)]
    async fn next(this: &ByteSource) -> Result<JsValue, JsValue>;
    #[wasm_bindgen(method)]
    fn cancel(this: &ByteSource);
    #[wasm_bindgen(method, getter, js_name = read)]
    fn read_method(this: &ByteSource) -> JsValue;
    #[wasm_bindgen(method, catch)]
    fn read(this: &ByteSource, offset: f64, length: f64) -> Result<js_sys::Promise, JsValue>;
}

/// Reads one part in order, with only the current piece in memory. Dropping the reader cancels the source.
pub struct PartReader {
    source: ByteSource,
    piece: Option<js_sys::Uint8Array>,
    /// Number of bytes of `piece` that were read.
    used: u32,
    position: u64,
}

impl Drop for PartReader {
    fn drop(&mut self) {
        self.source.cancel();
    }
}

impl PartReader {
    /// Makes a reader at the start of the part.
    pub fn new(source: ByteSource) -> Self {
        Self { source, piece: None, used: 0, position: 0 }
    }

    /// Size of the part in bytes, if known.
    pub fn size(&self) -> Option<u64> {
        self.source.size().filter(|size| *size >= 0.0).map(|size| size as u64)
    }

    /// Name of the part in messages.
    pub fn name(&self) -> String {
        self.source.name()
    }

    /// Checks that the part has bytes up to `end`, where the tensors in it end.
    pub fn check_size(&self, end: u64) -> Result<(), Error> {
        match self.size().filter(|&size| size < end) {
            Some(size) => {
                Err(Error::bad_file(format!("{} is cut short: {size} bytes, its tensors end at {end}", self.name())))
            }
            None => Ok(()),
        }
    }

    /// Number of bytes read so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The rest of the current piece, or the next piece; `None` at the end.
    async fn piece(&mut self) -> Result<Option<js_sys::Uint8Array>, JsValue> {
        loop {
            if let Some(piece) = &self.piece
                && self.used < piece.length()
            {
                return Ok(Some(piece.subarray(self.used, piece.length())));
            }
            let next = self.source.next().await?;
            if next.is_undefined() || next.is_null() {
                return Ok(None);
            }
            self.piece = Some(next.unchecked_into());
            self.used = 0;
        }
    }

    fn advance(&mut self, bytes: u32) {
        self.used += bytes;
        self.position += u64::from(bytes);
    }

    /// Reads the rest of the current piece, or the next piece; `None` at the end. [`PartReader::back`] returns unused
    /// bytes.
    pub async fn some(&mut self) -> Result<Option<Vec<u8>>, JsValue> {
        let Some(piece) = self.piece().await? else { return Ok(None) };
        self.advance(piece.length());
        Ok(Some(piece.to_vec()))
    }

    /// Returns the last `bytes` bytes that [`PartReader::some`] gave, so that they are read again.
    pub fn back(&mut self, bytes: u32) {
        self.used -= bytes;
        self.position -= u64::from(bytes);
    }

    /// Fills `out`, or fails with `bad_file`; `what` names the contents in the message.
    pub async fn fill(&mut self, out: &mut [u8], what: &str) -> Result<(), JsValue> {
        let mut at = 0;
        while at < out.len() {
            let Some(piece) = self.piece().await? else { return Err(self.ended(out.len() - at, what)) };
            let count = (piece.length() as usize).min(out.len() - at);
            piece.subarray(0, count as u32).copy_to(&mut out[at..at + count]);
            self.advance(count as u32);
            at += count;
        }
        Ok(())
    }

    /// Fills `out` like [`PartReader::fill`], but without copying through WebAssembly memory.
    pub async fn fill_array(&mut self, out: &js_sys::Uint8Array, what: &str) -> Result<(), JsValue> {
        let mut at = 0;
        while at < out.length() {
            let Some(piece) = self.piece().await? else { return Err(self.ended((out.length() - at) as usize, what)) };
            let count = piece.length().min(out.length() - at);
            out.set(&piece.subarray(0, count), at);
            self.advance(count);
            at += count;
        }
        Ok(())
    }

    /// Whether [`PartReader::ranges`] can read bytes that were read before.
    pub fn reads_again(&self) -> bool {
        self.source.read_method().is_function()
    }

    /// Reads ranges (offset, length) of the part, all at once.
    pub async fn ranges(&self, ranges: impl Iterator<Item = (u64, u64)>) -> Result<Vec<js_sys::Uint8Array>, JsValue> {
        let reads = js_sys::Array::new();
        let mut lengths = Vec::new();
        for (offset, length) in ranges {
            reads.push(&self.source.read(offset as f64, length as f64)?.into());
            lengths.push(length);
        }
        let found = wasm_bindgen_futures::JsFuture::from(js_sys::Promise::all(&reads)).await?;
        let found: Vec<js_sys::Uint8Array> = js_sys::Array::from(&found).iter().map(JsCast::unchecked_into).collect();
        match found.iter().zip(lengths).find(|(piece, length)| u64::from(piece.length()) != *length) {
            None => Ok(found),
            Some((piece, length)) => {
                let message = format!("{}: read {} bytes, expected {length}", self.name(), piece.length());
                Err(to_js(Error::new(ErrorCode::DownloadFailed, message)))
            }
        }
    }

    /// Skips bytes up to `position`; `what` names in the message what follows there.
    pub async fn skip_to(&mut self, position: u64, what: &str) -> Result<(), JsValue> {
        while self.position < position {
            let left = position - self.position;
            let Some(piece) = self.piece().await? else { return Err(self.ended(left as usize, what)) };
            self.advance(u64::from(piece.length()).min(left) as u32);
        }
        Ok(())
    }

    fn ended(&self, missing: usize, what: &str) -> JsValue {
        let (name, at) = (self.name(), self.position);
        let message = format!("{name} is cut short: {at} bytes received, {what} needs {missing} more");
        to_js(Error::new(ErrorCode::BadFile, message))
    }
}
