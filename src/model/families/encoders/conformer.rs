//! The encoder of sounds of Gemma 4 E2B and E4B: two convolutions over frames and bins, then layers of a Conformer
//! (Gulati et al. 2020, <https://arxiv.org/abs/2005.08100>) whose rows see the eleven before them.

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{
    Activation, ConvSpec, Grouping, NearSpec, Norm, NormKind, Op, Program, TensorPart, Weight,
};
use super::super::super::{ActivationKind, WeightKey};
use super::vit::{Form, Names, Vit, names, own};

/// Rows of the layers of 30 seconds: of 2,999 frames, each convolution leaves every second one.
pub const ROWS: usize = 750;
/// Values that a convolution reads of each channel: 3 × 3.
const KERNEL: usize = 9;
/// Epsilon of all norms, whatever a file says.
const EPS: f32 = 1e-6;
/// Rows that a row sees.
const SPAN: usize = 12;
/// Soft cap of attention scores.
const SOFT_CAP: f32 = 50.0;
/// Rows that the convolution of a layer reads.
const DEPTH: usize = 5;

/// Convolutions and a product, layers, a product, a norm and another product. The caller has the values that the first
/// convolution reads, says which rows the second reads, and gives sines and cosines of distances.
pub fn gemma4a(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, patches) = Vit::reading(KERNEL, "a.blk", config, (encoder, Form::new(config)));
    let x = convolutions(&mut vit, patches);
    let to = vit.x;
    vit.product(x, (None, names!("a.input_projection")), to);
    let distances = vit.activation("distances", config.hidden);
    vit.push(Op::Angles { before: 0, y: distances });
    vit.each_layer(&mut |vit, layer| {
        half_step(vit, layer, ["ffn_norm.weight", "ffn_post_norm.weight"], [names!("ffn_up"), names!("ffn_down")]);
        attention(vit, layer, distances);
        convolution(vit, layer);
        let norms = ["ffn_norm_1.weight", "ffn_post_norm_1.weight"];
        half_step(vit, layer, norms, [names!("ffn_up_1"), names!("ffn_down_1")]);
        norm_in_place(vit, layer, vit.x, "ln2.weight");
    });
    let mut x = vit.x;
    if config.has_tensor("a.pre_encode.out.weight") {
        x = vit.activation("projected", encoder.width_of("a.pre_encode.out.weight"));
        let from = vit.x;
        vit.product(from, (None, names!("a.pre_encode.out")), x);
    }
    let weight = own("mm.a.soft_emb_norm.weight");
    let weight = Some(weight).filter(|&weight| vit.has(weight));
    let normed = norm(&mut vit, x, weight, "soft embeddings");
    let rows = vit.activation("rows", encoder.width);
    vit.product(normed, (None, names!("mm.a.input_projection")), rows);
    vit.finish()
}

/// Two convolutions, each with a layer norm over its channels; the bins of a frame side by side.
fn convolutions(vit: &mut Vit, patches: Activation) -> Activation {
    let bins = vit.encoder.bins.div_ceil(2);
    // An even number: see the lowering of norms over more rows than a grid has.
    vit.stage_rows(&[2 * ROWS * bins, ROWS * bins.div_ceil(2)]);
    let mut x = patches;
    let names = [
        ("first convolution", ["a.conv1d.0.weight", "a.conv1d.0.bias"], "a.conv1d.0.norm.weight"),
        ("second convolution", ["a.conv1d.1.weight", "a.conv1d.1.bias"], "a.conv1d.1.norm.weight"),
    ];
    for (label, kernel, weight) in names {
        if x != patches {
            x = vit.regroup_as("folded", x, Grouping { parts: KERNEL, taps: 1, by_value: true });
        }
        x = vit.project(x, kernel, label);
        if vit.has(own(weight)) {
            let norm = vit.norm(NormKind::Layer, own(weight), vit.encoder.width_of(kernel[0]));
            vit.push(Op::Norm { x, norm: Norm { eps: EPS, ..norm }, y: x });
        }
        vit.push(Op::Activate { x, kind: ActivationKind::Relu });
    }
    let parts = bins.div_ceil(2);
    vit.regroup_as("bins side by side", x, Grouping { parts, taps: 1, by_value: false })
}

