//! Gemma 3n, text (<https://ai.google.dev/gemma/docs/gemma-3n>): four residual streams of which one goes through the
//! layers (AltUp, Baykal et al. 2023, <https://arxiv.org/abs/2301.13310>), a low-rank path beside attention (LAuReL,
//! Menghani et al. 2024, <https://arxiv.org/abs/2411.07501>), embeddings per layer, and gates of which few stay.

use super::super::super::config::SlidingPattern;
use super::super::super::program::{Activation, Combining, Factor, Op, Operand, Program, Spreading, StreamSpec};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Builder, KeysAndValues};
use super::super::gemma4::per_layer_embeddings;
use crate::model::WeightKey;

// Constants that no file has as metadata.
const STREAMS: usize = 4;
const LAUREL_RANK: usize = 64;
const PER_LAYER: usize = 256;
const FINAL_SOFT_CAP: f32 = 30.0;

/// From this layer on, layers re-use the keys and values of the last sliding and the last full layer before it.
const SHARED_FROM: usize = 20;

/// Layers before this one have gates of which the upper 5 % stay.
const SPARSE: usize = 10;

/// The standard score below which 95 % of a normal distribution lie.
const DEVIATIONS: f32 = 1.644_853_6;

const fn named(name: &'static str) -> Role {
    Role::Named { group: "blk", name }
}

/// The program.
pub fn gemma3n(config: &ModelConfig) -> Program {
    let (hidden, width) = (config.hidden, config.per_layer_embedding.unwrap_or(PER_LAYER));
    let plain = StreamSpec { width: hidden, skip: 0, inputs: 1, first: 0, plus: 1.0, router: None };
    let mut builder = Builder::new(config, (hidden as f32).sqrt());
    let (embedded, streams) = builder.embed_more(|b| (per_layer_embeddings(b, width), b.split(plain)));
    let layers = builder.layers(|b, layer| {
        let active = b.first(streams);
        let predicting =
            StreamSpec { inputs: STREAMS, plus: 0.0, ..b.routed(active, "altup_predict_coef.weight", plain) };
        let predicted = b.activation("predictions", STREAMS * hidden);
        b.streams([Some(streams), Some(streams)], predicting, predicted);
        let active = b.first(predicted);
        b.attention_beside_laurel(active, block(config, layer));
        b.sparse_feed_forward(active, layer);
        let innovation = b.activation("innovation", hidden);
        b.streams([Some(active), Some(predicted)], StreamSpec { plus: -1.0, ..plain }, innovation);
        let correcting = b.routed(active, "altup_correct_coef.weight", plain);
        b.streams([Some(predicted), Some(innovation)], correcting, streams);
        let active = b.first(streams);
        let with = Operand::Vector(b.weight(named("altup_correct_scale.weight")));
        b.push(Op::Combine { x: active, kind: Combining::Multiply, with });
        let gate = b.linear(active, Role::PerLayerGate, None, ("per-layer gate", width));
        let gated = b.gate_part(gate, (embedded, layer * width), GateKind::GeGlu);
        let update = b.linear(gated, Role::PerLayerProj, None, ("update", hidden));
        let update = b.norm(update, Role::PerLayerPostNorm);
        b.streams([Some(streams), Some(update)], StreamSpec { first: 1, ..plain }, streams);
        if layer + 1 == config.layers {
            b.merge(streams, plain);
        }
    });
    layers.head(Some(FINAL_SOFT_CAP))
}

