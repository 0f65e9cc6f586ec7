//! Gemma (<https://arxiv.org/abs/2403.08295>), Gemma 2 (<https://arxiv.org/abs/2408.00118>) and Gemma 3, text
//! (<https://arxiv.org/abs/2503.19786>): embeddings times √hidden, GeGLU, a tied head. The norms' weights in a GGUF
//! have their +1 already.

use super::super::config::SlidingPattern;
use super::super::program::{Program, RopeTable};
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Builder};

/// Gemma 1: pre-norm layers.
pub fn gemma(config: &ModelConfig) -> Program {
    let block = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let layers = Builder::new(config, embedding_scale(config)).layers(|b, _| {
        b.normed_layer(block, |b, x| b.feed_forward(x, GateKind::GeGlu));
    });
    layers.head(None)
}

/// Gemma 2: norms before and after, capped scores and logits, every other layer with a window of 4,096.
pub fn gemma2(config: &ModelConfig) -> Program {
    let full = AttentionBlock {
        soft_cap: cap(config.attention_soft_cap, Some(50.0)),
        scale: attention_scale(config, 46),
        ..AttentionBlock::new(config, RopeStyle::SplitHalf)
    };
    let theta = config.rope_theta_sliding.unwrap_or(config.rope_theta);
    let rope = RopeTable { theta, ..full.rope };
    let sliding = AttentionBlock { rope, window: Some(config.sliding_window.unwrap_or(4096)), ..full };
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(2));
    sandwich(config, |layer| if pattern.slides(layer) { sliding } else { full })
        .head(cap(config.final_soft_cap, Some(30.0)))
}

/// Gemma 3: norms over the heads of q and k, five of six layers with a window and a rotation of their own.
pub fn gemma3(config: &ModelConfig) -> Program {
    let full = AttentionBlock {
        qk_norm: true,
        scale: attention_scale(config, 62),
        ..AttentionBlock::new(config, RopeStyle::SplitHalf)
    };
    let sliding = full.sliding(config);
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(6));
    // A file without a window has full layers only.
    let slides = |layer| config.sliding_window.is_some() && pattern.slides(layer);
    sandwich(config, |layer| if slides(layer) { sliding } else { full }).head(cap(config.final_soft_cap, None))
}

/// EmbeddingGemma (<https://arxiv.org/abs/2509.20354>): Gemma 3 whose tokens see all others, those of sliding layers
/// half a window to either side.
pub fn gemma_embedding(config: &ModelConfig) -> Program {
    gemma3(config)
}

/// Layers with norms before and after attention and feed-forward.
fn sandwich(config: &ModelConfig, block: impl Fn(usize) -> AttentionBlock) -> Builder<'_> {
    Builder::new(config, embedding_scale(config)).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block(layer));
        b.add_normed(update, Role::AttnPostNorm);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward(normed, GateKind::GeGlu);
        b.add_normed(update, Role::FfnPostNorm);
    })
}

fn embedding_scale(config: &ModelConfig) -> f32 {
    (config.hidden as f32).sqrt()
}

/// 1 / √head_dim; in the 27B models, which only their number of layers tells, 1 / √(hidden / heads).
fn attention_scale(config: &ModelConfig, layers_of_27b: usize) -> f32 {
    let values =
        if config.layers == layers_of_27b { config.hidden / config.heads.max().max(1) } else { config.head_dim };
    1.0 / (values as f32).sqrt()
}

/// The file's cap, or the family's; 0 in a file is none.
fn cap(stated: Option<f32>, default: Option<f32>) -> Option<f32> {
    stated.or(default).filter(|&cap| cap != 0.0)
}
