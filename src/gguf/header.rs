//! The pull reader: pieces of a stream in, a [`Gguf`] out.

use std::mem;

use super::array::{ArrayReader, read_scalar};
use super::cursor::{Cursor, Step, Stop};
use super::value::{Value, ValueType};
use super::{Gguf, Metadata, TensorInfo, foreign, shown, table};
use crate::digest;
use crate::error::{Error, Result};

/// Headers larger than this many bytes are refused. The largest known ones are below 20 MB.
pub const HEADER_CAP: u64 = 128 << 20;
/// Files with more key-value pairs are refused. Known ones have some dozens.
const MOST_PAIRS: u64 = 65_536;
/// Files with more tensors are refused. Known ones have some thousands.
const MOST_TENSORS: u64 = 262_144;

/// Magic, version, tensor count and pair count.
const PREAMBLE_BYTES: u64 = 24;
/// A key length, a value type and a value of one byte.
const MIN_PAIR_BYTES: u64 = 13;
/// The longest key that the format allows.
const LONGEST_KEY: u64 = 65_535;
/// Pushed bytes are processed in pieces of this size, so that a whole file given at once is not copied whole.
const PIECE_BYTES: usize = 64 << 10;

/// Reads a GGUF header from a stream that arrives in pieces of any size, in time linear in the bytes.
///
/// Memory grows with the bytes received, never with a length that the file claims.
///
/// ```
/// # use webgguf::gguf::HeaderReader;
/// # fn main() -> webgguf::Result<()> {
/// # let pieces: [&[u8]; 2] = [b"GGUF\x03\0\0\0\0\0\0\0\0\0", &[0; 10]];
/// let mut reader = HeaderReader::new(None);
/// for piece in pieces {
///     if let Some(gguf) = reader.push(piece)? {
///         assert_eq!(gguf.header_bytes, 32);
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct HeaderReader {
    file_size: Option<u64>,
    vocabulary_only: bool,
    /// Received and not yet read: the start of one unfinished item.
    buffer: Vec<u8>,
    /// Offset in the file of `buffer[0]`.
    position: u64,
    /// The unfinished item needs at least this many bytes.
    needed: usize,
    stage: Stage,
    version: u32,
    pairs: u64,
    tensor_count: u64,
    metadata: Metadata,
    tensors: Vec<TensorInfo>,
    /// Digest of the bytes before `position`.
    digest: u64,
}

/// The next item of the header.
#[derive(Debug)]
enum Stage {
    Preamble,
    Key,
    Value(String, ValueType),
    Array(String, ArrayReader),
    Tensor,
    /// All read, or failed: with the error of the first failure.
    Over(Option<Error>),
}

impl HeaderReader {
    /// A reader at the first byte of a file. Where `file_size` (bytes) is known, lengths that reach past it fail at
    /// once.
    pub fn new(file_size: Option<u64>) -> Self {
        Self {
            file_size,
            vocabulary_only: false,
            buffer: Vec::new(),
            position: 0,
            needed: 0,
            stage: Stage::Preamble,
            version: 0,
            pairs: 0,
            tensor_count: 0,
            metadata: Metadata::new(),
            tensors: Vec::new(),
            digest: digest::EMPTY,
        }
    }

    /// Stops after the metadata, which holds the whole vocabulary; the tensor table is neither awaited nor checked.
    pub fn vocabulary_only(self) -> Self {
        Self { vocabulary_only: true, ..self }
    }

