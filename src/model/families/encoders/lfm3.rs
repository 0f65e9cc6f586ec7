//! The encoder of LFM3-VL: RMS norms, gated convolutions over the image in most layers, attention of heads that are
//! rotated by row and column in the others.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{NormKind, Program};
use super::qwen::rotated;
use super::vit::Vit;

/// Epsilon of the norm before the projector.
const EPS: f32 = 1e-6;

/// A norm, 2 × 2 patches side by side, two products.
pub fn lfm3vl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, rotated(config, NormKind::Rms));
    vit.stream_norm(["v.embedding_norm.weight", ""]);
    vit.blocks(&mut |_, _| {});
    let x = vit.projector_norm(vit.x, ["mm.input_norm.weight", "mm.input_norm.bias"], EPS);
    let x = vit.side_by_side(x, encoder.merge * encoder.merge);
    vit.project_twice(x, [["mm.0.weight", "mm.0.bias"], ["mm.2.weight", "mm.2.bias"]], ActivationKind::GeluErf);
    vit.finish()
}
