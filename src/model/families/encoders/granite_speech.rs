//! Granite Speech (2025, <https://arxiv.org/abs/2505.08699>): a Conformer (Gulati et al. 2020,
//! <https://arxiv.org/abs/2005.08100>) whose rows see a block of others, with embeddings of distances (Shaw et al.
//! 2018, <https://arxiv.org/abs/1803.02155>), and a Q-Former, whose queries see a window of rows.

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Activation, BlockSpec, Op, Program, Spreading};
use super::lfm_audio::{convolution, half_step, layer_norm, normed};
use super::llava::{TAKEN, side_by_side};
use super::queries::{Queries, norm_of};
use super::vit::{Form, Vit, names, own};

/// Rows of the layers of one pass: a minute, fifty rows a second.
pub const ROWS: usize = 3000;
/// Layers of the Q-Former ...
const LAYERS: usize = 2;
/// ... and where they are in the file.
const QUERIES: Queries = Queries { group: "a.proj_blk" };

/// A product of pairs of frames, layers, in whose middle the classes that the encoder tells rows apart by are added,
/// and the Q-Former, which reads the rows of layers that the file names, too.
pub fn granite_speech(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, frames) = Vit::reading(encoder.bins, "a.blk", config, (encoder, Form::new(config)));
    vit.push_linear(frames, ["a.input_projection.weight", "a.input_projection.bias"], vit.x);
    let mut found = Vec::new();
    take(&mut vit, 0, &mut found);
    vit.each_layer(&mut |vit, layer| {
        half_step(vit, layer, "ffn_norm", [names!("ffn_up"), names!("ffn_down")]);
        let update = attention(vit, layer);
        vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
        let update = convolution(vit, layer);
        vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
        half_step(vit, layer, "ffn_norm_1", [names!("ffn_up_1"), names!("ffn_down_1")]);
        let norm = layer_norm(vit, layer, "ln2");
        vit.push(Op::Norm { x: vit.x, norm, y: vit.x });
        take(vit, layer + 1, &mut found);
        if layer + 1 == config.layers / 2 {
            classes(vit);
        }
    });
    found.push(vit.x);
    let x = side_by_side(&mut vit, &found);
    queries(vit, x)
}

/// Keeps the rows behind `layer` layers, where the file names them.
fn take(vit: &mut Vit, layer: usize, found: &mut Vec<Activation>) {
    if vit.encoder.taken.contains(&layer) {
        let y = vit.activation(TAKEN[found.len()], vit.config.hidden);
        vit.push(Op::Copy { x: vit.x, y });
        found.push(y);
    }
}

/// Adds what a row is, as shares of classes.
fn classes(vit: &mut Vit) {
    let x = vit.project(vit.x, ["a.enc_ctc_out.weight", "a.enc_ctc_out.bias"], "classes");
    vit.push(Op::Spread { x, kind: Spreading::Shares });
    let update = vit.activation("update", vit.config.hidden);
    vit.push_linear(x, ["a.enc_ctc_out_mid.weight", "a.enc_ctc_out_mid.bias"], update);
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
}

/// Attention within blocks of rows.
fn attention(vit: &mut Vit, layer: usize) -> Activation {
    let (heads, head_dim) = (vit.config.heads.of(layer), vit.config.head_dim);
    let normed = normed(vit, layer, "ln1");
    let [q, k, v, y] = ["q", "k", "v", "attended"].map(|name| vit.activation(name, heads * head_dim));
    for (y, names) in [(q, names!("attn_q")), (k, names!("attn_k")), (v, names!("attn_v"))] {
        vit.product(normed, (Some(layer), names), y);
    }
    let block = vit.encoder.window.unwrap_or(1);
    let (scale, farthest) = ((head_dim as f32).sqrt().recip(), vit.encoder.places);
    let spec = BlockSpec { heads, group: 1, head_dim, scale, queries: block, keys: block, farthest, filled: false };
    let with = [Some(vit.of_layer(layer, "attn_rel_pos_emb")), None];
    vit.push(Op::AttendBlocks { q, kv: [k, v], with, spec, y });
    let update = vit.activation("update", vit.config.hidden);
    vit.product(y, (Some(layer), names!("attn_out")), update);
    update
}

/// The Q-Former: of each window of rows of `x` as many rows as there are queries. A last window is filled up with
/// zeros, whose keys and values are the biases of their products.
fn queries(mut vit: Vit, x: Activation) -> Program {
    let width = vit.config.hidden;
    let keys = [["k of window", "v of window"], ["k of window 2", "v of window 2"]];
    let kv = [0, 1].map(|layer| {
        [(0, "cross_attn_k.weight", "cross_attn_k.bias"), (1, "cross_attn_v.weight", "cross_attn_v.bias")].map(
            |(of, weight, bias)| {
                let y = vit.activation(keys[layer][of], width);
                vit.push(Op::Linear { x, weight: QUERIES.key(layer, weight), bias: QUERIES.bias(layer, bias), y });
                y
            },
        )
    });
    let (rows, norm) = (vit.encoder.queries, norm_of(&vit, ["a.proj_norm.weight", "a.proj_norm.bias"].map(own)));
    let queries = vit.activation("queries", width);
    vit.push(Op::Repeat { table: own("a.proj_query"), rows, y: queries });
    let stream = vit.activation("stream", width);
    vit.push(Op::Norm { x: queries, norm, y: stream });
    for (layer, kv) in kv.into_iter().enumerate().take(LAYERS) {
        QUERIES.write(&mut vit, layer, stream, kv);
    }
    vit.project_rows(stream, ["a.proj_linear.weight", "a.proj_linear.bias"]);
    vit.finish()
}
