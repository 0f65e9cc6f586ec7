//! The only place where header bytes are counted: every length is checked here.

use crate::error::Error;

/// Why an item could not be read.
#[derive(Debug)]
pub(super) enum Stop {
    /// Not all bytes of the item have arrived: it needs at least this many, counted from its first byte.
    Wait(usize),
    /// It reaches to this offset, past the end of the file or past the cap on headers.
    PastEnd(u64),
    /// It is invalid.
    Bad(Error),
}

/// The outcome of reading one item, or a part of it.
pub(super) type Step<T> = std::result::Result<T, Stop>;

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Bad(error)
    }
}

/// A read position in the bytes that have arrived.
///
/// An item is read with `take` and similar methods; `commit` marks it as done. After a [`Stop::Wait`] the caller drops
/// everything before [`Cursor::committed`], and reads the item again once enough bytes are there.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    item: usize,
    at: usize,
    /// Offset of `bytes[0]` in the file.
    origin: u64,
    /// No byte at or after this offset can belong to the header.
    limit: u64,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], origin: u64, limit: u64) -> Self {
        Self { bytes, item: 0, at: 0, origin, limit }
    }

    /// Offset in the file of the next byte.
    pub fn position(&self) -> u64 {
        self.origin + self.at as u64
    }

    /// Bytes between the position and the limit.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.position())
    }

    /// Bytes that have arrived and are not read yet.
    pub fn available(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Marks everything read so far as done.
    pub fn commit(&mut self) {
        self.item = self.at;
    }

    /// How many bytes are done.
    pub fn committed(&self) -> usize {
        self.item
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64) -> Step<&'a [u8]> {
        if len > self.left() {
            return Err(Stop::PastEnd(self.position().saturating_add(len)));
        }
        // Fits: `left` is at most the cap on headers, which is far below `usize::MAX`.
        let len = len as usize;
        if len > self.available() {
            return Err(Stop::Wait(self.at - self.item + len));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Step<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N as u64)?);
        Ok(array)
    }

    pub fn u32(&mut self) -> Step<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Step<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A string of any length: the length as u64, then the bytes.
    pub fn string(&mut self) -> Step<&'a [u8]> {
        let len = self.u64()?;
        self.take(len)
    }
}
