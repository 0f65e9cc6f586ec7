//! Where a schema has schemas in it: names of properties and values are no keywords.

use serde_json::Value;

/// The kind of subschemas in the value of a keyword.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A schema, or a list of them.
    Schema,
    /// Names with a schema each.
    Named,
}

fn holds(keyword: &str) -> Option<Holds> {
    match keyword {
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Some(Holds::Named),
        "allOf"
        | "anyOf"
        | "oneOf"
        | "not"
        | "if"
        | "then"
        | "else"
        | "items"
        | "prefixItems"
        | "additionalItems"
        | "additionalProperties"
        | "propertyNames"
        | "contains"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Some(Holds::Schema),
        _ => None,
    }
}

/// Calls `see` with the schemas right inside of one, and the parts of the pointer to each.
pub fn each_schema<'a>(schema: &'a Value, see: &mut dyn FnMut(&[&str], &'a Value)) {
    let Value::Object(fields) = schema else { return };
    for (keyword, value) in fields {
        match (holds(keyword), value) {
            (Some(Holds::Named), Value::Object(named)) => {
                named.iter().for_each(|(name, inner)| see(&[keyword, name], inner));
            }
            (Some(Holds::Schema), Value::Array(items)) => {
                items.iter().enumerate().for_each(|(at, inner)| see(&[keyword, &at.to_string()], inner));
            }
            (Some(Holds::Schema), inner) => see(&[keyword], inner),
            _ => {}
        }
    }
}

/// Calls `change` with the schemas right inside of one.
pub fn each_schema_mut(schema: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    let Value::Object(fields) = schema else { return };
    for (keyword, value) in fields.iter_mut() {
        match (holds(keyword), value) {
            (Some(Holds::Named), Value::Object(named)) => named.values_mut().for_each(&mut *change),
            (Some(Holds::Schema), Value::Array(items)) => items.iter_mut().for_each(&mut *change),
            (Some(Holds::Schema), inner) => change(inner),
            _ => {}
        }
    }
}
