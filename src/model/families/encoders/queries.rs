//! The layers of a Q-Former (Li et al. 2023, <https://arxiv.org/abs/2301.12597>): of each window of rows as many rows
//! as there are queries.

use super::super::super::program::{Activation, BlockSpec, Norm, NormKind, Op, Weight};
use super::super::super::{ActivationKind, Role, WeightKey};
use super::vit::Vit;

/// Epsilon of the norms.
const EPS: f32 = 1e-12;

/// Where the layers are in a file.
#[derive(Clone, Copy)]
pub struct Queries {
    /// The prefix of the names.
    pub group: &'static str,
}

impl Queries {
    /// A tensor of a layer.
    pub const fn key(self, layer: usize, name: &'static str) -> WeightKey {
        WeightKey { layer: Some(layer), role: Role::Named { group: self.group, name } }
    }

    /// A bias of a layer.
    pub const fn bias(self, layer: usize, name: &'static str) -> Option<Weight> {
        Some(Weight { key: self.key(layer, name), optional: false })
    }

    /// A layer norm of a layer.
    pub fn norm(self, vit: &Vit, layer: usize, names: [&'static str; 2]) -> Norm {
        norm_of(vit, names.map(|name| self.key(layer, name)))
    }

    /// A product of a layer.
    pub fn product(
        self,
        vit: &mut Vit,
        (layer, [weight, bias]): (usize, [&'static str; 2]),
        x: Activation,
        (name, width): (&'static str, usize),
    ) -> Activation {
        let y = vit.activation(name, width);
        vit.push(Op::Linear { x, weight: self.key(layer, weight), bias: self.bias(layer, bias), y });
        y
    }

    /// Attention of the queries of a window to each other, then to its rows, of which these are the keys and values,
    /// and a feed-forward, each with a norm behind the sum. A last window is filled up with the biases of keys and
    /// values.
    pub fn write(self, vit: &mut Vit, layer: usize, x: Activation, kv: [Activation; 2]) {
        let (width, heads) = (vit.config.hidden, vit.encoder.query_heads);
        let head_dim = width / heads;
        let queries = vit.encoder.queries;
        let scale = (head_dim as f32).sqrt().recip();
        let own = BlockSpec { heads, group: 1, head_dim, scale, queries, keys: queries, farthest: 0, filled: false };
        let update = ("query update", width);
        let add = |vit: &mut Vit, update: Activation, names: [&'static str; 2]| {
            vit.push(Op::Add { x: update, scale: 1.0, to: x });
            let norm = self.norm(vit, layer, names);
            vit.push(Op::Norm { x, norm, y: x });
        };
        let names = [
            (["self_attn_q.weight", "self_attn_q.bias"], "query q"),
            (["self_attn_k.weight", "self_attn_k.bias"], "query k"),
            (["self_attn_v.weight", "self_attn_v.bias"], "query v"),
        ];
        let [q, k, v] = names.map(|(names, label)| self.product(vit, (layer, names), x, (label, width)));
        let y = vit.activation("query attended", width);
        vit.push(Op::AttendBlocks { q, kv: [k, v], with: [None; 2], spec: own, y });
        let sum = self.product(vit, (layer, ["self_attn_out.weight", "self_attn_out.bias"]), y, update);
        add(vit, sum, ["self_attn_norm.weight", "self_attn_norm.bias"]);
        let q = self.product(vit, (layer, ["cross_attn_q.weight", "cross_attn_q.bias"]), x, ("query q", width));
        let with = ["cross_attn_k.bias", "cross_attn_v.bias"].map(|name| Some(self.key(layer, name)));
        let spec = BlockSpec { keys: vit.encoder.window_rows(), filled: true, ..own };
        vit.push(Op::AttendBlocks { q, kv, with, spec, y });
        let sum = self.product(vit, (layer, ["cross_attn_out.weight", "cross_attn_out.bias"]), y, update);
        add(vit, sum, ["cross_attn_norm.weight", "cross_attn_norm.bias"]);
        let wide = vit.encoder.width_of(&self.key(layer, "ffn_up.weight").name());
        let up = self.product(vit, (layer, ["ffn_up.weight", "ffn_up.bias"]), x, ("query up", wide));
        vit.push(Op::Activate { x: up, kind: ActivationKind::GeluErf });
        let sum = self.product(vit, (layer, ["ffn_down.weight", "ffn_down.bias"]), up, update);
        add(vit, sum, ["ffn_norm.weight", "ffn_norm.bias"]);
    }
}

/// A layer norm of a Q-Former.
pub fn norm_of(vit: &Vit, [weight, bias]: [WeightKey; 2]) -> Norm {
    let bias = Some(Weight { key: bias, optional: false });
    Norm { bias, eps: EPS, ..vit.norm(NormKind::Layer, weight, vit.config.hidden) }
}
