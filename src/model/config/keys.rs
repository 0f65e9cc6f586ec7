//! Typed, checked access to the metadata keys of one architecture.

use super::{MAX_CONTEXT, MAX_HEADS, MAX_HIDDEN, MAX_LAYERS, MAX_SSM, PerLayer, SlidingPattern, Ssm, unsupported};
use crate::error::{Error, Result};
use crate::gguf::{Array, Metadata, TensorInfo, Value};

/// From this distance on all keys share a bucket.
const MAX_DISTANCE: usize = 128;
/// Tokens by which words lag behind a sound, at most: some 80 seconds.
const MAX_DELAY: usize = 1000;

/// The metadata keys of one architecture, `{architecture}.{key}`.
pub(in crate::model) struct Keys<'a> {
    pub metadata: &'a Metadata,
    pub architecture: &'static str,
}

impl Keys<'_> {
    /// The key's full name.
    pub fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// Whether the tensor of the head makes vectors out of the residual stream, and not logits.
    pub fn projects_embedding(&self) -> bool {
        self.architecture == "gemma-embedding2"
    }

    /// Whether the head may have other rows than the vocabulary: of a drafter's vocabulary, or of a vector.
    pub fn has_other_head(&self) -> bool {
        self.projects_embedding() || ["eagle3", "dflash"].contains(&self.architecture)
    }

    /// Whether all layers run behind the layers of another model, and read its caches.
    pub fn reads_caches(&self) -> bool {
        self.architecture == "gemma4-assistant"
    }

    /// A count from 1 to `most`, if the key is there.
    pub fn count(&self, key: &str, most: usize) -> Result<Option<usize>> {
        let name = self.name(key);
        if let Some(Value::Array(array)) = self.metadata.get(&name) {
            let count = array.len();
            let message = format!("metadata `{name}`: expected one value for all layers, found an array of {count}");
            return Err(unsupported(message));
        }
        let Some(found) = self.metadata.u64(&name)? else { return Ok(None) };
        match usize::try_from(found) {
            Ok(count) if (1..=most).contains(&count) => Ok(Some(count)),
            _ => Err(Error::bad_file(format!("metadata `{name}`: expected 1 to {most}, found {found}"))),
        }
    }

    /// As [`Keys::count`], where 0 means that there is none.
    pub fn count_or_none(&self, key: &str, most: usize) -> Result<Option<usize>> {
        match self.metadata.u64(&self.name(key)) {
            Ok(Some(0)) => Ok(None),
            _ => self.count(key, most),
        }
    }

    /// T5's buckets of distances, 0 for others. With fewer than 4, or more than 128, the logarithm that makes buckets
    /// of far distances has no meaning.
    pub fn distance_buckets(&self) -> Result<usize> {
        const KEY: &str = "attention.relative_buckets_count";
        if !["t5", "t5encoder"].contains(&self.architecture) {
            return Ok(0);
        }
        match self.required(KEY, MAX_DISTANCE)? {
            found @ ..4 => {
                let name = self.name(KEY);
                Err(Error::bad_file(format!("metadata `{name}`: expected 4 to {MAX_DISTANCE}, found {found}")))
            }
            found => Ok(found),
        }
    }

    /// An even count, if the key is there.
    pub fn even(&self, key: &str, most: usize) -> Result<Option<usize>> {
        match self.count(key, most)? {
            Some(odd) if !odd.is_multiple_of(2) => {
                let name = self.name(key);
                Err(Error::bad_file(format!("metadata `{name}`: expected an even number up to {most}, found {odd}")))
            }
            even => Ok(even),
        }
    }

    /// Layers that reuse keys and values of earlier layers. At least two layers have keys and values of their own.
    pub fn shared_kv_layers(&self, layers: usize) -> Result<usize> {
        const KEY: &str = "attention.shared_kv_layers";
        let own = if self.reads_caches() { 0 } else { 2 };
        Ok(self.count_or_none(KEY, layers.saturating_sub(own).max(1))?.unwrap_or(0))
    }

    /// One count for all layers, or an array of one for each of `layers` layers, if the key is there. 0 means that a
    /// layer lacks the part.
    pub fn per_layer(&self, key: &str, layers: usize, most: usize) -> Result<Option<PerLayer>> {
        let name = self.name(key);
        let in_range = |found: u64| match usize::try_from(found) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(Error::bad_file(format!("metadata `{name}`: expected 0 to {most}, found {found}"))),
        };
        if let Some(Value::Array(_)) = self.metadata.get(&name) {
            let found = self.metadata.i32s(&name)?.unwrap_or_default();
            if found.len() != layers {
                let message = format!("metadata `{name}`: {} values for {layers} layers", found.len());
                return Err(Error::bad_file(message));
            }
            let count = |&found: &i32| match u64::try_from(found) {
                Ok(found) => in_range(found),
                Err(_) => Err(Error::bad_file(format!("metadata `{name}`: expected 0 to {most}, found {found}"))),
            };
            return Ok(Some(PerLayer::Each(found.iter().map(count).collect::<Result<_>>()?)));
        }
        let found = self.metadata.u64(&name)?;
        Ok(found.map(in_range).transpose()?.map(PerLayer::All))
    }

    pub fn required(&self, key: &str, most: usize) -> Result<usize> {
        self.count(key, most)?.ok_or_else(|| self.missing(key))
    }

    pub fn missing(&self, key: &str) -> Error {
        Error::bad_file(format!("metadata `{}` is missing", self.name(key)))
    }

    /// A finite number above 0, if the key is there.
    pub fn positive(&self, key: &str) -> Result<Option<f32>> {
        let name = self.name(key);
        match self.metadata.f32(&name)? {
            // Below the smallest normal number, 1 / x overflows.
            Some(found) if !(found.is_normal() && found > 0.0) => {
                Err(Error::bad_file(format!("metadata `{name}`: expected a number above 0, found {found}")))
            }
            found => Ok(found),
        }
    }

    /// Returns the epsilons of RMS norms and of layer norms. If the file has only one of the keys, it counts for both.
    pub fn norm_eps(&self) -> Result<[f32; 2]> {
        const RMS: &str = "attention.layer_norm_rms_epsilon";
        const LAYER: &str = "attention.layer_norm_epsilon";
        let eps = |key| {
            let name = self.name(key);
            match self.metadata.f32(&name)? {
                Some(eps) if !(0.0..1.0).contains(&eps) => {
                    Err(Error::bad_file(format!("metadata `{name}`: expected 0 to 1, found {eps}")))
                }
                found => Ok(found),
            }
        };
        match (eps(RMS)?, eps(LAYER)?) {
            (Some(rms), layer) => Ok([rms, layer.unwrap_or(rms)]),
            (None, Some(layer)) => Ok([layer; 2]),
            (None, None) => Err(self.missing(RMS)),
        }
    }

    /// The sliding window; 0 means that no layer has one.
    pub fn window(&self) -> Result<Option<usize>> {
        const KEY: &str = "attention.sliding_window";
        self.count_or_none(KEY, MAX_CONTEXT)
    }

    /// A number, or a flag for each layer, which may be written as a number.
    pub fn pattern(&self, key: &str) -> Result<Option<SlidingPattern>> {
        let name = self.name(key);
        if let Some(Value::Array(array)) = self.metadata.get(&name) {
            let layers = match array {
                Array::Bool(layers) => layers.clone(),
                Array::I32(_) | Array::U32(_) => {
                    let numbers = self.metadata.i32s(&name)?.unwrap_or_default();
                    numbers.into_iter().map(|number| number != 0).collect()
                }
                other => {
                    let found = other.type_name();
                    let message = format!("metadata `{name}`: expected a number, bools or integers, found {found}");
                    return Err(Error::bad_file(message));
                }
            };
            return Ok(Some(SlidingPattern::Layers(layers)));
        }
        let Some(every) = self.metadata.u64(&name)? else { return Ok(None) };
        match usize::try_from(every) {
            Ok(every) if every <= MAX_LAYERS => Ok(Some(SlidingPattern::Every(every))),
            _ => Err(Error::bad_file(format!("metadata `{name}`: expected 0 to {MAX_LAYERS}, found {every}"))),
        }
    }

    /// A finite number above 0, or 0, if the key is there.
    pub fn not_negative(&self, key: &str) -> Result<Option<f32>> {
        match self.metadata.f32(&self.name(key))? {
            Some(0.0) => Ok(Some(0.0)),
            _ => self.positive(key),
        }
    }

    /// The state-space keys, if the file has a kernel size.
    pub fn ssm(&self) -> Result<Option<Ssm>> {
        let Some(kernel) = self.count("ssm.conv_kernel", MAX_SSM)? else { return Ok(None) };
        Ok(Some(Ssm {
            kernel,
            inner: self.required("ssm.inner_size", MAX_HIDDEN)?,
            state: self.required("ssm.state_size", MAX_SSM)?,
            heads: self.required("ssm.time_step_rank", MAX_HEADS)?,
            groups: self.count_or_none("ssm.group_count", MAX_HEADS)?.unwrap_or(1),
            bare_norms: self.metadata.bool(&self.name("ssm.dt_b_c_rms"))?.unwrap_or(false),
        }))
    }

    /// Which layers have a recurrent state and no KV cache: a flag for each layer, or all but the last of each group.
    pub fn recurrent_layers(&self) -> Result<Option<SlidingPattern>> {
        match self.pattern("attention.recurrent_layers")? {
            None => Ok(self.count("full_attention_interval", MAX_LAYERS)?.map(SlidingPattern::Every)),
            found => Ok(found),
        }
    }

    /// See [`ModelConfig::delay`](super::ModelConfig::delay).
    pub fn delay(&self, tensors: &[TensorInfo]) -> Result<Option<[usize; 2]>> {
        let Some(down) = tensors.iter().find(|tensor| tensor.name == "blk.0.ffn_norm_ada_down.weight") else {
            return Ok(None);
        };
        let inner = down.dims.get(1).map_or(0, |&rows| rows as usize);
        Ok(Some([self.number("realtime_delay_tokens", MAX_DELAY)?.unwrap_or(0), inner.min(MAX_HIDDEN)]))
    }

    /// A factor above 0; 0 means that there is none.
    pub fn scale(&self, key: &str) -> Result<Option<f32>> {
        Ok(self.not_negative(key)?.filter(|&scale| scale != 0.0))
    }

    /// A number from 0 to `most`, if the key is there.
    pub fn number(&self, key: &str, most: usize) -> Result<Option<usize>> {
        let name = self.name(key);
        let Some(found) = self.metadata.u64(&name)? else { return Ok(None) };
        match usize::try_from(found) {
            Ok(count) if count <= most => Ok(Some(count)),
            _ => Err(Error::bad_file(format!("metadata `{name}`: expected 0 to {most}, found {found}"))),
        }
    }
}
