//! A session as bytes, from which a later session of the same model can go on.
//!
//! A file is a head, then parts of the caches, each followed by its digest (u64). The head is a preamble of 56 bytes
//! (below), the ids of the cached tokens and the positions of the checkpoints of recurrent states (u32 each), for each
//! source of rows among the ids its digest, count, columns, canvas and first id (6 u32), the notes of the caller in
//! UTF-8, and the digest of all that. All numbers are little-endian. The file does not say which bytes of which buffers
//! a part has: a session knows that from its own buffers, if its layout is the one that was saved.

use bytemuck::{Pod, Zeroable};

use crate::digest::digest;
use crate::model::{InputSource, Item};
use crate::{Error, ErrorCode, Result};

const MAGIC: [u8; 8] = *b"wggufses";
const FORMAT: u32 = 2;
/// Bytes of a digest.
pub(in crate::runtime) const SEAL: u64 = size_of::<u64>() as u64;
/// Bytes of the shortest head, with which every file begins: a preamble and a digest.
pub const START: usize = size_of::<Preamble>() + SEAL as usize;
/// Maximum number of bytes of a part, and so of those in memory at a time.
pub(in crate::runtime) const PART: u64 = 4 << 20;
/// Maximum number of bytes of notes: more text than any context holds.
const MOST_NOTES: u32 = 64 << 20;
/// Maximum number of checkpoints of recurrent states.
const MOST_COPIES: u32 = 64;
/// Rows of all sources together, at most: each takes an id of the model.
const MOST_ROWS: u64 = 1 << 24;

/// The start of a file.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Preamble {
    magic: [u8; 8],
    format: u32,
    written: u32,
    pub(super) tokens: u32,
    copies: u32,
    notes: u32,
    sources: u32,
    model: u64,
    layout: u64,
    parts: u64,
}

/// What a file is checked against before more of it is read.
#[derive(Debug, Clone, Copy)]
pub struct Fits {
    /// Size of the file in bytes.
    pub size: u64,
    /// The model's digest, [`crate::model::ModelConfig::digest`].
    pub model: u64,
    /// Number of positions of the context.
    pub context: usize,
    /// Number of tokens of the vocabulary.
    pub vocab: usize,
}

/// Everything that is saved besides the caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// Digest of the model.
    pub model: u64,
    /// Digest of what the caches' bytes mean; without effect where there are none.
    pub layout: u64,
    /// Bytes of all parts with their digests.
    pub parts: u64,
    /// Number of positions written, including those past the tokens: a ring has lost what these overwrote.
    pub written: u32,
    /// Ids of the cached tokens.
    pub tokens: Vec<u32>,
    /// Positions of the checkpoints of recurrent states, in the order in which they are saved.
    pub copies: Vec<u32>,
    /// Sources of the rows among `tokens`, and the id that the first row of each source had.
    pub sources: Vec<(InputSource, u32)>,
    /// Text that the caller saves along.
    pub notes: String,
}

impl Preamble {
    /// Reads and checks the first bytes of a file, at least [`START`].
    pub(super) fn read(start: &[u8], fits: &Fits) -> Result<Self> {
        if start.len() < START {
            let message = format!("this is no saved session: {} bytes, at least {START}", start.len());
            return Err(Error::bad_file(message));
        }
        let preamble: Self = bytemuck::pod_read_unaligned(&start[..size_of::<Self>()]);
        preamble.check(fits)?;
        Ok(preamble)
    }

    /// Bytes of the head with its digest.
    pub(super) fn head_bytes(&self) -> u64 {
        let ids = u64::from(self.tokens) + u64::from(self.copies) + SOURCE_WORDS as u64 * u64::from(self.sources);
        START as u64 + 4 * ids + u64::from(self.notes)
    }

    fn check(&self, fits: &Fits) -> Result<()> {
        if self.magic != MAGIC {
            return Err(Error::bad_file("this is no saved session: it begins with other bytes"));
        }
        let Self { format, tokens, copies, sources, notes, .. } = *self;
        if format != FORMAT {
            return Err(Error::bad_file(format!("the saved session has format {format}, expected {FORMAT}")));
        }
        if self.model != fits.model {
            let message = format!(
                "the session was saved of another model: the digest of its file is {:016x}, here {:016x}",
                self.model, fits.model
            );
            return Err(Error::invalid_argument(message));
        }
        let end = self.head_bytes().saturating_add(self.parts);
        if end != fits.size || notes > MOST_NOTES || copies > MOST_COPIES || sources > tokens {
            return Err(cut_short(fits.size, end));
        }
        if tokens as usize > fits.context {
            let message = format!("the saved session has {tokens} tokens, the context holds {}", fits.context);
            return Err(Error::new(ErrorCode::ContextFull, message));
        }
        Ok(())
    }
}

