//! The encoder of DeepSeek-OCR (Wei et al. 2025, <https://arxiv.org/abs/2510.18234>): layers of SAM (Kirillov et al.
//! 2023, <https://arxiv.org/abs/2304.02643>), most of which see windows, convolutions that leave one of 4 × 4 rows, and
//! CLIP's layers. What enters CLIP and what comes out stand side by side.

use super::super::super::config::{EncoderConfig, ModelConfig, Sam};
use super::super::super::program::{Activation, GridSpec, Grouping, Norm, NormKind, Op, Program, TensorPart, Weight};
use super::super::super::{ActivationKind, Role, WeightKey};
use super::vit::{Form, Vit, own};

/// Epsilon of SAM's norms ...
const SAM_EPS: f32 = 1e-6;
/// ... and of CLIP's, whatever a file says.
const EPS: f32 = 1e-5;
/// Taps of a row into a table of positions.
const TAPS: usize = 16;
/// Rows that a convolution reads.
const AROUND: Grouping = Grouping { parts: 9, taps: 1, by_value: true };
/// Patches of an image, at most.
const PATCHES: usize = 4096;

/// The caller gives the patches of a square. A class token is the first row of CLIP's layers; behind the rows that come
/// out stand one that ends a line and one that ends an image.
pub fn deepseekocr(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let config = &ModelConfig { norm_eps: EPS, ..config.clone() };
    let kind = encoder.activation;
    let encoder = &EncoderConfig { activation: ActivationKind::QuickGelu, ..encoder.clone() };
    let Some(sam) = &encoder.sam else { return Program::default() };
    let patch = 3 * encoder.patch_size * encoder.patch_size;
    let (mut vit, patches) = Vit::reading(patch, "v.blk", config, (encoder, Form::new(config)));
    let x = vit.activation("sam x", sam.hidden);
    vit.push_linear(patches, ["v.sam.patch_embd.weight", "v.sam.patch_embd.bias"], x);
    let places = (own("v.sam.pos_embd.weight"), sam.side * sam.side);
    add_places(&mut vit, (places, TAPS, 0), x);
    for layer in 0..sam.layers {
        attention(&mut vit, sam, layer, x);
        feed_forward(&mut vit, sam, (layer, kind), x);
    }
    vit.stage_rows(&[PATCHES, PATCHES, PATCHES / 4]);
    let first = convolved(&mut vit, x, "v.sam.neck.0.weight", "neck 0");
    neck_norm(&mut vit, first, ["v.sam.neck.1.weight", "v.sam.neck.1.bias"]);
    let around = vit.regroup_as("around 1", first, AROUND);
    let second = convolved(&mut vit, around, "v.sam.neck.2.weight", "neck 2");
    neck_norm(&mut vit, second, ["v.sam.neck.3.weight", "v.sam.neck.3.bias"]);
    let around = vit.regroup_as("around 2", second, AROUND);
    let third = convolved(&mut vit, around, "v.sam.net_2.weight", "net 2");
    let around = vit.regroup_as("around 3", third, AROUND);
    let rows = vit.activation("sam rows", config.hidden);
    vit.push(Op::Linear { x: around, weight: own("v.sam.net_3.weight"), bias: None, y: rows });
    let x = vit.x;
    vit.push(Op::Copy { x: rows, y: x });
    add_places(&mut vit, ((own("v.position_embd.weight"), encoder.places), TAPS, 1), x);
    add_places(&mut vit, ((own("v.class_embd"), 1), 1, 2), x);
    vit.layers(&mut |_, _| {});
    let both = vit.activation("side by side", 2 * config.hidden);
    vit.push(Op::JoinHeads { parts: [vit.x, rows], heads: 1, y: both });
    let both = vit.side_by_side(both, 1);
    let x = vit.project_rows(both, ["mm.model.fc.weight", "mm.model.fc.bias"]);
    vit.mark(own("v.image_newline"), x);
    vit.mark(own("v.view_seperator"), x);
    vit.finish()
}

fn add_places(vit: &mut Vit, ((table, rows), taps, number): ((WeightKey, usize), usize, usize), to: Activation) {
    vit.push(Op::AddPlaces { table, rows, taps, number, to });
}

/// A tensor of one of SAM's layers.
const fn key(layer: usize, name: &'static str) -> WeightKey {
    WeightKey { layer: Some(layer), role: Role::Named { group: "v.sam.blk", name } }
}

