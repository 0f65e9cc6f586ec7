//! The encoder of HunyuanOCR (2025, <https://arxiv.org/abs/2511.19575>): layer norms, a table of positions resized to
//! the image, and a frame of rows around its lines.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Grouping, NormKind, Op, Program};
use super::vit::{Form, Vit, own};

/// Taps into the table of positions: between four neighbours.
const BILINEAR_TAPS: usize = 4;

/// Patches merged by a product, two more products, of which the second one has the ends of lines among its rows too; a
/// row before and one behind the image; a norm of all.
pub fn hunyuanvl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let encoder = &EncoderConfig { activation: ActivationKind::Gelu, ..encoder.clone() };
    let mut vit = Vit::new(config, encoder, Form::new(config));
    vit.places(BILINEAR_TAPS);
    vit.layers(&mut |_, _| {});
    let norm = vit.norm(NormKind::Rms, own("mm.pre_norm.weight"), config.hidden);
    vit.push(Op::Norm { x: vit.x, norm, y: vit.x });
    let x = vit.regroup(vit.x, Grouping { parts: encoder.merge * encoder.merge, taps: 1, by_value: true });
    let x = vit.project(x, ["mm.0.weight", "mm.0.bias"], "merged");
    vit.push(Op::Activate { x, kind: ActivationKind::Gelu });
    let x = vit.project(x, ["mm.2.weight", "mm.2.bias"], "projected");
    vit.mark(own("v.image_newline"), x);
    let x = vit.project_rows(x, ["mm.model.fc.weight", "mm.model.fc.bias"]);
    for row in ["mm.image_begin", "mm.image_end"] {
        vit.mark(own(row), x);
    }
    let norm = vit.norm(NormKind::Rms, own("mm.post_norm.weight"), encoder.width);
    vit.push(Op::Norm { x, norm, y: x });
    vit.finish()
}
