//! Mamba-2 (Dao and Gu 2024, <https://arxiv.org/abs/2405.21060>) and families that have its layers: Granite 4
//! between layers of attention, Falcon-H1 (<https://arxiv.org/abs/2507.22448>) beside attention, Nemotron-H.

use super::super::super::program::{Activation, Gating, Program, Routing, ScanSpec};
use super::super::super::{ActivationKind, GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock, Norms};
use super::super::llama::{divide_logits, feed_forward, granite_attention};

/// Mamba-2: one layer after the other, without feed-forward.
pub fn mamba2(config: &ModelConfig) -> Program {
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = mixer(b, normed);
        b.add(update);
    });
    layers.head(None)
}

/// Falcon-H1: attention and Mamba-2 of one norm, both added; its multipliers are in the weights of a GGUF.
pub fn falcon_h1(config: &ModelConfig) -> Program {
    let block = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let update = mixer(b, normed);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNormBare);
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        b.add(update);
    });
    layers.head(None)
}

/// Granite 4 (<https://www.ibm.com/granite/docs/models/granite>): layers of Mamba-2 and, where there are kv heads, of
/// attention, with Granite's scales.
pub fn granite_hybrid(config: &ModelConfig) -> Program {
    let block = granite_attention(config);
    let residual_scale = config.residual_scale.unwrap_or(1.0);
    let mut builder = Builder::new(config, config.embedding_scale.unwrap_or(1.0));
    builder.ffn_bias = Bias::Optional;
    let layers = builder.layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = match config.kv_heads.of(layer) {
            0 => mixer(b, normed),
            _ => b.attention(normed, block),
        };
        b.add_scaled(update, residual_scale);
        let normed = b.norm(b.x, Role::FfnNorm);
        feed_forward(b, normed, residual_scale);
    });
    divide_logits(layers.head(None), config)
}

/// Nemotron-H (<https://arxiv.org/abs/2504.03624>): a layer is Mamba-2, a feed-forward with the square of ReLU, or
/// attention without rotation. Where it has experts, they take the place of the feed-forwards, beside one that all
/// tokens share. The block that predicts the token after the next has attention and experts and ends with a layer norm.
pub fn nemotron_h(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf).unrotated();
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..plain };
    let kind = ActivationKind::ReluSquared;
    let plain = ExpertBlock::new(config);
    let normalise = config.experts.normalise == Some(true);
    let routing = Routing { gating: Gating::Sigmoid, normalise, ..plain.routing };
    let experts = ExpertBlock { routing, choice_bias: true, ungated: Some(kind), shares_ffn: true, ..plain };
    let experts = |b: &mut Builder, normed: Activation| {
        let shared = b.shared_plain(normed, kind);
        b.add(shared);
        b.latent_experts(normed, experts)
    };
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = match (config.ffn.of(layer), config.kv_heads.of(layer)) {
            (0, 0) => mixer(b, normed),
            (0, _) => b.attention(normed, block),
            _ if config.experts.experts.count == 0 => b.feed_forward_plain(normed, kind),
            _ => experts(b, normed),
        };
        b.add(update);
    });
    let mut layers = layers.predicting_next(|b| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::AttnPostNorm);
        let update = experts(b, normed);
        b.add(update);
        b.norms = Norms::LayerUnbiased;
    });
    layers.norms = Norms::Rms;
    layers.head(None)
}

/// Mamba-2 of `input`, normalised before: z, xBC and dt, the convolution of xBC, the scan gated by z, a norm where the
/// file has one, and the output projection.
pub fn mixer(b: &mut Builder, input: Activation) -> Activation {
    let groups = b.config.ssm.unwrap_or_default().groups;
    let scan = scan_spec(b, groups);
    let parts =
        [(Role::SsmZ, "z", scan.inner()), (Role::SsmXbc, "xbc in", scan.xbc_width()), (Role::SsmDt, "dt", scan.heads)];
    b.fused(Role::SsmIn, 1, &parts.map(|(role, _, width)| (role, width)));
    let [z, xbc, dt] = parts.map(|(role, name, width)| b.linear(input, role, None, (name, width)));
    let xbc = b.ssm_conv(xbc, Bias::Optional, "xbc");
    let scanned = b.scan([z, dt, xbc], scan);
    let has_norm = b.has(Role::SsmNorm);
    let normed = if has_norm { b.group_norm(scanned, Role::SsmNorm, groups) } else { scanned };
    b.linear(normed, Role::SsmOut, None, ("update", b.config.hidden))
}

/// The scan of a layer whose heads share B and C in `groups` groups.
pub fn scan_spec(b: &Builder, groups: usize) -> ScanSpec {
    // The program's check refuses sizes of 0.
    let ssm = b.config.ssm.unwrap_or_default();
    let [dt_bias, a, d] = [Role::SsmDtBias, Role::SsmA, Role::SsmD].map(|role| b.weight(role));
    let head_dim = ssm.inner / ssm.heads.max(1);
    ScanSpec { heads: ssm.heads, head_dim, state: ssm.state, groups, dt_bias, a, d }
}
