//! `$ref` as JSON Schema has it: a pointer with `~1`, `~0` and percent signs, a name (`$anchor`), or the `$id` of a
//! schema in the same text. `llguidance` knows pointers without any of these, so all are written as such.

use anyhow::{Result, anyhow};
use serde_json::{Map, Value};

use super::walk::each_schema;

type Path = Vec<String>;

/// Where the schemas of a text are, by what names them.
#[derive(Default)]
struct Names {
    /// By their `$id`, made absolute.
    ids: Vec<(String, Path)>,
    /// By the `$id` of the schema around them and their `$anchor`.
    anchors: Vec<(String, String, Path)>,
}

/// Writes every `$ref` of a schema as a pointer from its root whose parts stand as they are.
///
/// # Errors
/// Where one names nothing in this schema; with `is_lenient` it is left out instead.
pub fn resolve(root: &mut Value, is_lenient: bool) -> Result<()> {
    let mut names = Names::default();
    collect(root, &mut names);
    let whole = root.clone();
    let mut copies = Vec::new();
    let mut failure = None;
    rewrite(root, &mut |fields, base| {
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else { return };
        match names.find(&whole, base, reference) {
            Some(path) => {
                let pointer = pointer_to(path, &mut copies);
                fields.insert("$ref".to_owned(), Value::String(pointer));
            }
            None if is_lenient => drop(fields.shift_remove("$ref")),
            None => {
                failure = failure.take().or_else(|| Some(anyhow!("'$ref' {reference:?} names nothing in the schema")))
            }
        }
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    copy(root, &copies);
    Ok(())
}

/// A schema whose place has no pointer that `llguidance` reads is copied to where it has one.
fn pointer_to(path: Path, copies: &mut Vec<Path>) -> String {
    let is_plain = !path.iter().any(|part| part.contains('/')) && path.last().is_none_or(|part| !part.is_empty());
    if path.is_empty() {
        return "#".to_owned();
    }
    if is_plain {
        return format!("#/{}", path.join("/"));
    }
    let at = copies.iter().position(|known| *known == path).unwrap_or_else(|| {
        copies.push(path);
        copies.len() - 1
    });
    format!("#/$defs/{}", name_of_copy(at))
}

fn name_of_copy(at: usize) -> String {
    format!("copy of {at}")
}

fn copy(root: &mut Value, copies: &[Path]) {
    let found: Vec<Value> = copies.iter().filter_map(|path| at_path(root, path).cloned()).collect();
    let Value::Object(fields) = root else { return };
    if found.is_empty() {
        return;
    }
    let defs = fields.entry("$defs").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(defs) = defs {
        defs.extend(found.into_iter().enumerate().map(|(at, schema)| (name_of_copy(at), schema)));
    }
}

/// The value at a place of a schema.
pub fn at_path<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

impl Names {
    fn find(&self, root: &Value, base: &str, reference: &str) -> Option<Path> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let fragment = percent_decoded(fragment);
        let target = if address.is_empty() { base.to_owned() } else { joined(base, address) };
        let by_id = |id: &str| self.ids.iter().find(|(known, _)| known == id).map(|(_, path)| path);
        let resource = by_id(&target).or_else(|| by_id(address));
        let start = match resource {
            Some(path) => path.as_slice(),
            None if address.is_empty() => &[],
            None => return None,
        };
        if fragment.is_empty() {
            return Some(start.to_vec());
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            let named = |base: &str| self.anchors.iter().find(|(of, name, _)| of == base && *name == fragment);
            return named(&target).or_else(|| named("")).map(|(_, _, path)| path.clone());
        };
        let parts: Path = pointer.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
        // Libraries write pointers from the root of the text also inside of a schema with an `$id`, and names as
        // they are.
        let raw: Path = reference.split_once("#/").map_or("", |(_, raw)| raw).split('/').map(str::to_owned).collect();
        let places = [[start, &parts].concat(), parts, raw];
        places.into_iter().find(|path| at_path(root, path).is_some())
    }
}

/// Notes what has an `$id` or an `$anchor`.
fn collect(root: &Value, names: &mut Names) {
    let mut todo = vec![(root, Path::new(), String::new())];
    while let Some((schema, path, base)) = todo.pop() {
        let base = base_inside(schema, &base);
        if !base_inside(schema, "").is_empty() || path.is_empty() {
            names.ids.push((base.clone(), path.clone()));
        }
        for key in ["$anchor", "$id"] {
            let name = schema.get(key).and_then(Value::as_str);
            let anchor = if key == "$id" { name.and_then(|id| id.strip_prefix('#')) } else { name };
            if let Some(anchor) = anchor {
                names.anchors.push((base.clone(), anchor.to_owned(), path.clone()));
            }
        }
        each_schema(schema, &mut |parts, inner| {
            let path = path.iter().map(String::as_str).chain(parts.iter().copied()).map(str::to_owned).collect();
            todo.push((inner, path, base.clone()));
        });
    }
}

/// Calls `change` with the fields of each schema and the `$id` of what is around it.
fn rewrite(root: &mut Value, change: &mut dyn FnMut(&mut Map<String, Value>, &str)) {
    fn inside(schema: &mut Value, base: &str, change: &mut dyn FnMut(&mut Map<String, Value>, &str)) {
        let base = base_inside(schema, base);
        super::walk::each_schema_mut(schema, &mut |inner| inside(inner, &base, change));
        if let Value::Object(fields) = schema {
            change(fields, &base);
        }
    }
    inside(root, "", change);
}

/// The address of a schema in one with the address `base`: a part of a name alone is no address.
fn base_inside(schema: &Value, base: &str) -> String {
    match schema.get("$id").and_then(Value::as_str) {
        Some(id) if !id.starts_with('#') => joined(base, id.split('#').next().unwrap_or(id)),
        _ => base.to_owned(),
    }
}

/// A relative address beside another one.
fn joined(base: &str, address: &str) -> String {
    let is_scheme = |text: &str| text.chars().all(|sign| sign.is_ascii_alphanumeric() || "+-.".contains(sign));
    let is_absolute = address.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    if is_absolute || base.is_empty() {
        return address.to_owned();
    }
    let folder = &base[..=base.rfind('/').unwrap_or(0)];
    if folder.contains('/') { format!("{folder}{}", address.trim_start_matches("./")) } else { address.to_owned() }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let octet = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| first == b'%');
        bytes.push(octet.unwrap_or(first));
        rest = if octet.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
