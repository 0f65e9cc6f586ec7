//! RWKV-7 (Peng et al. 2025, <https://arxiv.org/abs/2503.14456>), RWKV-6 (Peng et al. 2024,
//! <https://arxiv.org/abs/2404.05892>), and Qwen 2.5 with their time mixing in the place of attention: ARWKV
//! (<https://arxiv.org/abs/2501.15570>) and QRWKV6.

use super::super::super::program::{
    Activation, Combining, ConvSpec, Factor, Op, Operand, OwnToken, Program, Weight, WkvForm, WkvSpec,
};
use super::super::super::{ActivationKind, GateKind, ModelConfig, Role, WeightKey};
use super::super::builder::{Builder, Norms, named};
use super::bert::embedding_norm;

/// Added to the variance of a head.
const HEAD_EPS: f32 = 64e-5;

/// RWKV-7: time mixing, and a channel mixing that is the square of ReLU.
pub fn rwkv7(config: &ModelConfig) -> Program {
    let mut first = None;
    let layers = start(config).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = time_mix_7(b, normed, &mut first);
        b.add(update);
        let normed = b.norm_apart(b.x, Role::AttnNorm2);
        let update = channel_mix(b, normed, false);
        b.add(update);
    });
    layers.head(None)
}

/// ARWKV: time mixing of RWKV-7, and the feed-forward of Qwen 2.5.
pub fn arwkv7(config: &ModelConfig) -> Program {
    let mut first = None;
    qwen2(config, |b, x| time_mix_7(b, x, &mut first))
}

/// Qwen 2.5 with this in the place of attention.
fn qwen2(config: &ModelConfig, mut time_mix: impl FnMut(&mut Builder, Activation) -> Activation) -> Program {
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = time_mix(b, normed);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        b.add(update);
    });
    layers.head(None)
}

/// RWKV-6: time mixing with shares that depend on the token, and a gated channel mixing.
pub fn rwkv6(config: &ModelConfig) -> Program {
    let halve_every = config.wkv.unwrap_or_default().halve_every;
    let layers = start(config).layers(|b, layer| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = time_mix_6(b, normed, false);
        b.add(update);
        let normed = b.norm_apart(b.x, Role::AttnNorm2);
        let update = channel_mix(b, normed, true);
        b.add(update);
        if halve_every > 0 && (layer + 1) % halve_every == 0 {
            b.push(Op::Scale { x: b.x, factor: Factor::Number(0.5) });
        }
    });
    layers.head(None)
}

/// QRWKV6: time mixing of RWKV-6 without the bonus, and the feed-forward of Qwen 2.5.
pub fn rwkv6qwen2(config: &ModelConfig) -> Program {
    qwen2(config, |b, x| time_mix_6(b, x, true))
}

fn start(config: &ModelConfig) -> Builder<'_> {
    let mut b = Builder::new(config, 1.0);
    embedding_norm(&mut b, Some(Role::EmbeddingNormBias));
    b.norms = Norms::Layer;
    b
}

/// The shares of the token before, in the order in which they lie in one tensor.
const SHARES_7: [&str; 6] = [
    "time_mix_lerp_r.weight",
    "time_mix_lerp_w.weight",
    "time_mix_lerp_k.weight",
    "time_mix_lerp_v.weight",
    "time_mix_lerp_a.weight",
    "time_mix_lerp_g.weight",
];

