//! The encoder of Gemma 4: RMS norms before and after each block, heads rotated by column and row, positions from two
//! tables.

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Combining, Factor, Norm, NormKind, Op, Operand, Program};
use super::vit::{Form, Vit, names, own};

/// One table for columns, one for rows.
pub const TAPS: usize = 2;

/// E2B, E4B, 26B-A4B and 31B.
pub fn gemma4v(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (norm, apart) = (NormKind::Rms, Some(config.head_dim / 4));
    let form = Form { norm, apart, scale: 1.0, v_norm: true, ..Form::new(config) };
    let mut vit = Vit::new(config, encoder, form);
    vit.places(TAPS);
    vit.layers(&mut |_, _| {});
    let x = vit.mean(vit.x, encoder.merge * encoder.merge);
    vit.push(Op::Scale { x, factor: Factor::Number((config.hidden as f32).sqrt()) });
    for (name, kind) in [("v.std_bias", Combining::Subtract), ("v.std_scale", Combining::Multiply)] {
        if config.has_tensor(name) {
            vit.push(Op::Combine { x, kind, with: Operand::Vector(own(name)) });
        }
    }
    let norm = Norm { weight: None, ..vit.norm(NormKind::Rms, own(""), config.hidden) };
    let normed = vit.activation("soft embeddings", config.hidden);
    vit.push(Op::Norm { x, norm, y: normed });
    let rows = vit.activation("rows", encoder.width);
    vit.product(normed, (None, names!("mm.input_projection")), rows);
    vit.finish()
}
