//! GLM-4 of 2025 (<https://arxiv.org/abs/2406.12793>), and the text of GLM-OCR.

use super::super::program::Program;
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder};

/// Norms before and after attention and feed-forward, gate and up in one tensor, a part of each head rotated: pairs of
/// neighbours, or halves where positions have several axes.
pub fn glm4(config: &ModelConfig) -> Program {
    let style = if config.rope_sections.is_some() { RopeStyle::SplitHalf } else { RopeStyle::Interleaved };
    let block = AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, style) };
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add_normed(update, Role::AttnPostNorm);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward_fused(normed, Role::FfnUp, GateKind::SwiGlu);
        b.add_normed(update, Role::FfnPostNorm);
    });
    layers.head(None)
}
