//! EXAONE 4 (<https://arxiv.org/abs/2507.11407>): norms after attention and feed-forward only, and over each head of q
//! and k.

use super::super::config::SlidingPattern;
use super::super::program::Program;
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder};
use super::llama::with_factors;

/// Layers of the model with windows, 32B. The others name a window that they do not use.
const LAYERS_WITH_WINDOWS: usize = 64;

/// Tokens that a layer with a window sees, where a file does not say.
const WINDOW: usize = 4096;

/// In 32B three of four layers have a window, and only these are rotated.
pub fn exaone4(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let rotated = with_factors(AttentionBlock { bias: Bias::Optional, qk_norm: true, ..plain }, config);
    let sliding = AttentionBlock { window: Some(config.sliding_window.unwrap_or(WINDOW)), ..rotated };
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(4));
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let block = match config.layers == LAYERS_WITH_WINDOWS {
            false => rotated,
            true if pattern.slides(layer) => sliding,
            true => rotated.unrotated(),
        };
        let update = b.attention(b.x, block);
        b.add_normed(update, Role::AttnPostNorm);
        let update = b.feed_forward(b.x, GateKind::SwiGlu);
        b.add_normed(update, Role::FfnPostNorm);
    });
    layers.head(None)
}
