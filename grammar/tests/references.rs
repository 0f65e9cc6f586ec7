//! Every way in which a schema can refer to a part of itself.

mod common;

use common::{check, refusal};
use serde_json::{Value, json};

/// The fields of `more` beside a property `a` with this reference.
fn schema(reference: &str, more: Value) -> String {
    let mut schema = json!({ "type": "object", "properties": { "a": { "$ref": reference } }, "required": ["a"],
        "additionalProperties": false });
    schema.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    schema.to_string()
}

#[test]
fn references_lead_to_parts_of_the_schema() {
    let s = || json!({ "type": "string", "maxLength": 3 });
    let of = |name: &str| json!({ "$defs": { name: s() } });
    let base = "https://example.com/a/root.json";
    for (reference, more) in [
        ("#/$defs/S", of("S")),
        ("#/definitions/S", json!({ "definitions": { "S": s() } })),
        ("#/components/schemas/S", json!({ "components": { "schemas": { "S": s() } } })),
        ("#/$defs/T/prefixItems/0", json!({ "$defs": { "T": { "prefixItems": [s()] } } })),
        ("#/$defs/a~1b", of("a/b")),
        ("#/$defs/a~0b", of("a~b")),
        ("#/$defs/a%7E1b", of("a/b")),
        ("#/$defs/a%20b", of("a b")),
        ("#/$defs/%C3%BC", of("ü")),
        ("#/$defs/a%25b", of("a%b")),
        ("#/$defs/a b%25", of("a b%25")),
        ("#/$defs/Page%3CUser%3E", of("Page<User>")),
        ("#/$defs/", of("")),
        ("#s", json!({ "$defs": { "S": { "$anchor": "s", "type": "string", "maxLength": 3 } } })),
        ("#s", json!({ "definitions": { "S": { "$id": "#s", "type": "string", "maxLength": 3 } } })),
        ("T0", json!({ "$defs": { "S": { "$id": "T0", "type": "string", "maxLength": 3 } } })),
        ("urn:x:s", json!({ "$defs": { "S": { "$id": "urn:x:s", "type": "string", "maxLength": 3 } } })),
        ("s.json", json!({ "$id": base, "$defs": { "S": { "$id": "s.json", "type": "string", "maxLength": 3 } } })),
        ("d.json#/$defs/S", json!({ "$id": base, "$defs": { "D": { "$id": "d.json", "$defs": { "S": s() } } } })),
        ("https://example.com/a/root.json#/$defs/S", json!({ "$id": base, "$defs": { "S": s() } })),
        ("#/$defs/A", json!({ "$defs": { "A": { "$ref": "#/$defs/B", "title": "A", "x-more": 1 }, "B": s() } })),
    ] {
        check("json_schema", &schema(reference, more), &[r#"{"a":"xyz"}"#], &[r#"{"a":"four"}"#, r#"{"a":1}"#]);
    }
}

#[test]
fn references_may_lead_around() {
    let node = json!({ "$ref": "#/$defs/N~1a", "$defs": { "N/a": { "type": "object", "additionalProperties": false,
        "properties": { "c": { "type": "array", "items": { "$ref": "#/$defs/N~1a", "description": "a child" } } },
        "required": ["c"] } } });
    check("json_schema", &node.to_string(), &[r#"{"c":[{"c":[]}]}"#], &[r#"{"c":[1]}"#]);
}

#[test]
fn a_reference_that_leads_nowhere_is_refused() {
    for reference in ["#/$defs/T", "#t", "t.json", "https://example.com/t.json", "https://example.com/t.json#/$defs/S"]
    {
        let message = refusal("json_schema", &schema(reference, json!({ "$defs": { "S": {} } })));
        assert!(message.contains(reference) && message.contains("names nothing"), "{message}");
    }
}
