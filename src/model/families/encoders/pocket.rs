//! The programs beside the text model of Pocket TTS (CALM, Rouard et al. 2025, <https://arxiv.org/abs/2509.06926>): a
//! flow head that gives latents (a multilayer perceptron with adaptive layer norms, Li et al. 2024,
//! <https://arxiv.org/abs/2406.11838>), and the codec Mimi (Défossez et al. 2024, <https://arxiv.org/abs/2410.00037>),
//! which makes samples of latents and latents of samples. Everything in it is causal.

use super::super::super::config::{EncoderConfig, ModelConfig, Part, STRIDES};
use super::super::super::program::{
    Activation, Combining, Factor, Grouping, Norm, NormKind, Op, Operand, Program, Spreading, TensorPart, Weight,
};
use super::super::super::{ActivationKind, Role, WeightKey, Xielu};
use super::vit::{Form, Vit, own};

/// The projectors of the programs that speak, and of the ones that read a voice.
pub const SPEAKS: &str = "pockettts_gen";
pub const LISTENS: &str = "pockettts_spkenc";

/// From a state of the text model and noise to a latent.
pub const FLOW: Part = Part { name: "flow", tensors: &["a.gen.flow.", "a.gen.out_eos.", "a.gen.input_linear."] };
/// From latents to frames, 200 of them a second.
pub const FRAMES: Part = Part {
    name: "frames",
    tensors: &["a.gen.wav.tfm.blk.", "a.gen.wav.quant_out.", "a.gen.wav.upsample.", "a.gen.emb_"],
};
/// From frames to samples.
pub const WAVE: Part = Part { name: "wave", tensors: &["a.gen.wav.seanet."] };
/// From samples to frames.
pub const LISTEN: Part = Part { name: "listen", tensors: &["a.seanet."] };
/// From frames to rows of the text model.
pub const VOICE: Part = Part { name: "voice", tensors: &["a.blk.", "a.downsample.", "a.speaker_proj."] };

/// Samples of a frame.
pub const HOP: usize = STRIDES[0] * STRIDES[1] * STRIDES[2];
/// Samples of a pass.
pub const SAMPLES: usize = 256 * HOP;
/// Frames of a pass: 30 seconds.
pub const ROWS: usize = 6000;
/// Frames of a latent.
const UP: usize = 16;
/// Frames that a frame sees, its own included.
const WINDOW: usize = 250;
/// Rows that the first convolution, the residual ones and the last one read.
const FIRST: usize = 7;
const OTHERS: usize = 3;
/// Epsilon of the norms of the flow head.
const FLOW_EPS: f32 = 1e-6;
/// Epsilon of the deviation of embedded times.
const TIME_EPS: f32 = 1e-5;
const ELU: ActivationKind = ActivationKind::Xielu(Xielu::ELU);

/// One step of the flow from time 0 to time 1: noise becomes noise + v(state, 0, 1, noise). A row of the result is the
/// latent, the score of the end of speech, and the latent as a row of the text model.
pub fn flow(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, state) = Vit::reading(encoder.bins, "a.gen.flow.blk", config, (encoder, Form::new(config)));
    let latent = vit.activation("latent", encoder.merge);
    vit.push(Op::Angles { before: 0, y: latent });
    let condition = [0.0, 1.0].into_iter().enumerate().map(|(number, time)| embed_time(&mut vit, number, time));
    let [condition, end] = <[Activation; 2]>::try_from(condition.collect::<Vec<_>>()).unwrap_or([vit.x; 2]);
    vit.push(Op::Add { x: end, scale: 1.0, to: condition });
    vit.push(Op::Scale { x: condition, factor: Factor::Number(0.5) });
    let of_state = vit.project(state, ["a.gen.flow.cond_embd.weight", "a.gen.flow.cond_embd.bias"], "of state");
    vit.push(Op::Add { x: of_state, scale: 1.0, to: condition });
    vit.push(Op::Activate { x: condition, kind: ActivationKind::Silu });
    let stream = vit.project(latent, ["a.gen.flow.input_proj.weight", "a.gen.flow.input_proj.bias"], "stream");
    flow_blocks(&mut vit, [stream, condition]);
    let h = last_modulated(&mut vit, [stream, condition]);
    let velocity = vit.activation("velocity", encoder.merge);
    vit.push_linear(h, ["a.gen.flow.final.proj.weight", "a.gen.flow.final.proj.bias"], velocity);
    vit.push(Op::Add { x: velocity, scale: 1.0, to: latent });
    let end = vit.project(state, ["a.gen.out_eos.weight", "a.gen.out_eos.bias"], "end of speech");
    let first = vit.activation("latent and end", encoder.merge + 1);
    vit.push(Op::JoinHeads { parts: [latent, end], heads: 1, y: first });
    let next = vit.activation("next row", encoder.bins);
    vit.push(Op::Linear { x: latent, weight: own("a.gen.input_linear.weight"), bias: None, y: next });
    let all = vit.activation("step", encoder.width);
    vit.push(Op::JoinHeads { parts: [first, next], heads: 1, y: all });
    bare(vit, all)
}

