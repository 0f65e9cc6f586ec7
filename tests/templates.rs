//! Chat templates against Python's jinja2: `fixtures/templates/expected.json`, made by
//! `tools/make_template_fixtures.py`.

#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use webgguf::ErrorCode;
use webgguf::gguf::{Array, Metadata, Value};
use webgguf::tokenizer::{Conversation, Date, Message, Tokenizer};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/templates")
}

type Conversations = BTreeMap<String, Conversation>;

/// What is expected, and the cases; of these, a `Json` would lose the order of the keys.
fn expected() -> (Json, Conversations) {
    #[derive(serde::Deserialize)]
    struct Cases {
        cases: Conversations,
    }
    let text = fs::read_to_string(fixtures().join("expected.json")).expect("expected.json");
    let Cases { cases } = serde_json::from_str(&text).expect("cases");
    (serde_json::from_str(&text).expect("JSON"), cases)
}

fn now() -> Date {
    Date::new(2026, 3, 4).and_then(|date| date.at(5, 6, 7)).expect("a date")
}

/// A small vocabulary with this chat template.
fn tokenizer(template: Option<&str>, further: &[&str]) -> Tokenizer {
    let tokens: Vec<&str> = ["<unk>", "<s>", "</s>", "<pad>", "a"].iter().chain(further).copied().collect();
    let kinds = tokens.iter().map(|token| if token.len() > 1 { 3 } else { 1 }).collect();
    let mut pairs = vec![
        ("tokenizer.ggml.model", Value::String("llama".into())),
        ("tokenizer.ggml.scores", Value::Array(Array::F32(vec![0.0; tokens.len()]))),
        ("tokenizer.ggml.token_type", Value::Array(Array::I32(kinds))),
        ("tokenizer.ggml.tokens", Value::Array(Array::Strings(tokens.iter().collect()))),
        ("tokenizer.ggml.padding_token_id", Value::U32(3)),
    ];
    pairs.extend(template.map(|template| ("tokenizer.chat_template", Value::String(template.into()))));
    Tokenizer::from_metadata(&pairs.into_iter().collect::<Metadata>()).expect("a tokenizer")
}

/// Renders every case with `template`; gives how many are as Python has them.
fn check(name: &str, template: &str, results: &Json, conversations: &Conversations) -> (usize, usize) {
    let tokenizer = tokenizer(Some(template), &[]);
    let mut passed = 0;
    let results = results.as_object().expect("results");
    for (case, result) in results {
        let found = tokenizer.template_text(&conversations[case], now());
        let same = match (&found, result["text"].as_str(), result["error"].as_str()) {
            (Ok(found), Some(text), _) => found == text,
            (Err(error), None, Some(text)) => {
                error.code() == ErrorCode::InvalidArgument
                    && error.message().contains(text)
                    && error.message().contains("line")
            }
            _ => false,
        };
        if same {
            passed += 1;
        } else {
            println!("{name}, {case}:\n expected {result:?}\n    found {found:?}");
        }
    }
    println!("{name}: {passed} of {} cases pass", results.len());
    (passed, results.len())
}

#[test]
fn own_templates_render_as_in_python() {
    let (expected, cases) = expected();
    let own = expected["own"].as_object().expect("own templates");
    assert_eq!(own.len(), 4);
    for (name, entry) in own {
        let template = fs::read_to_string(fixtures().join(name)).expect("a template");
        let (passed, all) = check(name, &template, &entry["results"], &cases);
        assert_eq!(passed, all, "{name}");
    }
}

#[test]
fn real_templates_render_as_in_python() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/templates");
    if !folder.is_dir() {
        // Past the capture of the test harness, so that it is seen.
        let _ = writeln!(io::stderr(), "skipped: {} does not exist", folder.display());
        return;
    }
    let (expected, cases) = expected();
    let mut failed = Vec::new();
    for (name, entry) in expected["shared"].as_object().expect("real templates") {
        let template = fs::read_to_string(folder.join(name)).expect("a template");
        let (passed, all) = check(name, &template, &entry["results"], &cases);
        if passed != all {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

fn render(template: &str) -> Result<String, webgguf::Error> {
    tokenizer(Some(template), &[]).template_text(&Conversation::new(&[Message::new("user", "Hi")], true), now())
}

#[test]
fn without_a_template() {
    let chatml = tokenizer(None, &["<|im_start|>", "<|im_end|>"]);
    let messages = [Message::new("system", "Be kind."), Message::new("user", "Hi")];
    assert_eq!(
        chatml.template_text(&Conversation::new(&messages, true), now()).expect("ChatML"),
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    );
    assert!(
        chatml.template_text(&Conversation::new(&messages, false), now()).expect("ChatML").ends_with("Hi<|im_end|>\n")
    );
    let error =
        tokenizer(None, &[]).template_text(&Conversation::new(&messages, true), now()).expect_err("no template");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("no chat template"), "{error}");
}

#[test]
fn errors_name_the_line() {
    for (template, words) in [
        ("a\n{% if %}", &["line 2"][..]),
        ("\n\n{{ messages | nosuch }}", &["line 3", "nosuch"]),
        ("\n{{ messages.a.b.c }}", &["line 2"]),
        ("{{ raise_exception('not so') }}", &["line 1", "not so"]),
        ("{{ [1] | tojson(indent=1, no=2) }}", &["line 1"]),
        ("{% generation %}", &["line 1"]),
        ("{% include 'x' %}", &["line 1"]),
    ] {
        let error = render(template).expect_err(template);
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{template}");
        assert!(words.iter().all(|word| error.message().contains(word)), "{template}: {error}");
    }
}

#[test]
fn hostile_templates_end() {
    for template in [
        "{% for i in range(9999) %}{% for j in range(9999) %}{% for k in range(9999) %}.\
         {% endfor %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{{ 'x' * 99999999999 }}",
        "{% for i in range(99999999) %}{% endfor %}",
        "{% set x = 'x' * 9999999 %}{% for i in range(9) %}{{ x }}{% endfor %}",
        "{% set n = namespace(x=[]) %}{% for i in range(90) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x | tojson }}",
    ] {
        let error = render(template).expect_err(template);
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{template}");
    }
    let deep = "(".repeat(100_000);
    assert!(render(&format!("{{{{ {deep} }}}}")).is_err());
    assert!(render(&"{% if true %}".repeat(20_000)).is_err());
    for (sign, end) in
        [("1+", "1"), ("-", "1"), ("not ", "1"), ("a|upper|", "lower"), ("a.b.", "c"), ("a if b else ", "1")]
    {
        // As deep as is let through: an answer of any kind, and no overflow.
        let _ =
            render(&format!("{{{{ {}{end} }}}}", sign.repeat(990 / (1 + sign.matches(['|', '.', ' ', '+']).count()))));
        assert!(render(&format!("{{{{ {}{end} }}}}", sign.repeat(20_000))).is_err(), "{sign}");
    }
    let _ = render(&format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(200)));
    assert!(render(&format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(20_000))).is_err());
    assert!(render(&"x".repeat(2 << 20)).is_err());
}
