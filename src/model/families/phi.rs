//! Phi 1.5 and 2 (<https://arxiv.org/abs/2309.05463>); Phi 3, 3.5 and 4 (<https://arxiv.org/abs/2404.14219>,
//! <https://arxiv.org/abs/2503.01743>).

use super::super::program::{Gating, Program, Routing};
use super::super::{ActivationKind, GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, ExpertBlock, Norms};
use super::llama::with_factors;

/// Attention and feed-forward side by side on one layer norm, a part of each head rotated, GELU, biases everywhere.
pub fn phi2(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { bias: Bias::Required, out_bias: Bias::Required, ..plain };
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::Layer;
    let layers = builder.layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let update = b.feed_forward_plain(normed, ActivationKind::Gelu);
        b.add(update);
    });
    layers.head(None)
}

/// Phi 3.5 with experts: Phi 3's attention with biases, RMS norms with biases, a head with a bias.
pub fn phimoe(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Required, ..plain };
    let block = with_factors(block, config);
    let plain = ExpertBlock::new(config);
    let experts =
        ExpertBlock { routing: Routing { gating: Gating::Softmax, normalise: true, ..plain.routing }, ..plain };
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::RmsBiased;
    let layers = builder.layers(|b, _| {
        b.normed_layer(block, |b, x| b.experts(x, experts));
    });
    layers.head(None)
}

/// Llama's layers with q, k and v in one tensor, gate and up in another, and long RoPE. Files name a window that the
/// models do not use.
pub fn phi3(config: &ModelConfig) -> Program {
    fused(config, AttentionBlock::new(config, RopeStyle::SplitHalf))
}

/// ChatGLM 2 and 3, GLM-4 of 2024 and GLM-Edge (<https://arxiv.org/abs/2406.12793>): the same with pairs of neighbours
/// in a part of each head.
pub fn chatglm(config: &ModelConfig) -> Program {
    fused(config, AttentionBlock::new(config, RopeStyle::Interleaved))
}

fn fused(config: &ModelConfig, block: AttentionBlock) -> Program {
    let block = with_factors(AttentionBlock { bias: Bias::Optional, ..block }, config);
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward_fused(normed, Role::FfnUp, GateKind::SwiGlu);
        b.add(update);
    });
    layers.head(None)
}