    /// Takes the next bytes of the file. Gives the header once it is whole.
    ///
    /// After `Some`, pushed bytes at or past [`Gguf::header_bytes`] belong to the tensor data. Fewer may have been
    /// pushed: the padding before the tensor data is not waited for.
    ///
    /// # Errors
    /// `bad_file` where the bytes are no GGUF header of version 2 or 3 or contradict themselves, `unsupported_quant`
    /// for a tensor of unknown type, `invalid_argument` when the header was already given. A failed reader repeats its
    /// error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Gguf>> {
        if let Stage::Over(outcome) = &self.stage {
            let after_the_end = || Error::invalid_argument("bytes pushed after the header was whole");
            return Err(outcome.clone().unwrap_or_else(after_the_end));
        }
        for piece in bytes.chunks(PIECE_BYTES) {
            self.buffer.extend_from_slice(piece);
            match self.advance() {
                Ok(false) => {}
                Ok(true) => return self.conclude().inspect_err(|error| self.fail(error)).map(Some),
                Err(error) => {
                    self.fail(&error);
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// The error of a stream that ended before the header was whole: `bad_file`, naming the section and both sizes.
    pub fn finish(self) -> Error {
        let min = match &self.stage {
            Stage::Over(Some(error)) => return error.clone(),
            Stage::Over(None) => return Error::invalid_argument("the header was already whole"),
            Stage::Preamble if !foreign::may_be_gguf(&self.buffer) => return foreign::describe(&self.buffer),
            Stage::Preamble => PREAMBLE_BYTES,
            _ => self.position + self.needed as u64,
        };
        let (place, received) = (self.place(), self.received());
        Error::bad_file(format!("file is cut short in {place}: {received} bytes received, at least {min} needed"))
    }

    fn received(&self) -> u64 {
        self.position + self.buffer.len() as u64
    }

    fn fail(&mut self, error: &Error) {
        self.buffer = Vec::new();
        self.stage = Stage::Over(Some(error.clone()));
    }

    /// Reads all items that are there. True when none is left to read.
    fn advance(&mut self) -> Result<bool> {
        if self.buffer.len() < self.needed {
            return Ok(false);
        }
        let buffer = mem::take(&mut self.buffer);
        let mut cursor = Cursor::new(&buffer, self.position, self.file_size.unwrap_or(u64::MAX).min(HEADER_CAP));
        let stop = loop {
            if let Err(stop) = self.read_item(&mut cursor) {
                break Some(stop);
            }
            cursor.commit();
            if matches!(self.stage, Stage::Over(_)) {
                break None;
            }
        };
        let done = cursor.committed();
        self.position += done as u64;
        self.digest = digest::extend(self.digest, &buffer[..done]);
        self.buffer = buffer;
        self.buffer.drain(..done);
        match stop {
            None => Ok(true),
            Some(Stop::Wait(needed)) => {
                self.needed = needed;
                Ok(false)
            }
            Some(Stop::PastEnd(end)) => self.past_end(end),
            Some(Stop::Bad(error)) => Err(match self.stage {
                Stage::Value(..) | Stage::Array(..) => {
                    Error::new(error.code(), format!("{}: {}", self.place(), error.message()))
                }
                _ => error,
            }),
        }
    }

    fn past_end(&mut self, end: u64) -> Result<bool> {
        let size = self.file_size.unwrap_or(u64::MAX);
        if size > HEADER_CAP {
            let place = self.place();
            return Err(Error::bad_file(format!(
                "{place} reaches to byte {end}; headers end at {HEADER_CAP} at the latest"
            )));
        }
        if matches!(self.stage, Stage::Preamble) {
            // A tiny file: wait for all of it before naming its format.
            if self.received() < size {
                return Ok(false);
            }
            let file = &self.buffer[..size as usize];
            if !foreign::may_be_gguf(file) {
                return Err(foreign::describe(file));
            }
        }
        let place = self.place();
        Err(Error::bad_file(format!("file is cut short in {place}: it has {size} bytes, at least {end} needed")))
    }

    /// The reader's position, for a message.
    fn place(&self) -> String {
        let pairs = self.pairs;
        let pair = self.metadata.len() + 1;
        match &self.stage {
            Stage::Preamble => "the first 24 bytes".to_owned(),
            Stage::Key => format!("the key of metadata pair {pair} of {pairs}"),
            Stage::Value(key, _) => format!("metadata `{}` (pair {pair} of {pairs})", shown(key)),
            Stage::Array(key, array) => {
                format!("metadata `{}` (pair {pair} of {pairs}), {}", shown(key), array.place())
            }
            Stage::Tensor => format!("tensor table entry {} of {}", self.tensors.len() + 1, self.tensor_count),
            Stage::Over(_) => "nothing".to_owned(),
        }
    }

    fn read_item(&mut self, cursor: &mut Cursor) -> Step<()> {
        match &mut self.stage {
            Stage::Preamble => self.read_preamble(cursor),
            Stage::Key => self.read_key(cursor),
            Stage::Value(key, ValueType::Array) => {
                let array = ArrayReader::start(cursor)?;
                self.stage = Stage::Array(mem::take(key), array);
                Ok(())
            }
            Stage::Value(key, kind) => {
                let value = read_scalar(*kind, cursor)?;
                let key = mem::take(key);
                self.store(key, value);
                Ok(())
            }
            Stage::Array(key, array) => {
                let array = array.read(cursor)?;
                let key = mem::take(key);
                self.store(key, Value::Array(array));
                Ok(())
            }
            Stage::Tensor => {
                let place = (self.tensors.len() as u64 + 1, self.tensor_count);
                self.tensors.push(table::read_entry(cursor, place)?);
                self.choose_stage();
                Ok(())
            }
            Stage::Over(_) => Ok(()),
        }
    }

    fn read_preamble(&mut self, cursor: &mut Cursor) -> Step<()> {
        let preamble = cursor.take(PREAMBLE_BYTES)?;
        if !foreign::may_be_gguf(preamble) {
            return Err(foreign::describe(preamble).into());
        }
        let mut fields = Cursor::new(&preamble[4..], 0, PREAMBLE_BYTES);
        self.version = foreign::check_version(fields.u32()?)?;
        self.tensor_count = fields.u64()?;
        self.pairs = fields.u64()?;
        let table_bytes =
            if self.vocabulary_only { 0 } else { self.tensor_count.saturating_mul(table::LEAST_ENTRY_BYTES) };
        let min = self.pairs.saturating_mul(MIN_PAIR_BYTES).saturating_add(table_bytes);
        let left = cursor.left();
        if min > left {
            return Err(Error::bad_file(format!(
                "file claims {} tensors and {} metadata pairs, which take at least {min} bytes, but at most \
                 {left} bytes are left",
                self.tensor_count, self.pairs
            ))
            .into());
        }
        let tensors = if self.vocabulary_only { 0 } else { self.tensor_count };
        for (what, count, most) in [("metadata pairs", self.pairs, MOST_PAIRS), ("tensors", tensors, MOST_TENSORS)] {
            if count > most {
                return Err(Error::bad_file(format!("file has {count} {what}, expected at most {most}")).into());
            }
        }
        self.choose_stage();
        Ok(())
    }

    fn read_key(&mut self, cursor: &mut Cursor) -> Step<()> {
        let place = |what: String| Error::bad_file(format!("metadata pair {}: {what}", self.metadata.len() + 1));
        let len = cursor.u64()?;
        if len > LONGEST_KEY {
            return Err(place(format!("key has {len} bytes, expected at most {LONGEST_KEY}")).into());
        }
        let bytes = cursor.take(len)?;
        let key = str::from_utf8(bytes)
            .map_err(|error| place(format!("key is not UTF-8 from byte {} of {len}", error.valid_up_to())))?;
        let id = cursor.u32()?;
        let kind = ValueType::from_id(id)
            .ok_or_else(|| place(format!("`{}` has value type {id}, the last known one is 12", shown(key))))?;
        if self.metadata.get(key).is_some() {
            return Err(place(format!("`{}` is there a second time", shown(key))).into());
        }
        self.stage = Stage::Value(key.to_owned(), kind);
        Ok(())
    }

    fn store(&mut self, key: String, value: Value) {
        self.metadata.insert(key, value);
        self.choose_stage();
    }

    /// The next stage after a complete preamble, pair or table entry.
    fn choose_stage(&mut self) {
        self.stage = if (self.metadata.len() as u64) < self.pairs {
            Stage::Key
        } else if !self.vocabulary_only && (self.tensors.len() as u64) < self.tensor_count {
            Stage::Tensor
        } else {
            Stage::Over(None)
        };
    }

    fn conclude(&mut self) -> Result<Gguf> {
        self.buffer = Vec::new();
        let alignment = table::alignment(&self.metadata)?;
        let mut tensors = mem::take(&mut self.tensors);
        let header_bytes = if self.vocabulary_only {
            self.position
        } else {
            table::lay_out(&mut tensors, self.position, alignment, self.file_size)?
        };
        let metadata = mem::take(&mut self.metadata);
        Ok(Gguf { version: self.version, metadata, tensors, header_bytes, alignment, digest: self.digest })
    }
}
