//! A vocabulary of all bytes and some words, and texts that go through a grammar.
#![allow(dead_code)]

use webgguf_grammar::{Grammar, Tokens, Vocabulary};

pub const END: u32 = 256;
pub const WORDS: [&str; 4] = ["name", "\":", "true", "hello"];

pub fn vocabulary(canonical: bool) -> Vocabulary {
    let mut bytes: Vec<u8> = (0..=255).collect();
    let mut ends: Vec<u32> = (1..=256).collect();
    for word in ["<end>"].iter().chain(&WORDS) {
        bytes.extend(word.as_bytes());
        ends.push(bytes.len() as u32);
    }
    let mut kinds = vec![0; ends.len()];
    kinds[END as usize] = 1;
    let tokens = Tokens { bytes: &bytes, ends: &ends, kinds: &kinds, end_of_generation: &[END] };
    let tokenize = |text: &str| {
        let mut ids = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.bytes().next() {
            let word = WORDS.iter().position(|word| rest.starts_with(word));
            ids.push(word.map_or(u32::from(first), |at| END + 1 + at as u32));
            rest = &rest[word.map_or(1, |at| WORDS[at].len())..];
        }
        ids
    };
    Vocabulary::new(&tokens, canonical.then(|| Box::new(tokenize) as _)).expect("a vocabulary")
}

pub fn allows(mask: &[u32], id: u32) -> bool {
    mask[id as usize / 32] >> (id % 32) & 1 == 1
}

/// Whether the text can be written byte by byte, each allowed by its mask, and end there.
pub fn follows(grammar: &Grammar, text: &str) -> bool {
    let mut matcher = grammar.matcher();
    for byte in text.bytes() {
        if matcher.is_stopped() {
            return false;
        }
        let allowed = allows(&matcher.mask().expect("a mask"), byte.into());
        let taken = matcher.commit(&[byte.into()]).expect("a matcher") == 1;
        assert_eq!(allowed, taken, "byte {byte} of {text}");
        if !taken {
            return false;
        }
    }
    matcher.is_stopped()
        || (matcher.is_accepting().expect("a matcher") && allows(&matcher.mask().expect("a mask"), END))
}

#[track_caller]
pub fn check(kind: &str, text: &str, good: &[&str], bad: &[&str]) {
    let vocabulary = vocabulary(false);
    let grammar = Grammar::new(&vocabulary, kind, text).unwrap_or_else(|error| panic!("{error:#}"));
    good.iter().for_each(|text| assert!(follows(&grammar, text), "{text} is refused"));
    bad.iter().for_each(|text| assert!(!follows(&grammar, text), "{text} is allowed"));
}

pub fn refusal(kind: &str, text: &str) -> String {
    match Grammar::new(&vocabulary(false), kind, text) {
        Ok(_) => panic!("{text} is a grammar"),
        Err(error) => format!("{error:#}"),
    }
}
