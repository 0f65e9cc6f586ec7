//! Parakeet's encoder (Rekesh et al. 2023, <https://arxiv.org/abs/2305.05084>) beside Nemotron: the Conformer of
//! LFM2-Audio without biases, whose batch norms keep their mean and variance.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Norm, NormKind, Op, Program};
use super::lfm_audio;
use super::vit::own;

/// Epsilon of the projector's norm, whatever a file says.
const EPS: f32 = 1e-6;

/// The Conformer, a norm, and two products with a squared ReLU between them.
pub fn parakeet(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = lfm_audio::conformer(config, encoder);
    let norm = Norm { eps: EPS, ..vit.norm(NormKind::Rms, own("mm.a.norm_pre.weight"), config.hidden) };
    let x = vit.activation("projector normed", config.hidden);
    vit.push(Op::Norm { x: vit.x, norm, y: x });
    let products = [["mm.a.mlp.1.weight", "mm.a.mlp.1.bias"], ["mm.a.mlp.2.weight", "mm.a.mlp.2.bias"]];
    vit.project_twice(x, products, ActivationKind::ReluSquared);
    vit.finish()
}
