//! What zod, valibot, arktype, TypeBox and pydantic write: each schema is taken, texts that its library accepts follow
//! it, and those that it refuses do not. `tests/fixtures/schemas/README.md` says how the schemas were made.

mod common;

use common::{END, vocabulary};
use serde_json::{Value, json};
use webgguf_grammar::{Grammar, Vocabulary};

fn schemas() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/schemas/libraries.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect(path)).expect("JSON")
}

fn texts<'a>(sample: &'a Value, which: &str) -> Vec<&'a str> {
    sample[which].as_array().expect("texts").iter().filter_map(Value::as_str).collect()
}

/// Whether the text follows the grammar: without masks, which take a hundred times as long.
fn follows(grammar: &Grammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    let ids: Vec<u32> = text.bytes().map(u32::from).collect();
    matcher.commit(&ids).expect("a matcher") == ids.len()
        && (matcher.is_stopped() || matcher.commit(&[END]).expect("a matcher") == 1)
}

/// What is wrong with a sample.
fn faults(vocabulary: &Vocabulary, sample: &Value, schema: &Value) -> Vec<String> {
    match Grammar::new(vocabulary, "json_schema", &schema.to_string()) {
        Err(error) => vec![format!("refused: {error:#}")],
        Ok(grammar) => {
            let good = texts(sample, "good").into_iter().filter(|text| !follows(&grammar, text));
            let bad = texts(sample, "bad").into_iter().filter(|text| follows(&grammar, text));
            good.map(|text| format!("forbids {text}")).chain(bad.map(|text| format!("allows {text}"))).collect()
        }
    }
}

#[test]
fn schemas_of_libraries_are_followed() {
    let vocabulary = vocabulary(false);
    let mut wrong = Vec::new();
    let samples = schemas();
    for sample in &samples {
        let name = format!("{} {}", sample["library"], sample["name"]);
        let found = faults(&vocabulary, sample, &sample["schema"]);
        wrong.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        let mut lenient = sample["schema"].clone();
        lenient["x-guidance"] = json!({ "lenient": true });
        let found = faults(&vocabulary, sample, &lenient).into_iter().filter(|fault| !fault.starts_with("allows"));
        wrong.extend(found.map(|fault| format!("{name}, lenient: {fault}")));
    }
    assert!(samples.len() > 400, "{} schemas", samples.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
