//! OLMo (<https://arxiv.org/abs/2402.00838>); OLMo 2 (<https://arxiv.org/abs/2501.00656>) and OLMo 3
//! (<https://arxiv.org/abs/2512.13961>): norms after attention and feed-forward instead of before, and over q and k as
//! a whole.

use super::super::config::SlidingPattern;
use super::super::program::{Program, RopeTable};
use super::super::{GateKind, ModelConfig, Role, RopeScaling, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, Norms};

/// The first: Llama with layer norms that have no tensors, and in some models q, k and v clamped.
pub fn olmo(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    let block = AttentionBlock { bias: Bias::Optional, clamp: config.clamp_qkv, ..plain };
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::LayerBare;
    let layers = builder.layers(|b, _| {
        b.normed_layer(block, |b, x| b.feed_forward(x, GateKind::SwiGlu));
    });
    layers.head(None)
}

/// OLMo 2 and 3 say `olmo2`; OLMo 3 has a window in three of four layers, whose rotations are not scaled.
pub fn olmo2(config: &ModelConfig) -> Program {
    let full = AttentionBlock { whole_qk_norm: true, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    let rope = RopeTable { scaling: RopeScaling::NONE, ..full.rope };
    let sliding = AttentionBlock { rope, window: config.sliding_window, ..full };
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(4));
    let slides = |layer| config.sliding_window.is_some() && pattern.slides(layer);
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let update = b.attention(b.x, if slides(layer) { sliding } else { full });
        let update = b.norm(update, Role::AttnPostNorm);
        b.add(update);
        let update = b.feed_forward(b.x, GateKind::SwiGlu);
        let update = b.norm(update, Role::FfnPostNorm);
        b.add(update);
    });
    layers.head(None)
}
