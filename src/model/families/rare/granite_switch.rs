//! Granite Switch (<https://huggingface.co/ibm-granite>): Granite with adapters (LoRA, Hu et al. 2021,
//! <https://arxiv.org/abs/2106.09685>) that lie stacked in the file, like experts of which each token has one. A token
//! switches to an adapter for all tokens from it on.
//!
//! An attention of one head before the layers finds which: tokens that switch have a high score, so the result is the
//! mean of their slots.

use super::super::super::op::Op;
use super::super::super::program::{
    Activation, AttentionSpec, ExpertActivation, Experts, GateUp, Keys, Program, Switch, Switching,
};
use super::super::super::{ModelConfig, Role, WeightKey};
use super::super::builder::named;
use super::super::llama::granite;

/// Values of a head of that attention.
const HEAD: usize = 32;

/// The products that have adapters, with A and B.
const ADAPTED: [(Role, [&str; 2]); 7] = [
    (Role::AttnQ, ["attn_q.lora_a", "attn_q.lora_b"]),
    (Role::AttnK, ["attn_k.lora_a", "attn_k.lora_b"]),
    (Role::AttnV, ["attn_v.lora_a", "attn_v.lora_b"]),
    (Role::AttnOut, ["attn_output.lora_a", "attn_output.lora_b"]),
    (Role::FfnGate, ["ffn_gate.lora_a", "ffn_gate.lora_b"]),
    (Role::FfnUp, ["ffn_up.lora_a", "ffn_up.lora_b"]),
    (Role::FfnDown, ["ffn_down.lora_a", "ffn_down.lora_b"]),
];

/// Granite's program, with a switch before the layers and adapters behind the products.
pub fn granite_switch(config: &ModelConfig) -> Program {
    let mut program = granite(config);
    let switch = config.switch.clone().unwrap_or_default();
    let routes = find_slot(&mut program);
    for ops in &mut std::mem::take(&mut program.layers) {
        let mut layer = Layer { program: &mut program, made: Vec::new(), apart: Vec::new(), switch: &switch, routes };
        std::mem::take(ops).into_iter().for_each(|op| layer.take(op));
        let made = layer.made;
        program.layers.push(made);
    }
    program.switch = Some(switch);
    program
}

/// Writes the attention that finds the slot.
fn find_slot(program: &mut Program) -> Activation {
    let cache = program.attentions().len();
    let [q, signal, y] = ["switch query", "switch signal", "switch mean"].map(|name| program.activation(name, HEAD));
    let routes = program.activation("switch slot", 2);
    let attention = AttentionSpec::plain([1, 1, HEAD], 1.0);
    let found = [
        Op::Switch { kind: Switching::Query, y: q },
        Op::Switch { kind: Switching::Signal, y: signal },
        Op::Attend { q, kv: Some([signal; 2]), attention, keys: Keys::Cached(cache), y },
        Op::Switch { kind: Switching::Slot(y), y: routes },
    ];
    program.embed.extend(found);
    routes
}

/// A layer that gets adapters.
struct Layer<'a> {
    program: &'a mut Program,
    made: Vec<Op>,
    /// q, k and v before they lie side by side, and then.
    apart: Vec<[Activation; 2]>,
    switch: &'a Switch,
    routes: Activation,
}

impl Layer<'_> {
    /// Takes an operation, behind a product with what its adapter adds. Sums take whole rows of a buffer, so q, k and v
    /// have buffers of their own, from which they are copied side by side.
    fn take(&mut self, op: Op) {
        let Op::Linear { x, weight, bias, y } = op else { return self.made.push(op) };
        let Some((role, [a, b])) = ADAPTED.into_iter().find(|(role, _)| *role == weight.role) else {
            return self.made.push(op);
        };
        let apart = match role {
            Role::AttnQ => self.program.activation("q apart", self.program.width(y)),
            Role::AttnK => self.program.activation("k apart", self.program.width(y)),
            Role::AttnV => self.program.activation("v apart", self.program.width(y)),
            _ => y,
        };
        self.made.push(Op::Linear { x, weight, bias, y: apart });
        self.adapt(x, [a, b].map(|name| WeightKey { layer: weight.layer, role: named(name) }), apart);
        if apart != y {
            self.apart.push([apart, y]);
        }
        if role == Role::AttnV {
            self.made.extend(self.apart.drain(..).map(|[x, y]| Op::Copy { x, y }));
        }
    }

    /// `to += B · A · x` with the adapter of each token.
    fn adapt(&mut self, x: Activation, [a, b]: [WeightKey; 2], to: Activation) {
        let Self { routes, switch, .. } = *self;
        let ranks = self.program.activation("switch ranks", switch.rank);
        let term = self.program.activation("switch term", self.program.width(to));
        let experts = Experts { count: switch.slots(), used: 1 };
        let (gate_up, kind) = (GateUp::Alone(a), ExpertActivation::SwiGlu);
        self.made.push(Op::ExpertGate { x, routes, gate_up, kind, experts, y: ranks });
        self.made.push(Op::ExpertDown { x: ranks, routes, weight: b, bias: None, experts, y: term });
        self.made.push(Op::Add { x: term, scale: 1.0, to });
    }
}
