//! Mamba (Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>), Falcon Mamba (<https://arxiv.org/abs/2410.05355>), and
//! Jamba (<https://arxiv.org/abs/2403.19887>), which has layers of attention and of experts among those of Mamba.

use super::super::super::program::{Activation, ChannelSpec, Norm, Op, Program, Routing, Weight};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, ExpertBlock};

/// Mamba: one layer after the other, without feed-forward.
pub fn mamba(config: &ModelConfig) -> Program {
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = mixer(b, normed);
        b.add(update);
    });
    layers.head(None)
}

/// Jamba: layers with kv heads have attention without rotation, those with a router experts whose weights do not add up
/// to 1.
pub fn jamba(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf).unrotated();
    let block = AttentionBlock { bias: Bias::Optional, ..plain };
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = if config.kv_heads.of(layer) == 0 { mixer(b, normed) } else { b.attention(normed, block) };
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = if b.has(Role::Router) {
            let plain = ExpertBlock::new(config);
            b.experts(normed, ExpertBlock { routing: Routing { normalise: false, ..plain.routing }, ..plain })
        } else {
            b.feed_forward(normed, GateKind::SwiGlu)
        };
        b.add(update);
    });
    layers.head(None)
}

/// Mamba of `input`, normalised before: x and z, the convolution of x, time steps, B and C of that, the scan gated by
/// z, and the output projection.
fn mixer(b: &mut Builder, input: Activation) -> Activation {
    // The program's check refuses sizes of 0.
    let ssm = b.config.ssm.unwrap_or_default();
    let [channels, rank, state] = [ssm.inner, ssm.heads, ssm.state];
    let parts = [(Role::SsmXbc, "x in", channels), (Role::SsmZ, "z", channels)];
    b.fused(Role::SsmIn, 1, &parts.map(|(role, _, width)| (role, width)));
    let [x, z] = parts.map(|(role, name, width)| b.linear(input, role, None, (name, width)));
    let x = b.ssm_conv(x, Bias::Required, "x convolved");
    let parts = [(Role::SsmDt, "dt low", rank), (Role::SsmB, "B", state), (Role::SsmC, "C", state)];
    b.fused(Role::SsmX, 1, &parts.map(|(role, _, width)| (role, width)));
    let of_x @ [dt, of_b, of_c] = parts.map(|(role, name, width)| b.linear(x, role, None, (name, width)));
    let norms = [Role::SsmDtNorm, Role::SsmBNorm, Role::SsmCNorm];
    if ssm.bare_norms || norms.iter().all(|&role| b.has(role)) {
        for ((x, role), (_, _, width)) in of_x.into_iter().zip(norms).zip(parts) {
            let norm = b.plain_rms(b.weight(role), width);
            let weight = norm.weight.filter(|_| b.has(role));
            b.push(Op::Norm { x, norm: Norm { weight, ..norm }, y: x });
        }
    }
    // Rows that a product reads follow each other.
    let dt = b.copy(dt, "copy");
    let bias = Some(Weight { key: b.weight(Role::SsmDtBias), optional: false });
    let dt = b.linear(dt, Role::SsmDtOut, bias, ("dt", channels));
    let [a, d] = [Role::SsmA, Role::SsmD].map(|role| b.weight(role));
    let scanned = b.channel_scan([x, z, dt], [of_b, of_c], ChannelSpec { channels, state, a, d });
    b.linear(scanned, Role::SsmOut, None, ("update", b.config.hidden))
}
