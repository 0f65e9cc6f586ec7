//! The adapters that a text is read and written with.

use super::adapter_use::positions_kept;
use super::run::engine::Engine;
use super::session::{AdapterUse, Session};
use crate::model::Adapter;
use crate::{Error, Result};

impl<S: Session> Engine<S> {
    /// Registers an adapter under this number, which no other may have had.
    ///
    /// # Errors
    /// The errors of [`Adapter::read`]; `limit_exceeded` for one adapter too many, or one that is too large for the
    /// device; `out_of_memory`, `device_lost`.
    pub async fn add_adapter(&mut self, id: u32, file: &[u8]) -> Result<()> {
        let adapter = Adapter::read(self.session.config(), file)?;
        self.session.add_adapter(id, adapter).await
    }

    /// Removes an adapter; texts that are being written with it go on. False where none has this number.
    pub fn remove_adapter(&mut self, id: u32) -> bool {
        self.session.remove_adapter(id)
    }

    /// The adapters of a text that begins with `ids`, given their numbers and scales.
    ///
    /// # Errors
    /// `invalid_argument` for a number that no adapter has or that occurs twice, and for a scale that is not finite.
    pub fn adapters_of(&self, adapters: &[(u32, f32)], ids: &[u32]) -> Result<Vec<AdapterUse>> {
        let mut uses: Vec<AdapterUse> = Vec::new();
        for (at, &(id, scale)) in adapters.iter().enumerate() {
            let Some(invocation) = self.session.invocation(id) else {
                return Err(Error::invalid_argument(format!("adapters: the model has no adapter {id}")));
            };
            if !scale.is_finite() {
                return Err(Error::invalid_argument(format!("adapters: expected a finite scale, found {scale}")));
            }
            if adapters[..at].iter().any(|(other, _)| *other == id) {
                return Err(Error::invalid_argument(format!("adapters: adapter {id} occurs twice")));
            }
            let from = match invocation.len() {
                0 => Some(0),
                count => ids.windows(count).rposition(|window| window == invocation),
            };
            if let Some(from) = from.filter(|_| scale != 0.0) {
                // Sorted by number, so that the order in a request makes no difference.
                let at = uses.partition_point(|of| of.id < id);
                uses.insert(at, AdapterUse { id, scale, from });
            }
        }
        Ok(uses)
    }

    /// Number of tokens of `ids`, from the first on, that are cached as these adapters would read them.
    pub fn cached_of(&self, ids: &[u32], adapters: &[AdapterUse]) -> usize {
        let same = self.cached.iter().zip(ids).take_while(|(a, b)| a == b).count();
        same.min(positions_kept(&self.cached_with, adapters))
    }

    /// Sets the adapters with which tokens are read and written from now on.
    pub(in crate::runtime) fn read_with(&mut self, adapters: Vec<AdapterUse>) {
        self.session.set_adapters(&adapters);
        self.cached_with = adapters;
    }
}
