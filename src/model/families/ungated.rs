//! Decoders whose feed-forward has no gate and another activation than GELU.

use super::super::program::Program;
use super::super::{ActivationKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, Norms};
use super::llama::with_factors;

/// Arcee's AFM (<https://huggingface.co/arcee-ai/AFM-4.5B>): Llama with the square of ReLU.
pub fn arcee(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    decoder(Builder::new(config, 1.0), with_factors(plain, config))
}

/// Apertus (<https://arxiv.org/abs/2509.14233>): xIELU with numbers for each layer, norms over each head of q and k.
pub fn apertus(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    decoder(Builder::new(config, 1.0), with_factors(AttentionBlock { qk_norm: true, ..plain }, config))
}

/// Nemotron and Minitron (<https://arxiv.org/abs/2402.16819>): the square of ReLU, layer norms, a part of each head
/// rotated. Jais 2 differs by its name.
pub fn nemotron(config: &ModelConfig) -> Program {
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::Layer;
    decoder(builder, AttentionBlock::new(config, RopeStyle::SplitHalf))
}

/// With xIELU where the file has its numbers.
fn decoder(builder: Builder, block: AttentionBlock) -> Program {
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..block };
    let layers = builder.layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let xielu = b.config.xielu.get(layer).copied();
        let update = b.feed_forward_plain(normed, xielu.map_or(ActivationKind::ReluSquared, ActivationKind::Xielu));
        b.add(update);
    });
    layers.head(None)
}
