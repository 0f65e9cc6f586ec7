//! T5 (Raffel et al. 2019, <https://arxiv.org/abs/1910.10683>), Flan-T5 (<https://arxiv.org/abs/2210.11416>) and
//! MADLAD-400 (<https://arxiv.org/abs/2309.04662>): scores are not divided by √head_dim and have a learned bias by the
//! distance of a key, RMS norms come before the blocks, and nothing has a bias of its own.

use super::super::program::{Activation, AttentionSpec, Distances, Keys, Op, Program, Sight, of_layer};
use super::super::{ActivationKind, GateKind, ModelConfig, Role};
use super::builder::Builder;

/// The encoder by itself.
pub fn t5encoder(config: &ModelConfig) -> Program {
    let mut b = Builder::new(config, 1.0);
    b.output_norm = Role::OutputNormOfEncoder;
    let layers = b.layers(|b, _| {
        let x = b.norm(b.x, of_encoder("attn_norm.weight"));
        let update = attention(b, x);
        b.add(update);
        let x = b.norm(b.x, of_encoder("ffn_norm.weight"));
        let update = feed_forward(b, x, of_encoder);
        b.add(update);
    });
    layers.head(None)
}

/// A tensor of a layer of the encoder.
fn of_encoder(name: &'static str) -> Role {
    Role::Named { group: "enc.blk", name }
}

/// Attention of the rows of a text among themselves.
fn attention(b: &mut Builder, x: Activation) -> Activation {
    let config = b.config;
    let attention = AttentionSpec { distances: Some(distances(b, of_encoder, true)), ..heads(b) };
    let width = attention.query_width();
    let [q, k, v] = [("attn_q.weight", "q"), ("attn_k.weight", "k"), ("attn_v.weight", "v")]
        .map(|(weight, name)| b.linear(x, of_encoder(weight), None, (name, width)));
    let y = b.activation("attended", width);
    b.push(Op::Attend { q, kv: Some([k, v]), attention, keys: Keys::OfInput(Sight::All), y });
    b.linear(y, of_encoder("attn_o.weight"), None, ("update", config.hidden))
}

fn heads(b: &Builder) -> AttentionSpec {
    let heads = b.config.heads.of(b.layer);
    AttentionSpec::plain([heads, heads, b.config.head_dim], 1.0)
}

/// The layer's own table of biases, or else that of the first layer, which most files have alone.
fn distances(b: &Builder, of: fn(&'static str) -> Role, both_ways: bool) -> Distances {
    let table = of("attn_rel_b.weight");
    let layer = if b.has(table) { b.layer } else { 0 };
    Distances { table: of_layer(layer, table), buckets: b.config.distance_buckets, both_ways }
}

/// ReLU, or in T5 1.1 and those after it a GELU gate.
fn feed_forward(b: &mut Builder, x: Activation, of: fn(&'static str) -> Role) -> Activation {
    let (hidden, ffn) = (b.config.hidden, b.config.ffn.of(b.layer));
    let gate = of("ffn_gate.weight");
    let activated = if b.has(gate) {
        let gate = b.linear(x, gate, None, ("gate", ffn));
        let up = b.linear(x, of("ffn_up.weight"), None, ("up", ffn));
        b.gate_part(gate, (up, 0), GateKind::GeGlu)
    } else {
        let up = b.linear(x, of("ffn_up.weight"), None, ("up", ffn));
        b.push(Op::Activate { x: up, kind: ActivationKind::Relu });
        up
    };
    b.linear(activated, of("ffn_down.weight"), None, ("update", hidden))
}
