//! HRM-Text (after the hierarchical reasoning model, Wang et al. 2025, <https://arxiv.org/abs/2506.21734>): two stacks
//! of layers with a residual stream each, which run in turns. Each run has its own KV cache.

use super::super::super::config::Stacks;
use super::super::super::program::{Activation, Combining, Factor, Norm, Op, Operand, Program, of_model};
use super::super::super::{ModelConfig, RopeStyle};
use super::super::builder::{AttentionBlock, Bias, Builder, Norms, named};
use super::super::llama::Decoder;

/// Norms have no weights, and a gate has a value for each value of a head.
pub fn hrm_text(config: &ModelConfig) -> Program {
    let Stacks { layers: size, low: runs, .. } = config.loops.stacks;
    let plain = AttentionBlock::new(config, RopeStyle::SplitHalf);
    let block = AttentionBlock { bias: Bias::Optional, head_gates: true, wide_gates: true, ..plain };
    let embedding_scale = config.embedding_scale.unwrap_or(1.0);
    let decoder = Decoder { config, embedding_scale, residual_scale: 1.0, block: &|_| block };
    let mut builder = Builder::new(config, embedding_scale);
    builder.norms = Norms::RmsBare;
    let high = builder.x;
    let low = builder.embed_more(|b| low_stream(b, high));
    let layers = builder.layers(|b, slot| {
        let (run, at) = (slot / size, slot % size);
        let is_high = run % (runs + 1) == runs;
        if at == 0 {
            let from = if is_high { low } else { high };
            b.x = if is_high { high } else { low };
            if run > 0 {
                b.push(Op::Add { x: from, scale: 1.0, to: b.x });
            }
        }
        b.layer = if is_high { size + at } else { at };
        decoder.layer(b, slot);
        // The last one is the norm before the head.
        if at + 1 == size && slot + 1 < config.layers {
            let plain = b.plain_rms(of_model(b.output_norm), config.hidden);
            b.push(Op::Norm { x: b.x, norm: Norm { weight: None, ..plain }, y: b.x });
        }
    });
    layers.head(None)
}

/// The stream of the low stack before its first run: the embedding and a learned vector, which is subtracted from the
/// negative.
fn low_stream(b: &mut Builder, high: Activation) -> Activation {
    let x = b.copy(high, "low stream");
    let negated = Op::Scale { x, factor: Factor::Number(-1.0) };
    b.push(negated.clone());
    let start = Operand::Vector(of_model(named("hrm.z_l_init")));
    b.push(Op::Combine { x, kind: Combining::Subtract, with: start });
    b.push(negated);
    x
}
