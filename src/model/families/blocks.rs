//! The options of attention and experts that families set.

use super::super::program::{ExpertActivation, Gating, NormKind, RopeTable, Routing, Temperature};
use super::super::{ActivationKind, ExpertConfig, ModelConfig, RopeStyle};
use crate::model::Role;

/// Whether the q, k and v projections add a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bias {
    /// Never: a file with such a tensor is refused.
    None,
    /// Where the file has the tensor.
    Optional,
    /// Always: a file without the tensor is refused.
    Required,
}

/// The norms of whole rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norms {
    /// RMS norms.
    Rms,
    /// RMS norms with biases.
    RmsBiased,
    /// RMS norms without tensors.
    RmsBare,
    /// Layer norms with biases.
    Layer,
    /// Layer norms without biases.
    LayerUnbiased,
    /// Layer norms without tensors.
    LayerBare,
}

/// Where the keys and values of a layer come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysAndValues {
    /// The layer's own projections.
    Own,
    /// Values equal the keys before their norm, without a projection of values.
    ValuesAreKeys,
    /// The cache with this index, which an earlier layer fills.
    Shared(usize),
}

/// The attention of one layer.
#[derive(Debug, Clone, Copy)]
pub struct AttentionBlock {
    /// Values of a head.
    pub head_dim: usize,
    /// Where keys and values come from.
    pub kv: KeysAndValues,
    /// Whether each head of v goes through an RMS norm without weight.
    pub v_norm: bool,
    /// Biases of q, k and v.
    pub bias: Bias,
    /// Bias of the output projection.
    pub out_bias: Bias,
    /// The norm of each head of q and k before the rotation, with separate weights for each head.
    pub own_qk_norm: Option<NormKind>,
    /// Whether q and k go through an RMS norm over all heads, before the rotation.
    pub whole_qk_norm: bool,
    /// Whether each head of q and k goes through its own RMS norm before the rotation.
    pub qk_norm: bool,
    /// Whether q and k go through a layer norm with a bias, over all heads.
    pub biased_qk_norm: bool,
    /// Whether each head of q and k goes through its own RMS norm after the rotation.
    pub rotated_qk_norm: bool,
    /// q, k and v are clamped to ± this.
    pub clamp: Option<f32>,
    /// The rotation.
    pub rope: RopeTable,
    /// Whether a gate multiplies each head's result. Its rows in `attn_q` follow the rows of the head.
    pub gated: bool,
    /// Whether each head's result has a gate of one value, from a separate tensor.
    pub head_gates: bool,
    /// Whether these gates have a value for each value of a head.
    pub wide_gates: bool,
    /// See `AttentionSpec`.
    pub scale: f32,
    /// See `AttentionSpec`.
    pub window: Option<usize>,
    /// See `AttentionSpec`.
    pub soft_cap: Option<f32>,
    /// See `AttentionSpec`.
    pub temperature: Option<Temperature>,
    /// See `AttentionSpec`.
    pub alibi: Option<f32>,
    /// Whether each head has a sink.
    pub sinks: bool,
    /// The RMS norm between attention and the output projection (BitNet).
    pub inner_norm: Option<Role>,
}

/// A tensor of a layer, by the end of its name.
pub fn named(name: &'static str) -> Role {
    Role::Named { group: "blk", name }
}

/// Base of the rotary frequencies of layers with a window, where a file has none for them.
const SLIDING_THETA: f32 = 10_000.0;

impl AttentionBlock {
    /// With the file's window, and with unscaled rotary frequencies of their own base.
    pub fn sliding(self, config: &ModelConfig) -> Self {
        let theta = config.rope_theta_sliding.unwrap_or(SLIDING_THETA);
        let rope = RopeTable { theta, scaling: self.rope.scaling.unscaled(), ..self.rope };
        Self { rope, window: config.sliding_window, ..self }
    }

    /// Values of the gates from a separate tensor.
    pub fn gates(&self, heads: usize) -> usize {
        if self.wide_gates { heads * self.head_dim } else { heads }
    }

    /// Without rotation.
    pub fn unrotated(self) -> Self {
        Self { rope: RopeTable { dims: 0, ..self.rope }, ..self }
    }

    /// Full causal attention, scores divided by √head_dim, with the model's own rotation.
    pub fn new(config: &ModelConfig, style: RopeStyle) -> Self {
        let rope = RopeTable {
            style,
            dims: config.rope_dims,
            first: 0,
            theta: config.rope_theta,
            scaling: config.rope_scaling,
            factors: None,
            sections: config.rope_sections,
        };
        let scale = 1.0 / (config.head_dim as f32).sqrt();
        Self {
            head_dim: config.head_dim,
            kv: KeysAndValues::Own,
            v_norm: false,
            bias: Bias::None,
            out_bias: Bias::None,
            own_qk_norm: None,
            whole_qk_norm: false,
            qk_norm: false,
            biased_qk_norm: false,
            rotated_qk_norm: false,
            clamp: None,
            rope,
            gated: false,
            head_gates: false,
            wide_gates: false,
            scale,
            window: None,
            soft_cap: None,
            temperature: None,
            alibi: None,
            sinks: false,
            inner_norm: None,
        }
    }
}

/// The experts of one layer.
#[derive(Debug, Clone, Copy)]
pub struct ExpertBlock {
    /// How they are chosen.
    pub routing: Routing,
    /// Their activation.
    pub activation: ExpertActivation,
    /// Whether router and experts add biases.
    pub biases: bool,
    /// Whether there is a bias that only affects the choice.
    pub choice_bias: bool,
    /// Whether each expert's result has a factor.
    pub down_scales: bool,
    /// The activation of experts without a gate.
    pub ungated: Option<ActivationKind>,
    /// Whether the experts of a token share the width of the feed-forward, where the file has none of their own.
    pub shares_ffn: bool,
}

impl ExpertBlock {
    /// SwiGLU experts with the file's gating, or else softmax with weights that add up to 1.
    pub fn new(config: &ModelConfig) -> Self {
        let ExpertConfig { experts, gating, normalise, scale, groups, .. } = config.experts;
        let routing = Routing {
            experts,
            gating: gating.unwrap_or(Gating::Softmax),
            normalise: normalise.unwrap_or(true),
            scale,
            logit_scale: 1.0,
            groups,
            bias: None,
            expert_scales: None,
        };
        let activation = ExpertActivation::SwiGlu;
        Self {
            routing,
            activation,
            biases: false,
            choice_bias: false,
            down_scales: false,
            ungated: None,
            shares_ffn: false,
        }
    }
}
