//! The buffers of a run besides the weights: state, tokens, activations, KV cache, what sampling needs.

use super::plan::Plan;
use super::{CHUNK, Splits};
use crate::config::ModelConfig;
use crate::kernels::argmax::{Commit, partial_argmax_bytes};
use crate::kernels::attention::split_count;
use crate::kernels::mat_mul_int8::Quants;
use crate::kernels::mat_mul_subgroup_matrix::Halves;
use crate::kernels::rope_kv::{Cache, Heads};
use crate::kernels::sample::{Options, scratch_bytes};
use crate::kernels::spec::Slice;
use crate::kernels::state::State;

/// Keys and values of one layer.
pub type LayerCache = Cache;

/// Activations of a pass of up to [`CHUNK`] tokens; decode uses the first row.
#[derive(Debug, Clone, Copy)]
pub struct Activations {
    /// `[tokens, hidden]`: the residual stream.
    pub x: Slice,
    /// `[tokens, hidden]`
    pub normed: Slice,
    /// `[tokens, heads + 2 kv_heads, head_dim]`
    pub qkv: Slice,
    /// `[tokens, heads, head_dim]`
    pub q: Slice,
    /// `[tokens, heads, head_dim]`
    pub attended: Slice,
    /// `[tokens, 2 ffn]`
    pub gate_up: Slice,
    /// `[tokens, ffn]`
    pub activated: Slice,
    /// Any of `normed`, `attended` and `activated` in 8 bits.
    pub quants: Quants,
    /// The same in f16, in the same buffers: a device does one or the other.
    pub halves: Halves,
    /// `[vocab]`
    pub logits: Slice,
    /// Scratch of a decode step's attention.
    pub splits: Splits,
}

/// What choosing a token needs.
#[derive(Debug, Clone, Copy)]
pub struct SampleBuffers {
    /// Length, then end-of-generation ids.
    pub stops: Slice,
    /// PartialArgmaxes of the segments of logits.
    pub partial_argmaxes: Slice,
    /// What the sampling kernels hand on.
    pub scratch: Slice,
    /// [`crate::kernels::sample::Options`] of the run.
    pub options: Slice,
    /// `[vocab]` counts of tokens, see [`crate::sampler::counts_of_prompt`].
    pub counts: Slice,
}

/// End-of-generation ids that a run may have, at most.
pub const MAX_STOPS: usize = 64;

/// All buffers of a run besides the weights.
#[derive(Debug, Clone)]
pub struct Buffers {
    /// The run's [`State`].
    pub state: Slice,
    /// Ids of the pass, `[CHUNK]`; decode reads the first.
    pub tokens: Slice,
    /// RoPE frequencies, see [`crate::kernels::rope_kv::frequency_table`].
    pub frequencies: Slice,
    /// Bound where a kernel's variant does not read a binding.
    pub dummy: Slice,
    /// Shape of attention.
    pub heads: Heads,
    /// Of the pass.
    pub activations: Activations,
    /// Per layer.
    pub cache: Vec<LayerCache>,
    /// Of the sampler.
    pub sample: SampleBuffers,
}

impl Buffers {
    /// Allocates the buffers of a run with `context` positions.
    pub fn alloc(config: &ModelConfig, context: usize, plan: &mut Plan) -> Self {
        let heads = Heads {
            heads: config.heads as u32,
            kv_heads: config.kv_heads as u32,
            head_dim: config.head_dim as u32,
            context: context as u32,
        };
        let cache = |layer| Cache {
            k: plan.alloc(format!("layer {layer} keys"), heads.cache_bytes()).into(),
            v: plan.alloc(format!("layer {layer} values"), heads.cache_bytes()).into(),
        };
        let cache = (0..config.layers).map(cache).collect();
        Self {
            state: plan.alloc("state", size_of::<State>() as u64).into(),
            tokens: plan.words("tokens", CHUNK),
            frequencies: plan.words("rope frequencies", config.rope_dims.max(2)),
            dummy: plan.words("unused binding", 64),
            activations: activations(config, &heads, context.min(CHUNK), plan),
            sample: SampleBuffers {
                stops: plan.words("end-of-generation ids", MAX_STOPS + 1),
                partial_argmaxes: plan.alloc("partial_argmaxes", partial_argmax_bytes(config.vocab as u32)).into(),
                scratch: plan.alloc("sampling scratch", scratch_bytes(config.vocab as u32)).into(),
                options: plan.alloc("sampling options", size_of::<Options>() as u64).into(),
                counts: plan.words("token counts", config.vocab),
            },
            heads,
            cache,
        }
    }

    /// The buffers through which a sampler commits a token.
    pub fn commit(&self) -> Commit {
        Commit { stops: self.sample.stops, state: self.state, tokens: self.tokens }
    }
}

fn activations(config: &ModelConfig, heads: &Heads, tokens: usize, plan: &mut Plan) -> Activations {
    let (h, kv, d) = (config.heads, config.kv_heads, config.head_dim);
    let count = split_count(heads.context);
    let widest = config.hidden.max(config.ffn).max(h * d);
    let splits = Splits {
        count,
        partial: plan.words("attention partials", h * count as usize * d),
        stats: plan.words("attention stats", h * count as usize * 2),
    };
    // In f16; 8 bits take half of it, and more scales.
    let rounded = plan.words("rounded activations", tokens * widest / 2);
    let scales = plan.words("scales of rounded activations", tokens * widest.div_ceil(32) * 4);
    Activations {
        x: plan.words("x", tokens * config.hidden),
        normed: plan.words("normed", tokens * config.hidden),
        qkv: plan.words("qkv", tokens * (h + 2 * kv) * d),
        q: plan.words("q", tokens * h * d),
        attended: plan.words("attended", tokens * h * d),
        gate_up: plan.words("gate and up", tokens * 2 * config.ffn),
        activated: plan.words("activated", tokens * config.ffn),
        quants: Quants { q: rounded, scales },
        halves: Halves { x: rounded, scales },
        logits: plan.words("logits", config.vocab),
        splits,
    }
}
