//! The encoders of sounds of Liquid's models. LFM2-Audio has a Conformer (Gulati et al. 2020,
//! <https://arxiv.org/abs/2005.08100>) with relative positions (Dai et al. 2019, <https://arxiv.org/abs/1901.02860>)
//! as in NeMo; LFM3 has layers like LFM2's text model (<https://arxiv.org/abs/2511.23404>).

use super::super::super::config::{EncoderConfig, ModelConfig, RopeScaling};
use super::super::super::program::{
    Activation, AttentionSpec, Combining, ConvSpec, FarSpec, Grouping, Keys, Norm, NormKind, Op, Operand, Program,
    RopeTable, TensorPart, Weight,
};
use super::super::super::{ActivationKind, RopeStyle};
use super::vit::{Form, Names, Vit, names};

/// Rows of the layers of one pass: 30 seconds.
pub const ROWS: usize = 376;
/// Values that a convolution reads of each channel: 3 × 3.
const KERNEL: usize = 9;
/// Epsilon of LFM2-Audio's layer norms, whatever a file says.
const EPS: f32 = 1e-5;
/// Base of the rotation in LFM3's encoder.
const THETA: f32 = 1e6;
/// The product before a convolution along the rows.
const CONV_IN: &Names = names!("conv_pw1");

/// Convolutions, layers of a Conformer that see all rows, two products.
pub fn lfm2a(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    projected(conformer(config, encoder))
}

/// Convolutions and layers of a Conformer that see all rows.
pub(super) fn conformer<'a>(config: &'a ModelConfig, encoder: &'a EncoderConfig) -> Vit<'a> {
    let (mut vit, frames) = Vit::reading(KERNEL, "a.blk", config, (encoder, Form::new(config)));
    convolutions(&mut vit, frames, ActivationKind::Relu);
    let hidden = config.hidden;
    let far = ["distances before", "distances ahead"].map(|name| vit.activation(name, hidden));
    vit.push(Op::Angles { before: 0, y: far[0] });
    vit.push(Op::Angles { before: hidden, y: far[1] });
    vit.each_layer(&mut |vit, layer| {
        half_step(vit, layer, "ffn_norm", [names!("ffn_up"), names!("ffn_down")]);
        let update = far_attention(vit, layer, far);
        vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
        let update = convolution(vit, layer);
        vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
        half_step(vit, layer, "ffn_norm_1", [names!("ffn_up_1"), names!("ffn_down_1")]);
        let norm = layer_norm(vit, layer, "ln2");
        vit.push(Op::Norm { x: vit.x, norm, y: vit.x });
    });
    vit
}

/// Convolutions, layers of LFM2 whose rows see those before them, two products.
pub fn lfm3a(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { norm: NormKind::Rms, window: encoder.window, ..Form::new(config) };
    let (mut vit, frames) = Vit::reading(KERNEL, "a.blk", config, (encoder, form));
    convolutions(&mut vit, frames, ActivationKind::Silu);
    vit.each_layer(&mut layer);
    vit.stream_norm(["a.post_ln.weight", ""]);
    projected(vit)
}

/// A layer of LFM3: a short convolution or attention, and a feed-forward, whose updates go through norms where the file
/// has them.
pub fn layer(vit: &mut Vit, layer: usize) {
    let normed = rms(vit, layer, "ln1.weight");
    let update = match vit.has(vit.of_layer(layer, CONV_IN.weight)) {
        true => short_convolution(vit, layer, normed),
        false => attention(vit, layer, normed),
    };
    vit.add_update(update, layer, ["ls1.weight", "attn_post_norm.weight"]);
    let normed = rms(vit, layer, "ln2.weight");
    let wide = vit.gated(normed, (Some(layer), [names!("ffn_gate"), names!("ffn_up")]), vit.encoder.ffn);
    let update = vit.activation("update", vit.config.hidden);
    vit.product(wide, (Some(layer), names!("ffn_down")), update);
    vit.add_update(update, layer, ["ls2.weight", "ffn_post_norm.weight"]);
}

