//! Qwen 3.5, text, and Qwen 3 Next: three of four layers have a gated delta rule (Yang et al. 2024,
//! <https://arxiv.org/abs/2412.06464>) in the place of attention, the others attention whose heads are gated (Qiu et
//! al. 2025, <https://arxiv.org/abs/2505.06708>). The block behind the layers predicts the token after the next.

use super::super::super::config::{SlidingPattern, Ssm};
use super::super::super::program::{Activation, DeltaSpec, Program};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};

/// How a file holds beta and alpha, and which head of k goes with a head of v.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A tensor each; heads of k by turns.
    Tiled,
    /// One tensor, for each head of k those of its heads of v; a head of k serves heads of v side by side.
    Grouped,
}

/// Dense, or with experts and one expert for all tokens. Rotation by position in text is that of plain rotary
/// embeddings: all sections of a head have the same position.
pub fn qwen35(config: &ModelConfig) -> Program {
    hybrid(config, Layout::Tiled)
}

/// Qwen 3 Next, with experts.
pub fn qwen3next(config: &ModelConfig) -> Program {
    hybrid(config, Layout::Grouped)
}

fn hybrid(config: &ModelConfig, layout: Layout) -> Program {
    let block = AttentionBlock { gated: true, qk_norm: true, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    let pattern = config.recurrent_layers.clone().unwrap_or(SlidingPattern::Every(4));
    let is_dense = config.experts.experts.count == 0;
    let layer = |b: &mut Builder, is_recurrent: bool| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = if is_recurrent { delta_rule(b, normed, layout) } else { b.attention(normed, block) };
        b.add(update);
        let normed = b.norm(b.x, Role::AttnPostNorm);
        if is_dense {
            let update = b.feed_forward(normed, GateKind::SwiGlu);
            return b.add(update);
        }
        let update = b.experts(normed, ExpertBlock::new(config));
        b.add(update);
        if config.experts.shared_ffn > 0 {
            let update = b.gated_shared_expert(normed, GateKind::SwiGlu);
            b.add(update);
        }
    };
    let layers = Builder::new(config, 1.0).layers(|b, at| layer(b, pattern.slides(at)));
    layers.predicting_next(|b| layer(b, false)).head(None)
}

/// q, k and v through a convolution and the delta rule; its heads are normalised, gated and projected.
fn delta_rule(b: &mut Builder, x: Activation, layout: Layout) -> Activation {
    let Ssm { state: head_dim, heads: v_heads, groups: k_heads, .. } = b.config.ssm.unwrap_or_default();
    let [dt_bias, a] = [Role::SsmDtBias, Role::SsmA].map(|role| b.weight(role));
    let delta =
        DeltaSpec { k_heads, v_heads, head_dim, tiled: layout == Layout::Tiled, eps: b.config.norm_eps, dt_bias, a };
    let qkv = b.linear(x, Role::AttnQkv, None, ("qkv", delta.qkv_width()));
    let gate = b.linear(x, Role::AttnGate, None, ("head gates", delta.value_width()));
    if layout == Layout::Grouped {
        let group = v_heads / k_heads.max(1);
        b.fused(Role::SsmBetaAlpha, k_heads, &[(Role::SsmBeta, group), (Role::SsmAlpha, group)]);
    }
    let beta = b.linear(x, Role::SsmBeta, None, ("beta", v_heads));
    let alpha = b.linear(x, Role::SsmAlpha, None, ("alpha", v_heads));
    let convolved = b.ssm_conv(qkv, Bias::None, "convolved");
    let values = b.delta_net([convolved, beta, alpha], delta);
    let gated = b.gate_heads(values, gate, Some(Role::SsmNorm), head_dim);
    b.linear(gated, Role::SsmOut, None, ("update", b.config.hidden))
}
