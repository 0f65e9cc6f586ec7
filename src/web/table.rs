//! Table rows that are not on the GPU: read from the source again, or kept in memory outside WebAssembly.

use std::pin::Pin;

use js_sys::{Array, Function, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

use super::errors::{from_js, to_js};
use super::source::PartReader;
use crate::gguf::TensorInfo;
use crate::runtime::RowSource;
use crate::{Error, ErrorCode, Result};

/// Number of bytes of a piece of memory, unless one row has more.
const PIECE: u64 = 4 << 20;

/// Rows with at most this many bytes of other rows between them are read together.
const GAP: u64 = 16 << 10;

type Reading<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>>> + 'a>>;

fn row_bytes(tensor: &TensorInfo) -> u64 {
    (tensor.bytes / tensor.dims.get(1).copied().unwrap_or(1).max(1)).max(1)
}

/// Reads rows from their source again. Dropping it closes the source.
pub struct ReadAgain {
    source: PartReader,
    /// Offset of the table in the part, in bytes.
    offset: u64,
    row_bytes: u64,
}

impl ReadAgain {
    /// Makes a source of rows of the table `tensor`, which is in the part that `source` has read.
    pub fn new(source: PartReader, tensor: &TensorInfo) -> Self {
        Self { source, offset: tensor.offset, row_bytes: row_bytes(tensor) }
    }

    async fn rows(&self, rows: &[u32]) -> std::result::Result<Vec<u8>, JsValue> {
        let bytes = self.row_bytes;
        let near = |a: &u32, b: &u32| u64::from(b - a - 1) * bytes <= GAP;
        let runs: Vec<&[u32]> = rows.chunk_by(near).collect();
        let range = |run: &&[u32]| {
            let (first, last) = (u64::from(run[0]), u64::from(run[run.len() - 1]));
            (self.offset + first * bytes, (last - first + 1) * bytes)
        };
        let found = self.source.ranges(runs.iter().map(range)).await?;
        let mut all = vec![0; rows.len() * bytes as usize];
        let mut targets = all.chunks_exact_mut(bytes as usize);
        for (run, found) in runs.iter().zip(found) {
            for (row, target) in run.iter().zip(&mut targets) {
                let at = (row - run[0]) * bytes as u32;
                found.subarray(at, at + bytes as u32).copy_to(target);
            }
        }
        Ok(all)
    }
}

impl RowSource for ReadAgain {
    fn read<'a>(&'a self, rows: &'a [u32]) -> Reading<'a> {
        Box::pin(async move { self.rows(rows).await.map_err(|error| from_js(&error)) })
    }
}

/// A table in memory outside WebAssembly, with the bytes of the file.
pub struct Kept {
    pieces: Vec<Uint8Array>,
    row_bytes: u64,
}

impl Kept {
    /// Reads the whole table, and reports received bytes to `progress`.
    pub async fn read(
        source: &mut PartReader,
        tensor: &TensorInfo,
        mut progress: impl FnMut(u64) -> std::result::Result<(), JsValue>,
    ) -> std::result::Result<Self, JsValue> {
        source.skip_to(tensor.offset, &tensor.name).await?;
        let mut kept = Self { pieces: Vec::new(), row_bytes: row_bytes(tensor) };
        let mut left = tensor.bytes;
        while left > 0 {
            let bytes = left.min(kept.piece_bytes());
            let piece = memory(bytes, tensor).map_err(to_js)?;
            source.fill_array(&piece, &tensor.name).await?;
            kept.pieces.push(piece);
            left -= bytes;
            progress(bytes)?;
        }
        Ok(kept)
    }

    /// Number of bytes of a piece, which has whole rows.
    fn piece_bytes(&self) -> u64 {
        (PIECE / self.row_bytes).max(1) * self.row_bytes
    }

    /// Copies the table's bytes from `offset` on.
    pub fn copy_to(&self, mut offset: u64, mut out: &mut [u8]) {
        while !out.is_empty() {
            let (number, at) = (offset / self.piece_bytes(), (offset % self.piece_bytes()) as u32);
            let Some(piece) = self.pieces.get(number as usize).filter(|piece| at < piece.length()) else { return };
            let bytes = (piece.length() - at).min(out.len() as u32);
            let (target, rest) = out.split_at_mut(bytes as usize);
            piece.subarray(at, at + bytes).copy_to(target);
            (out, offset) = (rest, offset + u64::from(bytes));
        }
    }
}

impl RowSource for Kept {
    fn read<'a>(&'a self, rows: &'a [u32]) -> Reading<'a> {
        let bytes = self.row_bytes as usize;
        let mut all = vec![0; rows.len() * bytes];
        for (row, target) in rows.iter().zip(all.chunks_exact_mut(bytes)) {
            self.copy_to(u64::from(*row) * self.row_bytes, target);
        }
        Box::pin(async move { Ok(all) })
    }
}

/// Allocates memory of the page. Calls the constructor by reflection: an exception must not unwind through WebAssembly.
fn memory(bytes: u64, tensor: &TensorInfo) -> Result<Uint8Array> {
    let constructor = Reflect::get(&js_sys::global(), &"Uint8Array".into()).unwrap_or_default();
    let made = Reflect::construct(constructor.unchecked_ref::<Function>(), &Array::of1(&(bytes as f64).into()));
    made.map(JsCast::unchecked_into).map_err(|_| {
        let message = format!("no memory for the {} bytes of tensor {}", tensor.bytes, tensor.name);
        Error::new(ErrorCode::OutOfMemory, message)
    })
}
