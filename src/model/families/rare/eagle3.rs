//! EAGLE-3 (Li et al. 2025, <https://arxiv.org/abs/2503.01840>), a drafter: one layer that reads the inputs of three
//! layers of its model, fused into one hidden state, beside the embedding of the next token.

use super::super::super::drafter::{Drafted, Drafter, Kind, check_same};
use super::super::super::program::{Activation, LOGITS, Op, Program, RopeFactors, of_layer, of_model};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::behind::STATE;
use super::super::builder::{AttentionBlock, Builder, named};
use crate::gguf::Gguf;
use crate::{Error, Result};

/// What `tools/oracle/make_drafters.py` makes files of.
pub(super) const EAGLE3: Kind = Kind { name: "eagle3", read, program };

/// The model's ids of the drafter's own vocabulary.
const IDS: &str = "d2t";

/// Layers whose inputs are fused.
const TAPS: [&str; 3] = ["input of a layer", "inputs of two layers", "inputs of three layers"];

fn read(gguf: &Gguf, model: &ModelConfig, drafter: &mut Drafter) -> Result<()> {
    let metadata = &gguf.metadata;
    let flag = |key: &str| metadata.bool(&format!("eagle3.{key}")).map(|flag| flag.unwrap_or(false));
    let number = |key: &str| metadata.u64(&format!("eagle3.{key}")).map(|found| found.unwrap_or(0) as usize);
    check_same("width of the model's residual stream", [number("target_hidden_size")?, model.hidden])?;
    (drafter.norms_taps, drafter.begins_normed) = (flag("norm_before_fc")?, flag("norm_before_residual")?);
    let layers = metadata.i32s("eagle3.target_layers")?.unwrap_or_default();
    drafter.taps = layers.iter().map(|&layer| usize::try_from(layer).unwrap_or(usize::MAX)).collect();
    let message = match drafter.taps.iter().find(|&&layer| layer > model.layers) {
        Some(layer) => {
            format!("reads layer {layer}, the model has {}: a drafter of another model", model.layers)
        }
        None if layers.len() != TAPS.len() || !layers.is_sorted() => {
            format!("reads layers {layers:?}, expected {} in ascending order", TAPS.len())
        }
        None if drafter.config.layers != 1 => format!("has {} layers, expected 1", drafter.config.layers),
        None => String::new(),
    };
    if !message.is_empty() {
        return Err(Error::invalid_argument(format!("option 'draft': {message}")));
    }
    let tensor = |name: &str| gguf.tensors.iter().find(|tensor| tensor.name == name);
    // As words of 32 bits: two for each.
    let ids = tensor(IDS).and_then(|ids| ids.dims.first()).map(|&words| (words / 2) as usize);
    drafter.own_vocab = ids;
    let lacks = ["token_embd.weight", "output.weight"].iter().any(|name| tensor(name).is_none());
    if lacks {
        check_same("width", [drafter.config.hidden, model.hidden])?;
    }
    match ids {
        Some(ids) if ids == 0 || ids > model.vocab || tensor("output.weight").is_none() => {
            let message = format!("tensor {IDS}: {ids} ids beside a vocabulary of {} and the head", model.vocab);
            Err(Error::bad_file(message))
        }
        _ => Ok(()),
    }
}

/// Behind a model's program.
fn program(program: Program, model: &ModelConfig, drafter: &Drafter) -> Program {
    let config = &drafter.config;
    let (program, taps) = with_taps(program, model, &drafter.taps);
    let mut b = Builder::behind(config, program, model.layers);
    let state = b.activation(STATE, config.hidden);
    let taps = if drafter.norms_taps { b.norm(taps, named("enc.output_norm.weight")) } else { taps };
    let fused = b.linear(taps, named("fc.weight"), None, ("fused inputs", config.hidden));
    b.push(Op::Copy { x: fused, y: state });
    let hands_on = b.take();

    let before = b.activation("hidden state before", config.hidden);
    let (x, table) = (b.x, b.own_or("token_embd.weight", Role::TokenEmbedding));
    b.push(Op::Input { y: before });
    b.push(Op::Embed { table, rows: config.vocab, scale: 1.0, y: x });
    let embedded = b.norm(x, Role::AttnNorm);
    let normed = b.norm_apart(before, Role::AttnNorm2);
    let joined = b.activation("embedding and hidden state", 2 * config.hidden);
    b.push(Op::JoinHeads { parts: [embedded, normed], heads: 1, y: joined });
    b.push(Op::Copy { x: if drafter.begins_normed { normed } else { before }, y: x });
    let embed = b.take();

    let mut block = AttentionBlock::new(config, RopeStyle::Interleaved);
    let factors = named("rope_freqs.weight");
    block.rope.factors = b.has(factors).then(|| RopeFactors::of(of_layer(model.layers, factors)));
    let update = b.attention(joined, block);
    b.add(update);
    let normed = b.norm(x, Role::FfnNorm);
    let update = b.feed_forward(normed, GateKind::SwiGlu);
    b.add(update);
    let layer = b.take();

    let normed = b.norm(x, named("output_norm.weight"));
    let shared = of_model(if model.tied { Role::TokenEmbedding } else { Role::Output });
    let own = named("output.weight");
    let weight = if b.has(own) { of_layer(model.layers, own) } else { shared };
    let vocab = drafter.own_vocab.unwrap_or(config.vocab);
    let logits = b.activation(LOGITS, vocab);
    b.push(Op::Linear { x: normed, weight, bias: None, y: logits });
    let head = b.take();

    let ids = drafter.own_vocab.map(|_| of_layer(model.layers, named(IDS)));
    let drafted = Drafted { earlier: true, held: false, ids };
    let mut made = b.program;
    let own = vec![Op::Copy { x, y: state }];
    let (layers, sides) = (vec![layer], Vec::new());
    let next = Program { embed, layers, head, hands_on: own, drafted, sides, ..made.clone() };
    (made.hands_on, made.next) = (hands_on, Some(next.into()));
    made
}

/// The program with the inputs of three layers side by side.
fn with_taps(mut program: Program, model: &ModelConfig, taps: &[usize]) -> (Program, Activation) {
    let x = program.residual();
    let mut last = x;
    for (number, &layer) in taps.iter().enumerate() {
        let y = program.activation(TAPS[number], (number + 1) * model.hidden);
        let op = if number == 0 { Op::Copy { x, y } } else { Op::JoinHeads { parts: [last, x], heads: 1, y } };
        // Behind what has been put there before.
        match program.layers.get_mut(layer) {
            Some(ops) => ops.insert(taps[..number].iter().filter(|&&other| other == layer).count(), op),
            None => program.layers.last_mut().into_iter().for_each(|ops| ops.push(op.clone())),
        }
        last = y;
    }
    program.sides.push(last);
    (program, last)
}