/// Blocks of the flow: what they add to the stream goes through a gate.
fn flow_blocks(vit: &mut Vit, [stream, condition]: [Activation; 2]) {
    let width = vit.width(stream);
    let blocks = (0..).take_while(|&block| vit.has(vit.of_layer(block, "norm.weight"))).count();
    for block in 0..blocks {
        let key = |vit: &Vit, name| vit.of_layer(block, name);
        let bias = |vit: &Vit, name| Some(Weight { key: key(vit, name), optional: false });
        vit.split(block, "ada.weight", ["ada.weight.shift", "ada.weight.scale", "ada.weight.gate"], [width; 3]);
        vit.split(block, "ada.bias", ["ada.bias.shift", "ada.bias.scale", "ada.bias.gate"], [width; 3]);
        let norm = Norm { bias: bias(vit, "norm.bias"), ..vit.norm(NormKind::Layer, key(vit, "norm.weight"), width) };
        let [scale, shift] = [["ada.weight.scale", "ada.bias.scale"], ["ada.weight.shift", "ada.bias.shift"]]
            .map(|[weight, of]| (key(vit, weight), bias(vit, of)));
        let h = modulated(vit, [stream, condition], norm, [scale, shift]);
        let inner = vit.encoder.width_of(&key(vit, "up.weight").name());
        let up = vit.activation("up", inner);
        vit.push(Op::Linear { x: h, weight: key(vit, "up.weight"), bias: bias(vit, "up.bias"), y: up });
        vit.push(Op::Activate { x: up, kind: ActivationKind::Silu });
        let [update, gate] = ["update", "gate"].map(|name| vit.activation(name, width));
        vit.push(Op::Linear { x: up, weight: key(vit, "down.weight"), bias: bias(vit, "down.bias"), y: update });
        let (weight, of_gate) = (key(vit, "ada.weight.gate"), bias(vit, "ada.bias.gate"));
        vit.push(Op::Linear { x: condition, weight, bias: of_gate, y: gate });
        vit.push(Op::Combine { x: update, kind: Combining::Multiply, with: Operand::Rows(gate) });
        vit.push(Op::Add { x: update, scale: 1.0, to: stream });
    }
}

/// The last norm of the flow, which has no weights of its own.
fn last_modulated(vit: &mut Vit, [stream, condition]: [Activation; 2]) -> Activation {
    let width = vit.width(stream);
    let names = [
        ["a.gen.flow.final.scale.weight", "a.gen.flow.final.scale.bias"],
        ["a.gen.flow.final.shift.weight", "a.gen.flow.final.shift.bias"],
    ];
    for (half, of_part) in [1, 0].into_iter().zip(names) {
        for (name, tensor) in of_part.into_iter().zip(["a.gen.flow.final.ada.weight", "a.gen.flow.final.ada.bias"]) {
            let every = 2 * width;
            let part = TensorPart { tensor: own(tensor), of: every, first: half * width, run: width, every };
            vit.part(own(name), part);
        }
    }
    let norm = Norm { weight: None, ..vit.norm(NormKind::Layer, own(""), width) };
    let terms = names.map(|[weight, bias]| (own(weight), Some(Weight { key: own(bias), optional: false })));
    modulated(vit, [stream, condition], norm, terms)
}

/// `norm(x) · (1 + scale) + shift`, with scale and shift products of the condition.
fn modulated(
    vit: &mut Vit,
    [x, condition]: [Activation; 2],
    norm: Norm,
    [scale, shift]: [(WeightKey, Option<Weight>); 2],
) -> Activation {
    let width = norm.width;
    let [of_scale, h, of_shift] = ["scale", "modulated", "shift"].map(|name| vit.activation(name, width));
    // Products of one activation that follow each other would lie side by side.
    vit.push(Op::Linear { x: condition, weight: scale.0, bias: scale.1, y: of_scale });
    vit.push(Op::Norm { x, norm: Norm { eps: FLOW_EPS, ..norm }, y: h });
    vit.push(Op::Linear { x: condition, weight: shift.0, bias: shift.1, y: of_shift });
    vit.push(Op::Combine { x: of_scale, kind: Combining::Multiply, with: Operand::Rows(h) });
    vit.push(Op::Add { x: of_scale, scale: 1.0, to: h });
    vit.push(Op::Add { x: of_shift, scale: 1.0, to: h });
    h
}

