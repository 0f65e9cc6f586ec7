//! The keywords of one schema, said as `llguidance` says them.

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};

use super::names::{allows_any_text, has_properties, listed, pattern_of_names, referred};
use super::pattern::{rust_patterns, without_look_ahead};
use super::walk::each_schema_mut;

/// Formats that `llguidance` follows; JSON Schema has all others as annotations.
const FORMATS: [&str; 9] = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// Keywords that do not restrict an answer; beside a `$ref` they would be taken for restrictions.
pub const SILENT: [&str; 13] = [
    "$comment",
    "$vocabulary",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "title",
    "description",
    "default",
    "deprecated",
    "examples",
    "readOnly",
    "writeOnly",
    "minContains",
    "maxContains",
];
/// Restrictions of single values and of what they are beside each other; without them a schema allows more.
const RESTRICTIONS: [&str; 26] = [
    "pattern",
    "format",
    "patternProperties",
    "propertyNames",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];
/// The types of JSON.
const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

type Fields = Map<String, Value>;

/// Says schemas as `llguidance` does.
pub struct Simplifier {
    /// Whether restrictions that cannot be followed are dropped.
    pub is_lenient: bool,
    /// The whole schema, for references.
    pub root: Value,
    /// The dropped restrictions.
    pub notes: Vec<String>,
}

impl Simplifier {
    /// Changes a schema and all in it.
    ///
    /// # Errors
    /// The restriction that cannot be followed.
    pub fn simplify(&mut self, schema: &mut Value) -> Result<()> {
        if let Value::Object(fields) = schema {
            self.rename(fields)?;
        }
        let mut result = Ok(());
        each_schema_mut(schema, &mut |inner| {
            if result.is_ok() {
                result = self.simplify(inner);
            }
        });
        result?;
        let Value::Object(fields) = schema else { return Ok(()) };
        self.formatted(fields)?;
        self.name_patterns(fields)?;
        if is_never(fields) {
            *schema = Value::Bool(false);
        } else if fields.shift_remove("nullable") == Some(Value::Bool(true)) {
            let meant = std::mem::take(fields);
            *fields = Map::from_iter([("anyOf".to_owned(), json!([meant, { "type": "null" }]))]);
        }
        Ok(())
    }

    fn note(&mut self, what: &str) {
        if !self.notes.iter().any(|known| known == what) {
            self.notes.push(what.to_owned());
        }
    }

