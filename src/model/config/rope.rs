//! RoPE scaling: the keys that extend rotary embeddings to contexts longer than those of the original training.

use super::keys::Keys;
use super::{Axes, MAX_CONTEXT, unsupported};
use crate::error::Result;

/// How RoPE is scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RopeScaling {
    /// The factor of positions: 1 / the factor by which the context grew.
    pub scale: f32,
    /// YaRN's ramp, which scales only some pairs; `None`: all pairs are scaled.
    pub yarn: Option<YarnRamp>,
    /// The factor of cosines and sines.
    pub magnitude: f32,
}

impl RopeScaling {
    /// Rotations as in the original training.
    pub const NONE: Self = Self { scale: 1.0, yarn: None, magnitude: 1.0 };

    /// Without scaled positions, as in layers with a window. YaRN's own 0.1 · ln(factor) + 1 is divided out of the
    /// magnitude.
    pub fn unscaled(self) -> Self {
        let own = if self.yarn.is_some() { 1.0 - 0.1 * self.scale.ln() } else { 1.0 };
        Self { magnitude: self.magnitude / own, ..Self::NONE }
    }

    /// `{architecture}.rope.scaling.*`
    pub(super) fn from_keys(keys: &Keys, original_context: usize) -> Result<Self> {
        let magnitude = keys.positive("rope.scaling.attn_factor")?.unwrap_or(1.0);
        let name = keys.name("rope.scaling.type");
        match keys.metadata.str(&name)? {
            Some("none") => Ok(Self { magnitude, ..Self::NONE }),
            // A file may give a factor without a type: it means linear. Long RoPE has its factors in tensors.
            None | Some("linear" | "longrope") => Ok(Self { scale: scale(keys)?, yarn: None, magnitude }),
            Some("yarn") => {
                let scale = scale(keys)?;
                let own = yarn_magnitude(keys, scale)?;
                // Either the whole factor, or relative to YaRN's own.
                agrees(keys, "rope.scaling.yarn_attn_factor", [own, 1.0])?;
                // A number below 0 means that it is not set.
                agrees(keys, "rope.scaling.yarn_ext_factor", [1.0, -1.0])?;
                let magnitude = magnitude * own;
                Ok(Self { scale, yarn: Some(YarnRamp::from_keys(keys, original_context)?), magnitude })
            }
            Some(other) => {
                let shown: String = other.chars().take(64).collect();
                let known = "none, linear, yarn, longrope";
                Err(unsupported(format!(
                    "metadata `{name}`: RoPE scaling {shown:?} is not supported, known are {known}"
                )))
            }
        }
    }
}

/// Which pairs YaRN scales (Peng et al. 2023, <https://arxiv.org/abs/2309.00071>): those with few turns over the
/// original context wholly, those with many not at all, those between in part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YarnRamp {
    /// The context of the original training, in tokens.
    pub original_context: usize,
    /// A pair with at least this many turns over the original context keeps its frequency.
    pub beta_fast: f32,
    /// A pair with at most this many turns is scaled fully.
    pub beta_slow: f32,
}

