//! T5 (Raffel et al. 2019, <https://arxiv.org/abs/1910.10683>), Flan-T5 (<https://arxiv.org/abs/2210.11416>) and
//! MADLAD-400 (<https://arxiv.org/abs/2309.04662>): scores are not divided by √head_dim and have a learned bias by the
//! distance of a key, RMS norms come before the blocks, and nothing has a bias of its own.

use super::super::super::program::{
    Activation, AttentionSpec, Distances, Keys, Op, Output, Program, Sight, of_layer, of_model,
};
use super::super::super::{ActivationKind, GateKind, ModelConfig, Role, WeightKey};
use super::super::builder::Builder;

/// The tensor of this name in a layer of the encoder or the decoder.
type OfLayer = fn(&'static str) -> Role;

/// The encoder by itself.
pub fn t5encoder(config: &ModelConfig) -> Program {
    let mut b = Builder::new(config, 1.0);
    b.output_norm = Role::OutputNormOfEncoder;
    b.layers(|b, _| encoder_layer(b)).head(None)
}

/// Encoder and decoder. The decoder's layers attend to its own text, then to the rows of the source.
pub fn t5(config: &ModelConfig) -> Program {
    let encoder = Builder::new(config, 1.0).layers(|b, _| encoder_layer(b));
    let mut b = encoder.into_source(of_model(Role::OutputNormOfEncoder));
    b.output_norm = Role::Named { group: "dec", name: "dec.output_norm.weight" };
    let layers = config.t5.decoder.map_or(0, |decoder| decoder.layers);
    let b = b.layers_of(layers, |b, layer| {
        let x = b.norm(b.x, of_decoder("attn_norm.weight"));
        let update = attention(b, x, of_decoder, Keys::Cached(layer));
        b.add(update);
        let x = b.norm(b.x, of_decoder("cross_attn_norm.weight"));
        let update = cross_attention(b, x, layer);
        b.add(update);
        let x = b.norm(b.x, of_decoder("ffn_norm.weight"));
        let update = feed_forward(b, x, of_decoder);
        b.add(update);
    });
    let mut program = b.head(None);
    let activations = program.activations.clone();
    program.source.iter_mut().for_each(|source| source.activations.clone_from(&activations));
    program
}

fn encoder_layer(b: &mut Builder) {
    let x = b.norm(b.x, of_encoder("attn_norm.weight"));
    let update = attention(b, x, of_encoder, Keys::OfInput(Sight::All));
    b.add(update);
    let x = b.norm(b.x, of_encoder("ffn_norm.weight"));
    let update = feed_forward(b, x, of_encoder);
    b.add(update);
}

fn of_encoder(name: &'static str) -> Role {
    Role::Named { group: "enc.blk", name }
}

fn of_decoder(name: &'static str) -> Role {
    Role::Named { group: "dec.blk", name }
}

/// Attention of a text to itself. The layer's own table of biases counts, or else the first layer's, which most files
/// have alone.
fn attention(b: &mut Builder, x: Activation, of: OfLayer, keys: Keys) -> Activation {
    let table = of("attn_rel_b.weight");
    let layer = if b.has(table) { b.layer } else { 0 };
    let both_ways = keys == Keys::OfInput(Sight::All);
    let distances = Distances { table: of_layer(layer, table), buckets: b.config.t5.buckets, both_ways };
    let attention = AttentionSpec { distances: Some(distances), ..plain(b) };
    let (width, kv_width) = (attention.query_width(), attention.kv_width());
    let q = b.linear(x, of("attn_q.weight"), None, ("q", width));
    let kv = [("attn_k.weight", "k"), ("attn_v.weight", "v")];
    let kv = kv.map(|(weight, name)| b.linear(x, of(weight), None, (name, kv_width)));
    let y = b.activation("attended", width);
    b.push(Op::Attend { q, kv: Some(kv), attention, keys, y });
    b.linear(y, of("attn_o.weight"), None, ("update", b.config.hidden))
}

/// Attention to the rows of the source, wherever they are.
fn cross_attention(b: &mut Builder, x: Activation, number: usize) -> Activation {
    let attention = plain(b);
    let width = attention.query_width();
    // A name of its own: the other queries lie beside keys and values.
    let q = b.linear(x, of_decoder("cross_attn_q.weight"), None, ("q of the source", width));
    let y = b.activation("attended", width);
    let kv = ["cross_attn_k.weight", "cross_attn_v.weight"].map(|name| b.weight(of_decoder(name)));
    b.push(Op::AttendSource { q, kv, attention, number, y });
    b.linear(y, of_decoder("cross_attn_o.weight"), None, ("update", b.config.hidden))
}

fn plain(b: &Builder) -> AttentionSpec {
    // The decoder's layers are as the encoder's, of which there may be fewer.
    let layer = b.layer.min(b.config.layers - 1);
    let [heads, kv_heads] = [&b.config.heads, &b.config.kv_heads].map(|of| of.of(layer));
    AttentionSpec::plain([heads, kv_heads, b.config.head_dim], 1.0)
}

/// ReLU, or in T5 1.1 and those after it a GELU gate.
fn feed_forward(b: &mut Builder, x: Activation, of: OfLayer) -> Activation {
    let (hidden, ffn) = (b.config.hidden, b.config.ffn.of(b.layer.min(b.config.layers - 1)));
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

impl Builder<'_> {
    /// Writes this many layers by `write`, instead of those of the configuration.
    fn layers_of(mut self, count: usize, mut write: impl FnMut(&mut Self, usize)) -> Self {
        for layer in 0..count {
            self.layer = layer;
            write(&mut self, layer);
            self.program.layers.push(std::mem::take(&mut self.ops));
        }
        self
    }

    /// Makes the layers so far, and this norm behind them, the encoder of a source. The decoder begins anew with the
    /// embedding of a token.
    fn into_source(mut self, norm: WeightKey) -> Self {
        let rows = self.program.activation("rows of the source", self.config.hidden);
        let norm = self.plain_rms(norm, self.config.hidden);
        let head = vec![Op::Norm { x: self.x, norm, y: rows }];
        let layers = std::mem::take(&mut self.program.layers);
        let (embed, output) = (self.program.embed.clone(), Output::Rows);
        self.program.source = Some(Program { embed, layers, head, output, ..Program::default() }.into());
        self
    }
}