/// Three convolutions over frames and bins, each of which leaves a quarter of the rows, the second and the third
/// depthwise with a product behind them; then the bins of a frame side by side, and a product.
fn convolutions(vit: &mut Vit, frames: Activation, kind: ActivationKind) {
    let bins = [1, 2, 3].map(|times| vit.encoder.bins.div_ceil(1 << times));
    vit.stage_rows(&[4 * ROWS * bins[0], 2 * ROWS * bins[1], ROWS * bins[2]]);
    let mut x = vit.project(frames, ["a.conv1d.0.weight", "a.conv1d.0.bias"], "first convolution");
    vit.push(Op::Activate { x, kind });
    let names = [
        (["a.conv1d.2.weight", "a.conv1d.2.bias"], ["a.conv1d.3.weight", "a.conv1d.3.bias"]),
        (["a.conv1d.5.weight", "a.conv1d.5.bias"], ["a.conv1d.6.weight", "a.conv1d.6.bias"]),
    ];
    for ((depthwise, pointwise), labels) in names.into_iter().zip([["folded", "second"], ["folded again", "third"]]) {
        x = vit.fold(labels[0], x, KERNEL, depthwise);
        x = vit.project(x, pointwise, labels[1]);
        vit.push(Op::Activate { x, kind });
    }
    x = vit.regroup_as("bins side by side", x, Grouping { parts: bins[2], taps: 1, by_value: true });
    vit.push_linear(x, ["a.pre_encode.out.weight", "a.pre_encode.out.bias"], vit.x);
}

/// A layer norm, and two products with GELU between them.
fn projected(mut vit: Vit) -> Program {
    let normed = vit.projector_norm(vit.x, ["mm.a.mlp.0.weight", "mm.a.mlp.0.bias"], EPS);
    let [first, second] = [["mm.a.mlp.1.weight", "mm.a.mlp.1.bias"], ["mm.a.mlp.3.weight", "mm.a.mlp.3.bias"]];
    vit.project_twice(normed, [first, second], ActivationKind::GeluErf);
    vit.finish()
}

/// A layer norm of a layer.
pub(super) fn layer_norm(vit: &Vit, layer: usize, name: &str) -> Norm {
    let [weight, bias] = match name {
        "ffn_norm" => ["ffn_norm.weight", "ffn_norm.bias"],
        "ffn_norm_1" => ["ffn_norm_1.weight", "ffn_norm_1.bias"],
        "norm_conv" => ["norm_conv.weight", "norm_conv.bias"],
        "ln1" => ["ln1.weight", "ln1.bias"],
        _ => ["ln2.weight", "ln2.bias"],
    };
    let bias = Some(Weight { key: vit.of_layer(layer, bias), optional: false });
    let eps = if vit.encoder.projector.name == "lfm2a" { EPS } else { vit.config.norm_eps };
    Norm { bias, eps, ..vit.norm(NormKind::Layer, vit.of_layer(layer, weight), vit.config.hidden) }
}

/// The residual stream after a layer norm.
pub(super) fn normed(vit: &mut Vit, layer: usize, name: &str) -> Activation {
    let norm = layer_norm(vit, layer, name);
    let y = vit.activation("normed", vit.config.hidden);
    vit.push(Op::Norm { x: vit.x, norm, y });
    y
}

/// Half of a feed-forward.
pub(super) fn half_step(vit: &mut Vit, layer: usize, norm: &str, [up, down]: [&Names; 2]) {
    let normed = normed(vit, layer, norm);
    let wide = vit.activation("up", vit.encoder.ffn);
    vit.product(normed, (Some(layer), up), wide);
    vit.push(Op::Activate { x: wide, kind: ActivationKind::Silu });
    let update = vit.activation("update", vit.config.hidden);
    vit.product(wide, (Some(layer), down), update);
    vit.push(Op::Add { x: update, scale: 0.5, to: vit.x });
}

