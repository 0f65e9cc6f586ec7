//! A look at a template's tags before minijinja compiles it.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};

/// Names, numbers, strings and operators allowed in one tag. The compiler recurses along an expression, and
/// WebAssembly's stack is small; published templates stay below 200.
const MAX_IN_A_TAG: usize = 1000;
/// Each `elif` is nested in the one before.
const MAX_ELIFS: usize = 200;

/// `{% … %}` or `{{ … }}`.
struct Tag {
    /// The text between the delimiters.
    inside: Range<usize>,
    /// Whether it is `{% … %}`.
    block: bool,
    tokens: usize,
}

/// Refuses templates that would need more stack than there is, and turns `{% generation %}` blocks, with which training
/// frameworks mark the assistant's words, into `{% if true %}` blocks: these leave the text, white space and line
/// numbers unchanged.
pub(super) fn prepared(template: &str) -> Result<Cow<'_, str>> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    let mut elifs = 0;
    while let Some(tag) = next_tag(template, at) {
        at = tag.inside.end;
        let inside = &template[tag.inside.clone()];
        let word = inside.trim_matches(|c: char| c.is_whitespace() || c == '-' || c == '+');
        elifs += usize::from(tag.block && word.starts_with("elif"));
        if tag.tokens > MAX_IN_A_TAG || elifs > MAX_ELIFS {
            let line = template[..at].matches('\n').count() + 1;
            return Err(Error::invalid_argument(format!(
                "chat template, line {line}: more than {MAX_IN_A_TAG} names and signs in a tag, or {MAX_ELIFS} elifs"
            )));
        }
        let other = match word {
            "generation" if tag.block => "if true",
            "endgeneration" if tag.block => "endif",
            _ => continue,
        };
        out.push_str(&template[copied..tag.inside.start]);
        out.push_str(&inside.replace(word, other));
        copied = tag.inside.end;
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(template));
    }
    out.push_str(&template[copied..]);
    Ok(Cow::Owned(out))
}

/// The first tag at or after `from`; an unfinished one goes to the end.
fn next_tag(template: &str, mut from: usize) -> Option<Tag> {
    let bytes = template.as_bytes();
    loop {
        let start = from + template[from..].find('{')?;
        match bytes.get(start + 1) {
            Some(b'#') => from = start + 2 + template[start + 2..].find("#}")?,
            Some(b'%') => return Some(tag(template, start + 2, true)),
            Some(b'{') => return Some(tag(template, start + 2, false)),
            _ => from = start + 1,
        }
    }
}

fn tag(template: &str, start: usize, block: bool) -> Tag {
    let bytes = template.as_bytes();
    let close: &[u8] = if block { b"%}" } else { b"}}" };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
    let mut tokens = 0;
    let mut at = start;
    while at < bytes.len() && !bytes[at..].starts_with(close) {
        tokens += usize::from(!bytes[at].is_ascii_whitespace());
        at = match bytes[at] {
            quote @ (b'"' | b'\'') => end_of_string(bytes, at + 1, quote),
            byte if is_word(byte) => at + bytes[at..].iter().take_while(|&&byte| is_word(byte)).count(),
            _ => at + 1,
        };
    }
    Tag { inside: start..at.min(bytes.len()), block, tokens }
}

fn end_of_string(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while at < bytes.len() && bytes[at] != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_blocks_become_plain_ones() {
        for (template, expected) in [
            ("a{%- generation +%}b{% endgeneration -%}c", "a{%- if true +%}b{% endif -%}c"),
            ("{% if add_generation_prompt %}{{ 'generation' }}{% endif %}", ""),
            ("{{ '{% generation %}' }}{# {% generation %} #}{ generation }", ""),
            ("{{ \"\\\"{% generation\" }} %}", ""),
        ] {
            let found = prepared(template).expect(template);
            assert_eq!(found, if expected.is_empty() { template } else { expected });
        }
    }

    #[test]
    fn unfinished_tags_are_the_compilers_business() {
        for template in ["{%", "{{ 'a", "{{ 'a\\", "{#", "{", "{{ é", "{{ }} {% generation"] {
            assert!(prepared(template).is_ok(), "{template}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let long = |count: usize| format!("\n{{{{ 1{} }}}}", "+1".repeat(count));
        assert!(prepared(&long(400)).is_ok());
        assert!(prepared(&long(600)).is_err_and(|error| error.message().contains("line 2")));
        assert!(prepared(&format!("{{% if a %}}{}", "{% elif a %}".repeat(201))).is_err());
        assert!(prepared(&"{{ a + 1 }}".repeat(2000)).is_ok());
        assert!(prepared(&format!("{{{{ '{}' }}}}", "+1".repeat(2000))).is_ok());
    }
}
