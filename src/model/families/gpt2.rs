//! GPT-2 (Radford et al. 2019,
//! <https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf>).

use super::super::program::{Program, TableRow};
use super::super::{ActivationKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, Norms};

/// Learned positions, layer norms, GELU, biases everywhere. StarCoder (<https://arxiv.org/abs/2305.06161>) differs by
/// its name and its one head of keys and values.
pub fn gpt2(config: &ModelConfig) -> Program {
    let mut builder = Builder::new(config, 1.0);
    builder.embed_place(Role::PositionEmbedding, TableRow::Position(config.context_length));
    decoder(builder, AttentionBlock::new(config, RopeStyle::SplitHalf).unrotated())
}

/// StarCoder 2 (<https://arxiv.org/abs/2402.19173>): the same with rotations instead of learned positions.
pub fn starcoder2(config: &ModelConfig) -> Program {
    decoder(Builder::new(config, 1.0), AttentionBlock::new(config, RopeStyle::SplitHalf))
}

/// The text model of Pocket TTS (CALM, Rouard et al. 2025, <https://arxiv.org/abs/2509.06926>): rotations of
/// neighbours, no biases but in norms. It has no head: what follows are latents, by a program of the file beside it.
pub fn pockettts(config: &ModelConfig) -> Program {
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::Layer;
    let block = AttentionBlock::new(config, RopeStyle::Interleaved);
    let layers = builder.layers(|b, _| {
        b.normed_layer(block, |b, x| b.feed_forward_plain(x, ActivationKind::Gelu));
    });
    layers.head(None)
}

fn decoder(mut builder: Builder, block: AttentionBlock) -> Program {
    let block = AttentionBlock { bias: Bias::Required, out_bias: Bias::Required, ..block };
    builder.norms = Norms::Layer;
    let layers = builder.layers(|b, _| {
        b.normed_layer(block, |b, x| b.feed_forward_plain(x, ActivationKind::Gelu));
    });
    layers.head(None)
}
