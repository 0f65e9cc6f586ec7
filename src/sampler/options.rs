//! The options of the sampler: one row each, from which the type, its defaults, its limits and the names of the page's
//! options follow. `js/sampling.ts` has the same rows, with the names of the OpenAI API.

use serde::Deserialize;

use super::MIN_TEMPERATURE;
use crate::{Error, Result};

/// Rows of `/// doc`, `field: type = default, "name in JavaScript", least => most;`.
macro_rules! sampling_options {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $default:expr, $name:literal, $least:expr => $most:expr;)*) => {
        /// How the next token is chosen. A `temperature` below [`MIN_TEMPERATURE`] is greedy.
        #[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
        #[serde(default)]
        pub struct SamplingOptions {
            $($(#[$doc])* #[serde(rename = $name)] pub $field: $type,)*
        }

        impl Default for SamplingOptions {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl SamplingOptions {
            /// Fails with `invalid_argument` naming the option, what it may be and what it is.
            pub fn validate(&self) -> Result<()> {
                $(within($name, self.$field as f64, $least as f64, $most as f64)?;)*
                Ok(())
            }
        }
    };
}

sampling_options! {
    /// Divides the logits after the filters; in [0, 100], below [`MIN_TEMPERATURE`] the largest logit is taken.
    temperature: f32 = 0.0, "temperature", 0 => 100;
    /// Keeps the k largest logits; 0 keeps all.
    top_k: u32 = 0, "topK", 0 => u32::MAX;
    /// Keeps the most probable tokens whose probabilities first reach this sum; in (0, 1], 1 keeps all.
    top_p: f32 = 1.0, "topP", f32::MIN_POSITIVE => 1;
    /// Keeps tokens at least this probable relative to the most probable one; in [0, 1], 0 keeps all.
    min_p: f32 = 0.0, "minP", 0 => 1;
    /// Keeps the tokens whose information is nearest to the mean, whose probabilities first pass this sum; in (0, 1], 1
    /// keeps all.
    typical_p: f32 = 1.0, "typicalP", f32::MIN_POSITIVE => 1;
    /// Divides positive and multiplies negative logits of tokens of the prompt and generated ones; > 0, 1 is off.
    repetition_penalty: f32 = 1.0, "repetitionPenalty", 1e-3 => 100;
    /// Subtracted from a logit for every time its token was generated; in [-2, 2].
    frequency_penalty: f32 = 0.0, "frequencyPenalty", -2 => 2;
    /// Subtracted from a logit, once, if its token was generated at all; in [-2, 2].
    presence_penalty: f32 = 0.0, "presencePenalty", -2 => 2;
    /// With DRY, the penalty of a repetition as long as is allowed; 0 is off.
    dry_multiplier: f32 = 0.0, "dryMultiplier", 0 => 100;
    /// With DRY, the factor of the penalty for each token more.
    dry_base: f32 = 1.75, "dryBase", 1 => 100;
    /// With DRY, the tokens that a repetition may have before it is penalised.
    dry_allowed_length: u32 = 2, "dryAllowedLength", 0 => u32::MAX;
    /// With DRY, how many of the last tokens count.
    dry_penalty_last_n: u32 = u32::MAX, "dryPenaltyLastN", 0 => u32::MAX;
    /// With XTC, how often the likeliest tokens are left out; 0 is off.
    xtc_probability: f32 = 0.0, "xtcProbability", 0 => 1;
    /// With XTC, the tokens at least this likely are left out, except the least likely of them; above 0.5 is off.
    xtc_threshold: f32 = 0.1, "xtcThreshold", 0 => 1;
    /// Same seed, same ids; at most 2^53 - 1, what a number of JavaScript holds.
    seed: u64 = 0, "seed", 0 => 9_007_199_254_740_991_u64;
}

fn within(name: &str, value: f64, least: f64, most: f64) -> Result<()> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(Error::invalid_argument(format!("{name} is {value}, expected {least} to {most}"))),
    }
}

impl SamplingOptions {
    /// Whether the token is the plain argmax of the logits: greedy, and no penalties.
    pub fn is_plain_greedy(&self) -> bool {
        self.is_greedy() && !self.has_penalties()
    }

    /// Whether the largest logit is taken, after the penalties.
    pub fn is_greedy(&self) -> bool {
        self.temperature < MIN_TEMPERATURE
    }

    /// Whether tokens are chosen from logits on the host: the samplers of sessions know neither DRY nor XTC.
    pub fn is_on_host(&self) -> bool {
        self.dry_multiplier != 0.0 || self.xtc_probability != 0.0
    }

    /// Whether logits depend on the tokens that came before.
    pub fn has_penalties(&self) -> bool {
        self.repetition_penalty != 1.0 || self.frequency_penalty != 0.0 || self.presence_penalty != 0.0
    }
}
