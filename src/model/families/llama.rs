//! Llama (Touvron et al. 2023, <https://arxiv.org/abs/2302.13971>) and the families that differ from it in details:
//! Mistral, SmolLM and TinyLlama say `llama`; Qwen 2 has biases, Qwen 3 norms over each head of q and k.

use super::super::program::{Program, RopeFactors, of_model};
use super::super::{GateKind, ModelConfig, Role, RopeStyle};
use super::builder::{AttentionBlock, Bias, Builder};

/// Llama 1 to 3, Mistral, SmolLM, TinyLlama; InternLM's conversions bring biases.
pub fn llama(config: &ModelConfig) -> Program {
    let block = AttentionBlock { bias: Bias::Optional, ..AttentionBlock::new(config, RopeStyle::Interleaved) };
    decoder(config, block)
}

/// Qwen 2 and 2.5 (<https://arxiv.org/abs/2412.15115>).
pub fn qwen2(config: &ModelConfig) -> Program {
    decoder(config, AttentionBlock { bias: Bias::Required, ..AttentionBlock::new(config, RopeStyle::SplitHalf) })
}

/// Qwen 3, dense (<https://arxiv.org/abs/2505.09388>).
pub fn qwen3(config: &ModelConfig) -> Program {
    decoder(config, AttentionBlock { qk_norm: true, ..AttentionBlock::new(config, RopeStyle::SplitHalf) })
}

/// Pre-norm layers of attention and SwiGLU. A file may have factors for the frequencies (Llama 3's long context).
fn decoder(config: &ModelConfig, mut block: AttentionBlock) -> Program {
    block.rope.factors = Some(RopeFactors::of(of_model(Role::RopeFreqs)));
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.attention(normed, block);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        b.add(update);
    });
    layers.head(None)
}
