//! The attributes of mixtures of experts in a program (Shazeer et al. 2017, <https://arxiv.org/abs/1701.06538>).

use super::config::Keys;
use super::program::of_layer;
use super::{PerLayer, Role, WeightKey};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::TensorInfo;

/// Upper bound of the experts of a layer, which the kernels' workgroup memory limits.
pub const MAX_EXPERTS: usize = 512;

/// Upper bound of the experts per token.
pub const MAX_USED: usize = 16;

/// Upper bound of the rows of an expert's matrix.
const MAX_EXPERT_FFN: usize = 1 << 16;

/// The numbers of experts of a layer, and per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// Experts of a layer, at most [`MAX_EXPERTS`].
    pub count: usize,
    /// Experts per token, at most [`MAX_USED`] and at most `count`.
    pub used: usize,
}

/// How the logits of a router become weights. The discriminants equal `GATING` in `shaders/rare/model/route.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gating {
    /// Softmax over all experts.
    Softmax = 0,
    /// Each expert's sigmoid.
    Sigmoid = 1,
    /// Softmax over the chosen experts.
    SoftmaxOfChosen = 2,
}

/// The activation of an expert's feed-forward. The discriminants equal `GATE` in `shaders/rare/shared/gated.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertActivation {
    /// `silu(gate) · up`
    SwiGlu = 1,
    /// `gelu(gate) · up`
    GeGlu = 2,
    /// `x · sigmoid(1.702 · x) · (clamp(up, ±7) + 1)` with `x = min(gate, 7)` (gpt-oss,
    /// <https://arxiv.org/abs/2508.10925>).
    ClampedSwiGlu = 3,
    /// `max(gate, 0) · up`
    ReGlu = 4,
}

/// How the experts of a token and their weights follow from a router's logits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Routing {
    /// The numbers of experts.
    pub experts: Experts,
    /// How logits become weights. Without a bias the experts with the largest logits are chosen.
    pub gating: Gating,
    /// Whether the weights of a token are divided by their sum.
    pub normalise: bool,
    /// Factor of weights.
    pub scale: f32,
    /// Factor of logits.
    pub logit_scale: f32,
    /// The number of groups of experts, and of groups that experts are chosen from: the groups with the largest sum of
    /// their two best weights (DeepSeek-V3).
    pub groups: [usize; 2],
    /// `[experts]`, added to the weights only to choose experts (DeepSeek-V3, <https://arxiv.org/abs/2412.19437>).
    pub bias: Option<WeightKey>,
    /// `[experts]`, factor of an expert's weight.
    pub expert_scales: Option<WeightKey>,
}

/// Gate and up of every expert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateUp {
    /// `[experts, 2 · ffn, hidden]`: each expert's gate, then its up.
    Fused(WeightKey),
    /// `[experts, ffn, hidden]` each, with their biases `[experts, ffn]`.
    Pair { weights: [WeightKey; 2], biases: Option<[WeightKey; 2]> },
    /// No gate: `[experts, ffn, hidden]`, whose products are the result.
    Alone(WeightKey),
}

impl GateUp {
    /// The weight by which the lowerings name both.
    pub fn key(&self) -> WeightKey {
        match *self {
            Self::Fused(key) | Self::Alone(key) | Self::Pair { weights: [key, _], .. } => key,
        }
    }
}

/// The metadata of experts.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpertConfig {
    /// The numbers of experts; 0 without experts. The largest ones, where layers differ.
    pub experts: Experts,
    /// The numbers of each layer, in families whose layers may differ.
    of_layers: Vec<Experts>,
    /// The width that experts read and write, where it is not the residual stream's.
    pub latent: Option<usize>,
    /// Width inside an expert's feed-forward, if the file has a key of its own for it.
    pub ffn: Option<PerLayer>,
    /// Width inside the shared expert, or 0.
    pub shared_ffn: usize,
    /// The number of experts that the shared one consists of, if the file says.
    pub shared_count: usize,
    /// How logits become weights, if the file says.
    pub gating: Option<Gating>,
    /// Whether weights add up to 1, if the file says.
    pub normalise: Option<bool>,
    /// Factor of weights.
    pub scale: f32,
    /// See [`Routing`].
    pub groups: [usize; 2],
    /// Layers before the first with experts.
    pub leading_dense: usize,
    /// From there on, the last layer of each group of this size has experts.
    pub every: usize,
    /// The second layer of each group of this size has experts; 0: the file does not say.
    pub second_of: usize,
}

