//! SigLIP (Zhai et al. 2023, <https://arxiv.org/abs/2303.15343>) and the projectors of LFM2-VL, SmolVLM, Gemma 3,
//! PaddleOCR-VL (Cui et al. 2025, <https://arxiv.org/abs/2510.14528>), Kimi VL (2025,
//! <https://arxiv.org/abs/2504.07491>), Phi 4 and Janus Pro (Chen et al. 2025, <https://arxiv.org/abs/2501.17811>).

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Activation, NormKind, Op, Program};
use super::qwen::rotated;
use super::vit::{Form, Vit, own};

/// Epsilon of the norm before the projector of LFM2-VL and PaddleOCR-VL.
const LFM2_EPS: f32 = 1e-5;

/// Taps into the table of positions of a row: the table is resized with a triangle up to half of it wide.
pub const RESIZED_TAPS: usize = 64;

/// LFM2-VL: the table of positions resized to the image, 2 × 2 patches side by side, two products.
pub fn lfm2(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = siglip(config, encoder, RESIZED_TAPS);
    let mut x = vit.side_by_side(vit.x, encoder.merge * encoder.merge);
    if config.has_tensor("mm.input_norm.weight") {
        x = vit.projector_norm(x, ["mm.input_norm.weight", "mm.input_norm.bias"], LFM2_EPS);
    }
    vit.project_twice(x, [["mm.1.weight", "mm.1.bias"], ["mm.2.weight", "mm.2.bias"]], ActivationKind::Gelu);
    vit.finish()
}

/// PaddleOCR-VL: heads rotated by row and column besides the table of positions, 2 × 2 patches side by side, two
/// products.
pub fn paddleocr(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    turned(Vit::new(config, encoder, rotated(config, NormKind::Layer)), encoder.activation)
}

/// Kimi VL: the same with pairs of neighbours and another activation.
pub fn kimivl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { apart: Some(1), ..Form::new(config) };
    turned(Vit::new(config, encoder, form), ActivationKind::Gelu)
}

fn turned(mut vit: Vit, kind: ActivationKind) -> Program {
    vit.places(RESIZED_TAPS);
    vit.layers(&mut |_, _| {});
    let x = vit.projector_norm(vit.x, ["mm.input_norm.weight", "mm.input_norm.bias"], LFM2_EPS);
    let x = vit.side_by_side(x, vit.encoder.merge * vit.encoder.merge);
    vit.project_twice(x, [["mm.1.weight", "mm.1.bias"], ["mm.2.weight", "mm.2.bias"]], kind);
    vit.finish()
}

/// Phi 4 with vision: the table of positions resized to the image, two products of each patch.
pub fn phi4(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = siglip(config, encoder, RESIZED_TAPS);
    let x = vit.side_by_side(vit.x, 1);
    vit.project_twice(x, [["mm.0.weight", "mm.0.bias"], ["mm.2.weight", "mm.2.bias"]], ActivationKind::Gelu);
    vit.finish()
}

/// Janus Pro: two products of each patch.
pub fn janus_pro(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = siglip(config, encoder, 1);
    let x = vit.side_by_side(vit.x, 1);
    vit.project_twice(x, [["mm.0.weight", "mm.0.bias"], ["mm.1.weight", "mm.1.bias"]], encoder.activation);
    vit.finish()
}

/// Idefics 3 and SmolVLM: patches side by side, one product.
pub fn idefics3(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = siglip(config, encoder, 1);
    let x = vit.side_by_side(vit.x, encoder.merge * encoder.merge);
    vit.project_rows(x, ["mm.model.fc.weight", "mm.model.fc.bias"]);
    vit.finish()
}

/// Gemma 3: the mean of patches, an RMS norm, a product with a matrix that the file has transposed.
pub fn gemma3(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = siglip(config, encoder, 1);
    let x: Activation = vit.mean(vit.x, encoder.merge * encoder.merge);
    let norm = vit.norm(NormKind::Rms, own("mm.soft_emb_norm.weight"), config.hidden);
    let normed = vit.activation("soft embeddings", config.hidden);
    vit.push(Op::Norm { x, norm, y: normed });
    let y = vit.activation("rows", encoder.width);
    vit.push(Op::Project { x: normed, weight: own("mm.input_projection.weight"), y });
    vit.finish()
}

/// Layer norms, learned positions.
fn siglip<'a>(config: &'a ModelConfig, encoder: &'a EncoderConfig, taps: usize) -> Vit<'a> {
    let mut vit = Vit::new(config, encoder, Form::new(config));
    vit.places(taps);
    vit.layers(&mut |_, _| {});
    vit
}
