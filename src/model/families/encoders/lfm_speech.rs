//! The programs by which LFM3 speaks: a transformer over the codebooks of a frame, whose codes become known in a few
//! passes (MaskGIT, Chang et al. 2022, <https://arxiv.org/abs/2202.04200>), and a codec with a finite scalar
//! quantiser (Mentzer et al. 2023, <https://arxiv.org/abs/2309.15505>) and layers of LFM3, which gives spectra.

use super::super::super::WeightKey;
use super::super::super::config::{CODEC_WINDOW, EncoderConfig, ModelConfig, Part, PerLayer};
use super::super::super::op::HeadRows;
use super::super::super::program::{Activation, Factor, Grouping, Norm, NormKind, Op, Program};
use super::lfm_audio;
use super::vit::{Form, Vit, own};

/// The projector.
pub const SPEAKS: &str = "lfm3a_gen";
/// From a state of the text model and the codes that are known to logits of all codes of a frame.
pub const CODE: Part = Part {
    name: "flow",
    tensors: &[
        "a.gen.code.blk.",
        "a.gen.code.proj_in.",
        "a.gen.code.embd.",
        "a.gen.code.mask_embd",
        "a.gen.code.output_norm.",
        "a.gen.code.head_norm.",
    ],
};
/// From the codes of a frame to a row of the text model.
pub const NEXT: Part = Part { name: "next", tensors: &["a.gen.code.out_embd."] };
/// From codes to spectra.
pub const SOUND: Part = Part { name: "wave", tensors: &["a.gen.wav.tfm.blk.", "a.gen.wav."] };

/// Spectra of a frame.
const STACK: usize = 6;
/// Frames of a pass.
const FRAMES: usize = 128;
/// Spectra of a pass.
pub const ROWS: usize = STACK * FRAMES;
/// Epsilon of the codec's norms, whatever a file says.
const EPS: f32 = 1e-5;
/// Values of a head, at most.
const MOST_VALUES: usize = 512;
/// The codes as rows of the transformer.
const EMBEDDINGS: &str = "a.gen.code.embd.weight";

/// The sizes of these layers, which their tensors have. A tensor of another shape is refused when it is matched.
fn layered(config: &ModelConfig, encoder: &EncoderConfig, group: &str, hidden: usize) -> ModelConfig {
    let has = |layer: &usize, name: &str| config.has_tensor(&format!("{group}.{layer}.{name}.weight"));
    let layers = (0..).take_while(|layer| has(layer, "ln1")).count();
    let attends = (0..layers).find(|layer| has(layer, "attn_q_norm")).unwrap_or(0);
    let width = |name: &str| encoder.width_of(&format!("{group}.{attends}.{name}.weight"));
    let head_dim = Some(width("attn_q_norm")).filter(|&dim| dim.is_multiple_of(2) && (2..=MOST_VALUES).contains(&dim));
    let head_dim = head_dim.unwrap_or(2);
    let [heads, kv_heads] = ["attn_q", "attn_k"].map(|name| (width(name) / head_dim).max(1));
    let kv_heads = if heads.is_multiple_of(kv_heads) { kv_heads } else { 1 };
    ModelConfig {
        layers,
        hidden,
        head_dim,
        heads: PerLayer::All(heads),
        kv_heads: PerLayer::All(kv_heads),
        ..config.clone()
    }
}

