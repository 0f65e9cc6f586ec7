//! How a file suggests that tokens or codes are chosen: `general.sampling.*` of a model and `clip.gen.audio.sampling.*`
//! of a generator of speech, which llama.cpp's converter writes.

use serde::Serialize;

use crate::gguf::Metadata;

/// The settings that a file suggests. A value of another type, or one that no request may have, is left out: the file
/// is used without it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suggested {
    /// 0 takes the likeliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// 0 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// 0 keeps all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// 1 penalises nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
    /// Tokens or frames in which something is penalised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_window: Option<u32>,
}

impl Suggested {
    /// The settings under the keys `{prefix}.sampling.*`.
    pub fn read(metadata: &Metadata, prefix: &str) -> Self {
        let key = |name: &str| format!("{prefix}.sampling.{name}");
        let number = |name: &str, least: f32, most: f32| {
            let found = metadata.f32(&key(name)).ok().flatten().filter(|value| (least..=most).contains(value));
            // 0.4, which is no f32, and not 0.4000000059604645.
            found.map(|value| (f64::from(value) * 1e6).round() / 1e6)
        };
        let count = |name: &str| metadata.u64(&key(name)).ok().flatten().and_then(|count| count.try_into().ok());
        Self {
            temperature: number("temp", 0.0, 10.0),
            top_k: count("top_k"),
            top_p: number("top_p", 1e-6, 1.0),
            min_p: number("min_p", 0.0, 1.0),
            repetition_penalty: number("penalty_repeat", 0.001, 10.0),
            repetition_window: count("penalty_last_n"),
        }
    }

    /// The settings under `general.sampling.*`, as options of a request for text, which has no window.
    pub fn of_text(metadata: &Metadata) -> Self {
        Self { repetition_window: None, ..Self::read(metadata, "general") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::Value;

    #[test]
    fn what_no_request_may_have_is_left_out() {
        let mut metadata = Metadata::new();
        for (name, value) in [
            ("temp", Value::F32(0.4)),
            ("top_k", Value::I32(40)),
            ("top_p", Value::F32(0.95)),
            ("penalty_repeat", Value::F32(1.2)),
            ("penalty_last_n", Value::I32(64)),
        ] {
            metadata.insert(format!("general.sampling.{name}"), value);
        }
        let found = Suggested::read(&metadata, "general");
        let expected = Suggested {
            temperature: Some(0.4),
            top_k: Some(40),
            top_p: Some(0.95),
            min_p: None,
            repetition_penalty: Some(1.2),
            repetition_window: Some(64),
        };
        assert_eq!(found, expected);
        assert_eq!(Suggested::of_text(&metadata).repetition_window, None);
        for (name, value) in [
            ("temp", Value::F32(f32::NAN)),
            ("top_k", Value::I32(-1)),
            ("top_p", Value::F32(0.0)),
            ("min_p", Value::String("0.1".into())),
            ("penalty_repeat", Value::F32(f32::INFINITY)),
            ("penalty_last_n", Value::U64(1 << 40)),
        ] {
            metadata.insert(format!("general.sampling.{name}"), value);
        }
        assert_eq!(Suggested::read(&metadata, "general"), Suggested::default());
        assert_eq!(Suggested::read(&metadata, "clip.gen.audio"), Suggested::default());
    }
}
