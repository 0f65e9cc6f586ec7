//! EAGLE-3 (Li et al. 2025, <https://arxiv.org/abs/2503.01840>), a drafter: one layer that reads the inputs of three
//! layers of its model, fused into one hidden state, beside the embedding of the next token.

use super::super::super::drafter::{Drafted, Drafter, Kind, check_same};
use super::super::super::program::{Activation, LOGITS, Op, Program, RopeFactors, of_layer};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle, WeightKey};
use super::super::behind::STATE;
use super::super::builder::{AttentionBlock, Builder, named};
use super::gemma4_assistant::refused;
use crate::gguf::Gguf;
use crate::{Error, Result};

/// What `tools/oracle/make_drafters.py` makes files of.
pub(super) const EAGLE3: Kind = Kind { name: "eagle3", read, program };

/// The model's ids of the drafter's own vocabulary.
const IDS: &str = "d2t";

/// Layers whose inputs are fused.
const TAPS: usize = 3;

fn read(gguf: &Gguf, model: &ModelConfig, drafter: &mut Drafter) -> Result<()> {
    let metadata = &gguf.metadata;
    let flag = |key: &str| metadata.bool(&format!("eagle3.{key}")).map(|flag| flag.unwrap_or(false));
    let number = |key: &str| metadata.u64(&format!("eagle3.{key}")).map(|found| found.unwrap_or(0) as usize);
    check_same("width of the model's residual stream", [number("target_hidden_size")?, model.hidden])?;
    (drafter.norms_taps, drafter.begins_normed) = (flag("norm_before_fc")?, flag("norm_before_residual")?);
    drafter.taps = read_taps(gguf, "eagle3.target_layers", (model, Some(TAPS)))?;
    if drafter.config.layers != 1 {
        return Err(refused(format!("has {} layers, expected 1", drafter.config.layers)));
    }
    drafter.own_vocab = read_vocab(gguf, model)?;
    let lacks = |name: &&str| !gguf.tensors.iter().any(|tensor| tensor.name == *name);
    if ["token_embd.weight", "output.weight"].iter().any(lacks) {
        check_same("width", [drafter.config.hidden, model.hidden])?;
    }
    Ok(())
}

/// The layers of the model that a drafter reads: `count` of them, if that is given.
pub(super) fn read_taps(gguf: &Gguf, key: &str, of: (&ModelConfig, Option<usize>)) -> Result<Vec<usize>> {
    let (model, count) = of;
    let layers = gguf.metadata.i32s(key)?.unwrap_or_default();
    let taps: Vec<usize> = layers.iter().map(|&layer| usize::try_from(layer).unwrap_or(usize::MAX)).collect();
    let most = count.unwrap_or(model.layers + 1);
    if taps.len() > most {
        return Err(refused(format!("reads {} layers, expected {most} at most", taps.len())));
    }
    match taps.iter().find(|&&layer| layer > model.layers) {
        Some(layer) => {
            let message = format!("reads layer {layer}, the model has {}: a drafter of another model", model.layers);
            Err(refused(message))
        }
        None if taps.is_empty() || count.is_some_and(|count| count != taps.len()) || !taps.is_sorted() => {
            let expected = count.unwrap_or(1);
            Err(refused(format!("reads layers {layers:?}, expected {expected} in ascending order")))
        }
        None => Ok(taps),
    }
}

/// The number of tokens of a drafter's own vocabulary, if it has one.
pub(super) fn read_vocab(gguf: &Gguf, model: &ModelConfig) -> Result<Option<usize>> {
    let tensor = |name: &str| gguf.tensors.iter().find(|tensor| tensor.name == name);
    // As words of 32 bits: two for each.
    let ids = tensor(IDS).and_then(|ids| ids.dims.first()).map(|&words| (words / 2) as usize);
    match ids {
        Some(ids) if ids == 0 || ids > model.vocab || tensor("output.weight").is_none() => {
            let message = format!("tensor {IDS}: {ids} ids beside a vocabulary of {} and the head", model.vocab);
            Err(Error::bad_file(message))
        }
        ids => Ok(ids),
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

    let (head, ids) = head(&mut b, model, drafter);
    let drafted = Drafted { earlier: true, ids, ..Drafted::default() };
    let mut made = b.program;
    let own = vec![Op::Copy { x, y: state }];
    let (layers, sides) = (vec![layer], Vec::new());
    let next = Program { embed, layers, head, hands_on: own, drafted, sides, ..made.clone() };
    (made.hands_on, made.next) = (hands_on, Some(next.into()));
    made
}

/// Norm and head of a drafter, and the model's ids of its own.
pub(super) fn head(b: &mut Builder, model: &ModelConfig, drafter: &Drafter) -> (Vec<Op>, Option<WeightKey>) {
    let normed = b.norm(b.x, named("output_norm.weight"));
    let weight = b.own_or("output.weight", if model.tied { Role::TokenEmbedding } else { Role::Output });
    let logits = b.activation(LOGITS, drafter.own_vocab.unwrap_or(model.vocab));
    b.push(Op::Linear { x: normed, weight, bias: None, y: logits });
    (b.take(), drafter.own_vocab.map(|_| of_layer(model.layers, named(IDS))))
}

/// The program with the inputs of layers side by side.
pub(super) fn with_taps(mut program: Program, model: &ModelConfig, taps: &[usize]) -> (Program, Activation) {
    let x = program.residual();
    let mut last = x;
    for (number, &layer) in taps.iter().enumerate() {
        let y = program.activation("inputs of layers", (number + 1) * model.hidden);
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