impl YarnRamp {
    fn from_keys(keys: &Keys, original_context: usize) -> Result<Self> {
        Ok(Self {
            original_context,
            beta_fast: keys.positive("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
            beta_slow: keys.positive("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
        })
    }
}

/// The base of the rotary frequencies in files without the key, as in the first Llama.
const DEFAULT_THETA: f32 = 10_000.0;

/// The base of the rotary frequencies: `rope.freq_base`, in Hunyuan times `rope.scaling.alpha` to the power
/// `dims / (dims − 2)`.
pub(super) fn theta(keys: &Keys, head_dim: usize) -> Result<f32> {
    let base = keys.positive("rope.freq_base")?.unwrap_or(DEFAULT_THETA);
    let has_alpha = keys.architecture.starts_with("hunyuan") && head_dim > 2;
    let alpha = keys.scale("rope.scaling.alpha")?.filter(|_| has_alpha);
    Ok(alpha.map_or(base, |alpha| base * alpha.powf(head_dim as f32 / (head_dim - 2) as f32)))
}

/// Whether nothing is rotated: in these families `rope.scaling.finetuned` says so; other families ignore the key.
pub(super) fn is_unused(keys: &Keys) -> Result<bool> {
    const FAMILIES: [&str; 3] = ["granite", "granitehybrid", "graniteswitch"];
    let is_used = keys.metadata.bool(&keys.name("rope.scaling.finetuned"))?;
    Ok(FAMILIES.contains(&keys.architecture) && is_used == Some(false))
}

/// The context of the original training, where the file has another than `context`.
pub(super) fn original_context(keys: &Keys, context: usize) -> Result<usize> {
    Ok(keys.count("rope.scaling.original_context_length", MAX_CONTEXT)?.unwrap_or(context))
}

/// The factor of positions.
fn scale(keys: &Keys) -> Result<f32> {
    // `rope.scale_linear` is the key's name in files from before scaling types. 0 means none.
    let factor = keys.not_negative("rope.scaling.factor")?;
    let factor = factor.map_or_else(|| keys.not_negative("rope.scale_linear"), |factor| Ok(Some(factor)))?;
    Ok(factor.filter(|&factor| factor != 0.0).map_or(1.0, f32::recip))
}

/// YaRN's 0.1 · ln(factor) + 1, divided by the same with `yarn_log_multiplier` in models that have it.
fn yarn_magnitude(keys: &Keys, scale: f32) -> Result<f32> {
    let of = |multiplier: f32| 1.0 + 0.1 * multiplier * scale.recip().max(1.0).ln();
    let divisor = keys.not_negative("rope.scaling.yarn_log_multiplier")?.unwrap_or(0.0);
    if keys.architecture == "deepseek2" && divisor != 0.0 {
        // DeepSeek 2 applies it to attention scores instead.
        return Ok(1.0);
    }
    Ok(of(1.0) / if divisor == 0.0 { 1.0 } else { of(divisor) })
}

/// Checks that a key which converters copy from a model's configuration has the value that is computed anyway.
/// llama.cpp does not read these keys for the families here.
///
/// # Errors
/// `unsupported_architecture` for any other number.
fn agrees(keys: &Keys, key: &str, expected: [f32; 2]) -> Result<()> {
    let name = keys.name(key);
    let is_near = |found: f32| expected.iter().any(|expected| (found - expected).abs() < 1e-3);
    match keys.metadata.f32(&name)? {
        Some(found) if !is_near(found) => {
            let [first, second] = expected;
            Err(unsupported(format!("metadata `{name}`: expected {first} or {second}, found {found}")))
        }
        _ => Ok(()),
    }
}

/// Which pairs of a head turn by which axis of a position (multi-axis RoPE: M-RoPE, Wang et al. 2024,
/// <https://arxiv.org/abs/2409.12191>): `rope.dimension_sections`. In text all axes are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RopeSections {
    /// Numbers of pairs that turn by time, height, width, and not at all.
    pub pairs: [usize; 4],
    /// Whether the axes take turns from pair to pair; otherwise each axis has a section of neighbours, and the sections
    /// repeat.
    pub by_turns: bool,
}

impl RopeSections {
    /// 0 for time, 1 for height, 2 for width; `None` for a pair in no section, which does not turn.
    pub fn axis(&self, pair: usize) -> Option<usize> {
        let all = self.pairs.iter().fold(0, |sum: usize, &pairs| sum.saturating_add(pairs)).max(1);
        let pair = pair % all;
        if self.by_turns {
            return Some(pair % 3).filter(|&axis| pair / 3 < self.pairs[axis]);
        }
        let [time, height, width, _] = self.pairs;
        [time, time + height, time + height + width].iter().position(|&end| pair < end)
    }
}

/// `rope.section_order`: for rows of images the first section has the time in most files, in MiniCPM-V 4.7's the origin
/// of the image, which the fourth one has elsewhere; the time is then in the fourth, which must be empty.
fn check_order(keys: &Keys, fourth: usize) -> Result<()> {
    let name = keys.name("rope.section_order");
    match keys.metadata.str(&name)? {
        None | Some("tyxz") => Ok(()),
        Some("zyxt") if fourth == 0 => Ok(()),
        Some("zyxt") => Err(unsupported(format!("metadata `{name}`: zyxt with {fourth} pairs in the fourth section"))),
        Some(other) => {
            let shown: String = other.chars().take(64).collect();
            Err(unsupported(format!("metadata `{name}`: expected tyxz or zyxt, found {shown:?}")))
        }
    }
}

/// The sections, if the file has any. Consecutive sections that are all empty count as none.
///
/// # Errors
/// `unsupported_architecture` where no pair is in a section.
pub(super) fn sections(keys: &Keys, rope_dims: usize, axes: Option<Axes>) -> Result<Option<RopeSections>> {
    let Some(by_turns) = axes.map(|axes| axes == Axes::ByTurns) else { return Ok(None) };
    let name = keys.name("rope.dimension_sections");
    let Some(found) = keys.metadata.i32s(&name)? else { return Ok(None) };
    let pairs = [0, 1, 2, 3].map(|axis| found.get(axis).map_or(0, |&pairs: &i32| pairs.max(0) as usize));
    if !by_turns && !found.is_empty() && found.iter().all(|&pairs| pairs == 0) {
        return Ok(None);
    }
    check_order(keys, pairs[3])?;
    let sections = RopeSections { pairs, by_turns };
    match (0..rope_dims / 2).any(|pair| sections.axis(pair).is_some()) {
        true => Ok(Some(sections)),
        false => Err(unsupported(format!("metadata `{name}`: none of {} pairs is in a section", rope_dims / 2))),
    }
}
