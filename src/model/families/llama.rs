//! Llama (Touvron et al. 2023, <https://arxiv.org/abs/2302.13971>) and the families that differ from it in details:
//! Mistral, SmolLM and TinyLlama say `llama`; Qwen 2 has biases, Qwen 3 norms over each head of q and k.

use super::super::condition::{Condition, Hearing};
use super::super::config::{RopeScaling, SlidingPattern};
use super::super::program::{Activation, Factor, Op, Program, RopeFactors, RopeTable, Temperature, of_layer, of_model};
use super::super::{GateKind, ModelConfig, PerLayer, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder, ExpertBlock, named};

/// Llama 1 to 3, Mistral, SmolLM, TinyLlama; InternLM's conversions bring biases. InternLM 2
/// (<https://arxiv.org/abs/2403.17297>) and ERNIE 4.5
/// (<https://ernie.baidu.com/blog/publication/ERNIE_Technical_Report.pdf>) have names of their own.
pub fn llama(config: &ModelConfig) -> Program {
    let block = AttentionBlock {
        bias: Bias::Optional,
        out_bias: Bias::Optional,
        ..AttentionBlock::new(config, RopeStyle::Interleaved)
    };
    decoder(config, block)
}

/// EXAONE 3 and 3.5 (<https://arxiv.org/abs/2412.04862>), openPangu Embedded (<https://arxiv.org/abs/2505.22375>), the
/// text of PaddleOCR-VL (<https://arxiv.org/abs/2510.14528>), and EuroBERT (<https://arxiv.org/abs/2503.05500>), whose
/// tokens see all others.
pub fn exaone(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    decoder(config, AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, ..plain })
}

/// OLMoE (<https://arxiv.org/abs/2409.02060>): norms over q and k as a whole, weights of experts that do not add up to
/// 1.
pub fn olmoe(config: &ModelConfig) -> Program {
    let block = AttentionBlock { whole_qk_norm: true, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    with_raw_routes(decoder(config, block))
}

/// Qwen 1 (<https://arxiv.org/abs/2309.16609>), whose files say twice the width of its feed-forward.
pub fn qwen(config: &ModelConfig) -> Program {
    let ffn = PerLayer::All(config.ffn.max() / 2);
    qwen2(&ModelConfig { ffn, ..config.clone() })
}

/// Qwen 2 and 2.5 (<https://arxiv.org/abs/2412.15115>), and the text of Qwen 2 and 2.5 VL. Models made of them may lack
/// the biases.
pub fn qwen2(config: &ModelConfig) -> Program {
    decoder(config, AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, RopeStyle::SplitHalf) })
}

/// Qwen 1.5 and 2 with experts (<https://qwenlm.github.io/blog/qwen-moe/>), whose weights do not add up to 1.
pub fn qwen2_moe(config: &ModelConfig) -> Program {
    let block = AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, RopeStyle::SplitHalf) };
    with_raw_routes(decoder(config, block))
}

/// Qwen 3 (<https://arxiv.org/abs/2505.09388>) and the text of Qwen 3 VL, dense and with experts; OpenELM
/// (<https://arxiv.org/abs/2404.14619>), whose layers differ in heads and feed-forward.
pub fn qwen3(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    decoder(config, AttentionBlock { bias: Bias::Optional, qk_norm: true, ..plain })
}

/// Mellum 2 (<https://huggingface.co/JetBrains>): Qwen 3 with experts, whose layers with a window have plain rotations.
pub fn mellum(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let full = AttentionBlock { bias: Bias::Optional, qk_norm: true, ..plain };
    let mut sliding = in_window(config, full);
    sliding.rope.scaling = RopeScaling::NONE;
    let pattern = config.sliding_pattern.clone().unwrap_or(SlidingPattern::Every(4));
    let slides = |layer| config.sliding_window.is_some() && pattern.slides(layer);
    let block = |layer| if slides(layer) { sliding } else { full };
    let decoder = Decoder { config, embedding_scale: 1.0, residual_scale: 1.0, block: &block };
    // The block behind the layers has a window where the file's list says so.
    let listed = matches!(pattern, SlidingPattern::Layers(_)) && slides(config.layers);
    let behind = Decoder { block: &|_| if listed { sliding } else { full }, ..decoder };
    let mut builder = Builder::new(config, 1.0);
    builder.ffn_bias = Bias::Optional;
    let layers = builder.layers(|b, layer| decoder.layer(b, layer));
    layers.predicting_next(|b| behind.layer(b, config.layers)).head(None)
}

/// Hunyuan, dense (<https://github.com/Tencent-Hunyuan>): norms over each head of q and k after the rotation.
pub fn hunyuan_dense(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    decoder(config, AttentionBlock { bias: Bias::Optional, rotated_qk_norm: true, ..plain })
}

/// Maincode's Maincoder (<https://huggingface.co/Maincode/Maincoder-1B>): the same with pairs of neighbours.
pub fn maincoder(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    decoder(config, AttentionBlock { bias: Bias::Optional, rotated_qk_norm: true, ..plain })
}

