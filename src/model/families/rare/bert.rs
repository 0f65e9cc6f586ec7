//! Encoders: every token sees all others, and a text becomes one vector or one score. BERT (Devlin et al. 2018,
//! <https://arxiv.org/abs/1810.04805>): MiniLM, BGE, E5, and XLM-R models. Nomic BERT
//! (<https://arxiv.org/abs/2402.01613>), ModernBERT (Warner et al. 2024, <https://arxiv.org/abs/2412.13663>).

use super::super::super::config::SlidingPattern;
use super::super::super::program::{
    Activation, Gating, Norm, NormKind, Op, Program, RopeTable, Routing, TableRow, Weight, of_model,
};
use super::super::super::{ActivationKind, GateKind, ModelConfig, Role, RopeStyle, WeightKey};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};
use super::alibi;

/// BERT: learned positions, norms after the sums, GELU.
pub fn bert(config: &ModelConfig) -> Program {
    let mut b = start(config);
    b.embed_place(Role::PositionEmbedding, TableRow::Position(config.context_length));
    embedding_norm(&mut b, Some(Role::EmbeddingNormBias));
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..without_rope(config) };
    post_norm_layers(b, block, |b, x, _| b.feed_forward_plain(x, ActivationKind::Gelu))
}

/// Nomic BERT: BERT with rotated positions and SwiGLU.
pub fn nomic_bert(config: &ModelConfig) -> Program {
    rotated_bert(config, |b, x, _| b.feed_forward(x, GateKind::SwiGlu))
}

/// BERT with rotated positions and this feed-forward of a row in a layer.
fn rotated_bert(config: &ModelConfig, feed_forward: impl Fn(&mut Builder, Activation, usize) -> Activation) -> Program {
    let mut b = start(config);
    embedding_norm(&mut b, Some(Role::EmbeddingNormBias));
    let block = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..block };
    post_norm_layers(b, block, feed_forward)
}

/// Nomic BERT with experts without gates in some layers (<https://arxiv.org/abs/2502.07972>), and GELU in the others.
pub fn nomic_bert_moe(config: &ModelConfig) -> Program {
    let plain = ExpertBlock::new(config);
    let routing = Routing { gating: Gating::Softmax, normalise: false, ..plain.routing };
    let experts = ExpertBlock { routing, ungated: Some(ActivationKind::Gelu), ..plain };
    let every = config.experts.second_of;
    rotated_bert(config, |b, x, layer| match every > 0 && layer % every == 1 {
        true => b.experts(x, experts),
        false => b.feed_forward_plain(x, ActivationKind::Gelu),
    })
}

/// Jina's embeddings 3 (<https://arxiv.org/abs/2409.10173>): BERT with rotated positions.
pub fn jina_bert_v3(config: &ModelConfig) -> Program {
    rotated_bert(config, |b, x, _| b.feed_forward_plain(x, ActivationKind::Gelu))
}

/// Jina's embeddings 2 (<https://arxiv.org/abs/2310.19923>): BERT with slopes of attention in place of positions,
/// GeGLU, whose two halves may be one tensor; in some, layer norms over q and k and one more after attention.
pub fn jina_bert_v2(config: &ModelConfig) -> Program {
    let mut b = start(config);
    embedding_norm(&mut b, Some(Role::EmbeddingNormBias));
    b.ffn_bias = Bias::Optional;
    let plain = without_rope(config);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, alibi: Some(alibi::BIAS), ..plain };
    let block = AttentionBlock { biased_qk_norm: config.has_tensor("blk.0.attn_q_norm.weight"), ..block };
    post_norm_layers(b, block, |b, x, layer| {
        if b.has(Role::FfnGate) {
            return b.feed_forward(x, GateKind::GeGlu);
        }
        if !config.wide_up {
            return b.feed_forward_plain(x, ActivationKind::Gelu);
        }
        if b.has(Role::FfnUpBias) {
            let ffn = config.ffn.of(layer);
            b.fused(Role::FfnUpBias, 1, &[(Role::FfnGateBias, ffn), (Role::FfnUpBias, ffn)]);
        }
        b.feed_forward_fused(x, Role::FfnGate, GateKind::GeGlu)
    })
}

/// NeoBERT (<https://arxiv.org/abs/2502.19587>): norms before the blocks, SwiGLU.
pub fn neo_bert(config: &ModelConfig) -> Program {
    let block = AttentionBlock::new(config, RopeStyle::Interleaved);
    let mut builder = Builder::new(config, 1.0);
    builder.output_norm = Role::OutputNormOfEncoder;
    let layers = builder.layers(|b, _| {
        let x = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(x, block);
        b.add(update);
        let x = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward_fused(x, Role::FfnGate, GateKind::SwiGlu);
        b.add(update);
    });
    layers.head(None)
}

