//! JSON Schemas as `llguidance` can follow them.
//!
//! Libraries write more into a schema than describes an answer (annotations, keywords that change nothing), and say
//! some things in other words than `llguidance` knows. What says nothing is taken out here, the rest is put into its
//! words. What it cannot follow is refused, so that nothing is silently wider than it was meant; for the arguments of
//! tools it is left out instead, since a whole request must not fail for one of many tools.

mod keywords;
mod names;
mod pattern;
mod references;
mod walk;

use anyhow::Result;
use serde_json::{Map, Value, json};

/// White space between the parts of JSON: as people and models write it, but never without end, which is what small
/// models do that may.
const WHITE_SPACE: &str = r"[ ]|\n[ \t]{0,20}";

/// A schema in the words of `llguidance`, and what it does not say any more. Its `x-guidance.lenient` says that what
/// cannot be followed is left out.
///
/// # Errors
/// The parts that cannot be followed.
pub fn prepared(mut schema: Value) -> Result<(Value, Vec<String>)> {
    let is_lenient = is_lenient(&schema);
    references::resolve(&mut schema, is_lenient)?;
    let mut simplifier = keywords::Simplifier { is_lenient, root: schema.clone(), notes: Vec::new() };
    simplifier.simplify(&mut schema)?;
    Ok((with_white_space(schema), simplifier.notes))
}

/// Whether what cannot be followed is left out.
pub fn is_lenient(schema: &Value) -> bool {
    schema.pointer("/x-guidance/lenient") == Some(&Value::Bool(true))
}

/// Says how white space may look, unless the schema does. For tools one of several schemas may be any of them:
/// `llguidance` refuses those that it cannot prove to exclude each other.
fn with_white_space(schema: Value) -> Value {
    match schema {
        Value::Object(mut fields) => {
            let guidance = fields.entry("x-guidance").or_insert_with(|| json!({ "whitespace_pattern": WHITE_SPACE }));
            if let Some(true) = guidance.get("lenient").and_then(Value::as_bool) {
                guidance["coerce_one_of"] = Value::Bool(true);
                if guidance.get("whitespace_pattern").is_none() && guidance.get("whitespace_flexible").is_none() {
                    guidance["whitespace_pattern"] = WHITE_SPACE.into();
                }
            }
            Value::Object(fields)
        }
        Value::Bool(true) => with_white_space(json!({})),
        other => other,
    }
}

/// The schema, or where `compiles` refuses it, what is left of it without what restricts single values, or without the
/// definitions or all of the properties that are refused.
pub fn weakened(schema: Value, compiles: &dyn Fn(&Value) -> bool) -> Value {
    if compiles(&schema) {
        return schema;
    }
    let mut weaker = schema;
    keywords::loosen(&mut weaker);
    if compiles(&weaker) {
        return weaker;
    }
    let guidance = weaker.get("x-guidance").cloned().unwrap_or_default();
    let defs = weaker.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in defs.keys() {
        let alone = json!({ "$ref": format!("#/$defs/{name}"), "$defs": weaker["$defs"], "x-guidance": guidance });
        if !compiles(&alone) {
            weaker["$defs"][name] = json!({ "type": "object" });
        }
    }
    if compiles(&weaker) {
        return weaker;
    }
    let kind = weaker.get("type").cloned().unwrap_or_else(|| "object".into());
    Value::Object(Map::from_iter([("type".to_owned(), kind), ("x-guidance".to_owned(), guidance)]))
}

/// The text of a Lark grammar with the schemas in it (`name: %json { … }`) changed by `change`.
///
/// # Errors
/// The errors of `change`.
pub fn in_lark(text: &str, change: &mut dyn FnMut(Value) -> Result<Value>) -> Result<String> {
    const SIGN: &str = "%json";
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(SIGN) {
        let (before, after) = rest.split_at(at + SIGN.len());
        changed.push_str(before);
        rest = after;
        if !before[..at].trim_end().ends_with(':') {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        if let Some(Ok(schema)) = values.next() {
            let end = values.byte_offset();
            changed.push(' ');
            changed.push_str(&change(schema)?.to_string());
            rest = &after[end..];
        }
    }
    changed.push_str(rest);
    Ok(changed)
}
