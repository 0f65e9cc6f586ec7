//! The encoder of GLM-4.1V, GLM-4.6V (Hong et al. 2025, <https://arxiv.org/abs/2507.01006>) and GLM-OCR: RMS norms, a
//! gated feed-forward, heads rotated by row and column, positions resized to the image where the file has them.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Grouping, NormKind, Op, Program};
use super::qwen::rotated;
use super::vit::{Vit, names};

/// Taps into the table of positions: between four neighbours along each axis.
const BICUBIC_TAPS: usize = 16;
/// Epsilon of the projector's norm.
const EPS: f32 = 1e-5;

/// 2 × 2 patches to a row by a product, another product, a gated feed-forward.
pub fn glm4v(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, rotated(config, NormKind::Rms));
    vit.stream_norm(["v.norm_embd.weight", "v.norm_embd.bias"]);
    if encoder.places > 0 {
        vit.places(BICUBIC_TAPS);
    }
    vit.layers(&mut |_, _| {});
    let x = vit.regroup(vit.x, Grouping { parts: encoder.merge * encoder.merge, taps: 1, by_value: true });
    let x = vit.project(x, ["mm.patch_merger.weight", "mm.patch_merger.bias"], "merged");
    let x = vit.project(x, ["mm.model.fc.weight", "mm.model.fc.bias"], "projected");
    let x = vit.projector_norm(x, ["mm.post_norm.weight", "mm.post_norm.bias"], EPS);
    vit.push(Op::Activate { x, kind: ActivationKind::GeluErf });
    let inner = vit.gated(x, (None, [names!("mm.gate"), names!("mm.up")]), encoder.width_of("mm.gate.weight"));
    vit.project_rows(inner, ["mm.down.weight", "mm.down.bias"]);
    vit.finish()
}
