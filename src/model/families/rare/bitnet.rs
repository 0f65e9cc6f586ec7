//! BitNet b1.58 (<https://arxiv.org/abs/2402.17764>): Llama's layers of ternary weights, with norms before the products
//! back to the residual stream.

use super::super::super::program::Program;
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Builder};

/// The head is always the embedding table.
pub fn bitnet(config: &ModelConfig) -> Program {
    let config = &ModelConfig { tied: true, ..config.clone() };
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { inner_norm: Some(Role::AttnInnerNorm), ..plain };
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let ffn = config.ffn.of(layer);
        let gate = b.linear(normed, Role::FfnGate, None, ("gate", ffn));
        let up = b.linear(normed, Role::FfnUp, None, ("up", ffn));
        let activated = b.gate_part(gate, (up, 0), GateKind::SwiGlu);
        let normed = b.norm(activated, Role::FfnInnerNorm);
        let update = b.linear(normed, Role::FfnDown, None, ("update", config.hidden));
        b.add(update);
    });
    layers.head(None)
}
