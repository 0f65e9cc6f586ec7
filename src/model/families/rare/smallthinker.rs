//! SmallThinker (<https://arxiv.org/abs/2507.20984>): experts of ReGLU, chosen before attention by the layer's input.

use super::super::super::config::SlidingPattern;
use super::super::super::program::{ExpertActivation, Program, RopeTable, Routing};
use super::super::super::{ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};

/// Tokens that a layer with a window sees, whatever the file says.
const WINDOW: usize = 4096;

/// In models with windows the first of four layers has none, and is not rotated.
pub fn smallthinker(config: &ModelConfig) -> Program {
    let full = AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    let theta = config.rope_theta_sliding.unwrap_or(config.rope_theta);
    let sliding = AttentionBlock { rope: RopeTable { theta, ..full.rope }, window: Some(WINDOW), ..full };
    let slides = |layer: usize| match &config.sliding_pattern {
        Some(SlidingPattern::Layers(layers)) => layers.get(layer).copied().unwrap_or(false),
        Some(SlidingPattern::Every(every)) => *every == 0 || !layer.is_multiple_of(*every),
        None => !layer.is_multiple_of(4),
    };
    let plain = ExpertBlock::new(config);
    let routing = Routing { normalise: true, scale: 1.0, ..plain.routing };
    let experts = ExpertBlock { routing, activation: ExpertActivation::ReGlu, ..plain };
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let block = match config.sliding_window {
            None => full,
            Some(_) => {
                let block = if slides(layer) { sliding } else { full };
                if layer.is_multiple_of(4) { block.unrotated() } else { block }
            }
        };
        let routes = b.route(b.x, &experts);
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.routed_experts(routes, normed, experts);
        b.add(update);
    });
    layers.head(None)
}
