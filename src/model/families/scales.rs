//! Factors of whole matrices: `NAME.scale` beside `NAME.weight`, in any family, as BitNet's converter and ModelOpt's
//! NVFP4 write them.

use super::super::program::{Activation, Factor, Op, Program};
use super::super::{ModelConfig, WeightKey};
use super::builder::named;
use crate::model::Role;

/// The matrices of a layer that may have one, by the names of their factors.
const OF_LAYERS: [&str; 18] = [
    "attn_q.scale",
    "attn_k.scale",
    "attn_v.scale",
    "attn_output.scale",
    "attn_qkv.scale",
    "attn_gate.scale",
    "ffn_gate.scale",
    "ffn_down.scale",
    "ffn_up.scale",
    "ffn_gate_shexp.scale",
    "ffn_down_shexp.scale",
    "ffn_up_shexp.scale",
    "ssm_in.scale",
    "ssm_out.scale",
    "ssm_alpha.scale",
    "ssm_beta.scale",
    "nextn.eh_proj.scale",
    "nextn.shared_head_head.scale",
];

/// The factor of the head.
const OF_HEAD: &str = "output.scale";

/// The program with the factors that the file has. They are of the products alone: a bias is added after them, so one
/// beside a bias is left out, and refused as a tensor that is not known.
pub(super) fn with_scales(mut program: Program, config: &ModelConfig) -> Program {
    if !config.tensor_names.iter().any(|name| name.ends_with(".scale")) {
        return program;
    }
    let next = program.next.take().map(|next| with_scales(*next, config).into());
    let factor = |weight: WeightKey| factor_of(program.parts.get(&weight).map_or(weight, |part| part.tensor), config);
    let in_file = |key: WeightKey| {
        let tensor = program.parts.get(&key).map_or(key, |part| part.tensor);
        config.has_tensor(&tensor.name())
    };
    let part = |ops: &Vec<Op>| scaled(ops, &factor, &in_file);
    let (embed, head) = (part(&program.embed), part(&program.head));
    let layers = program.layers.iter().map(part).collect();
    Program { embed, layers, head, next, ..program }
}

/// Operations with the factors of each run of products behind it, so that the products stay side by side.
fn scaled(ops: &[Op], factor: &dyn Fn(WeightKey) -> Option<WeightKey>, in_file: &dyn Fn(WeightKey) -> bool) -> Vec<Op> {
    let mut made = Vec::with_capacity(ops.len());
    let mut waiting: Vec<(Activation, Op)> = Vec::new();
    for op in ops {
        let of = if let Op::Linear { x, .. } = op { Some(*x) } else { None };
        if waiting.first().is_some_and(|(x, _)| Some(*x) != of) {
            made.extend(waiting.drain(..).map(|(_, op)| op));
        }
        made.push(op.clone());
        if let Op::Linear { x, weight, bias, y } = *op
            && bias.is_none_or(|bias| !in_file(bias.key))
        {
            waiting.extend(factor(weight).map(|key| (x, Op::Scale { x: y, factor: Factor::Weight(key) })));
        }
    }
    made.extend(waiting.into_iter().map(|(_, op)| op));
    made
}

/// The factor of this matrix, where the file has it.
fn factor_of(weight: WeightKey, config: &ModelConfig) -> Option<WeightKey> {
    let name = weight.name();
    let key = match weight.layer {
        None => (weight.role == Role::Output).then(|| WeightKey { layer: None, role: named(OF_HEAD) }),
        Some(layer) => {
            let stem = name.strip_suffix("weight")?.splitn(3, '.').nth(2)?;
            let name = OF_LAYERS.into_iter().find(|of| of.strip_suffix("scale") == Some(stem))?;
            Some(WeightKey { layer: Some(layer), role: named(name) })
        }
    }?;
    config.has_tensor(&key.name()).then_some(key)
}