/// ModernBERT: norms before the blocks and none before the first attention, GeGLU (in some, SwiGLU), two of three
/// layers with a window.
pub fn modern_bert(config: &ModelConfig) -> Program {
    let mut b = Builder::new(config, 1.0);
    embedding_norm(&mut b, None);
    let full = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let sliding = full.sliding(config);
    let slides = |layer: usize| match &config.sliding_pattern {
        _ if config.sliding_window.is_none() => false,
        Some(SlidingPattern::Layers(layers)) => layers.get(layer).copied().unwrap_or(false),
        Some(SlidingPattern::Every(0)) => true,
        // The first layer of every group has full attention.
        Some(SlidingPattern::Every(every)) => !layer.is_multiple_of(*every),
        None => !layer.is_multiple_of(3),
    };
    let b = b.layers(|b, layer| {
        fuse_qkv(b, layer);
        let has_norm = config.has_tensor(&format!("blk.{layer}.attn_norm.weight")) || layer > 0;
        let x = if has_norm { normed(b, Role::AttnNorm) } else { b.x };
        let update = b.attention(x, if slides(layer) { sliding } else { full });
        b.add(update);
        let x = normed(b, Role::FfnNorm);
        let update = b.feed_forward_fused(x, Role::FfnGate, config.embedder.gate);
        b.add(update);
    });
    b.embedder_head(Some(layer_norm(config, of_model(Role::OutputNorm), None)))
}

/// The embedding of a token plus that of the first kind of text segment.
fn start(config: &ModelConfig) -> Builder<'_> {
    let mut b = Builder::new(config, 1.0);
    if config.has_tensor("token_types.weight") {
        b.embed_place(Role::TokenTypes, TableRow::First(config.embedder.token_types));
    }
    b
}

pub fn embedding_norm(b: &mut Builder, bias: Option<Role>) {
    let bias = bias.map(|role| Weight { key: of_model(role), optional: false });
    let norm = layer_norm(b.config, of_model(Role::EmbeddingNorm), bias);
    b.embed_op(Op::Norm { x: b.x, norm, y: b.x });
}

fn layer_norm(config: &ModelConfig, weight: WeightKey, bias: Option<Weight>) -> Norm {
    let (width, eps) = (config.hidden, config.layer_norm_eps);
    Norm { kind: NormKind::Layer, weight: Some(weight), bias, width, is_grouped: false, eps }
}

fn without_rope(config: &ModelConfig) -> AttentionBlock {
    let block = AttentionBlock::new(config, RopeStyle::SplitHalf);
    AttentionBlock { rope: RopeTable { dims: 0, ..block.rope }, ..block }
}

/// Files have q, k and v in three tensors or in one.
fn fuse_qkv(b: &mut Builder, layer: usize) {
    let width = |heads: usize| heads * b.config.head_dim;
    let (q, kv) = (width(b.config.heads.of(layer)), width(b.config.kv_heads.of(layer)));
    if b.config.has_tensor(&format!("blk.{layer}.attn_qkv.weight")) {
        b.fused(Role::AttnQkv, 1, &[(Role::AttnQ, q), (Role::AttnK, kv), (Role::AttnV, kv)]);
    }
    if b.config.has_tensor(&format!("blk.{layer}.attn_qkv.bias")) {
        b.fused(Role::AttnQkvBias, 1, &[(Role::AttnQBias, q), (Role::AttnKBias, kv), (Role::AttnVBias, kv)]);
    }
}

/// Attention and feed-forward, each added to the residual stream, which is normalised then.
fn post_norm_layers(
    b: Builder,
    block: AttentionBlock,
    feed_forward: impl Fn(&mut Builder, Activation, usize) -> Activation,
) -> Program {
    let add_and_norm = |b: &mut Builder, update: Activation, weight: Role, bias: Role| {
        b.add(update);
        let bias = Weight { key: b.weight(bias), optional: false };
        let norm = layer_norm(b.config, b.weight(weight), Some(bias));
        b.push(Op::Norm { x: b.x, norm, y: b.x });
    };
    let b = b.layers(|b, layer| {
        fuse_qkv(b, layer);
        let update = b.attention(b.x, block);
        let twice = b.has(Role::AttnNorm2).then(|| b.copy(b.x, "copy"));
        add_and_norm(b, update, Role::AttnOutNorm, Role::AttnOutNormBias);
        if let Some(before) = twice {
            add_and_norm(b, before, Role::AttnNorm2, Role::AttnNorm2Bias);
        }
        let update = feed_forward(b, b.x, layer);
        add_and_norm(b, update, Role::LayerOutNorm, Role::LayerOutNormBias);
    });
    b.embedder_head(None)
}

/// The layer norm of the residual stream by the layer's weight of this role.
fn normed(b: &mut Builder, role: Role) -> Activation {
    let y = b.activation("normed", b.config.hidden);
    let norm = layer_norm(b.config, b.weight(role), None);
    b.push(Op::Norm { x: b.x, norm, y });
    y
}