    /// Leaves out what says nothing, and says the rest with keywords that `llguidance` knows.
    fn rename(&mut self, fields: &mut Fields) -> Result<()> {
        if fields.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uuid")) {
            fields.insert("format".to_owned(), "uuid".into());
        }
        fields.retain(|keyword, value| !SILENT.contains(&keyword.as_str()) && !says_nothing(keyword, value));
        Self::typed(fields);
        self.unique(fields);
        bounded(fields);
        one_of(fields, &self.root, &mut self.notes);
        joined(fields);
        self.name_properties(fields)
    }

    /// Types that JSON has not, as TypeBox writes them.
    fn typed(fields: &mut Fields) {
        let kind = fields.get("type").and_then(Value::as_str).map(str::to_owned);
        if let (Some("RegExp"), Some(source)) = (kind.as_deref(), fields.get("source").cloned()) {
            fields.insert("type".to_owned(), "string".into());
            fields.insert("pattern".to_owned(), source);
        }
        let Some(Value::Object(not)) = fields.get("not") else { return };
        let forbidden = match not.get("type") {
            Some(Value::String(kind)) if not.len() == 1 => vec![kind.as_str()],
            Some(Value::Array(kinds)) if not.len() == 1 => kinds.iter().filter_map(Value::as_str).collect(),
            _ => return,
        };
        // A number that is no integer cannot be said.
        if !fields.contains_key("type") && !forbidden.contains(&"integer") {
            let others = TYPES.iter().filter(|kind| **kind != "integer" && !forbidden.contains(kind));
            let others: Vec<&str> = others.copied().collect();
            fields.insert("type".to_owned(), json!(others));
            fields.shift_remove("not");
        }
    }

    /// A grammar does not remember items: sets, as other languages have them, are lists.
    fn unique(&mut self, fields: &mut Fields) {
        let is_list = fields.get("type") == Some(&"array".into()) && fields.get("items").is_some_and(Value::is_object);
        let may_leave = self.is_lenient || (is_list && !fields.contains_key("prefixItems"));
        if may_leave && fields.shift_remove("uniqueItems").is_some() {
            self.note("'uniqueItems'");
        }
    }

    /// Property names as a restriction of the properties.
    fn name_properties(&mut self, fields: &mut Fields) -> Result<()> {
        let Some(names) = fields.shift_remove("propertyNames") else { return Ok(()) };
        let named = referred(&self.root, &names).unwrap_or(&names);
        if allows_any_text(named) {
            return Ok(());
        }
        let values = fields.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
        let has_patterns = fields.contains_key("patternProperties");
        if let Some(listed) = listed(named).filter(|_| !has_patterns) {
            let properties = fields.entry("properties").or_insert_with(|| json!({}));
            let Value::Object(properties) = properties else { return Ok(()) };
            properties.retain(|name, _| listed.iter().any(|listed| listed == name));
            for name in listed.iter().filter_map(Value::as_str) {
                properties.entry(name).or_insert_with(|| values.clone());
            }
        } else if let Some(pattern) = pattern_of_names(named).filter(|_| !has_patterns && !has_properties(fields)) {
            fields.insert("patternProperties".to_owned(), json!({ pattern: values }));
        } else if self.is_lenient || named.get("format").is_some() {
            self.note("'propertyNames'");
            return Ok(());
        } else {
            bail!("'propertyNames' cannot be followed here: {named}");
        }
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
        Ok(())
    }

    /// Names of properties by pattern.
    fn name_patterns(&mut self, fields: &mut Fields) -> Result<()> {
        let Some(Value::Object(patterns)) = fields.get_mut("patternProperties") else { return Ok(()) };
        for (source, schema) in std::mem::take(patterns) {
            match rust_patterns(&source).as_deref() {
                Ok([only]) => drop(patterns.insert(only.clone(), schema)),
                _ if self.is_lenient => {}
                Ok(_) => bail!("the names {source:?} of 'patternProperties' have look-around"),
                Err(error) => bail!("the names {source:?} of 'patternProperties' have {error}"),
            }
        }
        Ok(())
    }

    /// Pattern and format of a text.
    fn formatted(&mut self, fields: &mut Fields) -> Result<()> {
        let format = fields.get("format").and_then(Value::as_str).map(str::to_owned);
        let Some(Value::String(source)) = fields.get("pattern").cloned() else {
            forbid_leap_seconds(fields, format.as_deref());
            return Ok(());
        };
        fields.shift_remove("pattern");
        match rust_patterns(&source) {
            Ok(patterns) => {
                // Libraries have times without a zone; the format has one.
                if matches!(format.as_deref(), Some("time" | "date-time")) {
                    fields.shift_remove("format");
                }
                patterns.into_iter().for_each(|pattern| add(fields, pattern));
            }
            Err(error) if !self.is_lenient && format.is_none() => match rust_patterns(&without_look_ahead(&source)) {
                Ok(patterns) => {
                    self.note(&format!("the pattern {source:?}"));
                    patterns.into_iter().for_each(|pattern| add(fields, pattern));
                }
                Err(_) => bail!("the pattern {source:?} has {error}"),
            },
            Err(_) => {
                // Where a format says the same in its way, the pattern adds nothing that a grammar could follow.
                forbid_leap_seconds(fields, format.as_deref());
                if format.is_none() {
                    self.note(&format!("the pattern {source:?}"));
                }
            }
        }
        Ok(())
    }
}

/// Bounds that no number of a language reaches, such as the largest number of 32 bits, say nothing; `llguidance` has
/// none that large.
fn bounded(fields: &mut Fields) {
    const LARGEST: f64 = 9e18;
    for (bound, sign) in [("minimum", -1.0), ("exclusiveMinimum", -1.0), ("maximum", 1.0), ("exclusiveMaximum", 1.0)] {
        if fields.get(bound).and_then(Value::as_f64).is_some_and(|value| value * sign >= LARGEST) {
            fields.shift_remove(bound);
        }
    }
}

/// One of several objects: `llguidance` refuses those that it cannot prove to exclude each other, and so may be any.
fn one_of(fields: &mut Fields, root: &Value, notes: &mut Vec<String>) {
    let Some(Value::Array(options)) = fields.get("oneOf") else { return };
    let is_object = |option: &Value| {
        let option = referred(root, option).unwrap_or(option);
        option.get("type") == Some(&"object".into()) && option.get("properties").is_some()
    };
    let has_tag = fields.contains_key("discriminator");
    if fields.contains_key("anyOf") || !options.iter().all(is_object) {
        return;
    }
    if !has_tag && !options.iter().all(|option| has_constant(referred(root, option).unwrap_or(option))) {
        notes.push("'oneOf'".to_owned());
    }
    let options = fields.shift_remove("oneOf").unwrap_or_default();
    fields.insert("anyOf".to_owned(), options);
}