/// Nanbeige (<https://huggingface.co/Nanbeige>): Llama whose layers may run several times.
pub fn nanbeige(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    let block = with_factors(AttentionBlock { bias: Bias::Optional, ..plain }, config);
    let mut builder = Builder::new(config, 1.0);
    builder.loops = config.loops;
    let decoder = Decoder { config, embedding_scale: 1.0, residual_scale: 1.0, block: &|_| block };
    builder.layers(|b, layer| decoder.layer(b, layer)).head(None)
}

/// SmolLM 3 (<https://huggingface.co/blog/smollm3>): every fourth layer has no rotation (Yang et al. 2025,
/// <https://arxiv.org/abs/2501.18795>).
pub fn smollm3(config: &ModelConfig) -> Program {
    let block = AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, RopeStyle::Interleaved) };
    let layer =
        |layer: usize| if (layer + 1).is_multiple_of(4) { block.unrotated() } else { with_factors(block, config) };
    Decoder { config, embedding_scale: 1.0, residual_scale: 1.0, block: &layer }.program()
}

/// Granite 3 and 4 without recurrent layers (<https://arxiv.org/abs/2407.13739>): embeddings, updates, scores and
/// logits have factors of their own (after Yang et al. 2022, <https://arxiv.org/abs/2203.03466>).
pub fn granite(config: &ModelConfig) -> Program {
    let block = granite_attention(config);
    let program = Decoder {
        embedding_scale: config.embedding_scale.unwrap_or(1.0),
        residual_scale: config.residual_scale.unwrap_or(1.0),
        block: &|_| block,
        config,
    }
    .program();
    divide_logits(program, config)
}

/// Granite 4.1 with windows: a layer may have one or not, be rotated or not, and each head has a sink. Gate and up of
/// the shared expert are one tensor.
pub fn granite_swa(config: &ModelConfig) -> Program {
    let full = AttentionBlock { sinks: true, ..granite_attention(config) };
    let sliding = AttentionBlock { window: config.sliding_window, ..full };
    let has = |pattern: &Option<SlidingPattern>, layer| pattern.as_ref().map(|pattern| pattern.slides(layer));
    let decoder = Decoder {
        embedding_scale: config.embedding_scale.unwrap_or(1.0),
        residual_scale: config.residual_scale.unwrap_or(1.0),
        block: &|layer| {
            let slides = has(&config.sliding_pattern, layer).unwrap_or(false);
            let block = if slides { sliding } else { full };
            if has(&config.rope_pattern, layer).unwrap_or(true) { block } else { block.unrotated() }
        },
        config,
    };
    let mut builder = Builder::new(config, decoder.embedding_scale);
    builder.ffn_bias = Bias::Optional;
    let shared = config.experts.shared_ffn;
    let layers = builder.layers(|b, layer| {
        if !b.has(Role::SharedGate) {
            b.fused(Role::SharedUp, 1, &[(Role::SharedGate, shared), (Role::SharedUp, shared)]);
        }
        decoder.layer(b, layer);
    });
    divide_logits(layers.head(None), config)
}

/// Spark 2.5 (<https://huggingface.co/iflytek>): windows by the file's list, rotated by numbers of their own, a gate
/// for each head, GeGLU.
pub fn spark(config: &ModelConfig) -> Program {
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let full = AttentionBlock { bias: Bias::Optional, head_gates: true, ..plain };
    let sliding = in_window(config, full);
    let layers = Builder::new(config, 1.0).layers(|b, layer| {
        let slides = config.sliding_pattern.as_ref().is_some_and(|pattern| pattern.slides(layer));
        b.normed_layer(if slides { sliding } else { full }, |b, x| b.feed_forward(x, GateKind::GeGlu));
    });
    layers.head(None)
}

/// The attention of a layer with a window.
pub fn in_window(config: &ModelConfig, full: AttentionBlock) -> AttentionBlock {
    let theta = config.rope_theta_sliding.unwrap_or(config.rope_theta);
    let rope = RopeTable { theta, dims: config.rope_dims_sliding, ..full.rope };
    AttentionBlock { rope, window: config.sliding_window, ..full }
}

/// MiniCPM (<https://arxiv.org/abs/2404.06395>): Granite's factors, which older files do not say.
pub fn minicpm(config: &ModelConfig) -> Program {
    let mut config = ModelConfig { attention_scale: None, ..config.clone() };
    config.embedding_scale.get_or_insert(12.0);
    config.residual_scale.get_or_insert(1.4 / (config.layers as f32).sqrt());
    config.logit_scale.get_or_insert(256.0 / config.hidden as f32);
    granite(&config)
}

/// Granite's attention: with the file's scale of scores, and not rotated where the file says so.
pub fn granite_attention(config: &ModelConfig) -> AttentionBlock {
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    let scale = config.attention_scale.unwrap_or(plain.scale);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, scale, ..plain };
    if config.rope_unused { block.unrotated() } else { with_factors(block, config) }
}

