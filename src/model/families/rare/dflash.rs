//! DFlash (Chen, Liang and Liu 2026, <https://arxiv.org/abs/2602.06036>), a drafter: layers that draft several tokens
//! in one pass. Of the text they see inputs of layers of its model, fused: with these the model's own passes write the
//! keys and values.

use super::super::super::drafter::{Drafted, Drafter, Kind, Masks, check_same};
use super::super::super::program::{Activation, Factor, Keys, Op, Program, RopeFactors, RopeTable, of_layer};
use super::super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Builder, KeysAndValues, named};
use super::eagle3::{head, read_taps, read_vocab, with_taps};
use super::gemma4_assistant::{number_behind, refused, slides};
use crate::Result;
use crate::gguf::Gguf;

/// What `tools/oracle/make_drafters.py` makes files of.
pub(super) const DFLASH: Kind = Kind { name: "dflash", read, program };

/// Rows of a block, where a file does not say.
const ROWS: u64 = 16;

/// Files of the same architecture that draft in other ways, by a key or a tensor of theirs.
const OTHERS: [(&str, &str); 5] = [
    ("markov_w1.weight", "DSpark"),
    ("dflash.conv_kernel_size", "DFlash 2"),
    ("lilicorr.hidden_size", "LiLiCorr"),
    ("dflash.hyper_connection.count", "DeepSeek V4"),
    ("dflash.attention.kv_lora_rank", "Mistral Large 4"),
];

fn read(gguf: &Gguf, model: &ModelConfig, drafter: &mut Drafter) -> Result<()> {
    let metadata = &gguf.metadata;
    let has = |name: &str| metadata.get(name).is_some() || gguf.tensors.iter().any(|tensor| tensor.name == name);
    if let Some((_, what)) = OTHERS.iter().find(|(name, _)| has(name)) {
        return Err(refused(format!("a drafter of {what}, which is not supported")));
    }
    check_same("width", [drafter.config.hidden, model.hidden])?;
    drafter.taps = read_taps(gguf, "dflash.target_layers", (model, None))?;
    drafter.own_vocab = read_vocab(gguf, model)?;
    let mask = metadata.u64("tokenizer.ggml.mask_token_id")?;
    let rows = metadata.u64("dflash.block_size")?.unwrap_or(ROWS);
    let Some(mask) = mask.filter(|&mask| mask < model.vocab as u64) else {
        let found = mask.map_or("none".to_owned(), |mask| mask.to_string());
        return Err(refused(format!("token of masks: {found}, expected one of {}", model.vocab)));
    };
    if rows < 2 {
        return Err(refused(format!("blocks of {rows} tokens, expected 2 or more")));
    }
    let sees_all = !metadata.bool("dflash.attention.causal")?.unwrap_or(false);
    drafter.masks = Some(Masks { id: mask as u32, rows: rows as usize, sees_all });
    drafter.value_scale = metadata.f32("dflash.attention.value_scale")?.filter(|&scale| scale != 0.0);
    drafter.has_gelu = match metadata.str("dflash.hidden_activation")? {
        None | Some("silu") => false,
        Some("gelu" | "gelu_pytorch_tanh") => true,
        Some(other) => return Err(refused(format!("activation {other:?}, expected \"silu\" or \"gelu\""))),
    };
    number_behind(&mut drafter.config, model.layers);
    Ok(())
}

