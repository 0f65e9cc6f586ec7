//! Experts, as families write them.

use super::super::program::{Activation, Experts, GateUp, Op, Routing, Weight, of_layer};
use super::super::{ActivationKind, GateKind};
use super::builder::{Builder, ExpertBlock, named};
use crate::model::Role;

impl Builder<'_> {
    /// The experts' feed-forward of `x`, normalised before.
    pub fn experts(&mut self, x: Activation, block: ExpertBlock) -> Activation {
        self.experts_by(x, x, block)
    }

    /// The same, with a router that looks at an activation of its own.
    pub fn experts_by(&mut self, routed: Activation, x: Activation, block: ExpertBlock) -> Activation {
        let routes = self.route(routed, &block);
        self.routed_experts(routes, x, block)
    }

    /// The same, between two products with the matrices that all experts share, where the file has them.
    pub fn latent_experts(&mut self, x: Activation, block: ExpertBlock) -> Activation {
        let [down, up] = ["ffn_latent_down.weight", "ffn_latent_up.weight"].map(named);
        if !self.has(down) {
            return self.experts(x, block);
        }
        let hidden = self.config.hidden;
        let width = self.config.experts.latent.unwrap_or(hidden);
        let routes = self.route(x, &block);
        let low = self.linear(x, down, None, ("latent", width));
        let update = self.routed_experts(routes, low, block);
        // A product does not write what it reads, even where the latent width is the stream's.
        self.linear(update, up, None, ("update of experts", hidden))
    }

    /// The experts of a token by a router that looks at `x`.
    pub fn route(&mut self, x: Activation, block: &ExpertBlock) -> Activation {
        let layer = self.layer;
        let experts @ Experts { count, used } = self.config.experts.of(layer);
        let key = |role| of_layer(layer, role);
        let bias = block.biases.then(|| Weight { key: key(Role::RouterBias), optional: false });
        let logits = self.linear(x, Role::Router, bias, ("router logits", count));
        let routes = self.program.activation("routes", 2 * used);
        let bias = block.choice_bias.then(|| key(Role::RouterChoiceBias));
        let expert_scales = block.down_scales.then(|| key(Role::ExpertDownScale));
        let routing = Routing { experts, bias, expert_scales, ..block.routing };
        self.ops.push(Op::Route { logits, routing, routes });
        routes
    }

    /// The feed-forward of `x` by the experts that `routes` says.
    pub fn routed_experts(&mut self, routes: Activation, x: Activation, block: ExpertBlock) -> Activation {
        let (c, layer) = (self.config, self.layer);
        let experts = c.experts.of(layer);
        let key = |role| of_layer(layer, role);
        let ffn = match &c.experts.ffn {
            Some(ffn) => ffn.of(layer),
            None if block.shares_ffn => c.ffn.of(layer) / experts.used.max(1),
            None => c.ffn.of(layer),
        };
        let gate_up = if block.ungated.is_some() {
            GateUp::Alone(key(Role::ExpertUp))
        } else if c.has_tensor(&key(Role::ExpertGateUp).name()) {
            GateUp::Fused(key(Role::ExpertGateUp))
        } else {
            let biases = block.biases.then(|| [key(Role::ExpertGateBias), key(Role::ExpertUpBias)]);
            GateUp::Pair { weights: [key(Role::ExpertGate), key(Role::ExpertUp)], biases }
        };
        let kind = block.activation;
        let activated = self.program.activation("experts activated", experts.used * ffn);
        self.ops.push(Op::ExpertGate { x, routes, gate_up, kind, experts, y: activated });
        self.ops.extend(block.ungated.map(|kind| Op::Activate { x: activated, kind }));
        let update = self.program.activation("update", self.program.width(x));
        let (weight, bias) = (key(Role::ExpertDown), block.biases.then(|| key(Role::ExpertDownBias)));
        self.ops.push(Op::ExpertDown { x: activated, routes, weight, bias, experts, y: update });
        update
    }

    /// A gated feed-forward of the normed stream where `is_dense`, else experts, and with `has_shared` the one beside
    /// them.
    pub fn dense_or_experts(&mut self, is_dense: bool, block: ExpertBlock, has_shared: bool) {
        let normed = self.norm(self.x, Role::FfnNorm);
        if is_dense {
            let update = self.feed_forward(normed, GateKind::SwiGlu);
            return self.add(update);
        }
        let choice_bias = self.has(Role::RouterChoiceBias);
        let update = self.experts(normed, ExpertBlock { choice_bias, ..block });
        self.add(update);
        if has_shared {
            let update = self.shared_expert(normed, GateKind::SwiGlu);
            self.add(update);
        }
    }

    /// The sum of experts and, where there is one, of the feed-forward that all tokens share.
    pub fn experts_and_shared(&mut self, x: Activation, block: ExpertBlock) -> Activation {
        let update = self.latent_experts(x, block);
        if self.config.experts.shared_ffn == 0 {
            return update;
        }
        let sum = self.copy(update, "feed-forwards");
        let shared = self.shared_expert(x, GateKind::SwiGlu);
        self.ops.push(Op::Add { x: shared, scale: 1.0, to: sum });
        sum
    }

    /// The gated feed-forward of `x` that all tokens go through beside their experts.
    pub fn shared_expert(&mut self, x: Activation, kind: GateKind) -> Activation {
        let (hidden, ffn) = (self.config.hidden, self.config.experts.shared_ffn);
        let gate = self.linear(x, Role::SharedGate, None, ("shared gate", ffn));
        let up = self.linear(x, Role::SharedUp, None, ("shared up", ffn));
        let activated = self.program.activation("shared activated", ffn);
        self.ops.push(Op::Gate { gate, up, at: 0, kind, y: activated });
        self.linear(activated, Role::SharedDown, None, ("update", hidden))
    }

    /// The feed-forward without a gate that all tokens go through beside their experts.
    pub fn shared_plain(&mut self, x: Activation, kind: ActivationKind) -> Activation {
        let up = self.linear(x, Role::SharedUp, None, ("shared up", self.config.experts.shared_ffn));
        self.ops.push(Op::Activate { x: up, kind });
        self.linear(up, Role::SharedDown, None, ("update", self.config.hidden))
    }

    /// The same, times the sigmoid of a logit of `x`.
    pub fn gated_shared_expert(&mut self, x: Activation, kind: GateKind) -> Activation {
        let update = self.shared_expert(x, kind);
        let gate = self.linear(x, Role::SharedRouter, None, ("shared router logit", 1));
        self.ops.push(Op::GateRow { x: update, gate });
        update
    }
}
