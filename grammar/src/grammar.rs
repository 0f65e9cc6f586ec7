//! Grammars and the texts that follow them.

use anyhow::{Context, Result, anyhow, ensure};
use llguidance::api::TopLevelGrammar;
use serde_json::{Value, json};
use toktrie::TokenId;

use crate::gbnf::lark_of_gbnf;
use crate::schema;
use crate::vocabulary::Vocabulary;

/// Bytes of the text of a grammar, at most.
const MAX_BYTES: usize = 1 << 20;

/// A grammar compiled for a vocabulary.
pub struct Grammar {
    fresh: llguidance::Matcher,
    notes: Vec<String>,
}

impl Grammar {
    /// Compiles a grammar: `kind` is `json_schema`, `json_object`, `regex`, `choice` (`text` is a JSON array of
    /// strings), `lark` or `gbnf`.
    ///
    /// # Errors
    /// A message with the fault and its place.
    pub fn new(vocabulary: &Vocabulary, kind: &str, text: &str) -> Result<Self> {
        ensure!(text.len() <= MAX_BYTES, "the {kind} has {} bytes, {MAX_BYTES} are possible", text.len());
        let compiles = |schema: &Value| {
            let alone = TopLevelGrammar::from_json_schema(schema.clone());
            vocabulary.factory.create_parser(alone).is_ok()
        };
        let (grammar, notes) = top_level(kind, text, &compiles)?;
        let parser = vocabulary.factory.create_parser(grammar)?;
        Ok(Self { fresh: llguidance::Matcher::new(Ok(parser)), notes })
    }

    /// Restrictions of the schemas that texts need not follow.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The start of a text.
    pub fn matcher(&self) -> Matcher {
        Matcher { inner: self.fresh.clone() }
    }
}

/// A grammar, and what its schemas say that it does not.
fn top_level(kind: &str, text: &str, compiles: &dyn Fn(&Value) -> bool) -> Result<(TopLevelGrammar, Vec<String>)> {
    let mut notes = Vec::new();
    let grammar = match kind {
        "json_object" => TopLevelGrammar::from_json_schema(schema::prepared(json!({ "type": "object" }))?.0),
        "json_schema" => {
            let prepared = settled(serde_json::from_str(text)?, compiles, &mut notes)?;
            TopLevelGrammar::from_json_schema(prepared)
        }
        "regex" => TopLevelGrammar::from_regex(text),
        "choice" => TopLevelGrammar::from_lark(lark_of_choice(text)?),
        "lark" => {
            let settle = &mut |schema| settled(schema, compiles, &mut notes);
            TopLevelGrammar::from_lark(schema::in_lark(text, settle)?)
        }
        "gbnf" => TopLevelGrammar::from_lark(lark_of_gbnf(text)?),
        _ => return Err(anyhow!("unknown kind of grammar '{kind}'")),
    };
    Ok((grammar, notes))
}

/// A schema as `llguidance` follows it; of a lenient one that it refuses, what it does not refuse.
fn settled(schema: Value, compiles: &dyn Fn(&Value) -> bool, notes: &mut Vec<String>) -> Result<Value> {
    let is_lenient = schema::is_lenient(&schema);
    let (prepared, more) = schema::prepared(schema)?;
    notes.extend(more);
    if !is_lenient || compiles(&prepared) {
        return Ok(prepared);
    }
    notes.push("a part of a tool's schema".to_owned());
    Ok(schema::weakened(prepared, compiles))
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
    /// A message where there are fewer tokens.
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
