//! Multi-head latent attention (DeepSeek-V2, <https://arxiv.org/abs/2405.04434>): DeepSeek-V2 and V3, Moonlight, GLM
//! 4.7 Flash and others with their layers; MiniCPM 3.
//!
//! A token's keys and values of all heads are products of one latent vector, and all heads share what of a key is
//! rotated. Scores and results are computed with the latent vectors themselves (the paper's absorbed form): queries go
//! through the matrices of keys turned around, results through those of values. So there is one kv head, whose key is
//! the latent vector and the rotated values, and whose value is the latent vector.

use super::super::super::config::Latent;
use super::super::super::program::{Activation, AttentionSpec, Gating, HeadRows, Keys, Op, Program, RopeTable};
use super::super::super::{ActivationKind, GateKind, ModelConfig, PerLayer, Role, RopeStyle};
use super::super::builder::{AttentionBlock, Builder, ExpertBlock};
use super::super::llama::{divide_logits, with_factors};

/// Vocabulary and layers of GLM 4.7 Flash, whose first files do not say how experts are chosen.
const GLM_FLASH: (usize, [usize; 2]) = (154_880, [47, 48]);

/// DeepSeek-V2, V2-Lite and V3 (<https://arxiv.org/abs/2412.19437>), Moonlight (<https://arxiv.org/abs/2502.16982>),
/// GLM 4.7 Flash: the first layers dense, experts beside one that all tokens share.
pub fn deepseek2(config: &ModelConfig) -> Program {
    let mut config = config.clone();
    let is_glm = config.vocab == GLM_FLASH.0 && GLM_FLASH.1.contains(&config.layers);
    let experts = &mut config.experts;
    experts.normalise.get_or_insert(false);
    experts.gating.get_or_insert(if is_glm { Gating::Sigmoid } else { Gating::Softmax });
    experts.shared_ffn = experts.ffn.as_ref().map_or(0, PerLayer::max) * experts.shared_count;
    let dense = config.experts.leading_dense;
    let attention = LatentBlock::new(&config, RopeStyle::Interleaved).scaled_by_yarn();
    let layer = |b: &mut Builder, layer: usize| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.latent_attention(normed, &attention);
        b.add(update);
        let experts = ExpertBlock::new(b.config);
        b.dense_or_experts(layer < dense, experts, b.config.experts.shared_ffn > 0);
    };
    let layers = Builder::new(&config, 1.0).layers(layer);
    layers.predicting_next(|b| layer(b, config.layers)).head(None)
}

/// MiniCPM 3 (<https://huggingface.co/openbmb/MiniCPM3-4B>): MiniCPM's factors, which its files do not say.
pub fn minicpm3(config: &ModelConfig) -> Program {
    let attention = LatentBlock::new(config, RopeStyle::SplitHalf);
    let residual_scale = 1.4 / (config.layers as f32).sqrt();
    let layers = Builder::new(config, 12.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.latent_attention(normed, &attention);
        b.add_scaled(update, residual_scale);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward(normed, GateKind::SwiGlu);
        b.add_scaled(update, residual_scale);
    });
    let logit_scale = Some(config.hidden as f32 / 256.0);
    divide_logits(layers.head(None), &ModelConfig { logit_scale, ..config.clone() })
}

/// PLM (<https://arxiv.org/abs/2503.12167>): a feed-forward of squared ReLUs, without a gate.
pub fn plm(config: &ModelConfig) -> Program {
    let attention = LatentBlock::new(config, RopeStyle::Interleaved);
    let layers = Builder::new(config, 1.0).layers(|b, _| {
        let normed = b.norm(b.x, Role::AttnNorm);
        let update = b.latent_attention(normed, &attention);
        b.add(update);
        let normed = b.norm(b.x, Role::FfnNorm);
        let update = b.feed_forward_plain(normed, ActivationKind::ReluSquared);
        b.add(update);
    });
    layers.head(None)
}

/// The attention of all layers.
struct LatentBlock {
    latent: Latent,
    rope: RopeTable,
    scale: f32,
}

impl LatentBlock {
    fn new(config: &ModelConfig, style: RopeStyle) -> Self {
        // The configuration of these families always has the numbers.
        let latent = config.latent.expect("a family with latent attention");
        let plain = with_factors(AttentionBlock::new(config, style), config);
        let rope = RopeTable { dims: latent.rope, first: latent.rank, ..plain.rope };
        Self { latent, rope, scale: (latent.key as f32).sqrt().recip() }
    }

