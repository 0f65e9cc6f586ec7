//! LFM2 (<https://arxiv.org/abs/2511.23404>): layers of gated short convolutions, and some of attention.

use super::super::program::{Activation, ConvSpec, Program};
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Builder, ExpertBlock};

/// LFM2, dense or with experts behind the first layers. A layer without kv heads is a convolution.
pub fn lfm2(config: &ModelConfig) -> Program {
    let block = AttentionBlock {
        qk_norm: true,
        window: config.sliding_window,
        ..AttentionBlock::new(config, RopeStyle::SplitHalf)
    };
    let experts = ExpertBlock { choice_bias: true, ..ExpertBlock::new(config) };
    let mut builder = Builder::new(config, 1.0);
    builder.output_norm = Role::OutputNormOfEmbedding;
    let layers = builder.layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = match config.kv_heads.of(layer) {
            0 => short_conv(b, normed),
            _ => b.attention(normed, block),
        };
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = match layer >= config.experts.leading_dense && config.experts.experts.count > 0 {
            true => b.experts(normed, experts),
            false => b.feed_forward(normed, GateKind::SwiGlu),
        };
        b.add(update);
    });
    layers.head(None)
}

/// `W · (c · conv(b · x))`, where b, c and x are projections of the input.
fn short_conv(b: &mut Builder, input: Activation) -> Activation {
    let hidden = b.config.hidden;
    let roles = [(Role::ShortConvB, "b"), (Role::ShortConvC, "c"), (Role::ShortConvX, "conv in")];
    b.fused(Role::ShortConvIn, 1, &roles.map(|(role, _)| (role, hidden)));
    let [gate_b, gate_c, x] = roles.map(|(role, name)| b.linear(input, role, None, (name, hidden)));
    let kernel = b.config.short_conv_kernel.unwrap_or(0);
    let conv = ConvSpec { weight: Some(b.weight(Role::ShortConv)), bias: None, kernel, silu: false };
    let y = b.conv(x, Some([gate_b, gate_c]), conv, "conv out");
    b.linear(y, Role::ShortConvOut, None, ("update", hidden))
}