/// Attention to all rows, with an embedding of the distance.
fn far_attention(vit: &mut Vit, layer: usize, distances: [Activation; 2]) -> Activation {
    let (heads, head_dim) = (vit.config.heads.of(layer), vit.config.head_dim);
    let normed = normed(vit, layer, "ln1");
    let names = ["q", "k", "v", "far before", "far ahead", "attended"];
    let [q, k, v, before, ahead, y] = names.map(|name| vit.activation(name, heads * head_dim));
    for (y, names) in [(q, names!("attn_q")), (k, names!("attn_k")), (v, names!("attn_v"))] {
        vit.product(normed, (Some(layer), names), y);
    }
    let weight = vit.of_layer(layer, "linear_pos.weight");
    for (x, y) in distances.into_iter().zip([before, ahead]) {
        vit.push(Op::Linear { x, weight, bias: None, y });
    }
    let biases = ["pos_bias_u", "pos_bias_v"].map(|name| vit.of_layer(layer, name));
    let spec = FarSpec { heads, head_dim, scale: (head_dim as f32).sqrt().recip() };
    vit.push(Op::AttendFar { q, kv: [k, v], far: [before, ahead], biases, spec, y });
    let update = vit.activation("update", vit.config.hidden);
    vit.product(y, (Some(layer), names!("attn_out")), update);
    update
}

/// A gated product, a convolution along the rows, factors and terms of a batch norm, a product.
pub(super) fn convolution(vit: &mut Vit, layer: usize) -> Activation {
    let hidden = vit.config.hidden;
    let normed = normed(vit, layer, "norm_conv");
    // Products of one activation would lie side by side: what is gated does not.
    let again = vit.activation("normed again", hidden);
    vit.push(Op::Copy { x: normed, y: again });
    let halves = [
        (normed, "value", ["conv_pw1.weight.value", "conv_pw1.bias.value"]),
        (again, "gate", ["conv_pw1.weight.gate", "conv_pw1.bias.gate"]),
    ];
    let has_bias = vit.has(vit.of_layer(layer, CONV_IN.bias));
    let mut half = 0;
    let [value, gate] = halves.map(|(x, label, keys)| {
        let [weight, bias] = keys.map(|name| vit.of_layer(layer, name));
        for (key, tensor) in
            [(weight, CONV_IN.weight), (bias, CONV_IN.bias)].into_iter().take(1 + usize::from(has_bias))
        {
            let tensor = vit.of_layer(layer, tensor);
            vit.part(key, TensorPart { tensor, of: 2 * hidden, first: half * hidden, run: hidden, every: 2 * hidden });
        }
        half += 1;
        let y = vit.activation(label, hidden);
        let bias = Some(Weight { key: bias, optional: false }).filter(|_| has_bias);
        vit.push(Op::Linear { x, weight, bias, y });
        y
    });
    let gated = vit.activation("gated", hidden);
    vit.push(Op::GateHeads { x: value, gate, norm: None, width: hidden, y: gated });
    let y = vit.activation("convolved", hidden);
    let bias = Some(Weight { key: vit.of_layer(layer, "conv_dw.bias"), optional: true });
    let bias = bias.filter(|bias| vit.has(bias.key));
    let kernel = vit.encoder.kernels[1];
    let weight = Some(vit.of_layer(layer, "conv_dw.weight"));
    let conv = ConvSpec { weight, bias, kernel, ahead: kernel / 2, silu: false };
    vit.push(Op::Conv { x: gated, gates: None, conv, state: layer, y });
    batch_norm(vit, layer, y);
    vit.push(Op::Activate { x: y, kind: ActivationKind::Silu });
    let update = vit.activation("update", hidden);
    vit.product(y, (Some(layer), names!("conv_pw2")), update);
    update
}

/// A batch norm: factors and terms, and before them mean and variance, where the file has them apart.
fn batch_norm(vit: &mut Vit, layer: usize, x: Activation) {
    let parts = [
        (Combining::Subtract, "conv_norm_mean"),
        (Combining::DivideByRoot, "conv_norm_var"),
        (Combining::Multiply, "conv_norm.weight"),
        (Combining::Add, "conv_norm.bias"),
    ];
    let first = if vit.has(vit.of_layer(layer, "conv_norm_mean")) { 0 } else { 2 };
    for (kind, name) in &parts[first..] {
        vit.push(Op::Combine { x, kind: *kind, with: Operand::Vector(vit.of_layer(layer, name)) });
    }
}