/// Divides the logits by the file's scale.
pub fn divide_logits(mut program: Program, config: &ModelConfig) -> Program {
    let logits = program.head.last().map(|op| op.writes());
    let scale = |x| Some(Op::Scale { x, factor: Factor::Number(config.logit_scale?.recip()) });
    program.head.extend(logits.and_then(scale));
    program
}

/// Ministral 3 and Mistral 3 (<https://arxiv.org/abs/2601.08584>): YaRN, and a temperature for far queries. Voxtral
/// Realtime (<https://huggingface.co/mistralai/Voxtral-Mini-4B-Realtime-2602>) is told by norms how far its words may
/// lag behind a sound, a row of which is added to the embedding of each token.
pub fn mistral3(config: &ModelConfig) -> Program {
    let temperature = config.attention_temperature.map(|scale| Temperature { scale, span: config.original_context });
    let plain = AttentionBlock::new(config, RopeStyle::Interleaved);
    let block = AttentionBlock { bias: Bias::Optional, out_bias: Bias::Optional, temperature, ..plain };
    let mut program = decoder(config, block);
    if let Some([delay, inner]) = config.delay {
        let by = ["ffn_norm_ada_down.weight", "ffn_norm_ada_up.weight"].map(named);
        let condition = |layer| Condition {
            norm: of_layer(layer, Role::FfnNorm),
            by: by.map(|role| of_layer(layer, role)),
            sizes: [config.hidden, inner],
            number: delay as u32,
        };
        let conditions = (0..config.layers).map(condition).collect();
        let (x, to) = (program.activation("beside", config.hidden), program.residual());
        program.embed.push(Op::Input { y: x });
        if let Some(first) = program.layers.first_mut() {
            first.insert(0, Op::Add { x, scale: 1.0, to });
        }
        program.hearing = Some(Hearing { beside: x, conditions });
    }
    program
}

/// Divides the frequencies by what the file has: Llama 3's factors, or those of long RoPE.
pub fn with_factors(mut block: AttentionBlock, config: &ModelConfig) -> AttentionBlock {
    let [short, long] = [Role::RopeFactorsShort, Role::RopeFactorsLong].map(of_model);
    let by_context = [short, long].iter().any(|key| config.has_tensor(&key.name()));
    block.rope.factors = Some(match by_context {
        true => RopeFactors { short, long, original_context: config.original_context },
        false => RopeFactors::of(of_model(Role::RopeFreqs)),
    });
    block
}

/// Pre-norm layers of attention and SwiGLU, whose biases are the file's; with experts Mixtral's
/// (<https://arxiv.org/abs/2401.04088>).
pub struct Decoder<'a> {
    pub config: &'a ModelConfig,
    pub embedding_scale: f32,
    /// Factor of everything that is added to the residual stream.
    pub residual_scale: f32,
    /// The attention of a layer.
    pub block: &'a dyn Fn(usize) -> AttentionBlock,
}

impl Decoder<'_> {
    fn program(self) -> Program {
        let mut builder = Builder::new(self.config, self.embedding_scale);
        builder.ffn_bias = Bias::Optional;
        builder.layers(|b, layer| self.layer(b, layer)).head(None)
    }

    pub fn layer(&self, b: &mut Builder, layer: usize) {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, (self.block)(layer));
        b.add_scaled(update, self.residual_scale);
        let normed = b.norm(b.x, Role::FfnNorm);
        feed_forward(b, normed, self.residual_scale);
    }
}

/// Adds one feed-forward, or experts with or without one that all tokens share, to the residual stream.
pub fn feed_forward(b: &mut Builder, normed: Activation, residual_scale: f32) {
    let experts = &b.config.experts;
    if experts.experts.count == 0 {
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        return b.add_scaled(update, residual_scale);
    }
    let mut block = ExpertBlock::new(b.config);
    block.routing.scale *= residual_scale;
    let update = b.experts(normed, block);
    b.add(update);
    if experts.shared_ffn > 0 {
        let update = match b.has(Role::SharedRouter) {
            true => b.gated_shared_expert(normed, GateKind::SwiGlu),
            false => b.shared_expert(normed, GateKind::SwiGlu),
        };
        b.add_scaled(update, residual_scale);
    }
}

/// The experts' weights as the router gives them, whatever they add up to.
fn with_raw_routes(mut program: Program) -> Program {
    for op in program.layers.iter_mut().flatten() {
        if let Op::Route { routing, .. } = op {
            routing.normalise = false;
        }
    }
    program
}

/// The same attention in all layers.
pub fn decoder(config: &ModelConfig, block: AttentionBlock) -> Program {
    let block = with_factors(block, config);
    Decoder { config, embedding_scale: 1.0, residual_scale: 1.0, block: &|_| block }.program()
}
