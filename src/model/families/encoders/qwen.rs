//! The encoders of Qwen2-VL (Wang et al. 2024, <https://arxiv.org/abs/2409.12191>), Qwen2.5-VL (Bai et al. 2025,
//! <https://arxiv.org/abs/2502.13923>), Qwen3-VL and dots.ocr (Li et al. 2025, <https://arxiv.org/abs/2512.02498>):
//! heads rotated by row and column, 2 × 2 patches to a row.

use super::super::super::ActivationKind;
use super::super::super::config::MAX_DEEP_ROWS;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Grouping, NormKind, Op, Program};
use super::vit::{Form, Vit};

/// Epsilon of the norm before the projector of dots.ocr and LFM3-VL.
const EPS: f32 = 1e-6;

/// Taps into the table of positions: between four neighbours.
const BILINEAR_TAPS: usize = 4;

/// Qwen2-VL.
pub fn qwen2vl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    merged(Vit::new(config, encoder, rotated(config, NormKind::Layer)))
}

/// Qwen2.5-VL: RMS norms, a gated feed-forward, most layers in windows.
pub fn qwen25vl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { parts: encoder.window_pattern, ..rotated(config, NormKind::Rms) };
    merged(Vit::new(config, encoder, form))
}

/// Qwen3-VL: learned positions, too.
pub fn qwen3vl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, rotated(config, NormKind::Layer));
    vit.places(BILINEAR_TAPS);
    merged(vit)
}

/// dots.ocr: RMS norms, a gated feed-forward; a norm before the patches of a row are side by side.
pub fn dots_ocr(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, rotated(config, NormKind::Rms));
    vit.layers(&mut |_, _| {});
    vit.stream_norm(["mm.post_norm.weight", ""]);
    projected(vit)
}

/// A norm, 2 × 2 patches side by side, two products.
pub fn projected(mut vit: Vit) -> Program {
    let x = vit.projector_norm(vit.x, ["mm.input_norm.weight", "mm.input_norm.bias"], EPS);
    let x = vit.side_by_side(x, vit.encoder.merge * vit.encoder.merge);
    vit.project_twice(x, [["mm.0.weight", "mm.0.bias"], ["mm.2.weight", "mm.2.bias"]], ActivationKind::GeluErf);
    vit.finish()
}

/// Norms of this kind, heads rotated as wholes.
pub fn rotated(config: &ModelConfig, norm: NormKind) -> Form {
    Form { norm, apart: Some(config.head_dim / 2), ..Form::new(config) }
}

/// Names of rows of layers that are kept, of several of these side by side, and of what becomes of them.
const KEPT: [[&str; 3]; MAX_DEEP_ROWS] = [
    ["kept 0", "grouped 0", "side 0"],
    ["kept 1", "grouped 1", "side 1"],
    ["kept 2", "grouped 2", "side 2"],
    ["kept 3", "grouped 3", "side 3"],
    ["kept 4", "grouped 4", "side 4"],
    ["kept 5", "grouped 5", "side 5"],
    ["kept 6", "grouped 6", "side 6"],
    ["kept 7", "grouped 7", "side 7"],
];

fn merged(mut vit: Vit) -> Program {
    let (encoder, hidden) = (vit.encoder, vit.config.hidden);
    let merge = encoder.merge;
    let kept = |vit: &mut Vit, deep: usize| vit.activation(KEPT[deep][0], hidden);
    vit.layers(&mut |vit, layer| {
        if let Some(deep) = encoder.deep_layers.iter().position(|&of| of == layer) {
            let y = kept(vit, deep);
            vit.push(Op::Copy { x: vit.x, y });
        }
    });
    for (deep, &layer) in encoder.deep_layers.iter().enumerate() {
        let x = kept(&mut vit, deep);
        let grouping = Grouping { parts: merge * merge, taps: 1, by_value: false };
        let x = vit.regroup_as(KEPT[deep][1], x, grouping);
        vit.deep_rows(x, layer, KEPT[deep][2]);
    }
    let x = vit.side_by_side(vit.x, merge * merge);
    vit.project_twice(x, [["mm.0.weight", "mm.0.bias"], ["mm.2.weight", "mm.2.bias"]], ActivationKind::Gelu);
    vit.finish()
}