/// Behind a model's program.
fn program(program: Program, model: &ModelConfig, drafter: &Drafter) -> Program {
    let config = &drafter.config;
    let (program, taps) = with_taps(program, model, &drafter.taps);
    let mut b = Builder::behind(config, program, model.layers);
    let first = b.caches;
    let fused = b.linear(taps, named("fc.weight"), None, ("fused inputs", config.hidden));
    let state = b.norm(fused, named("enc.output_norm.weight"));
    for layer in 0..config.layers {
        b.layer = model.layers + layer;
        let block = block(&b, model.layers, layer);
        b.attention(state, block);
        keep(&mut b.ops, first + layer);
    }
    let kept = b.take();
    b.program.sides.pop();
    // Behind the input of the last of these layers.
    let last = drafter.taps.last().copied().unwrap_or(0);
    let before = drafter.taps.iter().filter(|&&tap| tap == last).count();
    let number = last.min(b.program.layers.len() - 1);
    let ops = &mut b.program.layers[number];
    let rest = if number == last { ops.split_off(before) } else { Vec::new() };
    ops.extend(kept);
    ops.extend(rest);

    (b.layer, b.caches) = (model.layers, first);
    let (x, table) = (b.x, b.own_or("token_embd.weight", Role::TokenEmbedding));
    b.push(Op::Embed { table, rows: config.vocab, scale: config.embedding_scale.unwrap_or(1.0), y: x });
    let embed = b.take();
    let mut layers = Vec::new();
    for at in 0..config.layers {
        layers.push(layer(&mut b, drafter, (model.layers, at)));
    }
    b.layer = model.layers;
    let (head, ids) = head(&mut b, model, drafter);
    let drafted = Drafted { ids, masks: drafter.masks, ..Drafted::default() };
    let mut made = b.program;
    let next = Program { embed, layers, head, drafted, hands_on: Vec::new(), ..made.clone() };
    made.next = Some(next.into());
    made
}

/// Layer `at` of the drafter, which has the number `behind + at`.
fn layer(b: &mut Builder, drafter: &Drafter, (behind, at): (usize, usize)) -> Vec<Op> {
    b.layer = behind + at;
    let (x, block) = (b.x, block(b, behind, at));
    let normed = b.norm(x, Role::AttnNorm);
    let update = b.attention(normed, block);
    let scale = drafter.value_scale.map(|scale| Op::Scale { x: update, factor: Factor::Number(scale) });
    scale.into_iter().for_each(|scale| b.push(scale));
    add(b, update, Role::AttnPostNorm);
    let normed = b.norm(x, Role::FfnNorm);
    let update = b.feed_forward(normed, if drafter.has_gelu { GateKind::GeGlu } else { GateKind::SwiGlu });
    add(b, update, Role::FfnPostNorm);
    if b.has(Role::LayerOutputScale) {
        b.scale_by(Role::LayerOutputScale);
    }
    b.take()
}

/// The attention of a layer of the drafter. Layers with a window turn as the others do.
fn block(b: &Builder, behind: usize, layer: usize) -> AttentionBlock {
    let own = AttentionBlock::new(b.config, RopeStyle::SplitHalf);
    let factors = of_layer(behind, named("rope_freqs.weight"));
    let factors = b.config.has_tensor(&factors.name()).then(|| RopeFactors::of(factors));
    let has_values = b.has(Role::AttnV);
    AttentionBlock {
        qk_norm: true,
        kv: if has_values { KeysAndValues::Own } else { KeysAndValues::ValuesAreKeys },
        v_norm: !has_values,
        scale: b.config.attention_scale.unwrap_or(own.scale),
        window: b.config.sliding_window.filter(|_| slides(b.config, layer)),
        sinks: b.has(Role::AttnSinks),
        rope: RopeTable { factors, ..own.rope },
        ..own
    }
}

/// Adds to the residual stream, by way of the norm of this role where there is one.
fn add(b: &mut Builder, update: Activation, norm: Role) {
    match b.has(norm) {
        true => b.add_normed(update, norm),
        false => b.add(update),
    }
}

/// Ends an attention where its keys and values are in the cache of this number.
fn keep(ops: &mut Vec<Op>, cache: usize) {
    let at = ops.iter().rposition(|op| matches!(op, Op::Attend { .. })).unwrap_or(0);
    ops.truncate(at + 1);
    if let Some(Op::Attend { keys, .. }) = ops.last_mut() {
        *keys = Keys::Kept(cache);
    }
}
