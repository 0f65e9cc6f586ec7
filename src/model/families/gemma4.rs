//! Gemma 4, text (<https://ai.google.dev/gemma/docs/core/model_card_4>): Gemma 3's layers with heads that are larger in
//! the full layers, values normalised without a weight, scores that are not scaled, and layers at the end that re-use
//! the
//! keys and values of earlier ones. E2B and E4B add an embedding per layer.

use super::super::config::{SlidingPattern, WholeImages};
use super::super::program::{
    Activation, ExpertActivation, Norm, NormKind, Op, Program, RopeFactors, RopeTable, Routing, of_model,
};
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Builder, ExpertBlock, KeysAndValues};

/// The soft cap of logits where a file has none; 0 in a file means no cap.
const FINAL_SOFT_CAP: f32 = 30.0;

/// E2B and E4B, which have these widths, read images as they read text.
pub fn whole_images(config: &ModelConfig) -> WholeImages {
    if [1536, 2560].contains(&config.hidden) { WholeImages::Never } else { WholeImages::InWindows }
}

/// The program. With a pooling type it is EmbeddingGemma 2: tokens see all others, and the values per layer are only
/// projections of the embedding.
pub fn gemma4(config: &ModelConfig) -> Program {
    let scale = (config.hidden as f32).sqrt();
    let mut caches = Vec::new();
    let mut builder = Builder::new(config, scale);
    let per_layer = config.per_layer_embedding.map(|width| {
        let write = if config.embedder.pooling.is_some() { per_layer_projections } else { per_layer_embeddings };
        (builder.embed_more(|b| write(b, width)), width)
    });
    let layers = builder.layers(|b, layer| {
        let block = block(config, layer, &mut caches, b.caches);
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add_normed(update, Role::AttnPostNorm);
        let normed = b.norm(b.x, Role::FfnNorm);
        let mut update = b.feed_forward(normed, GateKind::GeGlu);
        if config.experts.experts.count > 0 && b.has(Role::Router) {
            update = add_experts(b, update);
        }
        b.add_normed(update, Role::FfnPostNorm);
        if let Some((embedded, width)) = per_layer {
            let gate = b.linear(b.x, Role::PerLayerGate, None, ("per-layer gate", width));
            let gated = b.gate_part(gate, (embedded, layer * width), GateKind::GeGlu);
            let update = b.linear(gated, Role::PerLayerProj, None, ("update", config.hidden));
            b.add_normed(update, Role::PerLayerPostNorm);
        }
        if config.has_tensor(&format!("blk.{layer}.layer_output_scale.weight")) {
            b.scale_by(Role::LayerOutputScale);
        }
    });
    layers.head(Some(config.final_soft_cap.unwrap_or(FINAL_SOFT_CAP)).filter(|&cap| cap != 0.0))
}

/// The attention of a layer. `caches` says of each layer so far which cache it reads, `next` is the first that is free.
fn block(config: &ModelConfig, layer: usize, caches: &mut Vec<usize>, next: usize) -> AttentionBlock {
    let default = config.embedder.pooling.map_or(SlidingPattern::Layers(Vec::new()), |_| SlidingPattern::Every(6));
    let pattern = config.sliding_pattern.clone().unwrap_or(default);
    let slides = config.sliding_window.is_some() && pattern.slides(layer);
    let full =
        AttentionBlock { qk_norm: true, v_norm: true, scale: 1.0, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    let block = if slides {
        let sliding = full.sliding(config);
        let rope = RopeTable { dims: config.rope_dims_sliding, ..sliding.rope };
        AttentionBlock { rope, head_dim: config.head_dim_sliding, ..sliding }
    } else {
        let rope = RopeTable { factors: Some(RopeFactors::of(of_model(Role::RopeFreqs))), ..full.rope };
        AttentionBlock { rope, ..full }
    };
    let own = config.layers - config.shared_kv_layers.min(config.layers);
    let kv = match layer.checked_sub(own) {
        // The last sliding layer and the last full layer with keys of their own are neighbours.
        Some(_) => {
            KeysAndValues::Shared(caches.get(own.wrapping_sub(if slides { 2 } else { 1 })).copied().unwrap_or(0))
        }
        None if has_no_values(config, layer) => KeysAndValues::ValuesAreKeys,
        None => KeysAndValues::Own,
    };
    caches.push(next);
    AttentionBlock { kv, ..block }
}

fn has_no_values(config: &ModelConfig, layer: usize) -> bool {
    let has = |name: &str| config.has_tensor(&format!("blk.{layer}.{name}.weight"));
    has("attn_k") && !has("attn_v")
}

/// The sum of `dense` and of experts, each after its norm. The router sees the residual stream after a norm of its own,
/// divided by √hidden.
fn add_experts(b: &mut Builder, dense: Activation) -> Activation {
    let (eps, hidden) = (b.config.norm_eps, b.config.hidden);
    let rms =
        |weight| Norm { kind: NormKind::Rms, weight: Some(weight), bias: None, width: hidden, is_grouped: false, eps };
    let sum = b.activation("feed-forwards", hidden);
    b.push(Op::Norm { x: dense, norm: rms(b.weight(Role::DensePostNorm)), y: sum });
    let routed = b.activation("router input", hidden);
    b.push(Op::Norm { x: b.x, norm: rms(b.weight(Role::RouterScale)), y: routed });
    let normed = b.norm(b.x, Role::ExpertPreNorm);
    let plain = ExpertBlock::new(b.config);
    let routing = Routing { logit_scale: (hidden as f32).sqrt().recip(), ..plain.routing };
    let down_scales = b.has(Role::ExpertDownScale);
    let block = ExpertBlock { routing, activation: ExpertActivation::GeGlu, down_scales, ..plain };
    let update = b.experts_by(routed, normed, block);
    let normed = b.norm(update, Role::ExpertPostNorm);
    b.push(Op::Add { x: normed, scale: 1.0, to: sum });
    sum
}

/// For each layer `width` values: `(√width · table[token] + norm(W · x / √hidden)) / √2`.
pub fn per_layer_embeddings(b: &mut Builder, width: usize) -> Activation {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let rows = b.activation("per-layer inputs", width * b.config.layers);
    let table = of_model(Role::PerLayerTokenEmbedding);
    b.push(Op::Embed { table, rows: b.config.vocab, scale: (width as f32).sqrt() * half, y: rows });
    let y = per_layer_projections(b, width);
    b.push(Op::Add { x: y, scale: half, to: rows });
    rows
}

/// For each layer `width` values: `norm(W · x / √hidden)`.
fn per_layer_projections(b: &mut Builder, width: usize) -> Activation {
    let config = b.config;
    let y = b.activation("per-layer projection", width * config.layers);
    b.push(Op::Linear { x: b.x, weight: of_model(Role::PerLayerModelProj), bias: None, y });
    // The norm of x / √hidden is that of x with a larger epsilon.
    let weight = Some(of_model(Role::PerLayerProjNorm));
    let eps = config.norm_eps * config.hidden as f32;
    let norm = Norm { kind: NormKind::Rms, weight, bias: None, width, is_grouped: false, eps };
    b.push(Op::Norm { x: y, norm, y });
    y
}
