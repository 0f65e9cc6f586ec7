//! StableLM (<https://arxiv.org/abs/2402.17834>).

use super::super::program::{NormKind, Program};
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, Norms};

/// Layer norms and rotation of a part of each head. The 12B model has layer norms over the heads of q and k, and a
/// feed-forward beside attention, on the same norm, instead of after it.
pub fn stablelm(config: &ModelConfig) -> Program {
    let first = |name: &str| config.has_tensor(&format!("blk.0.{name}"));
    let own_qk_norm = first("attn_q_norm.weight").then_some(NormKind::Layer);
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { bias: Bias::Optional, own_qk_norm, ..plain };
    let parallel = !first("ffn_norm.weight");
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::Layer;
    let layers = builder.layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = if parallel { normed } else { b.norm(b.x, Role::FfnNorm) };
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        b.add(update);
    });
    layers.head(None)
}
