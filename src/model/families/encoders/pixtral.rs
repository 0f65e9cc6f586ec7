//! Pixtral (Agrawal et al. 2024, <https://arxiv.org/abs/2410.07073>) and LightOnOCR (Taghadouini et al. 2026,
//! <https://arxiv.org/abs/2601.14251>): RMS norms, a gated feed-forward, heads rotated by
//! row and column, a row between the lines of an image.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Grouping, Norm, NormKind, Op, Program, Weight};
use super::vit::{Form, Vit, own};

/// With or without patches that are merged before the two products.
pub fn pixtral(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { norm: NormKind::Rms, apart: Some(1), ..Form::new(config) };
    let mut vit = Vit::new(config, encoder, form);
    vit.layers(&mut |_, _| {});
    let mut x = vit.x;
    let merges = config.has_tensor("mm.patch_merger.weight");
    if config.has_tensor("mm.input_norm.weight") {
        let norm = vit.norm(NormKind::Rms, own("mm.input_norm.weight"), config.hidden);
        let bias = Some(Weight { key: own("mm.input_norm.bias"), optional: true });
        let bias = bias.filter(|_| config.has_tensor("mm.input_norm.bias"));
        vit.push(Op::Norm { x, norm: Norm { bias, ..norm }, y: x });
    }
    let parts = if merges { encoder.merge * encoder.merge } else { 1 };
    x = vit.regroup(x, Grouping { parts, taps: 1, by_value: true });
    if merges {
        x = vit.project(x, ["mm.patch_merger.weight", "mm.patch_merger.bias"], "merged");
    }
    let to = vit.project_twice(x, [["mm.1.weight", "mm.1.bias"], ["mm.2.weight", "mm.2.bias"]], ActivationKind::Gelu);
    let row = own("v.token_embd.img_break");
    if config.has_tensor("v.token_embd.img_break") {
        vit.mark(row, to);
    }
    vit.finish()
}
