//! The encoder of MiniCPM-V 4.6 and 4.7: SigLIP's layers, among which 2 × 2 patches become one row, and once more
//! behind them.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Activation, AttentionSpec, Grouping, Keys, Op, Program, Sight, StreamSpec};
use super::vit::{Form, Vit};

/// Rows that become one.
const SQUARE: Grouping = Grouping { parts: 4, taps: 1, by_value: false };

/// Patches, at most, of an image or a slice.
pub const ROWS: usize = 4096;

/// With `merge` 4 rows are merged behind the layer that the file names, with 2 only behind all layers.
pub fn minicpmv(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, Form::new(config));
    vit.places(1);
    vit.stream_norm(["v.pre_ln.weight", "v.pre_ln.bias"]);
    let first = if encoder.merge == 4 { encoder.merges_behind + 1 } else { 0 };
    (0..first).for_each(|layer| vit.block(layer));
    if first > 0 {
        vit.stage_rows(&[ROWS]);
        merge(&mut vit);
    }
    vit.layers_from(first, &mut |vit, layer| vit.block(layer));
    vit.stream_norm(["v.post_ln.weight", "v.post_ln.bias"]);
    let x = vit.regroup(vit.x, SQUARE);
    let x = vit.projector_norm(x, ["mm.input_norm.weight", "mm.input_norm.bias"], config.norm_eps);
    vit.project_twice(x, [["mm.up.weight", "mm.up.bias"], ["mm.down.weight", "mm.down.bias"]], ActivationKind::GeluErf);
    vit.finish()
}

/// Attention within squares, and a product of each square that is added to its mean.
fn merge(vit: &mut Vit) {
    let (hidden, heads, head_dim) = (vit.config.hidden, vit.config.heads.of(0), vit.config.head_dim);
    let normed = vit.normed(vit.x, ["v.vit_merger.ln1.weight", "v.vit_merger.ln1.bias"], "square normed");
    let products = [
        ["v.vit_merger.attn_q.weight", "v.vit_merger.attn_q.bias"],
        ["v.vit_merger.attn_k.weight", "v.vit_merger.attn_k.bias"],
        ["v.vit_merger.attn_v.weight", "v.vit_merger.attn_v.bias"],
    ];
    let names = ["square q", "square k", "square v"];
    let mut product = |names: [&'static str; 2], x: Activation, label| {
        let y = vit.activation(label, hidden);
        vit.push_linear(x, names, y);
        y
    };
    let [q, k, v] = [0, 1, 2].map(|at| product(products[at], normed, names[at]));
    let attention = AttentionSpec::plain([heads, heads, head_dim], vit.form.scale);
    let attended = vit.activation("square attended", hidden);
    vit.push(Op::Attend { q, kv: Some([k, v]), attention, keys: Keys::OfInput(Sight::Part), y: attended });
    let update = vit.activation("square update", hidden);
    vit.push_linear(attended, ["v.vit_merger.attn_out.weight", "v.vit_merger.attn_out.bias"], update);
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
    let square = vit.regroup_as("square", vit.x, SQUARE);
    let mean = vit.activation("merged x", hidden);
    let spec = StreamSpec { width: hidden, skip: 0, inputs: 4, first: 0, plus: 0.25, router: None };
    vit.push(Op::Streams { base: None, x: Some(square), spec, y: mean });
    let x = vit.normed(square, ["v.vit_merger.ds_ln.weight", "v.vit_merger.ds_ln.bias"], "merged normed");
    let up = vit.activation("merged up", vit.encoder.width_of("v.vit_merger.ds_ffn_up.weight"));
    vit.push_linear(x, ["v.vit_merger.ds_ffn_up.weight", "v.vit_merger.ds_ffn_up.bias"], up);
    vit.push(Op::Activate { x: up, kind: ActivationKind::Gelu });
    let update = vit.activation("merged update", hidden);
    vit.push_linear(up, ["v.vit_merger.ds_ffn_down.weight", "v.vit_merger.ds_ffn_down.bias"], update);
    vit.push(Op::Add { x: update, scale: 1.0, to: mean });
    vit.x = mean;
}
