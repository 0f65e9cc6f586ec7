//! `adapters.*`: adapters that a model has in itself, and the tokens that switch them.

use std::sync::Arc;

use super::{Keys, MAX_HIDDEN, MAX_VOCAB};
use crate::error::{Error, Result};
use crate::kernels::switch::MAX_ADAPTERS;
use crate::model::Switch;

/// The gain in files without the key.
const GAIN: f32 = 15.0;

impl Switch {
    /// The keys of a Granite Switch; `None` for other architectures.
    ///
    /// # Errors
    /// `bad_file` for a missing key, and for lists of another length than the number of adapters.
    pub(super) fn from_keys(keys: &Keys) -> Result<Option<Arc<Self>>> {
        if keys.architecture != "graniteswitch" {
            return Ok(None);
        }
        let count = keys.required("adapters.count", MAX_ADAPTERS)?;
        let list = |key| {
            let name = keys.name(key);
            let found = keys.metadata.i32s(&name)?.ok_or_else(|| keys.missing(key))?;
            if found.len() != count {
                let message = format!("metadata `{name}`: {} tokens for {count} adapters", found.len());
                return Err(Error::bad_file(message));
            }
            let ids = found.iter().map(|id| u32::try_from(*id).ok().filter(|&id| (id as usize) < MAX_VOCAB));
            let outside = || Error::bad_file(format!("metadata `{name}`: expected ids of tokens"));
            ids.collect::<Option<Vec<u32>>>().ok_or_else(outside)
        };
        let (switches, embedded) = (list("adapters.token_ids_activate")?, list("adapters.token_ids_substitute")?);
        Ok(Some(Arc::new(Self {
            tokens: switches.into_iter().zip(embedded).map(|(token, embedded)| [token, embedded]).collect(),
            rank: keys.required("adapters.lora_rank", MAX_HIDDEN)?,
            gain: keys.positive("adapters.router_gain")?.unwrap_or(GAIN),
        })))
    }
}
