//! Command R (<https://docs.cohere.com/docs/command-r>) and Command R7B, which says `cohere2`
//! (<https://arxiv.org/abs/2504.00698>): attention and feed-forward side by side on one layer norm without biases,
//! logits multiplied by the file's scale, and a head that is always the embedding table.

use super::super::config::SlidingPattern;
use super::super::program::{Factor, NormKind, Op, Program};
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, Norms};

/// Rotated in all layers. The largest has layer norms over the heads of q and k.
pub fn command_r(config: &ModelConfig) -> Program {
    let own_qk_norm = config.has_tensor("blk.0.attn_q_norm.weight").then_some(NormKind::Layer);
    let block = AttentionBlock { own_qk_norm, ..block(config) };
    decoder(config, &|_| block)
}

/// Three of four layers have a window, and only these are rotated.
pub fn cohere2(config: &ModelConfig) -> Program {
    let sliding = AttentionBlock { window: config.sliding_window, ..block(config) };
    let full = block(config).unrotated();
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(4));
    decoder(config, &|layer| if pattern.slides(layer) { sliding } else { full })
}

fn block(config: &ModelConfig) -> AttentionBlock {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    AttentionBlock { bias: Bias::Optional, out_bias: Bias::None, ..plain }
}

fn decoder(config: &ModelConfig, block: &dyn Fn(usize) -> AttentionBlock) -> Program {
    let config = &ModelConfig { tied: true, ..config.clone() };
    let mut builder = Builder::new(config, 1.0);
    builder.norms = Norms::LayerUnbiased;
    let layers = builder.layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block(layer));
        b.add(update);
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        b.add(update);
    });
    let mut program = layers.head(None);
    let logits = program.head.last().map(|op| op.writes());
    let scale = |x| Some(Op::Scale { x, factor: Factor::Number(config.logit_scale?) });
    program.head.extend(logits.and_then(scale));
    program
}
