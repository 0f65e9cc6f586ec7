//! What the calls of a model give to JavaScript.

use js_sys::Float32Array;
use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::errors::{to_js, to_value};
use super::tensor::TensorEngine;
use crate::Error;
use crate::kernels::reference::{argmax, log_sum_exp};
use crate::runtime::{Engine, Outcome, Session};

/// Does the work of `WasmModel::hidden_states`.
pub(super) async fn hidden_states(
    engine: &mut Engine,
    ids: &[u32],
    tensors: &TensorEngine,
) -> Result<JsValue, JsValue> {
    let shape = [ids.len() as u32, engine.session.config().hidden as u32];
    let target = tensors.output(&shape).map_err(to_js)?;
    let outcome = engine.hidden_states(ids, &target.device, &target.buffer).await;
    tensors.filled(target, outcome)
}

/// Does the work of `WasmModel::evaluate`.
pub(super) async fn evaluation(
    engine: &mut Engine,
    ids: &[u32],
    logits: Option<Float32Array>,
    adapters: &[(u32, f32)],
) -> Result<JsValue, JsValue> {
    let vocab = engine.session.config().vocab;
    let (mut top1, mut logprobs) = (Vec::new(), Vec::new());
    let expected = ids.len() as u64 * vocab as u64;
    if let Some(found) = logits.as_ref().map(|logits| u64::from(logits.length())).filter(|&n| n != expected) {
        let message = format!("logits: expected room for {expected} numbers, found {found}");
        return Err(to_js(Error::invalid_argument(message)));
    }
    let each = |position: usize, rows: &[f32]| {
        for (row, at) in rows.chunks_exact(vocab).zip(position..) {
            let log_sum = log_sum_exp(row);
            top1.push(argmax(row) as u32);
            // A row that follows is not a token: no logit predicts it.
            logprobs.extend(ids.get(at + 1).map(|&id| row.get(id as usize).map_or(f32::NAN, |logit| logit - log_sum)));
            if let Some(logits) = &logits {
                logits.subarray((at * vocab) as u32, ((at + 1) * vocab) as u32).copy_from(row);
            }
        }
    };
    if !engine.evaluate_with(ids, adapters, each).await.map_err(to_js)? {
        return Ok(JsValue::UNDEFINED);
    }
    let made = js_sys::Object::new();
    js_sys::Reflect::set(&made, &"top1".into(), &js_sys::Uint32Array::from(top1.as_slice()))?;
    js_sys::Reflect::set(&made, &"logprobs".into(), &Float32Array::from(logprobs.as_slice()))?;
    if let Some(logits) = logits {
        js_sys::Reflect::set(&made, &"logits".into(), &logits)?;
    }
    Ok(made.into())
}

/// Splits `ids` into inputs of these lengths.
pub(super) fn split<'i>(ids: &'i [u32], lengths: &[u32]) -> Vec<&'i [u32]> {
    let mut rest = ids;
    let part = |&length: &u32| {
        let (part, others) = rest.split_at((length as usize).min(rest.len()));
        rest = others;
        part
    };
    lengths.iter().map(part).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    prompt_tokens: usize,
    completion_tokens: usize,
    cached_tokens: usize,
    total_tokens: usize,
    accepted_draft_tokens: usize,
    rejected_draft_tokens: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Timings {
    prompt_tokens_per_second: f64,
    tokens_per_second: f64,
    time_to_first_token_ms: f64,
}

/// The outcome of a run.
pub(super) fn result(outcome: &Outcome) -> Result<JsValue, JsValue> {
    let completion = outcome.ids.len();
    let usage = Usage {
        prompt_tokens: outcome.prompt_tokens,
        completion_tokens: completion,
        cached_tokens: outcome.cached_tokens,
        total_tokens: outcome.prompt_tokens + completion,
        accepted_draft_tokens: outcome.accepted_drafts,
        rejected_draft_tokens: outcome.rejected_drafts,
    };
    let rate = |tokens: usize, ms: f64| if ms > 0.0 { tokens as f64 / ms * 1e3 } else { 0.0 };
    let timings = Timings {
        prompt_tokens_per_second: rate(outcome.prompt_tokens - outcome.cached_tokens, outcome.first_token_ms),
        tokens_per_second: rate(completion.saturating_sub(1), outcome.decode_ms),
        time_to_first_token_ms: outcome.first_token_ms,
    };
    let made = js_sys::Object::new();
    let set = |key: &str, value: JsValue| js_sys::Reflect::set(&made, &key.into(), &value).map(drop);
    set("text", outcome.text.as_str().into())?;
    set("ids", js_sys::Uint32Array::from(outcome.ids.as_slice()).into())?;
    set("finishReason", outcome.reason.as_str().into())?;
    set("usage", to_value(&usage)?)?;
    set("timings", to_value(&timings)?)?;
    Ok(made.into())
}
