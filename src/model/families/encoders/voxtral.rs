//! The encoder of Voxtral Realtime (<https://huggingface.co/mistralai/Voxtral-Mini-4B-Realtime-2602>), whose rows
//! depend on nothing that is heard later. Keys and values stay in caches, so that a sound can arrive in pieces.

use super::super::super::config::{EncoderConfig, ModelConfig, RopeScaling};
use super::super::super::program::{Activation, AttentionSpec, Keys, NormKind, Op, Program, RopeTable};
use super::super::super::{ActivationKind, RopeStyle};
use super::vit::{Form, Vit, names};
use super::whisper::{MLP, convolutions};

/// Rows of the layers of one pass, 50 for a second.
pub const ROWS: usize = 512;
/// Base of the rotation.
const THETA: f32 = 1e6;

/// Convolutions over frames that came before, of which a pass repeats the last one of the pass before, layers like
/// Mistral's text models', whose rows see a window of rows, several rows side by side, two products.
pub fn voxtral_rt(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { norm: NormKind::Rms, window: encoder.window, ..Form::new(config) };
    let mut vit = convolutions(config, (encoder, form), 2 * ROWS + 1);
    vit.each_layer(&mut layer);
    vit.stream_norm(["a.post_ln.weight", ""]);
    let x = vit.side_by_side(vit.x, encoder.merge);
    vit.project_twice(x, [MLP[1], MLP[2]], ActivationKind::GeluErf);
    vit.finish()
}

fn layer(vit: &mut Vit, layer: usize) {
    let normed = vit.layer_norm(layer, ["ln1.weight", ""]);
    let update = attention(vit, layer, normed);
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
    let normed = vit.layer_norm(layer, ["ln2.weight", ""]);
    let wide = vit.gated(normed, (Some(layer), [names!("ffn_gate"), names!("ffn_up")]), vit.encoder.ffn);
    let update = vit.activation("update", vit.config.hidden);
    vit.product(wide, (Some(layer), names!("ffn_down")), update);
    vit.push(Op::Add { x: update, scale: 1.0, to: vit.x });
}

/// Attention of rotated heads to a window of rows that ends with the row itself, over the cache.
fn attention(vit: &mut Vit, layer: usize, normed: Activation) -> Activation {
    let (heads, kv_heads, head_dim) = (vit.config.heads.of(layer), vit.config.kv_heads.of(layer), vit.config.head_dim);
    let plain = AttentionSpec::plain([heads, kv_heads, head_dim], vit.form.scale);
    let attention = AttentionSpec { window: vit.form.window, ..plain };
    let [q, k, v] = vit.qkv(normed, layer, &attention);
    let table = vit.rope_table(RopeTable {
        style: RopeStyle::Interleaved,
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
    let y = vit.activation("attended", attention.query_width());
    vit.push(Op::Attend { q, kv: Some([k, v]), attention, keys: Keys::Cached(layer), y });
    let update = vit.activation("update", vit.config.hidden);
    vit.product(y, (Some(layer), names!("attn_out")), update);
    update
}