/// Time mixing of x, normalised before. `first` are the values of the first layer, to which those of later ones move.
fn time_mix_7(b: &mut Builder, x: Activation, first: &mut Option<Activation>) -> Activation {
    let hidden = b.config.hidden;
    let numbers = b.config.wkv.unwrap_or_default();
    let has_gate = b.has(named("time_mix_g1.weight"));
    let shares = &SHARES_7[..if has_gate { 6 } else { 5 }];
    let rows: Vec<(Role, usize)> = shares.iter().map(|&name| (named(name), hidden)).collect();
    b.fused(named("time_mix_lerp_fused.weight"), 1, &rows);
    let before = b.token_before(x);
    let mixed = |b: &mut Builder, share: usize| b.mixed([x, before], SHARES_7[share]);

    let x_r = mixed(b, 0);
    let r = b.linear(x_r, named("time_mix_receptance.weight"), None, ("r", hidden));
    let x_w = mixed(b, 1);
    let tensors = ["time_mix_w1.weight", "time_mix_w2.weight", "time_mix_w0.weight"];
    let w = b.low_rank(x_w, tensors, Some(ActivationKind::Tanh), ["w", "decay low rank"], numbers.decay);
    let x_k = mixed(b, 2);
    let k = b.linear(x_k, named("time_mix_key.weight"), None, ("k", hidden));
    let x_v = mixed(b, 3);
    let v = values_7(b, x_v, first);
    let x_a = mixed(b, 4);
    let tensors = ["time_mix_a1.weight", "time_mix_a2.weight", "time_mix_a0.weight"];
    let rate = b.low_rank(x_a, tensors, None, ["in-context learning rate", "iclr low rank"], numbers.learning_rate);
    let gate = has_gate.then(|| {
        let x_g = mixed(b, 5);
        let tensors = ["time_mix_g1.weight", "time_mix_g2.weight", ""];
        b.low_rank(x_g, tensors, Some(ActivationKind::Sigmoid), ["time gate", "gate low rank"], numbers.gate)
    });

    let [k_k, k_a, r_k] = ["time_mix_k_k.weight", "time_mix_k_a.weight", "time_mix_r_k.weight"].map(|of| b.named(of));
    let heads = hidden / numbers.head_dim.max(1);
    let wkv = WkvSpec { heads, kv_heads: heads, head_dim: numbers.head_dim, form: WkvForm::Delta([k_k, k_a]) };
    let joined = b.activation("w and learning rate", 2 * hidden);
    b.push(Op::JoinHeads { parts: [w, rate], heads, y: joined });
    let y = b.wkv(r, joined, [k, v], wkv);
    let own = OwnToken { rwkv: [r, joined, k, v], weights: [k_a, r_k] };
    let norm = b.has(named("time_mix_ln.weight")).then(|| b.head_norm_weights());
    b.push(Op::WkvOutput { x: y, norm, own: Some(own), gate, head_dim: numbers.head_dim });
    b.linear(y, named("time_mix_output.weight"), None, ("update", hidden))
}

/// Values of x; in later layers on their way to those of the first.
fn values_7(b: &mut Builder, x: Activation, first: &mut Option<Activation>) -> Activation {
    let hidden = b.config.hidden;
    let role = named("time_mix_value.weight");
    let Some(to) = *first else {
        return *first.insert(b.linear(x, role, None, ("first v", hidden)));
    };
    let rank = b.config.wkv.unwrap_or_default().value_mix;
    let tensors = ["time_mix_v1.weight", "time_mix_v2.weight", "time_mix_v0.weight"];
    let by = b.low_rank(x, tensors, None, ["part of first v", "value mix low rank"], rank);
    b.push(Op::Activate { x: by, kind: ActivationKind::Sigmoid });
    let own = b.linear(x, role, None, ("own v", hidden));
    b.lerp([own, to], Operand::Rows(by), None, "v")
}

/// The shares of the token before, in the order in which they lie in one tensor or have tensors of their own.
const SHARES_6: [&str; 5] = [
    "time_mix_lerp_w.weight",
    "time_mix_lerp_k.weight",
    "time_mix_lerp_v.weight",
    "time_mix_lerp_r.weight",
    "time_mix_lerp_g.weight",
];

/// Time mixing of x, normalised before; `is_linear` makes it a gated linear attention.
fn time_mix_6(b: &mut Builder, x: Activation, is_linear: bool) -> Activation {
    let hidden = b.config.hidden;
    let numbers = b.config.wkv.unwrap_or_default();
    let heads = hidden / numbers.head_dim.max(1);
    let kv_heads = if is_linear && numbers.kv_heads > 0 { numbers.kv_heads } else { heads };
    let kv_width = kv_heads * numbers.head_dim;
    if b.has(named("time_mix_lerp_fused.weight")) {
        b.fused(named("time_mix_lerp_fused.weight"), 1, &SHARES_6.map(|name| (named(name), hidden)));
    }
    let before = b.token_before(x);
    let mixed = b.mixed([x, before], "time_mix_lerp_x.weight");
    let low = b.linear(mixed, named("time_mix_w1.weight"), None, ("low ranks", SHARES_6.len() * numbers.shift));
    b.push(Op::Activate { x: low, kind: ActivationKind::Tanh });
    let shares = b.activation("shares", SHARES_6.len() * hidden);
    let weight = b.named("time_mix_w2.weight");
    b.push(Op::HeadLinear { x: low, weight, heads: SHARES_6.len(), y: shares });
    let mixed = |b: &mut Builder, at: usize| {
        let by = Operand::Vector(b.named(SHARES_6[at]));
        b.lerp([x, before], by, Some((shares, at * hidden)), "mixed")
    };
    let product = |b: &mut Builder, at: usize, names: [&'static str; 2], y: (&'static str, usize)| {
        let bias = Some(Weight { key: b.named(names[1]), optional: true }).filter(|_| is_linear);
        let x = mixed(b, at);
        b.linear(x, named(names[0]), bias, y)
    };

    let x_w = mixed(b, 0);
    let tensors = ["time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_decay.weight"];
    let w = b.low_rank(x_w, tensors, Some(ActivationKind::Tanh), ["w", "decay low rank"], numbers.decay);
    let k = product(b, 1, ["time_mix_key.weight", "time_mix_key.bias"], ("k", kv_width));
    let v = product(b, 2, ["time_mix_value.weight", "time_mix_value.bias"], ("v", kv_width));
    let r = product(b, 3, ["time_mix_receptance.weight", "time_mix_receptance.bias"], ("r", hidden));
    let x_g = mixed(b, 4);
    let gate = b.linear(x_g, named("time_mix_gate.weight"), None, ("time gate", hidden));
    b.push(Op::Activate { x: gate, kind: if is_linear { ActivationKind::Sigmoid } else { ActivationKind::Silu } });

    let form = if is_linear { WkvForm::Gated } else { WkvForm::Bonus(b.named("time_mix_first.weight")) };
    let y = b.wkv(r, w, [k, v], WkvSpec { heads, kv_heads, head_dim: numbers.head_dim, form });
    let norm = (!is_linear).then(|| b.head_norm_weights());
    b.push(Op::WkvOutput { x: y, norm, own: None, gate: Some(gate), head_dim: numbers.head_dim });
    b.linear(y, named("time_mix_output.weight"), None, ("update", hidden))
}