/// The residual stream after an RMS norm.
fn rms(vit: &mut Vit, layer: usize, name: &'static str) -> Activation {
    let y = vit.activation("normed", vit.config.hidden);
    let norm = vit.norm(NormKind::Rms, vit.of_layer(layer, name), vit.config.hidden);
    vit.push(Op::Norm { x: vit.x, norm, y });
    y
}

/// `W · (c · conv(b · x))`, where b, c and x are thirds of a product.
fn short_convolution(vit: &mut Vit, layer: usize, normed: Activation) -> Activation {
    let hidden = vit.config.hidden;
    let thirds = [("conv_pw1.weight.b", "b"), ("conv_pw1.weight.c", "c"), ("conv_pw1.weight.x", "conv in")];
    let mut first = 0;
    let [b, c, x] = thirds.map(|(name, label)| {
        let (weight, tensor) = (vit.of_layer(layer, name), vit.of_layer(layer, CONV_IN.weight));
        vit.part(weight, TensorPart { tensor, of: 3 * hidden, first, run: hidden, every: 3 * hidden });
        first += hidden;
        let y = vit.activation(label, hidden);
        vit.push(Op::Linear { x: normed, weight, bias: None, y });
        y
    });
    let weight = Some(vit.of_layer(layer, "conv_dw.weight"));
    let conv = ConvSpec { weight, bias: None, kernel: vit.encoder.kernels[1], ahead: 0, silu: false };
    let y = vit.activation("convolved", hidden);
    let before = (0..layer).filter(|&layer| vit.has(vit.of_layer(layer, CONV_IN.weight)));
    vit.push(Op::Conv { x, gates: Some([b, c]), conv, state: before.count(), y });
    let update = vit.activation("update", hidden);
    vit.product(y, (Some(layer), names!("conv_pw2")), update);
    update
}

/// Attention of normed and rotated queries and keys, to all rows or to a window of rows that ends with the row itself,
/// with a gate for each head, where the file has it.
fn attention(vit: &mut Vit, layer: usize, normed: Activation) -> Activation {
    let (heads, kv_heads, head_dim) = (vit.config.heads.of(layer), vit.config.kv_heads.of(layer), vit.config.head_dim);
    let scale = (head_dim as f32).sqrt().recip();
    let plain = AttentionSpec::plain([heads, kv_heads, head_dim], scale);
    let attention = AttentionSpec { window: vit.form.window, ..plain };
    let [q, k, v] = vit.qkv(normed, layer, &attention);
    for (x, name) in [(q, "attn_q_norm.weight"), (k, "attn_k_norm.weight")] {
        let norm = vit.norm(NormKind::Rms, vit.of_layer(layer, name), head_dim);
        vit.push(Op::Norm { x, norm, y: x });
    }
    let table = vit.rope_table(RopeTable {
        style: RopeStyle::SplitHalf,
        dims: head_dim,
        first: 0,
        theta: THETA,
        scaling: RopeScaling::NONE,
        factors: None,
        sections: None,
    });
    for x in [q, k] {
        vit.push(Op::Rope { x, head_dim, table });
    }
    let mut y = vit.activation("attended", attention.query_width());
    vit.push(Op::Attend { q, kv: Some([k, v]), attention, keys: Keys::OfInput(vit.form.sight(layer)), y });
    let weight = vit.of_layer(layer, "attn_gate.weight");
    if vit.has(weight) {
        let [gate, gated] = [("gate of heads", heads), ("gated heads", attention.query_width())]
            .map(|(name, width)| vit.activation(name, width));
        vit.push(Op::Linear { x: normed, weight, bias: None, y: gate });
        vit.push(Op::GateHeads { x: y, gate, norm: None, width: head_dim, y: gated });
        y = gated;
    }
    let update = vit.activation("update", vit.config.hidden);
    vit.product(y, (Some(layer), names!("attn_out")), update);
    update
}
