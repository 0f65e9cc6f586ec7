//! ERNIE 4.5 with experts (<https://ernie.baidu.com/blog/publication/ERNIE_Technical_Report.pdf>).

use super::super::super::program::{Gating, Program, Routing};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};

/// Llama's layers, the first ones dense; experts whose choice alone has a bias, beside one that all tokens share.
pub fn ernie4_5_moe(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    let block = AttentionBlock { bias: Bias::Optional, ..plain };
    let experts = ExpertBlock::new(config);
    // Whatever the file says.
    let routing = Routing { gating: Gating::Softmax, normalise: true, scale: 1.0, ..experts.routing };
    let has_experts =
        |layer: usize| layer >= config.experts.leading_dense && (layer + 1).is_multiple_of(config.experts.every);
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        if !has_experts(layer) {
            let update = b.feed_forward(normed, GateKind::SwiGlu);
            return b.add(update);
        }
        let choice_bias = b.has(Role::RouterChoiceBias);
        let update = b.experts(normed, ExpertBlock { routing, choice_bias, ..experts });
        b.add(update);
        if config.experts.shared_ffn > 0 {
            let update = b.shared_expert(normed, GateKind::SwiGlu);
            b.add(update);
        }
    });
    layers.head(None)
}
