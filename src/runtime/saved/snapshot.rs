//! A session as bytes, for a later session of the same model to go on from.
//!
//! A head, then parts of the caches, each followed by its digest (u64). The head is a preamble of 56 bytes (below), the
//! ids of what is cached and the positions of the copies of recurrent states (u32 each), for each source of rows among
//! the ids its digest, count, columns and first id (5 u32), and the notes of whoever saves, in UTF-8. All numbers are
//! little-endian. Which bytes of which buffers a part has is in no file: a session knows it from its own buffers, if
//! its layout is the one that was saved.

use bytemuck::{Pod, Zeroable};

use crate::digest::digest;
use crate::model::InputSource;
use crate::runtime::run::generate::Engine;
use crate::runtime::session::Session;
use crate::{Error, ErrorCode, Result};

const MAGIC: [u8; 8] = *b"wggufses";
const FORMAT: u32 = 1;
/// Bytes of a digest.
pub(in crate::runtime) const SEAL: u64 = size_of::<u64>() as u64;
/// Bytes of the shortest head, which every file has: nothing but a preamble and its digest.
pub const START: usize = size_of::<Preamble>() + SEAL as usize;
/// Bytes of a part, at most: what is in memory at a time.
pub(in crate::runtime) const PART: u64 = 4 << 20;
/// Bytes of notes, at most: more text than any context holds.
const MOST_NOTES: u32 = 64 << 20;
/// Copies of recurrent states, at most.
const MOST_COPIES: u32 = 64;

/// How a file starts.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Preamble {
    magic: [u8; 8],
    format: u32,
    written: u32,
    tokens: u32,
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
    /// Its bytes.
    pub size: u64,
    /// [`crate::model::ModelConfig::digest`].
    pub model: u64,
    /// Positions of the context.
    pub context: usize,
    /// Tokens of the vocabulary.
    pub vocab: usize,
}

/// What is saved besides the caches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// Which model it is of.
    pub model: u64,
    /// What the caches' bytes mean; of no account where there are none.
    pub layout: u64,
    /// Bytes of all parts with their digests.
    pub parts: u64,
    /// Positions that were written, also those after the tokens: a ring has lost what they wrote over.
    pub written: u32,
    /// What is cached.
    pub tokens: Vec<u32>,
    /// Positions of the copies of the recurrent states, in the order in which they are saved.
    pub copies: Vec<u32>,
    /// Where the rows among `tokens` are from, and the id that the first row of each source had.
    pub sources: Vec<(InputSource, u32)>,
    /// Of whoever saves.
    pub notes: String,
}

impl Preamble {
    /// Of a file's first bytes, at least [`START`].
    fn read(start: &[u8], fits: &Fits) -> Result<Self> {
        if start.len() < START {
            let message = format!("this is no saved session: {} bytes, at least {START}", start.len());
            return Err(Error::bad_file(message));
        }
        let preamble: Self = bytemuck::pod_read_unaligned(&start[..size_of::<Self>()]);
        preamble.check(fits)?;
        Ok(preamble)
    }