const fn bias(key: WeightKey) -> Option<Weight> {
    Some(Weight { key, optional: false })
}

fn norm(vit: &Vit, sam: &Sam, layer: usize, [weight, of]: [&'static str; 2]) -> Norm {
    let plain = vit.norm(NormKind::Layer, key(layer, weight), sam.hidden);
    Norm { bias: bias(key(layer, of)), eps: SAM_EPS, ..plain }
}

fn product(
    vit: &mut Vit,
    layer: usize,
    [weight, of]: [&'static str; 2],
    x: Activation,
    (name, width): (&'static str, usize),
) -> Activation {
    let y = vit.activation(name, width);
    vit.push(Op::Linear { x, weight: key(layer, weight), bias: bias(key(layer, of)), y });
    y
}

/// Attention within windows or to all patches, with embeddings of distances.
fn attention(vit: &mut Vit, sam: &Sam, layer: usize, x: Activation) {
    let width = sam.hidden;
    let normed = vit.activation("sam normed", width);
    let norm = norm(vit, sam, layer, ["pre_ln.weight", "pre_ln.bias"]);
    vit.push(Op::Norm { x, norm, y: normed });
    let parts = [
        ["attn.q.weight", "attn.q.bias", "sam q"],
        ["attn.k.weight", "attn.k.bias", "sam k"],
        ["attn.v.weight", "attn.v.bias", "sam v"],
    ];
    for (number, [weight, of, _]) in parts.into_iter().enumerate() {
        for (tensor, name) in [("attn.qkv.weight", weight), ("attn.qkv.bias", of)] {
            let every = 3 * width;
            let part = TensorPart { tensor: key(layer, tensor), of: every, first: number * width, run: width, every };
            vit.part(key(layer, name), part);
        }
    }
    let [q, k, v] = parts.map(|[weight, of, name]| product(vit, layer, [weight, of], normed, (name, width)));
    let (head_dim, window) = (width / sam.heads, sam.window_of(layer));
    let seen = if window > 0 { window } else { sam.side };
    let scale = (head_dim as f32).sqrt().recip();
    let spec = GridSpec { heads: sam.heads, head_dim, scale, window, places: 2 * seen - 1 };
    let far = ["attn.pos_h.weight", "attn.pos_w.weight"].map(|name| key(layer, name));
    let fill = ["attn.k.bias", "attn.v.bias"].map(|name| key(layer, name));
    let y = vit.activation("sam attended", width);
    vit.push(Op::AttendGrid { q, kv: [k, v], far, fill, spec, y });
    let update = product(vit, layer, ["attn.out.weight", "attn.out.bias"], y, ("sam update", width));
    vit.push(Op::Add { x: update, scale: 1.0, to: x });
}

fn feed_forward(vit: &mut Vit, sam: &Sam, (layer, kind): (usize, ActivationKind), x: Activation) {
    let normed = vit.activation("sam normed", sam.hidden);
    let norm = norm(vit, sam, layer, ["post_ln.weight", "post_ln.bias"]);
    vit.push(Op::Norm { x, norm, y: normed });
    let wide = vit.encoder.width_of(&key(layer, "mlp.lin1.weight").name());
    let up = product(vit, layer, ["mlp.lin1.weight", "mlp.lin1.bias"], normed, ("sam up", wide));
    vit.push(Op::Activate { x: up, kind });
    let update = product(vit, layer, ["mlp.lin2.weight", "mlp.lin2.bias"], up, ("sam update", sam.hidden));
    vit.push(Op::Add { x: update, scale: 1.0, to: x });
}

/// A convolution of rows that lie side by side, as wide as its tensor says.
fn convolved(vit: &mut Vit, x: Activation, weight: &'static str, name: &'static str) -> Activation {
    let y = vit.activation(name, vit.encoder.width_of(weight));
    vit.push(Op::Linear { x, weight: own(weight), bias: None, y });
    y
}

fn neck_norm(vit: &mut Vit, x: Activation, [weight, of]: [&'static str; 2]) {
    let norm = Norm { bias: bias(own(of)), eps: SAM_EPS, ..vit.norm(NormKind::Layer, own(weight), vit.width(x)) };
    vit.push(Op::Norm { x, norm, y: x });
}
