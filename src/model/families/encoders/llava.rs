//! LLaVA 1.5 and 1.6 (Liu et al. 2023, <https://arxiv.org/abs/2310.03744>), and what has its projector: Moondream 2,
//! Granite Vision (2025, <https://arxiv.org/abs/2502.09927>), Yi-VL. The layers are CLIP's (Radford et al. 2021,
//! <https://arxiv.org/abs/2103.00020>) or SigLIP's.

use super::super::super::ActivationKind;
use super::super::super::config::{EncoderConfig, MAX_TAKEN, ModelConfig};
use super::super::super::program::{Activation, Op, Program};
use super::vit::{Form, Vit, own};

/// Names of the rows that are taken before a layer, and of several side by side.
pub(super) const TAKEN: [&str; MAX_TAKEN] =
    ["taken", "taken 2", "taken 3", "taken 4", "taken 5", "taken 6", "taken 7", "taken 8"];
const STACKED: [&str; MAX_TAKEN] =
    ["stacked", "stacked 2", "stacked 3", "stacked 4", "stacked 5", "stacked 6", "stacked 7", "stacked 8"];

/// Two products of each patch, with norms behind them in Yi-VL. The rows are those before the last layer, or those that
/// the file names, side by side. A class token has the first position; llama.cpp gives it the last one, and takes its
/// row in place of the first patch's.
pub fn mlp(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let config = &ModelConfig { layers: encoder.depth, ..config.clone() };
    let mut vit = Vit::new(config, encoder, Form::new(config));
    if config.has_tensor("v.class_embd") {
        vit.mark(own("v.class_embd"), vit.x);
    }
    vit.places(1);
    let x = taken(&mut vit);
    let x = vit.side_by_side(x, 1);
    let kind = ActivationKind::Gelu;
    let is_normed = config.has_tensor("mm.3.weight");
    if is_normed {
        let between = vit.project(x, ["mm.0.weight", "mm.0.bias"], "between");
        let normed = vit.projector_norm(between, ["mm.1.weight", "mm.1.bias"], config.norm_eps);
        vit.push(Op::Activate { x: normed, kind });
        let rows = vit.project_rows(normed, ["mm.3.weight", "mm.3.bias"]);
        vit.projector_norm(rows, ["mm.4.weight", "mm.4.bias"], config.norm_eps);
    } else if config.has_tensor("mm.2.weight") {
        vit.project_twice(x, [["mm.0.weight", "mm.0.bias"], ["mm.2.weight", "mm.2.bias"]], kind);
    } else {
        let rows = vit.project_rows(x, ["mm.0.weight", "mm.0.bias"]);
        vit.push(Op::Activate { x: rows, kind });
    }
    vit.finish()
}

/// Writes the layers; gives the rows that the projector takes.
fn taken(vit: &mut Vit) -> Activation {
    let (hidden, before) = (vit.config.hidden, &vit.encoder.taken);
    let mut found = Vec::new();
    vit.stream_norm(["v.pre_ln.weight", "v.pre_ln.bias"]);
    vit.each_layer(&mut |vit, layer| {
        if before.contains(&layer) {
            let y = vit.activation(TAKEN[found.len()], hidden);
            vit.push(Op::Copy { x: vit.x, y });
            found.push(y);
        }
        vit.block(layer);
    });
    vit.stream_norm(["v.post_ln.weight", "v.post_ln.bias"]);
    if before.is_empty() || before.contains(&vit.config.layers) {
        found.push(vit.x);
    }
    side_by_side(vit, &found)
}

/// The rows of several activations as wide as a row of the layers, side by side.
pub(super) fn side_by_side(vit: &mut Vit, found: &[Activation]) -> Activation {
    let hidden = vit.config.hidden;
    let mut all = found[0];
    for (number, &next) in found.iter().enumerate().skip(1) {
        let width = hidden * (number + 1);
        let joined = vit.activation("joined", width);
        vit.push(Op::JoinHeads { parts: [all, next], heads: 1, y: joined });
        // Joins of consecutive operations would lie side by side.
        all = vit.activation(STACKED[number], width);
        vit.push(Op::Copy { x: joined, y: all });
    }
    all
}
