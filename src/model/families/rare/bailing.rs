//! Ling and Ring (<https://arxiv.org/abs/2503.05139>, <https://arxiv.org/abs/2510.22115>): experts beside one that all
//! tokens share, which is as wide as several; DeepSeek 1, DeepSeek-OCR, Trinity, Maion Coder.

use super::super::super::config::SlidingPattern;
use super::super::super::program::{Gating, Program, Routing};
use super::super::super::{GateKind, ModelConfig, PerLayer, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};
use super::super::llama::{in_window, with_factors};

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

/// The decoder of DeepSeek-OCR (Wei et al. 2025, <https://arxiv.org/abs/2510.18234>): DeepSeek of 2024's first month
/// with the halves of each head rotated.
pub fn deepseek_ocr(config: &ModelConfig) -> Program {
    decoder(config, AttentionBlock::new(config, RopeStyle::SplitHalf), (config.experts.leading_dense, None))
}

/// Trinity of Arcee (<https://www.arcee.ai/trinity>): gates of the values of heads, three of four layers rotated and
/// with a window, norms of updates. Maion Coder: no gates, all layers with a window rotated and no others, experts
/// between two products.
pub fn afmoe(config: &ModelConfig) -> Program {
    let is_maion = config.architecture == "maion-coder";
    let mut config = config.clone();
    let experts = &mut config.experts;
    if is_maion {
        (experts.normalise, experts.gating, experts.scale, experts.shared_ffn) = (None, None, 1.0, 0);
        (config.rope_theta_sliding, config.rope_dims_sliding) = (None, config.rope_dims);
    } else {
        experts.normalise.get_or_insert(false);
        experts.gating.get_or_insert(Gating::Sigmoid);
        experts.shared_ffn = experts.ffn.as_ref().map_or(0, PerLayer::max) * experts.shared_count;
    }
    let experts = ExpertBlock { choice_bias: !is_maion, ..ExpertBlock::new(&config) };
    let plain = AttentionBlock::new(&config, RopeStyle::SplitHalf);
    let gates = !is_maion;
    let full = AttentionBlock { bias: Bias::Optional, qk_norm: true, head_gates: gates, wide_gates: gates, ..plain };
    let sliding = in_window(&config, full);
    let threes = SlidingPattern::Every(4);
    let pattern = config.sliding_pattern.as_ref().unwrap_or(&threes);
    let scale = if is_maion { 1.0 } else { (config.hidden as f32).sqrt() };
    let layers = Builder::new(&config, scale).layers(|b, layer| {
        let slides = config.sliding_window.is_some() && pattern.slides(layer);
        let block = if slides { sliding } else { full };
        let normed = b.norm(b.x, Role::AttnNorm);
        let rotates = if is_maion { slides } else { threes.slides(layer) };
        let update = b.attention(normed, if rotates { block } else { block.unrotated() });
        b.add_normed(update, Role::AttnPostNorm);
        let normed = b.norm(b.x, Role::FfnNorm);
        let has_experts = layer >= config.experts.leading_dense && (layer + 1).is_multiple_of(config.experts.every);
        let update = match has_experts {
            true => b.experts_and_shared(normed, experts),
            false => b.feed_forward(normed, GateKind::SwiGlu),
        };
        b.add_normed(update, Role::FfnPostNorm);
    });
    layers.head(None)
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