/// The feed-forward of x and the token before, gated by their receptance in RWKV-6.
fn channel_mix(b: &mut Builder, x: Activation, has_receptance: bool) -> Activation {
    let (hidden, ffn) = (b.config.hidden, b.config.ffn.of(b.layer));
    let before = b.token_before(x);
    let receptance = has_receptance.then(|| {
        let mixed = b.mixed([x, before], "channel_mix_lerp_r.weight");
        let r = b.linear(mixed, named("channel_mix_receptance.weight"), None, ("receptance", hidden));
        b.push(Op::Activate { x: r, kind: ActivationKind::Sigmoid });
        r
    });
    let mixed = b.mixed([x, before], "channel_mix_lerp_k.weight");
    let k = b.linear(mixed, named("channel_mix_key.weight"), None, ("up", ffn));
    b.push(Op::Activate { x: k, kind: ActivationKind::ReluSquared });
    let update = b.linear(k, named("channel_mix_value.weight"), None, ("update", hidden));
    if let Some(r) = receptance {
        b.push(Op::Combine { x: update, kind: Combining::Multiply, with: Operand::Rows(r) });
    }
    update
}

impl Builder<'_> {
    /// The layer's tensor of this name.
    fn named(&self, name: &'static str) -> WeightKey {
        self.weight(named(name))
    }

    /// x of the token before, zeros before the first.
    fn token_before(&mut self, x: Activation) -> Activation {
        self.conv(x, None, ConvSpec { weight: None, bias: None, kernel: 2, ahead: 0, silu: false }, "token before")
    }

    /// x on its way to the token before, by the shares of this name (token shift).
    fn mixed(&mut self, [x, before]: [Activation; 2], share: &'static str) -> Activation {
        let by = Operand::Vector(self.named(share));
        self.lerp([x, before], by, None, "mixed")
    }

    fn lerp(
        &mut self,
        [x, to]: [Activation; 2],
        by: Operand,
        more: Option<(Activation, usize)>,
        name: &'static str,
    ) -> Activation {
        let y = self.activation(name, self.config.hidden);
        self.push(Op::Lerp { x, to, by, more, y });
        y
    }

    /// Two products of x with `rank` values between them, which may go through an activation; `tensors` are those of
    /// the products and the bias, which has no name where there is none. The names are those of y and of these values.
    fn low_rank(
        &mut self,
        x: Activation,
        [down, up, bias]: [&'static str; 3],
        kind: Option<ActivationKind>,
        [name, inner]: [&'static str; 2],
        rank: usize,
    ) -> Activation {
        let low = self.linear(x, named(down), None, (inner, rank));
        if let Some(kind) = kind {
            self.push(Op::Activate { x: low, kind });
        }
        let bias = Some(Weight { key: self.named(bias), optional: false }).filter(|_| !bias.is_empty());
        self.linear(low, named(up), bias, (name, self.config.hidden))
    }

    fn wkv(&mut self, r: Activation, w: Activation, kv: [Activation; 2], wkv: WkvSpec) -> Activation {
        let (y, state) = (self.activation("wkv", wkv.width()), self.new_state());
        self.push(Op::Wkv { r, w, kv, wkv, state, y });
        y
    }

    /// Weight and bias of the norm of heads, and what it adds to the variance.
    fn head_norm_weights(&self) -> ([WeightKey; 2], f32) {
        (["time_mix_ln.weight", "time_mix_ln.bias"].map(|name| self.named(name)), HEAD_EPS)
    }
}
