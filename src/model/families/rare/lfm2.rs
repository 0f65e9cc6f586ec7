//! LFM2 and LFM3 (<https://arxiv.org/abs/2511.23404>): layers of gated short convolutions, and some of attention.

use super::super::super::program::{Activation, ConvSpec, Program};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Builder, ExpertBlock};
use super::super::llama::{in_window, with_factors};

/// LFM2, dense or with experts behind the first layers.
pub fn lfm2(config: &ModelConfig) -> Program {
    let block = AttentionBlock {
        qk_norm: true,
        window: config.sliding_window,
        ..AttentionBlock::new(config, RopeStyle::SplitHalf)
    };
    hybrid(config, Role::OutputNormOfEmbedding, &|_| block)
}

/// LFM3: a gate for each head, layers with a window and a rotation of their own, and norms of updates.
pub fn lfm3(config: &ModelConfig) -> Program {
    let plain = AttentionBlock { qk_norm: true, head_gates: true, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    let (full, sliding) = (with_factors(plain, config), in_window(config, plain));
    let slides = |layer| config.sliding_pattern.as_ref().is_some_and(|pattern| pattern.slides(layer));
    hybrid(config, Role::OutputNorm, &|layer| if slides(layer) { sliding } else { full })
}

/// Layers of attention and, where a layer has no kv heads, of convolutions.
fn hybrid(config: &ModelConfig, output_norm: Role, block: &dyn Fn(usize) -> AttentionBlock) -> Program {
    let experts = ExpertBlock { choice_bias: true, ..ExpertBlock::new(config) };
    let mut builder = Builder::new(config, 1.0);
    builder.output_norm = output_norm;
    let layers = builder.layers(|b, layer| {
        let norms_updates = b.has(Role::AttnPostNorm) || b.has(Role::FfnPostNorm);
        let add =
            |b: &mut Builder, update, norm| if norms_updates { b.add_normed(update, norm) } else { b.add(update) };
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = match config.kv_heads.of(layer) {
            0 => short_conv(b, normed),
            _ => b.attention(normed, block(layer)),
        };
        add(b, update, Role::AttnPostNorm);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = match layer >= config.experts.leading_dense && config.experts.experts.count > 0 {
            true => b.experts(normed, experts),
            false => b.feed_forward(normed, GateKind::SwiGlu),
        };
        add(b, update, Role::FfnPostNorm);
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
    let conv = ConvSpec { weight: Some(b.weight(Role::ShortConv)), bias: None, kernel, ahead: 0, silu: false };
    let y = b.conv(x, Some([gate_b, gate_c]), conv, "conv out");
    b.linear(y, Role::ShortConvOut, None, ("update", hidden))
}
