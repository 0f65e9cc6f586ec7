//! Gemma 4's assistants (<https://ai.google.dev/gemma/docs/mtp/overview>), drafters: layers without keys and values of
//! their own, which read the caches of the model's last full layer and of its last layer with a window.

use super::super::super::drafter::{Drafted, Drafter, Kind, check_same};
use super::super::super::program::{
    AttentionSpec, Keys, LOGITS, Op, Program, RopeFactors, RopeTable, of_layer, of_model,
};
use super::super::super::{GateKind, ModelConfig, PerLayer, Role, RopeStyle};
use super::super::behind::{STATE, norm_of};
use super::super::builder::{AttentionBlock, Builder, KeysAndValues, named};
use crate::gguf::Gguf;
use crate::{Error, Result};

/// What `tools/oracle/make_drafters.py` makes files of.
pub(super) const ASSISTANT: Kind = Kind { name: "gemma4-assistant", read, program };

pub(super) fn refused(message: impl std::fmt::Display) -> Error {
    Error::invalid_argument(format!("option 'draft': {message}"))
}

/// The cache that the last layer with or without a window reads, and its shape.
fn last_of(program: &Program, slides: bool) -> Option<(usize, AttentionSpec)> {
    program.layers.iter().flatten().rev().find_map(|op| match op {
        Op::Attend { attention, keys: Keys::Cached(cache), .. } if attention.window.is_some() == slides => {
            Some((*cache, *attention))
        }
        _ => None,
    })
}

pub(super) fn slides(config: &ModelConfig, layer: usize) -> bool {
    config.sliding_window.is_some() && config.sliding_pattern.as_ref().is_some_and(|pattern| pattern.slides(layer))
}

fn read(gguf: &Gguf, model: &ModelConfig, drafter: &mut Drafter) -> Result<()> {
    if model.architecture != "gemma4" {
        return Err(refused(format!("a drafter of architecture gemma4, here it is {}", model.architecture)));
    }
    let width = gguf.metadata.u64("gemma4-assistant.embedding_length_out")?.unwrap_or(0) as usize;
    check_same("width of the model's residual stream", [width, model.hidden])?;
    let (config, target) = (&mut drafter.config, super::super::program(model));
    for layer in 0..config.layers {
        let slides = slides(config, layer);
        let kind = if slides { "with a window" } else { "without a window" };
        let Some((_, read)) = last_of(&target, slides) else {
            return Err(refused(format!("layer {layer} reads a layer {kind}, the model has none")));
        };
        let (window, head_dim) = match slides {
            true => (config.sliding_window.unwrap_or(0), config.head_dim_sliding),
            false => (0, config.head_dim),
        };
        for (what, found, expected) in [
            ("number of kv heads", config.kv_heads.of(layer), read.kv_heads),
            ("values of a head", head_dim, read.head_dim),
            ("window", window, read.window.unwrap_or(0)),
        ] {
            check_same(&format!("{what} in layer {layer}"), [found, expected])?;
        }
        if window == 1 {
            return Err(refused(format!("layer {layer} has a window of 1, expected 2 or more")));
        }
    }
    number_behind(config, model.layers);
    Ok(())
}

/// Gives the layers the numbers behind a model's.
pub(super) fn number_behind(config: &mut ModelConfig, layers: usize) {
    for of in [&mut config.heads, &mut config.kv_heads, &mut config.ffn] {
        if let PerLayer::Each(counts) = of {
            counts.splice(..0, (0..layers).map(|_| 0));
        }
    }
}

/// Behind a model's program.
fn program(program: Program, model: &ModelConfig, drafter: &Drafter) -> Program {
    let config = &drafter.config;
    let caches = [false, true].map(|slides| last_of(&program, slides).map_or(0, |(cache, _)| cache));
    let mut b = Builder::behind(config, program, model.layers);
    let state = b.activation(STATE, model.hidden);
    let hands_on = norm_of(&b.program.head, state);

    let before = b.activation("hidden state before", model.hidden);
    let embedded = b.activation("embedding of the model", model.hidden);
    let joined = b.activation("embedding and hidden state", 2 * model.hidden);
    let (x, table, scale) = (b.x, of_model(Role::TokenEmbedding), (model.hidden as f32).sqrt());
    b.push(Op::Input { y: before });
    b.push(Op::Embed { table, rows: config.vocab, scale, y: embedded });
    b.push(Op::JoinHeads { parts: [embedded, before], heads: 1, y: joined });
    let weight = b.weight(named("nextn.pre_projection.weight"));
    b.push(Op::Linear { x: joined, weight, bias: None, y: x });
    let embed = b.take();

    let mut layers = Vec::new();
    for layer in 0..config.layers {
        b.layer = model.layers + layer;
        let block = block(config, model.layers, slides(config, layer), caches);
        let normed = b.norm(x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add_normed(update, Role::AttnPostNorm);
        let normed = b.norm(x, Role::FfnNorm);
        let update = b.feed_forward(normed, GateKind::GeGlu);
        b.add_normed(update, Role::FfnPostNorm);
        b.scale_by(Role::LayerOutputScale);
        layers.push(b.take());
    }

    b.layer = model.layers;
    let logits = b.activation(LOGITS, config.vocab);
    let [head, own] = [("token_embd.weight", logits), ("nextn.post_projection.weight", state)].map(|(name, y)| {
        let normed = b.norm(x, named("output_norm.weight"));
        let weight = b.weight(named(name));
        b.push(Op::Linear { x: normed, weight, bias: None, y });
        b.take()
    });

    let drafted = Drafted { earlier: true, held: true, ..Drafted::default() };
    let mut made = b.program;
    let next = Program { embed, layers, head, hands_on: own, drafted, ..made.clone() };
    (made.hands_on, made.next) = (hands_on, Some(next.into()));
    made
}

/// The attention of a layer over one of the model's caches: of a full layer, or of one with a window.
fn block(config: &ModelConfig, behind: usize, slides: bool, caches: [usize; 2]) -> AttentionBlock {
    let full = AttentionBlock {
        qk_norm: true,
        scale: 1.0,
        kv: KeysAndValues::Shared(caches[usize::from(slides)]),
        ..AttentionBlock::new(config, RopeStyle::SplitHalf)
    };
    if slides {
        let sliding = full.sliding(config);
        let rope = RopeTable { dims: config.rope_dims_sliding, ..sliding.rope };
        return AttentionBlock { rope, head_dim: config.head_dim_sliding, ..sliding };
    }
    let factors = RopeFactors::of(of_layer(behind, named("rope_freqs.weight")));
    AttentionBlock { rope: RopeTable { factors: Some(factors), ..full.rope }, ..full }
}