/// Whether a required property has one value, which says which object it is.
fn has_constant(schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|all| {
        all.iter().any(|(name, schema)| schema.get("const").is_some() && required.iter().any(|known| known == name))
    })
}

/// `unevaluatedProperties: false` beside objects that are joined: the properties are those of all of them.
fn joined(fields: &mut Fields) {
    let others = ["anyOf", "oneOf", "$ref", "if", "dependentSchemas", "not", "additionalProperties"];
    if others.iter().any(|keyword| fields.contains_key(*keyword)) {
        return;
    }
    if !fields.contains_key("allOf") {
        return close(fields);
    }
    if fields.get("unevaluatedProperties") != Some(&Value::Bool(false)) || fields.contains_key("properties") {
        return;
    }
    let Some(Value::Array(parts)) = fields.get("allOf") else { return };
    let Some((properties, required)) = sum_of(parts) else { return };
    fields.shift_remove("allOf");
    fields.shift_remove("unevaluatedProperties");
    fields.insert("type".to_owned(), "object".into());
    fields.insert("properties".to_owned(), Value::Object(properties));
    fields.insert("required".to_owned(), Value::Array(required));
    fields.insert("additionalProperties".to_owned(), Value::Bool(false));
}

/// The properties of objects that say nothing else and have none in common, and those that are required.
fn sum_of(parts: &[Value]) -> Option<(Fields, Vec<Value>)> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts {
        for (keyword, value) in part.as_object()? {
            match (keyword.as_str(), value) {
                ("type", Value::String(kind)) if kind == "object" => {}
                ("required", Value::Array(names)) => required.extend_from_slice(names),
                ("properties", Value::Object(own)) => {
                    for (name, schema) in own {
                        if properties.insert(name.clone(), schema.clone()).is_some() {
                            return None;
                        }
                    }
                }
                _ => return None,
            }
        }
    }
    Some((properties, required))
}

/// Takes out all that restricts single values.
pub fn loosen(schema: &mut Value) {
    if let Value::Object(fields) = schema {
        fields.retain(|keyword, _| !RESTRICTIONS.contains(&keyword.as_str()));
    }
    each_schema_mut(schema, &mut loosen);
}

/// Whether a keyword allows every value.
fn says_nothing(keyword: &str, value: &Value) -> bool {
    let is_empty = value.as_object().is_some_and(Map::is_empty);
    match keyword {
        "format" => value.as_str().is_some_and(|format| format != "uri" && !FORMATS.contains(&format)),
        "uniqueItems" => *value == Value::Bool(false),
        "unevaluatedItems" | "unevaluatedProperties" => is_empty || *value == Value::Bool(true),
        "dependentRequired" | "dependentSchemas" | "dependencies" | "patternProperties" => is_empty,
        _ => false,
    }
}

/// `not: {}`, as libraries write that nothing is allowed.
fn is_never(fields: &Fields) -> bool {
    let not = fields.get("not");
    not == Some(&Value::Bool(true)) || not.and_then(Value::as_object).is_some_and(Map::is_empty)
}

/// `unevaluatedProperties` where no other schema evaluates any.
fn close(fields: &mut Fields) {
    for (unevaluated, additional) in [("unevaluatedProperties", "additionalProperties"), ("unevaluatedItems", "items")]
    {
        if fields.contains_key("contains") {
            continue;
        }
        if let Some(rest) = fields.shift_remove(unevaluated) {
            fields.entry(additional).or_insert(rest);
        }
    }
}

/// `llguidance` allows second 60 in every minute of the formats `time` and `date-time`; there is one at most, before
/// midnight in UTC.
fn forbid_leap_seconds(fields: &mut Fields, format: Option<&str>) {
    match format {
        Some("time") => add(fields, "^..:..:[0-5]".to_owned()),
        Some("date-time") => add(fields, "[tT]..:..:[0-5]".to_owned()),
        _ => {}
    }
}

/// A pattern that a text has to match as well.
fn add(fields: &mut Fields, pattern: String) {
    if !fields.contains_key("pattern") && !fields.contains_key("format") {
        fields.insert("pattern".to_owned(), Value::String(pattern));
    } else if let Value::Array(all) = fields.entry("allOf").or_insert_with(|| json!([])) {
        all.push(json!({ "pattern": pattern }));
    }
}
