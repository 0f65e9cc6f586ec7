//! Decoders whose positions are slopes of attention (ALiBi, <https://arxiv.org/abs/2108.12409>): BLOOM, MPT, Baichuan,
//! Refact, Jais.

use super::super::super::program::{Program, TableRow};
use super::super::super::{ActivationKind, GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, Norms};
use super::super::llama::decoder;
use super::bert::embedding_norm;

/// The bias that files do not say.
pub const BIAS: f32 = 8.0;

/// BLOOM (<https://arxiv.org/abs/2211.05100>): a layer norm of the embeddings, biases everywhere.
pub fn bloom(config: &ModelConfig) -> Program {
    let mut b = Builder::new(config, 1.0);
    embedding_norm(&mut b, Some(Role::EmbeddingNormBias));
    b.norms = Norms::Layer;
    layers(b, Some(BIAS))
}

/// MPT (<https://www.databricks.com/blog/mpt-7b>): clamped q, k and v, and learned positions, where the file has them.
pub fn mpt(config: &ModelConfig) -> Program {
    let mut b = Builder::new(config, 1.0);
    if config.has_tensor("position_embd.weight") {
        b.embed_place(Role::PositionEmbedding, TableRow::Position(config.context_length));
    }
    let has_bias = config.has_tensor("blk.0.attn_norm.bias");
    b.norms = if has_bias { Norms::Layer } else { Norms::LayerUnbiased };
    layers(b, config.alibi)
}

/// Baichuan (<https://arxiv.org/abs/2309.10305>): 7B, which has 32 layers, is Llama; 13B, with 40, has slopes.
pub fn baichuan(config: &ModelConfig) -> Program {
    let plain = AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, RopeStyle::Interleaved) };
    let block = if config.layers == 32 { plain } else { plain.unrotated() };
    decoder(config, AttentionBlock { alibi: (config.layers == 40).then_some(BIAS), ..block })
}

/// Refact (<https://huggingface.co/smallcloudai/Refact-1_6B-fim>): Llama with slopes.
pub fn refact(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved).unrotated();
    decoder(config, AttentionBlock { bias: Bias::Optional, alibi: Some(BIAS), ..plain })
}

/// Jais (<https://arxiv.org/abs/2308.16149>): BLOOM with SwiGLU, and scores divided by the size of a head.
pub fn jais(config: &ModelConfig) -> Program {
    let mut b = Builder::new(config, 1.0);
    b.norms = Norms::Layer;
    b.ffn_bias = Bias::Optional;
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf).unrotated();
    let scale = 1.0 / config.head_dim as f32;
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, alibi: config.alibi, scale, ..plain };
    let layers = b.layers(|b, _| {
        b.normed_layer(block, |b, x| b.feed_forward(x, GateKind::SwiGlu));
    });
    layers.head(None)
}

fn layers(b: Builder, alibi: Option<f32>) -> Program {
    let plain = AttentionBlock::new(b.config, RopeStyle::SplitHalf).unrotated();
    let clamp = b.config.clamp_qkv;
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, clamp, alibi, ..plain };
    let layers = b.layers(|b, _| {
        b.normed_layer(block, |b, x| b.feed_forward_plain(x, ActivationKind::Gelu));
    });
    layers.head(None)
}
