//! What passes in flight answer: how they left their sequences, and logits where these are wanted.

use crate::gpu::{Device, ReadBack, Ring};
use crate::runtime::plan::Read;
use crate::{Error, ErrorCode, Result};

/// Maximum number of passes in flight.
pub const MAX_DEPTH: usize = 16;

/// Maximum number of passes of several rows in flight whose logits are read back, since these are large.
const LOGITS_AHEAD: usize = 4;

/// The answer of a decode pass.
pub(in crate::runtime) struct Answer {
    /// Bytes from the start of the pass, with how it left its sequences; the report, for a pass with a draft.
    pub outcome: Vec<u8>,
    /// Logits `[rows, vocab]`, if read back. Rows past the pass's own are left over from a larger pass.
    pub logits: Option<Vec<f32>>,
}

/// The read-back buffers of a session.
pub(in crate::runtime) struct Reads {
    outcomes: Ring,
    /// Made when a run first wants logits.
    logits: Option<Ring>,
}

impl Reads {
    /// Makes buffers for outcomes of this size.
    ///
    /// # Errors
    /// `limit_exceeded` where they are too large for the device.
    pub fn new(device: &Device, bytes: u64) -> Result<Self> {
        Ok(Self { outcomes: Ring::new(device, MAX_DEPTH, bytes)?, logits: None })
    }

    /// Makes the buffers for the logits of passes of up to `rows` rows, if they are not made yet.
    ///
    /// # Errors
    /// `limit_exceeded` where they are too large for the device.
    pub fn prepare_logits(&mut self, device: &Device, rows: usize, vocab: usize) -> Result<()> {
        if self.logits.is_none() {
            let depth = if rows > 1 { LOGITS_AHEAD } else { MAX_DEPTH };
            self.logits = Some(Ring::new(device, depth, (rows * vocab * 4) as u64)?);
        }
        Ok(())
    }

    /// Number of passes that are submitted and not read back.
    pub fn in_flight(&self) -> usize {
        self.outcomes.in_flight()
    }

    /// Whether one more pass may be in flight, with logits or without.
    pub fn has_free(&self, with_logits: bool) -> bool {
        let has_logits = || self.logits.as_ref().is_none_or(Ring::has_free);
        self.outcomes.has_free() && (!with_logits || has_logits())
    }

    /// A free buffer.
    ///
    /// # Errors
    /// `limit_exceeded` where all are in flight.
    pub fn reserve(&mut self, device: &Device, what: Read) -> Result<ReadBack> {
        let free = match (what, &mut self.logits) {
            (Read::Outcome, _) => self.outcomes.reserve(device)?,
            (Read::Logits, Some(logits)) => logits.reserve(device)?,
            (Read::Logits, None) => None,
        };
        let none = || Error::new(ErrorCode::LimitExceeded, format!("{MAX_DEPTH} tokens are in flight already"));
        free.ok_or_else(none)
    }

    /// Notes that the copy to a buffer is submitted.
    pub fn submitted(&mut self, device: &Device, what: Read, read: ReadBack) {
        match (what, &mut self.logits) {
            (Read::Logits, Some(logits)) => logits.submitted(device, read),
            _ => self.outcomes.submitted(device, read),
        }
    }

    /// The oldest answer, once it is there; `None` where nothing is in flight.
    pub async fn next(&mut self, device: &Device) -> Result<Option<Answer>> {
        let logits = match &mut self.logits {
            Some(ring) => ring.next(device).await?,
            None => None,
        };
        let logits = logits.map(|bytes| bytemuck::pod_collect_to_vec(&bytes));
        Ok(self.outcomes.next(device).await?.map(|outcome| Answer { outcome, logits }))
    }

    /// The same, but `None` where it is not there yet, or where logits are in flight.
    pub fn next_if_ready(&mut self, device: &Device) -> Result<Option<Answer>> {
        if self.logits.as_ref().is_some_and(|logits| logits.in_flight() > 0) {
            return Ok(None);
        }
        Ok(self.outcomes.next_if_ready(device)?.map(|outcome| Answer { outcome, logits: None }))
    }

    /// Drops what is in flight.
    pub fn discard(&mut self) {
        self.outcomes.discard();
        self.logits.iter_mut().for_each(Ring::discard);
    }

    /// Bytes of all buffers.
    pub fn bytes(&self) -> u64 {
        self.outcomes.bytes() + self.logits.as_ref().map_or(0, Ring::bytes)
    }
}
