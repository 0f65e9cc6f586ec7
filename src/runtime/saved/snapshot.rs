//! Saves an engine, and restores it in a later session of the same model.

use super::head::{Fits, Head, PART, Preamble, SEAL, sealed};
use crate::runtime::run::engine::Engine;
use crate::runtime::session::Session;
use crate::{Error, Result};

/// To save: [`Engine::save_head`], then [`Engine::read_part`] until it returns `None`. To restore in another session of
/// the model: [`Engine::check_saved`], then [`Engine::restore_head`], then [`Engine::write_part`] for all parts. The
/// caller moves the bytes, so that few of them are in memory at a time.
impl Engine {
    /// Saves the session without its caches. `text`: the session's own text,
    /// where others have used its cache since; then only what the two have in common is saved, or none of it if that is
    /// less than half of the text.
    ///
    /// # Errors
    /// `invalid_argument` while a run is on, `limit_exceeded` for notes of more than 64 MiB; `device_lost`.
    pub async fn save_head(&mut self, notes: String, text: Option<&[u32]>) -> Result<Vec<u8>> {
        if self.run.is_some() {
            return Err(Error::invalid_argument("a generation is running: finish or cancel it first"));
        }
        let model = self.session.config().digest;
        let own = text.map_or(self.cached.len(), |text| self.common_prefix(text));
        // A model that is loaded again has no adapters and no source, so what was read with them is useless to it.
        let is_useless = !self.cached_with.is_empty() || !self.source.is_empty();
        if is_useless || text.is_some_and(|text| own == 0 || 2 * own < text.len()) {
            return Head { model, notes, ..Head::default() }.bytes();
        }
        // As the next run would, first make tokens and states end at the same position.
        let reached = self.session.rewind(own);
        self.cached.truncate(reached);
        let (tokens, sources) = (self.cached.clone(), self.session.sources(&self.cached));
        let head = Head { model, written: reached as u32, tokens, sources, notes, ..Head::default() };
        self.session.with_caches(head).await?.bytes()
    }

    /// A part of the caches with its digest; `None` after the last part. The session must not be used otherwise between
    /// [`Engine::save_head`] and the last part.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    pub async fn read_part(&self, number: u32) -> Result<Option<Vec<u8>>> {
        Ok(self.session.read_part(self.cached.len(), number).await?.map(sealed))
    }

    /// Checks the first [`START`](super::head::START) bytes of a file of `size` bytes. Returns the number of bytes of
    /// its head, and of cached tokens.
    ///
    /// # Errors
    /// The errors of [`Head::read`].
    pub fn check_saved(&self, start: &[u8], size: u64) -> Result<[u32; 2]> {
        let preamble = Preamble::read(start, &self.fits(size))?;
        // Each length has been checked against its own limit, and their sum against the size of the file.
        Ok([preamble.head_bytes() as u32, preamble.tokens])
    }

    /// Goes on from a saved session, given the head of its file of `size` bytes. Returns the notes, and the number of
    /// bytes of each part but the last, which may have fewer. The parts must be written before the session is used.
    /// Where there are no caches or they do not fit, that number is 0, and the session stays as it was.
    ///
    /// # Errors
    /// The errors of [`Head::read`]; `out_of_memory`, `device_lost`. If the head was read, the session is empty then.
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
        self.session.write_places(&self.cached)?;
        Ok((head.notes, (PART + SEAL) as u32))
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        self.session.make_room(head.tokens.len()).await?;
        self.session.restore(head).await
    }

    /// Writes a part, followed by its digest in `file`, into the caches.
    ///
    /// # Errors
    /// `bad_file` for a part of another length, `integrity_failed` for one that has changed; `device_lost`. The session
    /// is empty then.
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