/// Half of a feed-forward.
fn half_step(vit: &mut Vit, layer: usize, [before, after]: [&'static str; 2], [up, down]: [&Names; 2]) {
    let (hidden, ffn) = (vit.config.hidden, vit.encoder.ffn);
    let normed = norm(vit, vit.x, Some(vit.of_layer(layer, before)), "normed");
    let wide = vit.activation("up", ffn);
    vit.product(normed, (Some(layer), up), wide);
    vit.push(Op::Activate { x: wide, kind: ActivationKind::Silu });
    let update = vit.activation("update", hidden);
    vit.product(wide, (Some(layer), down), update);
    norm_in_place(vit, layer, update, after);
    vit.push(Op::Add { x: update, scale: 0.5, to: vit.x });
}

/// Attention to the rows right before, with an embedding of the distance.
fn attention(vit: &mut Vit, layer: usize, distances: Activation) {
    let (hidden, heads, head_dim) = (vit.config.hidden, vit.config.heads.of(layer), vit.config.head_dim);
    let before = ["attn_pre_norm.weight", "ln1.weight"].map(|name| vit.of_layer(layer, name));
    let before = before.into_iter().find(|&key| vit.has(key)).unwrap_or(before[1]);
    let normed = norm(vit, vit.x, Some(before), "normed");
    let [q, k, v, far, y] = ["q", "k", "v", "far", "attended"].map(|name| vit.activation(name, heads * head_dim));
    for (y, names) in [(q, names!("attn_q")), (k, names!("attn_k")), (v, names!("attn_v"))] {
        vit.product(normed, (Some(layer), names), y);
    }
    let weight = vit.of_layer(layer, "attn_k_rel.weight");
    vit.push(Op::Linear { x: distances, weight, bias: None, y: far });
    let weights = ["per_dim_scale.weight", "per_dim_k_scale.weight"].map(|name| vit.of_layer(layer, name));
    let near = NearSpec {
        heads,
        head_dim,
        span: SPAN,
        scale: (head_dim as f32).sqrt().recip() / std::f32::consts::LN_2,
        k_scale: (1.0 + 1_f32.exp()).ln() / std::f32::consts::LN_2,
        soft_cap: SOFT_CAP,
    };
    let weights = weights.map(|key| Some(key).filter(|&key| vit.has(key)));
    vit.push(Op::AttendNear { q, kv: [k, v], far, weights, near, y });
    let update = vit.activation("update", hidden);
    vit.product(y, (Some(layer), names!("attn_out")), update);
    norm_in_place(vit, layer, update, "attn_post_norm.weight");
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
}

/// A gated product, a convolution along the rows, a norm, a product. Files have the names of the two norms swapped.
fn convolution(vit: &mut Vit, layer: usize) {
    let hidden = vit.config.hidden;
    let normed = norm(vit, vit.x, Some(vit.of_layer(layer, "conv_norm.weight")), "normed");
    let names = names!("conv_pw1");
    let bounded = vit.bounded(normed, (Some(layer), names));
    let again = vit.activation("normed again", hidden);
    vit.push(Op::Copy { x: bounded, y: again });
    let [value, gate] = ["value", "gate"].map(|name| vit.activation(name, hidden));
    let halves = [("conv_pw1.weight.value", bounded, value), ("conv_pw1.weight.gate", again, gate)];
    for (half, (name, x, y)) in halves.into_iter().enumerate() {
        let tensor = vit.of_layer(layer, names.weight);
        let (weight, every) = (vit.of_layer(layer, name), 2 * hidden);
        vit.part(weight, TensorPart { tensor, of: every, first: half * hidden, run: hidden, every });
        vit.push(Op::Linear { x, weight, bias: None, y });
        vit.bound(y, (Some(layer), names.output));
    }
    let gated = vit.activation("gated", hidden);
    vit.push(Op::GateHeads { x: value, gate, norm: None, width: hidden, y: gated });
    let bias = Some(Weight { key: vit.of_layer(layer, "conv_dw.bias"), optional: true });
    let conv =
        ConvSpec { weight: Some(vit.of_layer(layer, "conv_dw.weight")), bias, kernel: DEPTH, ahead: 0, silu: false };
    let y = vit.activation("convolved", hidden);
    vit.push(Op::Conv { x: gated, gates: None, conv, state: layer, y });
    norm_in_place(vit, layer, y, "norm_conv.weight");
    vit.push(Op::Activate { x: y, kind: ActivationKind::Silu });
    let update = vit.activation("update", hidden);
    vit.product(y, (Some(layer), names!("conv_pw2")), update);
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
}

/// An RMS norm.
fn norm(vit: &mut Vit, x: Activation, weight: Option<WeightKey>, label: &'static str) -> Activation {
    let width = vit.width(x);
    let y = vit.activation(label, width);
    let norm = Norm { weight, eps: EPS, ..vit.norm(NormKind::Rms, own(""), width) };
    vit.push(Op::Norm { x, norm, y });
    y
}

/// The same in place, where the file has it.
fn norm_in_place(vit: &mut Vit, layer: usize, x: Activation, name: &'static str) {
    let weight = vit.of_layer(layer, name);
    if vit.has(weight) {
        let norm = vit.norm(NormKind::Rms, weight, vit.width(x));
        vit.push(Op::Norm { x, norm: Norm { eps: EPS, ..norm }, y: x });
    }
}