/// A product of cosines and sines of a time, and another one, divided by its deviation.
fn embed_time(vit: &mut Vit, number: usize, time: f32) -> Activation {
    let key = |name| WeightKey { layer: Some(number), role: Role::Named { group: "a.gen.flow.time", name } };
    let bias = |name| Some(Weight { key: key(name), optional: false });
    let count = vit.encoder.width_of(&key("freqs").name());
    let [sines, cosines] = ["sines", "cosines"].map(|name| vit.activation(name, count));
    // The caller marks the row.
    vit.mark(key("freqs"), sines);
    vit.push(Op::Scale { x: sines, factor: Factor::Number(time) });
    vit.push(Op::Copy { x: sines, y: cosines });
    vit.push(Op::Activate { x: cosines, kind: ActivationKind::Cos });
    vit.push(Op::Activate { x: sines, kind: ActivationKind::Sin });
    let both = vit.activation("time", 2 * count);
    vit.push(Op::JoinHeads { parts: [cosines, sines], heads: 1, y: both });
    let inner = vit.activation("inner time", vit.encoder.width_of(&key("up.weight").name()));
    vit.push(Op::Linear { x: both, weight: key("up.weight"), bias: bias("up.bias"), y: inner });
    vit.push(Op::Activate { x: inner, kind: ActivationKind::Silu });
    let name = ["embedded first time", "embedded second time"][number.min(1)];
    let embedded = vit.activation(name, vit.encoder.width_of(&key("down.weight").name()));
    vit.push(Op::Linear { x: inner, weight: key("down.weight"), bias: bias("down.bias"), y: embedded });
    vit.push(Op::Spread { x: embedded, kind: Spreading::Deviation(TIME_EPS) });
    vit.push(Op::Combine { x: embedded, kind: Combining::Multiply, with: Operand::Vector(key("norm")) });
    embedded
}

/// Latents on their scale, a product, a transposed convolution of each channel, layers. The caller has each latent for
/// all of its frames, and says which values of the kernel a frame reads.
pub fn frames(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { apart: Some(1), window: Some(WINDOW), ..Form::new(config) };
    let (mut vit, latents) = Vit::reading(encoder.merge, "a.gen.wav.tfm.blk", config, (encoder, form));
    for (kind, name) in [(Combining::Multiply, "a.gen.emb_std"), (Combining::Add, "a.gen.emb_mean")] {
        vit.push(Op::Combine { x: latents, kind, with: Operand::Vector(own(name)) });
    }
    let wide = vit.activation("wide latents", config.hidden);
    vit.push(Op::Linear { x: latents, weight: own("a.gen.wav.quant_out.weight"), bias: None, y: wide });
    vit.push(Op::ConvAround { x: wide, kernel: own("a.gen.wav.upsample.weight"), taps: 2 * UP, y: vit.x });
    vit.blocks(&mut |_, _| {});
    let x = vit.x;
    rows(vit, x)
}

/// Ends a program with these rows.
fn rows(mut vit: Vit, x: Activation) -> Program {
    let y = vit.activation("rows", vit.encoder.width);
    vit.push(Op::Copy { x, y });
    vit.finish()
}

/// Ends a program without layers, whose operations so far are the embedding.
fn bare(mut vit: Vit, x: Activation) -> Program {
    vit.each_layer(&mut |_, _| {});
    rows(vit, x)
}

/// A convolution of rows, then for each stride a transposed one and a residual one, and a last one. The caller says
/// which rows each of them reads.
pub fn wave(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, frames) = Vit::reading(config.hidden, "a.gen.wav.seanet.blk", config, (encoder, Form::new(config)));
    let most = SAMPLES / HOP;
    let (mut stages, mut most_here) = (vec![most, most], most);
    let folded = vit.regroup_as("folded", frames, around(FIRST));
    let mut x = vit.project(folded, ["a.gen.wav.seanet.conv_in.weight", "a.gen.wav.seanet.conv_in.bias"], "x");
    for (stage, stride) in STRIDES.into_iter().enumerate() {
        vit.push(Op::Activate { x, kind: ELU });
        let key = |vit: &Vit, name| vit.of_layer(stage, name);
        let weight = key(&vit, "scale_conv.weight");
        let width = vit.encoder.width_of(&weight.name());
        let pair = vit.regroup_as("pair", x, Grouping { parts: 2, taps: 1, by_value: false });
        let long = vit.activation("long", stride * width);
        vit.push(Op::Project { x: pair, weight, y: long });
        x = vit.activation("x", width);
        vit.push(Op::Regroup {
            x: long,
            grouping: Grouping { parts: 1, taps: 1, by_value: false },
            kernel: None,
            y: x,
        });
        let bias = Operand::Vector(key(&vit, "scale_conv.bias"));
        vit.push(Op::Combine { x, kind: Combining::Add, with: bias });
        stages.extend([most_here, most_here * stride, most_here * stride]);
        most_here *= stride;
        residual(&mut vit, stage, x);
    }
    vit.push(Op::Activate { x, kind: ELU });
    let folded = vit.regroup_as("folded", x, around(OTHERS));
    let sample = vit.project(folded, ["a.gen.wav.seanet.conv_out.weight", "a.gen.wav.seanet.conv_out.bias"], "sample");
    vit.push(Op::Activate { x: sample, kind: ActivationKind::Clamp(1.0) });
    vit.stage_rows(&stages);
    bare(vit, sample)
}