    /// With YaRN's factor in the scale of scores, twice: queries and keys have one each.
    fn scaled_by_yarn(self) -> Self {
        let scaling = self.rope.scaling;
        let Some(_) = scaling.yarn else { return self };
        let factor = scaling.magnitude * (1.0 + self.latent.log_multiplier * scaling.scale.recip().ln());
        Self { scale: self.scale * factor * factor, ..self }
    }
}

impl Builder<'_> {
    /// Attention over the latent vectors of `x`, normalised before.
    fn latent_attention(&mut self, x: Activation, block: &LatentBlock) -> Activation {
        let Latent { rank, rope, key, value, .. } = block.latent;
        let (heads, width) = (self.config.heads.of(self.layer), block.latent.width());
        let (queries_of, of_queries) = match block.latent.query_rank {
            Some(rank) => (self.linear(x, Role::AttnQA, None, ("query latent", rank)), Role::AttnQB),
            None => (x, Role::AttnQ),
        };
        let queries = [(Role::AttnQNope, "q nope", key - rope), (Role::AttnQRope, "q rope", rope)];
        self.fused(of_queries, heads, &queries.map(|(role, _, width)| (role, width)));
        let keys = [(Role::AttnKvLatent, "latent", rank), (Role::AttnKRope, "k rope", rope)];
        self.fused(Role::AttnKvA, 1, &keys.map(|(role, _, width)| (role, width)));
        let of_heads = |(role, name, width): (Role, &'static str, usize)| (role, (name, heads * width));
        let products = |b: &mut Self, x: Activation| queries.map(of_heads).map(|(role, y)| b.linear(x, role, None, y));
        // Products of one activation stand side by side.
        let early = (of_queries == Role::AttnQ).then(|| products(self, x));
        let [latent, k_rope] = keys.map(|(role, name, width)| self.linear(x, role, None, (name, width)));
        let [q_nope, q_rope] = early.unwrap_or_else(|| {
            // Rows that a product reads follow each other.
            let queries_of = self.copy(queries_of, "copy");
            let normed = self.norm(queries_of, Role::AttnQANorm);
            products(self, normed)
        });
        let latent = self.norm(latent, Role::AttnKvANorm);
        let absorbed = self.of_keys(q_nope, block, heads);
        let q = self.join_heads([absorbed, q_rope], heads, ("q", heads * width));
        let k = self.join_heads([latent, k_rope], 1, ("k", width));
        let table = self.program.rope_table(block.rope);
        self.ops.extend([q, k].map(|x| Op::Rope { x, head_dim: width, table }));
        let attention = AttentionSpec { value_dim: rank, ..AttentionSpec::plain([heads, 1, width], block.scale) };
        let y = self.program.activation("attended", attention.attended_width());
        self.caches += 1;
        self.ops.push(Op::Attend { q, kv: Some([k, k]), attention, keys: Keys::Cached(self.caches - 1), y });
        let values = self.of_values(y, block, heads);
        debug_assert_eq!(self.program.width(values), heads * value);
        self.linear(values, Role::AttnOut, None, ("update", self.config.hidden))
    }

    /// Queries times the matrices of keys turned around.
    fn of_keys(&mut self, x: Activation, block: &LatentBlock, heads: usize) -> Activation {
        let y = self.program.activation("q absorbed", heads * block.latent.rank);
        self.of_heads([x, y], (block, Role::AttnKB), heads, (0, true))
    }

    /// Results over latent vectors times the matrices of values.
    fn of_values(&mut self, x: Activation, block: &LatentBlock, heads: usize) -> Activation {
        let Latent { rope, key, value, .. } = block.latent;
        let y = self.program.activation("head values", heads * value);
        self.of_heads([x, y], (block, Role::AttnVB), heads, (key - rope, false))
    }

    /// Products of heads with a tensor of the file where it is `split`, else with rows of the one that has all.
    fn of_heads(
        &mut self,
        [x, y]: [Activation; 2],
        (block, split): (&LatentBlock, Role),
        heads: usize,
        (first, transposed): (usize, bool),
    ) -> Activation {
        let Latent { rope, key, value, is_split, .. } = block.latent;
        let rows = HeadRows { of: key - rope + value, first, transposed };
        self.ops.push(match is_split {
            true => Op::HeadLinear { x, weight: self.weight(split), heads, y },
            false => Op::HeadValues { x, weight: self.weight(Role::AttnKvB), heads, rows, y },
        });
        y
    }

    fn join_heads(&mut self, parts: [Activation; 2], heads: usize, y: (&'static str, usize)) -> Activation {
        let y = self.program.activation(y.0, y.1);
        self.ops.push(Op::JoinHeads { parts, heads, y });
        y
    }
}
