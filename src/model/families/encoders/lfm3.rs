//! The encoder of LFM3-VL: RMS norms, gated convolutions over the image in most layers, attention of heads that are
//! rotated by row and column in the others.

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{NormKind, Program};
use super::qwen::{projected, rotated};
use super::vit::Vit;

/// A norm of patches, layers of either kind.
pub fn lfm3vl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, rotated(config, NormKind::Rms));
    vit.stream_norm(["v.embedding_norm.weight", ""]);
    vit.blocks(&mut |_, _| {});
    projected(vit)
}