/// As many rows as a kernel reads, side by side, value by value, as kernels lie in files.
const fn around(parts: usize) -> Grouping {
    Grouping { parts, taps: 1, by_value: true }
}

/// `x += conv(elu(conv(elu(x))))`, whose first convolution reads rows before it, too.
fn residual(vit: &mut Vit, stage: usize, x: Activation) {
    let key = |vit: &Vit, name| vit.of_layer(stage, name);
    let bias = |vit: &Vit, name| Some(Weight { key: key(vit, name), optional: false });
    let width = vit.width(x);
    let again = vit.activation("activated", width);
    vit.push(Op::Copy { x, y: again });
    vit.push(Op::Activate { x: again, kind: ELU });
    let folded = vit.regroup_as("folded", again, around(OTHERS));
    let weight = key(vit, "res_conv1.weight");
    let inner = vit.activation("inner", vit.encoder.width_of(&weight.name()));
    vit.push(Op::Linear { x: folded, weight, bias: bias(vit, "res_conv1.bias"), y: inner });
    vit.push(Op::Activate { x: inner, kind: ELU });
    let update = vit.activation("update", width);
    vit.push(Op::Linear {
        x: inner,
        weight: key(vit, "res_conv2.weight"),
        bias: bias(vit, "res_conv2.bias"),
        y: update,
    });
    vit.push(Op::Add { x: update, scale: 1.0, to: x });
}

/// The way back: a convolution of samples, then for each stride a residual one and one that leaves a row of `stride`,
/// and a last one. The caller has the samples with those before them.
pub fn listen(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let (mut vit, samples) = Vit::reading(FIRST, "a.seanet.blk", config, (encoder, Form::new(config)));
    let mut most = SAMPLES;
    let mut stages = Vec::new();
    let mut x = vit.project(samples, ["a.seanet.conv_in.weight", "a.seanet.conv_in.bias"], "x");
    for (stage, stride) in STRIDES.into_iter().rev().enumerate() {
        stages.extend([most, most]);
        residual(&mut vit, stage, x);
        vit.push(Op::Activate { x, kind: ELU });
        let folded = vit.regroup_as("folded", x, around(2 * stride));
        let key = |vit: &Vit, name| vit.of_layer(stage, name);
        let weight = key(&vit, "scale_conv.weight");
        let bias = Some(Weight { key: key(&vit, "scale_conv.bias"), optional: false });
        x = vit.activation("x", vit.encoder.width_of(&weight.name()));
        vit.push(Op::Linear { x: folded, weight, bias, y: x });
        most /= stride;
    }
    stages.push(most);
    vit.push(Op::Activate { x, kind: ELU });
    let folded = vit.regroup_as("folded", x, around(OTHERS));
    let frame = vit.project(folded, ["a.seanet.conv_out.weight", "a.seanet.conv_out.bias"], "frame");
    vit.stage_rows(&stages);
    bare(vit, frame)
}

/// Layers, a convolution that leaves a row of 16 frames, a product.
pub fn voice(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let form = Form { apart: Some(1), window: Some(WINDOW), ..Form::new(config) };
    let (mut vit, frames) = Vit::reading(config.hidden, "a.blk", config, (encoder, form));
    vit.push(Op::Copy { x: frames, y: vit.x });
    vit.blocks(&mut |_, _| {});
    let folded = vit.regroup(vit.x, around(2 * UP));
    let latent = vit.activation("latent", encoder.width_of("a.downsample.conv.weight"));
    vit.push(Op::Linear { x: folded, weight: own("a.downsample.conv.weight"), bias: None, y: latent });
    let y = vit.activation("rows", encoder.width);
    vit.push(Op::Linear { x: latent, weight: own("a.speaker_proj.weight"), bias: None, y });
    vit.finish()
}
