//! Files with several encoders or programs: which tensors belong to which, and the sizes of one.

use super::encoder::{EncoderConfig, MAX_PLACES, Projector, VOICE};
use super::{Architecture, Keys, MAX_FFN, MAX_HIDDEN, ModelConfig, Suggested};
use crate::error::{Error, Result};
use crate::gguf::{Gguf, TensorInfo};
use crate::model::ActivationKind;

/// The tensor that makes rows of the model's prompts of latents.
const LATENT: &str = "a.gen.input_linear.weight";

/// Codes of a frame of LFM3's speech, at most.
const MAX_BOOKS: usize = 64;
/// Rows that a row of an attention layer of its codec sees, itself included.
pub(in crate::model) const CODEC_WINDOW: usize = 30;

/// Rows before a row of LFM3's codec on which it depends.
fn reach(gguf: &Gguf, kernel: usize) -> usize {
    let has = |layer: usize, name: &str| {
        let name = format!("a.gen.wav.tfm.blk.{layer}.{name}.weight");
        gguf.tensors.iter().any(|tensor| tensor.name == name)
    };
    let of = |layer| if has(layer, "conv_dw") { kernel.saturating_sub(1) } else { CODEC_WINDOW - 1 };
    (0..).take_while(|&layer| has(layer, "ln1")).map(of).sum()
}

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
            None => is_sounds != (encoder.bins > 0) || (self.architecture != VOICE && tensor.starts_with("a.gen.")),
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
        let is_lfm = projector.name == "lfm3a_gen";
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
        let activation = if is_lfm { ActivationKind::Silu } else { ActivationKind::Gelu };
        let variant = keys.metadata.str(&format!("{VOICE}.model_variant"))?.map(str::to_owned);
        let sampling = Suggested::read(keys.metadata, VOICE);
        let made = Self { width, merge, activation, ffn, bins, variant, sampling, widths, ..Self::nothing(projector) };
        if is_lfm { made.of_codes(gguf, part) } else { Ok(made) }
    }

    /// A part of LFM3's speech: how many codes a frame has, and how many kinds of them there are.
    fn of_codes(self, gguf: &Gguf, part: Part) -> Result<Self> {
        let dims = |name: &str, axis: usize| {
            let found = gguf.tensors.iter().find(|tensor| tensor.name == name).and_then(|tensor| tensor.dims.get(axis));
            found.map_or(0, |&n| n.min(MAX_PLACES) as usize)
        };
        let [kinds, books] = [1, 2].map(|axis| dims("a.gen.code.embd.weight", axis));
        if !(1..=MAX_BOOKS).contains(&books) || kinds * books > MAX_FFN || kinds < 2 {
            let message = format!("expected up to {MAX_BOOKS} codebooks, together up to {MAX_FFN} codes");
            let found = format!("found {books} of {kinds}");
            return Err(Error::bad_file(format!("tensor a.gen.code.embd.weight: {message}, {found}")));
        }
        let is_kernel = |tensor: &&TensorInfo| tensor.name.ends_with(".conv_dw.weight");
        let own = |tensor: &&TensorInfo| tensor.name.starts_with("a.gen.wav.tfm.blk.");
        let along = gguf.tensors.iter().filter(own).find(is_kernel).and_then(|tensor| tensor.dims.first());
        let kernels = [books, along.map_or(0, |&length| length.min(MAX_FFN as u64) as usize)];
        let code = Self { width: kinds * books, merge: kinds, places: kinds * books, kernels, ..self };
        let levels = "a.gen.wav.quant.first.codebook.weight";
        Ok(match part.name {
            "flow" => code,
            "next" => Self { width: code.bins, ..code },
            _ => Self {
                width: code.width_of("a.gen.wav.tfm.out_proj.weight"),
                merge: reach(gguf, kernels[1]),
                bins: dims(levels, 0),
                places: dims(levels, 1),
                ..code
            },
        })
    }
}
