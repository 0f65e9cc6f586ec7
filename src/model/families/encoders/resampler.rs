//! MiniCPM-V 2.6 to 4.5 (Yao et al. 2024, <https://arxiv.org/abs/2408.01800>): SigLIP's layers, and a resampler (Bai et
//! al. 2023, <https://arxiv.org/abs/2308.12966>), whose queries attend to all patches.

use super::super::super::config::{EncoderConfig, ModelConfig, RESAMPLER_HEAD as HEAD};
use super::super::super::program::{Activation, AttentionSpec, Combining, Op, Operand, Program};
use super::vit::{Form, Vit, own};

/// The queries are the file's. The caller gives sines and cosines of the column and the row of each patch, which are
/// added to the patches as keys.
pub fn resampler(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = Vit::new(config, encoder, Form::new(config));
    let width = encoder.width;
    let sines = vit.activation("sines", width);
    vit.push(Op::Angles { before: 0, y: sines });
    vit.places(1);
    vit.layers(&mut |_, _| {});
    let patches = vit.activation("narrowed", width);
    vit.push_linear(vit.x, ["resampler.kv.weight", "resampler.kv.bias"], patches);
    let values = vit.normed(patches, ["resampler.ln_kv.weight", "resampler.ln_kv.bias"], "narrowed normed");
    let keys = vit.activation("with positions", width);
    vit.push(Op::Copy { x: values, y: keys });
    vit.push(Op::Combine { x: keys, kind: Combining::Add, with: Operand::Rows(sines) });
    let k = product(&mut vit, keys, ["resampler.attn.k.weight", "resampler.attn.k.bias"], "resampler k");
    let v = product(&mut vit, values, ["resampler.attn.v.weight", "resampler.attn.v.bias"], "resampler v");
    let queries = vit.activation("queries", width);
    vit.push(Op::Repeat { table: own("resampler.query"), rows: encoder.queries, y: queries });
    let normed = vit.normed(queries, ["resampler.ln_q.weight", "resampler.ln_q.bias"], "queries normed");
    let q = product(&mut vit, normed, ["resampler.attn.q.weight", "resampler.attn.q.bias"], "resampler q");
    let (heads, scale) = (width / HEAD, (HEAD as f32).sqrt().recip());
    let attention = AttentionSpec::plain([heads, heads, HEAD], scale);
    let y = vit.activation("resampled", width);
    vit.push(Op::AttendRows { q, kv: [k, v], attention, y });
    let names = ["resampler.attn.out.weight", "resampler.attn.out.bias"];
    let rows = product(&mut vit, y, names, "resampler out");
    let rows = vit.normed(rows, ["resampler.ln_post.weight", "resampler.ln_post.bias"], "resampled normed");
    product(&mut vit, rows, ["resampler.proj.weight", "resampler.proj.bias"], "rows");
    vit.finish()
}

/// A product that is as wide as rows are.
fn product(vit: &mut Vit, x: Activation, names: [&'static str; 2], name: &'static str) -> Activation {
    let y = vit.activation(name, vit.encoder.width);
    vit.push_linear(x, names, y);
    y
}
