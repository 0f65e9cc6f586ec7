//! Ling and Ring (<https://arxiv.org/abs/2503.05139>, <https://arxiv.org/abs/2510.22115>): experts beside one that all
//! tokens share, which is as wide as several; DeepSeek 1.

use super::super::program::{Gating, Program, Routing};
use super::super::{ModelConfig, PerLayer, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};
use super::llama::with_factors;

/// Ling of 2025's first half: experts in all layers.
pub fn bailingmoe(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..plain };
    decoder(config, with_factors(block, config), (0, Some(Gating::Softmax)))
}

/// Ling 2: norms over each head of q and k, a part of each head rotated, the first layers dense.
pub fn bailingmoe2(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { qk_norm: true, out_bias: Bias::Optional, ..plain };
    decoder(config, block, (config.experts.leading_dense, None))
}

/// DeepSeek of 2024's first month (<https://arxiv.org/abs/2401.06066>): the first layers dense, weights of experts that
/// do not add up to 1.
pub fn deepseek(config: &ModelConfig) -> Program {
    let mut config = config.clone();
    config.experts.normalise = Some(false);
    let plain = AttentionBlock::new(&config, RopeStyle::Interleaved);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..plain };
    decoder(&config, with_factors(block, &config), (config.experts.leading_dense, Some(Gating::Softmax)))
}

fn decoder(config: &ModelConfig, block: AttentionBlock, (dense, gating): (usize, Option<Gating>)) -> Program {
    let mut config = config.clone();
    let experts = &mut config.experts;
    let width = if experts.shared_ffn > 0 { experts.shared_ffn } else { experts.ffn.as_ref().map_or(0, PerLayer::max) };
    experts.shared_ffn = width * experts.shared_count;
    let plain = ExpertBlock::new(&config);
    let normalise = config.experts.normalise.unwrap_or(false);
    let routing = Routing { gating: gating.unwrap_or(plain.routing.gating), normalise, ..plain.routing };
    let layers = Builder::new(&config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        b.dense_or_experts(layer < dense, ExpertBlock { routing, ..plain }, true);
    });
    layers.head(None)
}