impl ExpertConfig {
    /// Reads and checks the keys.
    ///
    /// # Errors
    /// `bad_file` for numbers out of range, `unsupported_architecture` for other gatings.
    pub(super) fn from_keys(keys: &Keys, layers: usize, tensors: &[TensorInfo]) -> Result<Self> {
        const COUNT: &str = "expert_count";
        const USED: &str = "expert_used_count";
        let count = keys.number(COUNT, MAX_EXPERTS)?.unwrap_or(0);
        // Files of the dense Hunyuan have one expert.
        let count = if count == 1 && keys.architecture.starts_with("hunyuan") { 0 } else { count };
        let differs = keys.architecture.starts_with("nemotron_h") || keys.architecture == "maion-coder";
        let most = MAX_USED.min(count);
        let each = match differs {
            true => keys.per_layer(USED, layers, most)?,
            false => keys.number(USED, most)?.map(PerLayer::All),
        };
        let each = each.unwrap_or(PerLayer::All(0));
        let used = each.max();
        if count > 0 && used == 0 {
            return Err(keys.missing(USED));
        }
        let groups = groups(keys, count, used)?;
        let of_layer = |layer| {
            let used = each.of(layer);
            let rows = rows_of_router(layer, tensors).filter(|rows| groups[0] == 1 && (used..count).contains(rows));
            Experts { count: rows.unwrap_or(count), used }
        };
        let latent = differs.then(|| keys.count_or_none("moe_latent_size", MAX_EXPERT_FFN)).transpose()?.flatten();
        Ok(Self {
            experts: Experts { count, used },
            of_layers: (0..layers).filter(|_| differs).map(of_layer).collect(),
            latent,
            ffn: keys.per_layer("expert_feed_forward_length", layers, MAX_EXPERT_FFN)?,
            shared_ffn: keys.number("expert_shared_feed_forward_length", MAX_EXPERT_FFN)?.unwrap_or(0),
            shared_count: keys.number("expert_shared_count", MAX_EXPERTS)?.unwrap_or(0),
            gating: gating(keys)?,
            groups,
            normalise: keys.metadata.bool(&keys.name("expert_weights_norm"))?,
            scale: keys.scale("expert_weights_scale")?.unwrap_or(1.0),
            leading_dense: keys.number("leading_dense_block_count", layers)?.unwrap_or(0),
            every: keys.count("interleave_moe_layer_step", layers)?.unwrap_or(1),
            second_of: keys.number("moe_every_n_layers", layers)?.unwrap_or(0),
        })
    }
}

impl ExpertConfig {
    /// The numbers of experts of a layer.
    pub fn of(&self, layer: usize) -> Experts {
        self.of_layers.get(layer).copied().unwrap_or(self.experts)
    }
}

/// The rows of a layer's router, if it has one.
fn rows_of_router(layer: usize, tensors: &[TensorInfo]) -> Option<usize> {
    let name = of_layer(layer, Role::Router).name();
    let router = tensors.iter().find(|tensor| tensor.name == name)?;
    usize::try_from(*router.dims.get(1)?).ok()
}

/// The number of groups of experts, and of groups per token: 1 where the file has none.
fn groups(keys: &Keys, count: usize, used: usize) -> Result<[usize; 2]> {
    let groups = keys.number("expert_group_count", MAX_EXPERTS)?.unwrap_or(0);
    if groups <= 1 || count == 0 {
        return Ok([1, 1]);
    }
    let chosen = keys.number("expert_group_used_count", groups)?.unwrap_or(0);
    if !count.is_multiple_of(groups) || chosen * (count / groups) < used {
        let name = keys.name("expert_group_count");
        let message = format!("metadata `{name}`: {chosen} of {groups} groups of {count} experts, {used} of a token");
        return Err(Error::bad_file(message));
    }
    Ok([groups, chosen])
}

/// 0 means that the family decides.
fn gating(keys: &Keys) -> Result<Option<Gating>> {
    const KEY: &str = "expert_gating_func";
    let name = keys.name(KEY);
    match keys.metadata.u64(&name)? {
        None | Some(0) => Ok(None),
        Some(1) => Ok(Some(Gating::Softmax)),
        Some(2) => Ok(Some(Gating::Sigmoid)),
        Some(3) => Ok(Some(Gating::SoftmaxOfChosen)),
        Some(other) => {
            let message = format!("metadata `{name}`: expected 1 to 3, found {other}");
            Err(Error::new(ErrorCode::UnsupportedArchitecture, message))
        }
    }
}
