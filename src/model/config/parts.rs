//! Files with several encoders or programs: which tensors belong to which, and the sizes of one.

use super::encoder::{EncoderConfig, Projector, VOICE};
use super::{Architecture, Keys, MAX_FFN, MAX_HIDDEN, ModelConfig};
use crate::error::Result;
use crate::gguf::{Gguf, TensorInfo};
use crate::model::ActivationKind;

/// The tensor that makes rows of the model's prompts of latents.
const LATENT: &str = "a.gen.input_linear.weight";

/// One of the programs of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The name by which a loader asks for it.
    pub name: &'static str,
    /// What the names of its tensors begin with.
    pub tensors: &'static [&'static str],
}

impl ModelConfig {
    /// Whether convolution kernels are rounded to f16; see [`rounded_kernel`](super::rounded_kernel).
    pub fn rounds_kernels(&self) -> bool {
        let rounds = |projector: &Projector| !projector.is_bare && !projector.is_exact;
        self.encoder.as_ref().is_some_and(|encoder| rounds(&encoder.projector) && self.architecture != VOICE)
    }

    /// Whether a tensor belongs to another encoder of the file, which reads sounds where this one reads images, or to
    /// another of its parts.
    pub(in crate::model) fn is_of_another_encoder(&self, tensor: &str) -> bool {
        let is_sounds = tensor.starts_with("a.") || tensor.starts_with("mm.a.");
        self.encoder.as_ref().is_some_and(|encoder| match encoder.projector.part {
            Some(part) => !part.tensors.iter().any(|begin| tensor.starts_with(begin)),
            None => is_sounds != (encoder.bins > 0),
        })
    }
}

/// Whether an architecture is a vocoder that is one program, which has no heads.
pub(super) fn is_vocoder(keys: &Keys, architecture: &Architecture) -> bool {
    keys.architecture == VOICE && architecture.projector.is_some_and(|projector| projector.part.is_none())
}

impl EncoderConfig {
    /// A part of Pocket TTS, whose sizes its tensors have. Pages that load no encoder do not have this code: it is in a
    /// part of the WebAssembly (`tools/modules.mjs`).
    #[inline(never)]
    pub(super) fn of_part(keys: &Keys, gguf: &Gguf, projector: Projector, part: Part) -> Result<Self> {
        let bins = keys.required("projection_dim", MAX_HIDDEN)?;
        let hidden = keys.required("embedding_length", MAX_HIDDEN)?;
        let own = gguf.tensors.iter().filter(|tensor| part.tensors.iter().any(|begin| tensor.name.starts_with(begin)));
        let last = |tensor: &TensorInfo| tensor.dims.last().copied().unwrap_or(0).min(MAX_FFN as u64) as usize;
        // Transposed convolutions have their inputs last.
        let is_transposed = |name: &str| name.starts_with("a.gen.wav.") && name.ends_with(".scale_conv.weight");
        let outputs = |tensor: &TensorInfo| match is_transposed(&tensor.name) {
            true => tensor.dims.get(1).copied().unwrap_or(0).min(MAX_FFN as u64) as usize,
            false => last(tensor),
        };
        let widths: Vec<(String, usize)> = own.map(|tensor| (tensor.name.clone(), outputs(tensor))).collect();
        let latent = gguf.tensors.iter().find(|tensor| tensor.name == LATENT);
        let latent = latent.and_then(|tensor| tensor.dims.first()).map_or(0, |&n| n.min(MAX_FFN as u64) as usize);
        let ffn = gguf
            .tensors
            .iter()
            .find(|tensor| part.tensors.iter().any(|begin| tensor.name == format!("{begin}0.ffn_up.weight")));
        let width = match part.name {
            "flow" => latent + 1 + bins,
            "frames" | "listen" => hidden,
            "wave" => 1,
            _ => bins,
        };
        let (merge, ffn) = (latent, ffn.map_or(0, last));
        let activation = ActivationKind::Gelu;
        let variant = keys.metadata.str(&format!("{VOICE}.model_variant"))?.map(str::to_owned);
        Ok(Self { width, merge, activation, ffn, bins, variant, widths, ..Self::nothing(projector) })
    }
}
