//! The projectors of Gemma 4 12B, which has no encoder layers: patches and samples become rows directly.

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Activation, Norm, NormKind, Op, Program};
use super::gemma::TAPS;
use super::vit::{Form, Names, Vit, names, own};

/// Epsilon of the layer norms, whatever a file says.
const EPS: f32 = 1e-5;
/// Samples of a row: 40 ms.
pub const SAMPLES: usize = 640;
/// Epsilon of the norm of samples, whatever a file says.
const SAMPLES_EPS: f32 = 1e-6;

/// A product between three layer norms, positions from two tables.
pub fn gemma4uv(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let patch = 3 * encoder.patch_size * encoder.patch_size;
    let (mut vit, patches) = Vit::reading(patch, "v.blk", config, (encoder, Form::new(config)));
    let x = vit.projector_norm(patches, ["v.patch_norm.1.weight", "v.patch_norm.1.bias"], EPS);
    let to = vit.x;
    vit.push_linear(x, ["v.patch_embd.weight", "v.patch_embd.bias"], to);
    vit.x = vit.projector_norm(to, ["v.patch_norm.2.weight", "v.patch_norm.2.bias"], EPS);
    vit.places(TAPS);
    let x = vit.projector_norm(vit.x, ["v.patch_norm.3.weight", "v.patch_norm.3.bias"], EPS);
    embeddings(vit, x, (names!("mm.input_projection"), config.norm_eps))
}

/// Samples as they are.
pub fn gemma4ua(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (vit, samples) = Vit::reading(SAMPLES, "a.blk", config, (encoder, Form::new(config)));
    embeddings(vit, samples, (names!("mm.a.input_projection"), SAMPLES_EPS))
}

/// An RMS norm without weight, a product.
fn embeddings(mut vit: Vit, x: Activation, (names, eps): (&Names, f32)) -> Program {
    // The operations so far are the embedding.
    vit.each_layer(&mut |_, _| {});
    let width = vit.width(x);
    let normed = vit.activation("soft embeddings", width);
    let norm = Norm { weight: None, eps, ..vit.norm(NormKind::Rms, own(""), width) };
    vit.push(Op::Norm { x, norm, y: normed });
    let rows = vit.activation("rows", vit.encoder.width);
    vit.product(normed, (None, names), rows);
    vit.finish()
}