impl Head {
    /// The bytes of the head, with its digest.
    ///
    /// # Errors
    /// `limit_exceeded` for notes of more than 64 MiB.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        if self.notes.len() > MOST_NOTES as usize {
            let message = format!("the conversation takes {} bytes, at most {MOST_NOTES} are saved", self.notes.len());
            return Err(Error::new(ErrorCode::LimitExceeded, message));
        }
        let preamble = Preamble {
            magic: MAGIC,
            format: FORMAT,
            written: self.written,
            tokens: self.tokens.len() as u32,
            copies: self.copies.len() as u32,
            notes: self.notes.len() as u32,
            sources: self.sources.len() as u32,
            model: self.model,
            layout: self.layout,
            parts: self.parts,
        };
        let sources: Vec<u32> = self.sources.iter().flat_map(|&(source, first)| words_of(source, first)).collect();
        let [tokens, copies, sources] = [&self.tokens, &self.copies, &sources].map(|ids| bytemuck::cast_slice(ids));
        Ok(sealed([bytemuck::bytes_of(&preamble), tokens, copies, sources, self.notes.as_bytes()].concat()))
    }

    /// Reads and checks a head with its digest.
    ///
    /// # Errors
    /// `bad_file` for a file that is no saved session, is cut short or contradicts itself; `integrity_failed` for one
    /// that has changed; `invalid_argument` for a session of another model; `context_full` where the context is too
    /// short for it.
    pub fn read(file: &[u8], fits: &Fits) -> Result<Self> {
        let preamble = Preamble::read(file, fits)?;
        let head = unsealed(file, preamble.head_bytes())?;
        let (tokens, rest) = head[size_of::<Preamble>()..].split_at(4 * preamble.tokens as usize);
        let (copies, rest) = rest.split_at(4 * preamble.copies as usize);
        let (sources, notes) = rest.split_at(4 * SOURCE_WORDS * preamble.sources as usize);
        let head = Self {
            model: preamble.model,
            layout: preamble.layout,
            parts: preamble.parts,
            written: preamble.written,
            tokens: words(tokens),
            copies: words(copies),
            sources: words(sources).chunks_exact(SOURCE_WORDS).map(source_of).collect(),
            notes: std::str::from_utf8(notes).map_err(|_| changed())?.into(),
        };
        head.check(fits)?;
        Ok(head)
    }

    fn check(&self, fits: &Fits) -> Result<()> {
        let Self { tokens, copies, sources, written, .. } = self;
        let has = |&(source, first): &(InputSource, u32), id: u32| id >= first && id - first < source.count;
        let is_row = |id: u32| sources.iter().any(|source| has(source, id));
        let known = tokens.iter().all(|&id| (id as usize) < fits.vocab || is_row(id));
        let is_used = |source: &(InputSource, u32)| tokens.iter().any(|&id| has(source, id));
        let sound = sources.iter().all(|source| matches!(Item::from(source.1), Item::Row(_)) && is_used(source));
        let rows: u64 = sources.iter().map(|(source, _)| u64::from(source.count)).sum();
        let reached = copies.iter().all(|&at| at as usize <= tokens.len());
        let written = *written as usize;
        // `written` may exceed the context: the saved session may have had a longer one, and have gone back since.
        if known && sound && rows <= MOST_ROWS && reached && written >= tokens.len() {
            return Ok(());
        }
        Err(Error::bad_file("the saved session contradicts itself: ids or positions are out of range"))
    }
}

fn changed() -> Error {
    Error::new(ErrorCode::IntegrityFailed, "the saved session has changed since it was saved: a digest is another")
}

fn cut_short(found: u64, expected: u64) -> Error {
    let message = format!("the saved session is cut short or damaged: {found} bytes, expected {expected}");
    Error::bad_file(message)
}

/// Number of u32 of a source in a file.
const SOURCE_WORDS: usize = 6;

fn words_of(source: InputSource, first: u32) -> [u32; SOURCE_WORDS] {
    let InputSource { digest, count, columns, canvas } = source;
    [digest as u32, (digest >> 32) as u32, count, columns, canvas, first]
}

fn source_of(words: &[u32]) -> (InputSource, u32) {
    let digest = u64::from(words[0]) | u64::from(words[1]) << 32;
    (InputSource { digest, count: words[2], columns: words[3], canvas: words[4] }, words[5])
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let mut words = vec![0; bytes.len() / 4];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
    words
}

/// Appends their digest to `bytes`.
pub(super) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend_from_slice(&digest(&bytes).to_le_bytes());
    bytes
}

/// Checks that `found` has `expected` bytes and ends with their digest, and returns what [`sealed`] was given.
pub(in crate::runtime) fn unsealed(found: &[u8], expected: u64) -> Result<&[u8]> {
    match found.split_last_chunk() {
        Some((bytes, seal)) if found.len() as u64 == expected => match u64::from_le_bytes(*seal) == digest(bytes) {
            true => Ok(bytes),
            false => Err(changed()),
        },
        _ => Err(cut_short(found.len() as u64, expected)),
    }
}
