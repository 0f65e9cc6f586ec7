//! Grammars and the texts that follow them.

use anyhow::{Context, Result, anyhow, ensure};
use llguidance::api::TopLevelGrammar;
use serde_json::{Value, json};
use toktrie::TokenId;

use crate::gbnf::lark_of_gbnf;
use crate::vocabulary::Vocabulary;

/// Bytes of the text of a grammar, at most.
const MAX_BYTES: usize = 1 << 20;

/// White space between the parts of JSON: as people and models write it, but never without end, which is what small
/// models do that may.
const WHITE_SPACE: &str = r"[ ]|\n[ \t]{0,20}";

/// What the tokens of a text must spell, compiled for a vocabulary.
pub struct Grammar {
    fresh: llguidance::Matcher,
}

impl Grammar {
    /// Compiles a grammar: `kind` is `json_schema`, `json_object`, `regex`, `choice` (`text` is a JSON array of
    /// strings), `lark` or `gbnf`.
    ///
    /// # Errors
    /// What is wrong with `text`, and where.
    pub fn new(vocabulary: &Vocabulary, kind: &str, text: &str) -> Result<Self> {
        ensure!(text.len() <= MAX_BYTES, "the {kind} has {} bytes, {MAX_BYTES} are possible", text.len());
        let parser = vocabulary.factory.create_parser(top_level(kind, text)?)?;
        Ok(Self { fresh: llguidance::Matcher::new(Ok(parser)) })
    }

    /// The start of a text.
    pub fn matcher(&self) -> Matcher {
        Matcher { inner: self.fresh.clone() }
    }
}

fn top_level(kind: &str, text: &str) -> Result<TopLevelGrammar> {
    Ok(match kind {
        "json_object" => TopLevelGrammar::from_json_schema(with_white_space(json!({ "type": "object" }))),
        "json_schema" => {
            let mut schema = serde_json::from_str(text)?;
            forbid_leap_seconds(&mut schema);
            TopLevelGrammar::from_json_schema(with_white_space(schema))
        }
        "regex" => TopLevelGrammar::from_regex(text),
        "choice" => TopLevelGrammar::from_lark(lark_of_choice(text)?),
        "lark" => TopLevelGrammar::from_lark(text.to_owned()),
        "gbnf" => TopLevelGrammar::from_lark(lark_of_gbnf(text)?),
        _ => return Err(anyhow!("unknown kind of grammar '{kind}'")),
    })
}

/// Says how white space may look, unless the schema does.
fn with_white_space(schema: Value) -> Value {
    match schema {
        Value::Object(mut fields) => {
            fields.entry("x-guidance").or_insert_with(|| json!({ "whitespace_pattern": WHITE_SPACE }));
            Value::Object(fields)
        }
        Value::Bool(true) => with_white_space(json!({})),
        other => other,
    }
}

/// `llguidance` allows second 60 in every minute of the formats `time` and `date-time`; there is one at most, before
/// midnight in UTC.
fn forbid_leap_seconds(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let pattern = match fields.get("format").and_then(Value::as_str) {
        Some("time") => Some("^..:..:[0-5]"),
        Some("date-time") => Some("[tT]..:..:[0-5]"),
        _ => None,
    };
    if let Some(pattern) = pattern
        && let Value::Array(all) = fields.entry("allOf").or_insert_with(|| json!([]))
    {
        all.push(json!({ "pattern": pattern }));
    }
    for (_, value) in fields.iter_mut().filter(|(name, _)| !matches!(name.as_str(), "const" | "enum" | "default")) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(forbid_leap_seconds),
            value => forbid_leap_seconds(value),
        }
    }
}

fn lark_of_choice(text: &str) -> Result<String> {
    let choices: Vec<String> = serde_json::from_str(text).context("a choice is an array of strings")?;
    let quoted: Vec<String> = choices.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(format!("start: {}", quoted.join(" | ")))
}

/// A text on its way through a grammar.
pub struct Matcher {
    inner: llguidance::Matcher,
}

impl Matcher {
    /// A bit for every token that may come next, 32 to a word; the lowest bit of a word is the lowest id.
    ///
    /// # Errors
    /// Where the grammar takes more work than it may.
    pub fn mask(&mut self) -> Result<Vec<u32>> {
        let mask = self.inner.compute_mask_or_eos().map_err(|error| readable(&error))?;
        Ok(mask.as_slice()[..mask.len().div_ceil(32)].to_vec())
    }

    /// Takes tokens as far as the grammar allows them, and says how many it took.
    ///
    /// # Errors
    /// As [`Matcher::mask`].
    pub fn commit(&mut self, ids: &[TokenId]) -> Result<usize> {
        self.inner.try_consume_tokens(ids).map_err(|error| readable(&error))
    }

    /// Takes the tokens that must come next, whatever the model wants, and gives them.
    ///
    /// # Errors
    /// As [`Matcher::mask`].
    pub fn commit_forced(&mut self) -> Result<Vec<TokenId>> {
        if self.inner.is_stopped() {
            return Ok(Vec::new());
        }
        let forced = self.inner.consume_ff_tokens();
        match self.inner.get_error() {
            Some(error) => Err(readable(&anyhow!(error))),
            None => Ok(forced),
        }
    }

    /// Takes back the last tokens.
    ///
    /// # Errors
    /// Where there are not so many.
    pub fn rollback(&mut self, tokens: usize) -> Result<()> {
        self.inner.rollback(tokens).map_err(|error| readable(&error))
    }

    /// Whether the text may end here.
    ///
    /// # Errors
    /// As [`Matcher::mask`].
    pub fn is_accepting(&mut self) -> Result<bool> {
        self.inner.is_accepting().map_err(|error| readable(&error))
    }

    /// Whether nothing can follow.
    pub fn is_stopped(&self) -> bool {
        self.inner.is_stopped()
    }
}

/// Without what `llguidance` adds for its own developers.
fn readable(error: &anyhow::Error) -> anyhow::Error {
    anyhow!(format!("{error:#}").replace("\n<non-verbose/>", ""))
}
