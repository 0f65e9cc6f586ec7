//! gpt-oss (<https://arxiv.org/abs/2508.10925>): every other layer with a window of 128, attention with sinks, experts
//! with a clamped SwiGLU, and biases everywhere.

use super::super::config::SlidingPattern;
use super::super::program::{ExpertActivation, Gating, Program, RopeTable, Routing};
use super::super::{ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};

/// Tokens that a layer with a window sees, where a file does not say.
const WINDOW: usize = 128;

/// Pre-norm layers; the norm before the experts is named after attention.
pub fn gpt_oss(config: &ModelConfig) -> Program {
    let full = AttentionBlock {
        bias: Bias::Required,
        out_bias: Bias::Required,
        sinks: true,
        ..AttentionBlock::new(config, RopeStyle::SplitHalf)
    };
    let theta = config.rope_theta_sliding.unwrap_or(config.rope_theta);
    let rope = RopeTable { theta, ..full.rope };
    let sliding = AttentionBlock { rope, window: Some(config.sliding_window.unwrap_or(WINDOW)), ..full };
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(2));
    let plain = ExpertBlock::new(config);
    // The weights are a softmax over the chosen experts, whatever the file says.
    let routing = Routing { gating: Gating::SoftmaxOfChosen, normalise: false, ..plain.routing };
    let experts = ExpertBlock { routing, activation: ExpertActivation::ClampedSwiGlu, biases: true, ..plain };
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, if pattern.slides(layer) { sliding } else { full });
        b.add(update);
        let normed = b.norm(b.x, Role::AttnPostNorm);
        let update = b.experts(normed, experts);
        b.add(update);
    });
    layers.head(None)
}