/// The attention of a layer.
fn block(config: &ModelConfig, layer: usize) -> AttentionBlock {
    let full =
        AttentionBlock { qk_norm: true, v_norm: true, scale: 1.0, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    let slides = config.sliding_pattern.as_ref().unwrap_or(&SlidingPattern::Every(5)).slides(layer);
    let kv = match layer {
        SHARED_FROM.. => KeysAndValues::Shared(SHARED_FROM - if slides { 2 } else { 1 }),
        _ => KeysAndValues::Own,
    };
    let sliding = full.sliding(config);
    AttentionBlock { kv, ..if slides { sliding } else { full } }
}

impl Builder<'_> {
    fn streams(&mut self, [base, x]: [Option<Activation>; 2], spec: StreamSpec, y: Activation) {
        self.push(Op::Streams { base, x, spec, y });
    }

    /// A copy of the first stream.
    fn first(&mut self, of: Activation) -> Activation {
        let width = self.config.hidden;
        let y = self.activation("active", width);
        self.streams([Some(of), None], StreamSpec { width, skip: 0, inputs: 0, first: 0, plus: 0.0, router: None }, y);
        y
    }

    /// Products of the other streams, which `spec` makes of base and x, with a matrix each; all get the length of `of`.
    fn others(
        &mut self,
        from: [Option<Activation>; 2],
        spec: StreamSpec,
        name: &'static str,
        of: Activation,
    ) -> Activation {
        let width = (STREAMS - 1) * self.config.hidden;
        let [x, y] = ["copies", "other streams"].map(|name| self.activation(name, width));
        self.streams(from, spec, x);
        let weight = WeightKey { layer: None, role: named(name) };
        self.push(Op::HeadLinear { x, weight, heads: STREAMS - 1, y });
        self.push(Op::Spread { x: y, kind: Spreading::LengthOf(of) });
        y
    }

    /// The embedding as all streams.
    fn split(&mut self, plain: StreamSpec) -> Activation {
        let others = self.others([None, Some(self.x)], plain, "altup_proj.weight", self.x);
        let y = self.activation("streams", STREAMS * self.config.hidden);
        self.push(Op::JoinHeads { parts: [self.x, others], heads: 1, y });
        y
    }

    /// The mean of the streams, all as long as the first, as the residual stream.
    fn merge(&mut self, streams: Activation, plain: StreamSpec) {
        let active = self.first(streams);
        let rest = StreamSpec { skip: 1, inputs: 0, ..plain };
        let others = self.others([Some(streams), None], rest, "altup_unembd_proj.weight", active);
        self.streams([Some(active), Some(others)], StreamSpec { inputs: STREAMS - 1, ..plain }, self.x);
        self.push(Op::Scale { x: self.x, factor: Factor::Number(1.0 / STREAMS as f32) });
    }

    /// Weights that are made of `x`.
    fn routed(&mut self, x: Activation, coefs: &'static str, plain: StreamSpec) -> StreamSpec {
        let normed = self.norm(x, named("altup_router_norm.weight"));
        let router = self.linear(normed, named("altup_router.weight"), None, ("router", STREAMS));
        StreamSpec { router: Some((router, self.weight(named(coefs)))), ..plain }
    }

    /// `x = (x + attention + laurel) / √2`, with `laurel = n + norm(R · L · n)` of `n = norm(x)`.
    fn attention_beside_laurel(&mut self, x: Activation, block: AttentionBlock) {
        let normed = self.norm(x, Role::AttnNorm);
        let low = self.linear(normed, named("laurel_l.weight"), None, ("low rank", LAUREL_RANK));
        let laurel = self.linear(low, named("laurel_r.weight"), None, ("laurel", self.config.hidden));
        let update = self.attention(normed, block);
        self.push(Op::Add { x: normed, scale: 1.0, to: x });
        self.add_normed_to(update, Role::AttnPostNorm, x);
        self.add_normed_to(laurel, named("laurel_post_norm.weight"), x);
        self.push(Op::Scale { x, factor: Factor::Number(std::f32::consts::FRAC_1_SQRT_2) });
    }

    fn sparse_feed_forward(&mut self, x: Activation, layer: usize) {
        let ffn = self.config.ffn.of(layer);
        let normed = self.norm(x, Role::FfnNorm);
        let [gate, up] = [(Role::FfnGate, "gate"), (Role::FfnUp, "up")]
            .map(|(role, name)| self.linear(normed, role, None, (name, ffn)));
        if layer < SPARSE {
            self.push(Op::Spread { x: gate, kind: Spreading::Cut(DEVIATIONS) });
        }
        let gated = self.gate_part(gate, (up, 0), GateKind::GeGlu);
        let update = self.linear(gated, Role::FfnDown, None, ("update", self.config.hidden));
        self.add_normed_to(update, Role::FfnPostNorm, x);
    }

    fn add_normed_to(&mut self, x: Activation, role: Role, to: Activation) {
        let normed = self.norm(x, role);
        self.push(Op::Add { x: normed, scale: 1.0, to });
    }
}
