//! Restrictions of property names.

use serde_json::{Map, Value};

use super::keywords::SILENT;
use super::pattern::rust_patterns;
use super::references::at_path;

type Fields = Map<String, Value>;

/// The schema that one with a `$ref` stands for.
pub fn referred<'a>(root: &'a Value, schema: &Value) -> Option<&'a Value> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix("#/")?;
    at_path(root, &pointer.split('/').map(str::to_owned).collect::<Vec<_>>())
}

/// The texts that a schema lists.
pub fn listed(schema: &Value) -> Option<Vec<Value>> {
    match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(list)), _) => Some(list.clone()),
        (_, only) => only.map(|only| vec![only.clone()]),
    }
}

/// The pattern of names that a schema of names says, where that is all it says.
pub fn pattern_of_names(schema: &Value) -> Option<String> {
    let fields = schema.as_object()?;
    let known = ["type", "pattern", "minLength", "maxLength", "format"];
    if !fields.keys().all(|keyword| known.contains(&keyword.as_str()) || SILENT.contains(&keyword.as_str())) {
        return None;
    }
    let [least, most] = ["minLength", "maxLength"].map(|count| fields.get(count).and_then(Value::as_u64));
    match fields.get("pattern").and_then(Value::as_str) {
        Some(pattern) if least.is_none() && most.is_none() => {
            rust_patterns(pattern).is_ok_and(|all| all.len() == 1).then(|| pattern.to_owned())
        }
        None if least.is_some() || most.is_some() => {
            let most = most.map(|most| most.to_string()).unwrap_or_default();
            Some(format!("^[^]{{{},{most}}}$", least.unwrap_or(0)))
        }
        _ => None,
    }
}

pub fn has_properties(fields: &Fields) -> bool {
    fields.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty())
}

/// Whether every text follows a schema.
pub fn allows_any_text(schema: &Value) -> bool {
    let is_silent = |(keyword, value): (&String, &Value)| keyword == "type" && value == "string";
    *schema == Value::Bool(true) || schema.as_object().is_some_and(|fields| fields.iter().all(is_silent))
}
