//! Texts that each kind of grammar allows and refuses, over a vocabulary of all bytes and some words.

mod common;

use common::{END, allows, check, refusal, vocabulary};
use webgguf_grammar::{Grammar, Matcher, Tokens, Vocabulary};

#[test]
fn json_schemas() {
    let schema =
        r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#;
    let good = [r#"{"a":1}"#, r#"{"a": -12}"#, "{\n  \"a\": 0\n}"];
    let bad = [r#"{"a":"1"}"#, "{}", r#"{"b":1}"#, "{\n\n\n \"a\":1}", "{  \"a\":1}", "[1]"];
    check("json_schema", schema, &good, &bad);
    check("json_schema", "true", &["1", "[null]"], &["x"]);
    check("json_object", "", &["{}", r#"{"x":[1,{"y":null}]}"#], &["[]", "1", "null"]);
}

#[test]
fn minutes_have_sixty_seconds() {
    check("json_schema", r#"{"format":"time","type":"string"}"#, &["\"23:00:59Z\""], &["\"23:00:60Z\"", "\"23:00Z\""]);
    let schema = r#"{"items":{"format":"date-time","type":"string"},"type":"array"}"#;
    check("json_schema", schema, &["[\"2026-11-22T12:00:09.5+01:00\"]"], &["[\"2026-11-22T12:00:60Z\"]"]);
    check("json_schema", r#"{"const":{"format":"time"}}"#, &[r#"{"format":"time"}"#], &["{}"]);
}

#[test]
fn a_schema_says_how_white_space_may_be() {
    let schema = r#"{"type":"array","x-guidance":{"whitespace_flexible":false}}"#;
    check("json_schema", schema, &["[1,2]"], &["[1, 2]"]);
    let separators = r#"{"whitespace_flexible":false,"key_separator":": ?","item_separator":", ?"}"#;
    let schema = format!(r#"{{"type":"object","required":["a","b"],"x-guidance":{separators}}}"#);
    let tight = [r#"{"a": 1, "b": 2}"#, r#"{"a":1,"b":2}"#];
    check("json_schema", &schema, &tight, &["{\"a\":\n1, \"b\": 2}", r#"{ "a": 1, "b": 2}"#, r#"{"a" : 1, "b": 2}"#]);
}

#[test]
fn expressions_and_choices() {
    check("regex", "[a-c]{2}|x+", &["ab", "xxx"], &["a", "abc", "xa"]);
    check("choice", r#"["yes","no","say \"hé\"\n"]"#, &["yes", "no", "say \"hé\"\n"], &["y", "yesno", ""]);
    check("lark", "start: \"a\" start \"b\" | \"c\"", &["c", "acb", "aacbb"], &["ac", "cb"]);
}

#[test]
fn gbnf() {
    check("gbnf", "root ::= \"a\"{2,3} [^a-z\\n]? # end", &["aa", "aaa", "aa!", "aa/"], &["a", "aaaa", "aab", "aa\n"]);
    let arithmetic =
        "root ::= term (ws [-+*/] ws term)*\nterm ::= [0-9]+ |\n  \"(\" ws root ws \")\"\nws ::= [ \\t]*\n";
    check("gbnf", arithmetic, &["1", "1+2", "12 * (3 - 4)", "((1))"], &["", "1+", "(1", "1 2"]);
    let json = "root ::= object\nvalue ::= object | string | (\"true\" | \"null\") ws\nobject ::= \"{\" ws (string \
                \":\" ws value \
                (\",\" ws string \":\" ws value)*)? \"}\" ws\nstring ::= \"\\\"\" ([^\"\\\\\\x7F\\x00-\\x1F] | \
                \"\\\\\" \
                [\"\\\\nu])* \"\\\"\" ws\nws ::= | \" \" | \"\\n\" [ \\t]{0,20}\n";
    check("gbnf", json, &["{}", r#"{"a": {"b": null}, "c":"é\n"}"#], &[r#"{"a"}"#, r#"{"a":1}"#, "{} x"]);
}

#[test]
fn mistakes_are_named() {
    assert!(refusal("json_schema", "{").contains("EOF"), "{}", refusal("json_schema", "{"));
    assert!(refusal("json_schema", r#"{"type":"thing"}"#).contains("thing"));
    assert!(refusal("regex", "(a").contains("unclosed"), "{}", refusal("regex", "(a"));
    assert!(refusal("lark", "start: thing").contains("thing"));
    assert!(refusal("gbnf", "root ::= thing").contains("line 1"));
    assert!(refusal("choice", "[1]").contains("array of strings"));
    assert!(refusal("json_schema", &" ".repeat((1 << 20) + 1)).contains("1048577 bytes, 1048576 are possible"));
}

#[test]
fn tokens_are_forced_as_the_tokenizer_cuts_them() {
    let vocabulary = vocabulary(true);
    let schema = r#"{"const":{"name":true},"x-guidance":{"whitespace_flexible":false}}"#;
    let grammar = Grammar::new(&vocabulary, "json_schema", schema).expect("a grammar");
    let mut matcher: Matcher = grammar.matcher();
    let mut ids = matcher.commit_forced().expect("tokens");
    while !matcher.is_stopped() {
        let mask = matcher.mask().expect("a mask");
        let only: Vec<u32> = (0..END + 5).filter(|&id| allows(&mask, id)).collect();
        assert_eq!(only.len(), 1, "{only:?} after {ids:?}");
        assert_eq!(matcher.commit(&only).expect("a matcher"), 1);
        ids.extend(only);
        ids.extend(matcher.commit_forced().expect("tokens"));
    }
    let expected = [u32::from(b'{'), u32::from(b'"'), END + 1, END + 2, END + 3, u32::from(b'}')];
    assert_eq!(ids, expected);
}

#[test]
fn a_refused_token_changes_nothing() {
    let vocabulary = vocabulary(false);
    let grammar = Grammar::new(&vocabulary, "regex", "[ab]+c").expect("a grammar");
    let mut matcher = grammar.matcher();
    assert_eq!(matcher.commit(&[u32::from(b'a'), u32::from(b'z')]).expect("a matcher"), 1);
    assert_eq!(matcher.commit(&[END]).expect("a matcher"), 0, "the text may not end here");
    assert_eq!(matcher.commit(&[u32::from(b'b'), u32::from(b'c')]).expect("a matcher"), 2);
    assert!(matcher.is_stopped());
}

#[test]
fn a_vocabulary_whose_parts_do_not_fit_is_refused() {
    let tokens = Tokens { bytes: b"ab", ends: &[1, 9], kinds: &[0, 0], end_of_generation: &[0] };
    assert!(Vocabulary::new(&tokens, None).is_err());
    let tokens = Tokens { bytes: b"ab", ends: &[1, 2], kinds: &[0, 0], end_of_generation: &[2] };
    assert!(Vocabulary::new(&tokens, None).is_err());
    let tokens = Tokens { bytes: b"ab", ends: &[1, 2], kinds: &[0, 0], end_of_generation: &[] };
    assert!(Vocabulary::new(&tokens, None).is_err());
}
