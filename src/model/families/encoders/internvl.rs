//! InternVL 2.5 and 3 (Chen et al. 2024, <https://arxiv.org/abs/2412.05271>): learned positions, a class token, factors
//! of what each block adds.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::Program;
use super::vit::{Form, Vit, own};

/// Epsilon of the norm before the projector.
const EPS: f32 = 1e-5;

/// The class token is the row that the caller marks; llama.cpp gives it the last position, the model's own code the
/// first.
pub fn internvl(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, Form::new(config));
    vit.mark(own("v.class_embd"), vit.x);
    vit.places(1);
    vit.layers(&mut |_, _| {});
    let x = vit.side_by_side(vit.x, encoder.merge * encoder.merge);
    let x = vit.projector_norm(x, ["mm.model.mlp.0.weight", "mm.model.mlp.0.bias"], EPS);
    vit.project_twice(
        x,
        [["mm.model.mlp.1.weight", "mm.model.mlp.1.bias"], ["mm.model.mlp.3.weight", "mm.model.mlp.3.bias"]],
        ActivationKind::Gelu,
    );
    vit.finish()
}