    /// Bytes of the head with its digest.
    fn head_bytes(&self) -> u64 {
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
    /// The head with its digest.
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
    /// `bad_file`, `integrity_failed`; `invalid_argument` where it is of another model, `context_full` where the
    /// context is too short for it.
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
        let is_row = |id: u32| sources.iter().any(|&(source, first)| id >= first && id - first < source.count);
        let known = tokens.iter().all(|&id| (id as usize) < fits.vocab || is_row(id));
        let reached = copies.iter().all(|&at| at as usize <= tokens.len());
        let written = *written as usize;
        // `written` may be above the context: a longer one wrote it, before the session went back.
        if known && reached && written >= tokens.len() {
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

/// u32 of a source in a file.
const SOURCE_WORDS: usize = 5;

fn words_of(source: InputSource, first: u32) -> [u32; SOURCE_WORDS] {
    let InputSource { digest, count, columns } = source;
    [digest as u32, (digest >> 32) as u32, count, columns, first]
}

fn source_of(words: &[u32]) -> (InputSource, u32) {
    let digest = u64::from(words[0]) | u64::from(words[1]) << 32;
    (InputSource { digest, count: words[2], columns: words[3] }, words[4])
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let mut words = vec![0; bytes.len() / 4];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
    words
}

/// `bytes` and their digest.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend_from_slice(&digest(&bytes).to_le_bytes());
    bytes
}

/// What [`sealed`] was given, of which it made so many bytes.
pub(in crate::runtime) fn unsealed(found: &[u8], expected: u64) -> Result<&[u8]> {
    match found.split_last_chunk() {
        Some((bytes, seal)) if found.len() as u64 == expected => match u64::from_le_bytes(*seal) == digest(bytes) {
            true => Ok(bytes),
            false => Err(changed()),
        },
        _ => Err(cut_short(found.len() as u64, expected)),
    }
}

/// Saved: [`Engine::save_head`], then [`Engine::read_part`] until there is none. Restored, in another session of the
/// model: [`Engine::check_saved`], then [`Engine::restore_head`], then [`Engine::write_part`] for all parts. Whoever
/// calls moves the bytes, so that few of them are in memory at a time.
impl Engine {
    /// The session without its caches. On the CPU that is all of it. `text`: where others have used its cache, what of
    /// it is the session's; none where that is less than half of the text.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, `limit_exceeded` for notes of more than 64 MiB; `device_lost`.
    pub async fn save_head(&mut self, notes: String, text: Option<&[u32]>) -> Result<Vec<u8>> {
        if self.run.is_some() {
            return Err(Error::invalid_argument("a generation is running: finish or cancel it first"));
        }
        let model = self.session.config().digest;
        let own = text.map_or(self.cached.len(), |text| self.common_prefix(text));
        // A model that is loaded again knows no adapters: what they have read is of no use to it.
        if !self.cached_with.is_empty() || text.is_some_and(|text| own == 0 || 2 * own < text.len()) {
            return Head { model, notes, ..Head::default() }.bytes();
        }
        // What the next run would do first: states are where the tokens end, or the tokens end where the states are.
        let reached = self.session.rewind(own);
        self.cached.truncate(reached);
        let (tokens, sources) = (self.cached.clone(), self.session.sources(&self.cached));
        let head = Head { model, written: reached as u32, tokens, sources, notes, ..Head::default() };
        self.session.with_caches(head).await?.bytes()
    }

    /// A part of the caches with its digest; `None` after the last. Nothing else may happen to the session between
    /// [`Engine::save_head`] and the last part.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    pub async fn read_part(&self, number: u32) -> Result<Option<Vec<u8>>> {
        Ok(self.session.read_part(self.cached.len(), number).await?.map(sealed))
    }

    /// Checks the first [`START`] bytes of a file of `size` bytes. Returns how many bytes its head has, and how many
    /// tokens are cached.
    ///
    /// # Errors
    /// Those of [`Head::read`].
    pub fn check_saved(&self, start: &[u8], size: u64) -> Result<[u32; 2]> {
        let preamble = Preamble::read(start, &self.fits(size))?;
        // All three lengths have a limit of their own now, and are what the file has.
        Ok([preamble.head_bytes() as u32, preamble.tokens])
    }

    /// Goes on from where a session was saved, given the head of its file of `size` bytes. Returns the notes, and how
    /// many bytes a part has: all but the last, which may have fewer. These are to be written before anything else.
    /// Where there are no caches or they do not fit, that is 0, and the session stays as it was.
    ///
    /// # Errors
    /// Those of [`Head::read`]; `out_of_memory`, `device_lost`. The session then is empty.
    pub async fn restore_head(&mut self, file: &[u8], size: u64) -> Result<(String, u32)> {
        self.check_idle()?;
        let head = Head::read(file, &self.fits(size))?;
        let cached = match self.restore(&head).await {
            Ok(false) => return Ok((head.notes, 0)),
            Ok(true) => self.session.ids_of(head.tokens, &head.sources),
            Err(error) => Err(error),
        };
        match cached {
            Ok(cached) => (self.cached, self.cached_with) = (cached, Vec::new()),
            Err(error) => {
                self.reset();
                return Err(error);
            }
        }
        #[cfg(target_arch = "wasm32")]
        if let crate::runtime::session::AnySession::Gpu(lane) = &self.session {
            lane.of_session(|session| session.write_places(&self.cached, 0));
        }
        Ok((head.notes, (PART + SEAL) as u32))
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        self.session.make_room(head.tokens.len()).await?;
        self.session.restore(head).await
    }

    /// Writes a part with its digest into the caches.
    ///
    /// # Errors
    /// `bad_file`, `integrity_failed`, `device_lost`; the session then is empty.
    pub async fn write_part(&mut self, number: u32, file: &[u8]) -> Result<()> {
        let written = self.session.write_part(self.cached.len(), number, file).await;
        if written.is_err() {
            self.reset();
        }
        written
    }

    fn fits(&self, size: u64) -> Fits {
        let config = self.session.config();
        Fits { size, model: config.digest, context: self.session.context_length(), vocab: config.vocab }
    }
}
