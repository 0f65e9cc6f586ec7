//! The vocoder of Soprano, which is Vocos (Siuzdak 2023, <https://arxiv.org/abs/2306.00814>): ConvNeXt blocks (Liu et
//! al. 2022, <https://arxiv.org/abs/2201.03545>) over features, which become the spectrum of a sound.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Activation, Combining, ConvSpec, Norm, NormKind, Op, Operand, Program, Weight};
use super::vit::{Form, Vit};

/// Rows of a pass. A longer sound takes several passes, whose rows overlap by those that a row depends on.
pub const ROWS: usize = 512;

/// A product, a norm, blocks, a norm, a product. The caller has the features of a row beside those around it, as many
/// as the first kernel reads. A row of the result is logarithms of magnitudes, then phases.
pub fn soprano(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let width = encoder.bins * encoder.kernels[0];
    let (mut vit, features) = Vit::reading(width, "a.gen.wav.up.blk", config, (encoder, Form::new(config)));
    vit.push_linear(features, ["a.gen.wav.input.weight", "a.gen.wav.input.bias"], vit.x);
    vit.stream_norm(["a.gen.wav.norm.weight", "a.gen.wav.norm.bias"]);
    vit.each_layer(&mut block);
    vit.stream_norm(["a.gen.wav.output_norm.weight", "a.gen.wav.output_norm.bias"]);
    vit.project_rows(vit.x, ["a.gen.wav.output.weight", "a.gen.wav.output.bias"]);
    vit.finish()
}

/// A convolution of each channel along the rows, a norm, a feed-forward, a factor for each value.
fn block(vit: &mut Vit, layer: usize) {
    let (hidden, ffn) = (vit.config.hidden, vit.encoder.ffn);
    let key = |name| vit.of_layer(layer, name);
    let bias = |name| Some(Weight { key: key(name), optional: true });
    let kernel = vit.encoder.kernels[1];
    let weight = Some(key("dwconv.weight"));
    let conv = ConvSpec { weight, bias: bias("dwconv.bias"), kernel, ahead: kernel / 2, silu: false };
    let norm = Norm { bias: bias("norm.bias"), ..vit.norm(NormKind::Layer, key("norm.weight"), hidden) };
    let [first, second, gamma] = ["pw1.weight", "pw2.weight", "gamma"].map(key);
    let [of_first, of_second] = ["pw1.bias", "pw2.bias"].map(bias);
    let [y, normed, up, update]: [Activation; 4] =
        [("convolved", hidden), ("normed", hidden), ("up", ffn), ("update", hidden)]
            .map(|(name, width)| vit.activation(name, width));
    vit.push(Op::Conv { x: vit.x, gates: None, conv, state: layer, y });
    vit.push(Op::Norm { x: y, norm, y: normed });
    vit.push(Op::Linear { x: normed, weight: first, bias: of_first, y: up });
    vit.push(Op::Activate { x: up, kind: ActivationKind::GeluErf });
    vit.push(Op::Linear { x: up, weight: second, bias: of_second, y: update });
    vit.push(Op::Combine { x: update, kind: Combining::Multiply, with: Operand::Vector(gamma) });
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
}
