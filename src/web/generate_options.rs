//! The options of `generate` as JavaScript gives them.

use serde::Deserialize;

use crate::runtime::{Drafting, GenerateOptions};
use crate::sampler::SamplingOptions;

/// Mirrors `WasmGenerateOptions` in `js/wasm/webgguf.d.ts`, without the sampler's options.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct JsGenerateOptions {
    max_tokens: Option<u32>,
    stop: Vec<String>,
    dry_sequence_breakers: Option<Vec<String>>,
    ignore_eos: bool,
    /// `[id, bias]` pairs.
    biases: Vec<(u32, f32)>,
    logprobs: Option<u32>,
    show_special: Vec<String>,
    draft: Draft,
    prediction: String,
    /// `[number, scale]` pairs.
    adapters: Vec<(u32, f32)>,
    source: Vec<u32>,
    is_private: bool,
    follows_row: bool,
}

/// The option `draft`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Draft {
    #[default]
    Automatic,
    Prompt,
    Model,
    Mtp,
    Off,
}

impl JsGenerateOptions {
    pub(super) fn with(self, sampling: SamplingOptions) -> crate::Result<GenerateOptions> {
        sampling.validate()?;
        let max_tokens = self.max_tokens.map(|count| count as usize);
        let logprobs = self.logprobs.map(|count| count as usize);
        let drafting = match self.draft {
            Draft::Automatic => Drafting::Automatic,
            Draft::Prompt => Drafting::Prompt,
            Draft::Model => Drafting::Model,
            Draft::Mtp => Drafting::Mtp,
            Draft::Off => Drafting::Off,
        };
        let Self {
            stop,
            dry_sequence_breakers,
            ignore_eos,
            show_special,
            biases,
            prediction,
            adapters,
            source,
            is_private,
            follows_row,
            ..
        } = self;
        Ok(GenerateOptions {
            max_tokens,
            sampling,
            dry_sequence_breakers,
            biases,
            logprobs,
            stop,
            ignore_eos,
            show_special,
            drafting,
            prediction,
            adapters,
            source,
            is_private,
            follows_row,
        })
    }
}