/// A row of the text model becomes a row for each codebook, to which the embedding of its code is added, or one that
/// stands for an unknown code. The caller says which codes are known, and marks the others. A row of the result has
/// the logits of each codebook, one after the other.
pub fn code(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let [books, _] = encoder.kernels;
    let config = &layered(config, encoder, "a.gen.code.blk", config.hidden);
    let hidden = config.hidden;
    let form = Form { norm: NormKind::Rms, ..Form::new(config) };
    let (mut vit, state) = Vit::reading(encoder.bins, "a.gen.code.blk", config, (encoder, form));
    let wide = vit.activation("rows side by side", books * hidden);
    vit.push_linear(state, ["a.gen.code.proj_in.weight", "a.gen.code.proj_in.bias"], wide);
    let alone = Grouping { parts: 1, taps: 1, by_value: false };
    vit.push(Op::Regroup { x: wide, grouping: alone, kernel: None, y: vit.x });
    vit.stage_rows(&[1]);
    let codes = vit.activation("codes", hidden);
    vit.push(Op::Copy { x: vit.x, y: codes });
    vit.push(Op::Scale { x: codes, factor: Factor::Number(0.0) });
    vit.mark(own("a.gen.code.mask_embd"), codes);
    let table = own(EMBEDDINGS);
    vit.push(Op::AddPlaces { table, rows: encoder.places, taps: 1, number: 0, to: codes });
    vit.push(Op::Add { x: codes, scale: 1.0, to: vit.x });
    vit.each_layer(&mut lfm_audio::layer);
    vit.stream_norm(["a.gen.code.output_norm.weight", ""]);
    let joined = vit.side_by_side(vit.x, books);
    let norm = vit.norm(NormKind::Rms, own("a.gen.code.head_norm.weight"), hidden);
    vit.push(Op::Norm { x: joined, norm: Norm { is_grouped: true, ..norm }, y: joined });
    let logits = vit.activation("logits of codes", encoder.width);
    let rows = HeadRows { of: encoder.merge, first: 0, transposed: false };
    vit.push(Op::HeadValues { x: joined, weight: table, heads: books, rows, y: logits });
    vit.finish()
}

/// The sum of the embeddings of all codes of a frame.
pub fn next(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, row) = Vit::reading(encoder.bins, "a.gen.code.blk", config, (encoder, Form::new(config)));
    let table = own("a.gen.code.out_embd.weight");
    vit.push(Op::AddPlaces { table, rows: encoder.places, taps: encoder.kernels[0], number: 0, to: row });
    vit.each_layer(&mut |_, _| {});
    ended(vit, row)
}

/// Levels of each code, side by side for each spectrum of its frame, two products, layers, a product: a row of the
/// result is logarithms of magnitudes, then phases. The caller says which code of the table each row has.
pub fn sound(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let hidden = encoder.width_of("a.gen.wav.tfm.in_proj.weight");
    let config = &ModelConfig { norm_eps: EPS, ..layered(config, encoder, "a.gen.wav.tfm.blk", hidden) };
    let form = Form { norm: NormKind::Rms, window: Some(CODEC_WINDOW), ..Form::new(config) };
    let (mut vit, levels) = Vit::reading(encoder.bins, "a.gen.wav.tfm.blk", config, (encoder, form));
    let table: WeightKey = own("a.gen.wav.quant.first.codebook.weight");
    vit.push(Op::AddPlaces { table, rows: encoder.places, taps: 1, number: 0, to: levels });
    let [books, _] = encoder.kernels;
    let frames = vit.regroup_as("frames", levels, Grouping { parts: books, taps: 1, by_value: false });
    vit.stage_rows(&[FRAMES * books]);
    let names = ["a.gen.wav.quant.first.out_proj.weight", "a.gen.wav.quant.first.out_proj.bias"];
    let quantised = vit.project(frames, names, "quantised");
    vit.push_linear(quantised, ["a.gen.wav.tfm.in_proj.weight", "a.gen.wav.tfm.in_proj.bias"], vit.x);
    vit.each_layer(&mut lfm_audio::layer);
    vit.stream_norm(["a.gen.wav.tfm.output_norm.weight", ""]);
    vit.project_rows(vit.x, ["a.gen.wav.tfm.out_proj.weight", "a.gen.wav.tfm.out_proj.bias"]);
    vit.finish()
}

/// Ends a program with these rows.
fn ended(mut vit: Vit, x: Activation) -> Program {
    let y = vit.activation("rows", vit.encoder.width);
    vit.push(Op::Copy { x, y });
    vit.finish()
}
