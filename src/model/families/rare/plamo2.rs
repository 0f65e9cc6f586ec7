//! PLaMo 2 (<https://arxiv.org/abs/2509.04897>): layers of Mamba and of attention, norms before and after each part;
//! PLaMo 3 (<https://huggingface.co/pfnet>), whose layers all have attention, most of them with a window.

use super::super::super::config::SlidingPattern;
use super::super::super::program::{Activation, NormKind, Op, Program};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, named};
use super::mamba2::scan_spec;

/// The least rank of time steps, which otherwise is a sixteenth of the residual stream.
const LEAST_RANK: usize = 64;

/// A layer without kv heads has a scan. Each head of q and k has a norm, in PLaMo 2 with weights of its own.
pub fn plamo2(config: &ModelConfig) -> Program {
    let is_third = config.architecture == "plamo3";
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let own_qk_norm = (!is_third).then_some(NormKind::Rms);
    let full = AttentionBlock { own_qk_norm, qk_norm: is_third, ..plain };
    let sliding = full.sliding(config);
    let eighths = SlidingPattern::Every(8);
    let pattern = config.sliding_pattern.as_ref().unwrap_or(&eighths);
    let slides = |layer| is_third && config.sliding_window.is_some() && pattern.slides(layer);
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = match config.kv_heads.of(layer) {
            0 => mixer(b, normed),
            _ => b.attention(normed, if slides(layer) { sliding } else { full }),
        };
        b.add_normed(update, named("post_attention_norm"));
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward_fused(normed, Role::FfnGate, GateKind::SwiGlu);
        b.add_normed(update, named("post_ffw_norm"));
    });
    layers.head(None)
}

/// Mamba-2's scan with inputs like those of Mamba's first form: z and x of `input` for each head, the convolution of
/// x, B, C and time steps of that, each with a norm, and the output projection.
fn mixer(b: &mut Builder, input: Activation) -> Activation {
    let scan = scan_spec(b, 1);
    let [inner, state, rank] = [scan.inner(), scan.state, LEAST_RANK.max(b.config.hidden / 16)];
    b.fused(Role::SsmIn, scan.heads, &[(Role::SsmZ, scan.head_dim), (Role::SsmXbc, scan.head_dim)]);
    let parts = [(Role::SsmZ, "z"), (Role::SsmXbc, "x in")];
    let [z, x] = parts.map(|(role, name)| b.linear(input, role, None, (name, inner)));
    let x = b.ssm_conv(x, Bias::None, "x convolved");

    let parts = [(Role::SsmB, "B", state), (Role::SsmC, "C", state), (Role::SsmDt, "dt low", rank)];
    b.fused(Role::SsmX, 1, &parts.map(|(role, _, width)| (role, width)));
    let of_x @ [of_b, of_c, low] = parts.map(|(role, name, width)| b.linear(x, role, None, (name, width)));
    let norms = ["ssm_b_norm", "ssm_c_norm", "ssm_dt_norm"].map(named);
    for ((x, norm), (_, _, width)) in of_x.into_iter().zip(norms).zip(parts) {
        b.head_norm(x, norm, width);
    }
    // Rows that a product reads follow each other.
    let low = b.copy(low, "copy");
    let dt = b.linear(low, Role::SsmDtOut, None, ("dt", scan.heads));
    let bc = b.activation("BC", 2 * state);
    b.push(Op::JoinHeads { parts: [of_b, of_c], heads: 1, y: bc });
    // The scan reads z and time steps side by side, and so x, B and C.
    let [z, dt] = [(z, "z of scan"), (dt, "dt of scan")].map(|(of, name)| b.copy(of, name));
    let xbc = b.activation("xbc", scan.xbc_width());
    b.push(Op::JoinHeads { parts: [x, bc], heads: 1, y: xbc });
    let scanned = b.scan([z, dt, xbc], scan);
    b.linear(scanned, Role::SsmOut, None, ("update", b.config.hidden))
}
