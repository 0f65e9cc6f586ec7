//! GPT-NeoX and Pythia (<https://arxiv.org/abs/2204.06745>, <https://arxiv.org/abs/2304.01373>), Falcon
//! (<https://arxiv.org/abs/2311.16867>): attention and feed-forward side by side, layer norms, GELU.

use super::super::program::Program;
use super::super::{ActivationKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, Norms};

/// A norm for each of the two, biases everywhere; or one after the other where the file says so.
pub fn gptneox(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { bias: Bias::Required, out_bias: Bias::Required, ..plain };
    let parallel = config.parallel_residual.unwrap_or(true);
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::Layer;
    let layers = builder.layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let of_attention = b.attention(normed, block);
        if !parallel {
            b.add(of_attention);
        }
        let normed = b.norm(b.x, Role::FfnNorm);
        if parallel {
            b.add(of_attention);
        }
        let update = b.feed_forward_plain(normed, ActivationKind::Gelu);
        b.add(update);
    });
    layers.head(None)
}

/// One norm for both, or in larger models one for attention and one for the feed-forward; no biases beside those of
/// norms.
pub fn falcon(config: &ModelConfig) -> Program {
    let block = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::Layer;
    let layers = builder.layers(|b, _| {
        let of_attention = if b.has(Role::AttnNorm2) { Role::AttnNorm2 } else { Role::AttnNorm };
        let normed = b.norm(b.x, of_attention);
        let update = b.attention(normed, block);
        let normed = if of_attention == Role::AttnNorm { normed } else { b.norm(b.x, Role::AttnNorm) };
        b.add(update);
        let update = b.feed_forward_plain(normed, ActivationKind::Gelu);
        b.add(update);
    });
    layers.head(None)
}
