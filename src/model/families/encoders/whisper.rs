//! The encoder of Whisper (Radford et al. 2022, <https://arxiv.org/abs/2212.04356>) and the projectors of Ultravox,
//! Voxtral (Liu et al. 2025, <https://arxiv.org/abs/2507.13264>) and Qwen2-Audio (Chu et al. 2024,
//! <https://arxiv.org/abs/2407.10759>).

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{Combining, Grouping, Norm, NormKind, Op, Operand, Program};
use super::super::super::{ActivationKind, GateKind};
use super::vit::{Form, Vit, own};

/// Frames that a convolution reads.
const KERNEL: usize = 3;
/// Frames of 30 seconds of sound.
const FRAMES: usize = 3000;
/// Rows of the layers that become of them.
pub const ROWS: usize = FRAMES / 2;
/// Epsilon of the norms of Ultravox's projector.
const ULTRAVOX_EPS: f32 = 1e-6;

const POST: [&str; 2] = ["a.post_ln.weight", "a.post_ln.bias"];
/// Products of projectors.
pub(super) const MLP: [[&str; 2]; 4] = [
    ["mm.a.mlp.0.weight", "mm.a.mlp.0.bias"],
    ["mm.a.mlp.1.weight", "mm.a.mlp.1.bias"],
    ["mm.a.mlp.2.weight", "mm.a.mlp.2.bias"],
    ["mm.a.mlp.3.weight", "mm.a.mlp.3.bias"],
];

/// Several rows side by side, a gated feed-forward between two norms.
pub fn ultravox(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = whisper(config, encoder);
    vit.stream_norm(POST);
    let x = vit.side_by_side(vit.x, encoder.merge);
    let wide = config.hidden * encoder.merge;
    let norm = |vit: &Vit, name, width| Norm { eps: ULTRAVOX_EPS, ..vit.norm(NormKind::Rms, own(name), width) };
    let normed = vit.activation("projector normed", wide);
    let before = norm(&vit, "mm.a.norm_pre.weight", wide);
    vit.push(Op::Norm { x, norm: before, y: normed });
    let [up, gate] = vit.halves(normed, "mm.a.mlp.1.weight", ["mm.a.mlp.1.weight.up", "mm.a.mlp.1.weight.gate"]);
    let width = encoder.width_of("mm.a.mlp.1.weight") / 2;
    let between = vit.activation("between", width);
    vit.push(Op::Gate { gate, up, at: 0, kind: GateKind::SwiGlu, y: between });
    let middle = norm(&vit, "mm.a.norm_mid.weight", width);
    vit.push(Op::Norm { x: between, norm: middle, y: between });
    vit.project_rows(between, ["mm.a.mlp.2.weight", "mm.a.mlp.2.bias"]);
    vit.finish()
}

/// Several rows side by side, two products. llama.cpp takes the mean of pairs of rows before, and so half as many rows
/// as the model's own code, which is followed here.
pub fn voxtral(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = whisper(config, encoder);
    vit.stream_norm(POST);
    let x = vit.side_by_side(vit.x, encoder.merge);
    vit.project_twice(x, [MLP[1], MLP[2]], ActivationKind::GeluErf);
    vit.finish()
}

/// The mean of two rows, a norm, a product.
pub fn qwen2a(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = whisper(config, encoder);
    let x = vit.mean(vit.x, encoder.merge);
    let normed = vit.projector_norm(x, POST, config.norm_eps);
    vit.project_rows(normed, ["mm.a.fc.weight", "mm.a.fc.bias"]);
    vit.finish()
}

/// A norm, several rows side by side, two products, and a row before and one behind each sound: GLM-ASR
/// (<https://huggingface.co/zai-org/GLM-ASR-Nano-2512>).
pub fn glma(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = whisper(config, encoder);
    vit.stream_norm(POST);
    let normed = vit.projector_norm(vit.x, ["mm.a.norm_pre.weight", "mm.a.norm_pre.bias"], config.norm_eps);
    let x = vit.side_by_side(normed, encoder.merge);
    let rows = vit.project_twice(x, [MLP[1], MLP[2]], ActivationKind::GeluErf);
    for row in ["v.boi", "v.eoi"] {
        vit.mark(own(row), rows);
    }
    vit.finish()
}

/// The mean of two rows, a norm, two products (Audio Flamingo 3: Goel et al. 2025, <https://arxiv.org/abs/2507.08128>).
pub fn musicflamingo(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = whisper(config, encoder);
    let x = vit.mean(vit.x, encoder.merge);
    let normed = vit.projector_norm(x, POST, config.norm_eps);
    vit.project_twice(normed, [MLP[1], MLP[2]], ActivationKind::GeluErf);
    vit.finish()
}

/// Several rows side by side, a norm, and three products with SiLU before a fourth (MERaLiON-AudioLLM: He et al. 2024,
/// <https://arxiv.org/abs/2412.09818>).
pub fn meralion(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let mut vit = whisper(config, encoder);
    vit.stream_norm(POST);
    let x = vit.side_by_side(vit.x, encoder.merge);
    let normed = vit.projector_norm(x, ["mm.a.norm_pre.weight", "mm.a.norm_pre.bias"], config.norm_eps);
    let kind = ActivationKind::Silu;
    let between = vit.project(normed, MLP[0], "between");
    vit.push(Op::Activate { x: between, kind });
    let gate = vit.project(between, MLP[1], "projector gate");
    // Products of one activation would lie side by side: what is multiplied elementwise does not.
    let again = vit.activation("between again", encoder.width_of(MLP[0][0]));
    vit.push(Op::Copy { x: between, y: again });
    let pool = vit.project(again, MLP[2], "projector pool");
    vit.push(Op::Activate { x: gate, kind });
    vit.push(Op::Combine { x: gate, kind: Combining::Multiply, with: Operand::Rows(pool) });
    vit.project_rows(gate, MLP[3]);
    vit.finish()
}

/// Two convolutions over frames, the second of every other one; learned positions; layers. The caller has the frames
/// with their neighbours, and says which rows of the first convolution the second reads.
fn whisper<'a>(config: &'a ModelConfig, encoder: &'a EncoderConfig) -> Vit<'a> {
    let mut vit = convolutions(config, (encoder, Form::new(config)), FRAMES);
    vit.places(1);
    vit.blocks(&mut |_, _| {});
    vit
}

/// The convolutions over frames, of which there are at most as many.
pub(super) fn convolutions<'a>(
    config: &'a ModelConfig,
    (encoder, form): (&'a EncoderConfig, Form),
    most: usize,
) -> Vit<'a> {
    let (mut vit, frames) = Vit::reading(KERNEL * encoder.bins, "a.blk", config, (encoder, form));
    vit.stage_rows(&[most]);
    let first = vit.activation("first convolution", config.hidden);
    let kind = ActivationKind::GeluErf;
    vit.push_linear(frames, ["a.conv1d.1.weight", "a.conv1d.1.bias"], first);
    vit.push(Op::Activate { x: first, kind });
    let folded = vit.regroup_as("folded", first, Grouping { parts: KERNEL, taps: 1, by_value: true });
    vit.push_linear(folded, ["a.conv1d.2.weight", "a.conv1d.2.bias"], vit.x);
    vit.push(Op::Activate { x: vit.x, kind });
    vit
}
