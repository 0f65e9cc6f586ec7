//! Patterns of JSON Schema, which are regular expressions of ECMAScript, in the syntax of Rust's `regex` crate.
//!
//! A pattern may begin with look-aheads, as rules for passwords do: each becomes a pattern of its own that the text
//! has to match as well.

use std::iter::Peekable;
use std::str::Chars;

use anyhow::{Result, bail};

/// `.` of ECMAScript.
const DOT: &str = r"[^\n\r\x{2028}\x{2029}]";
const ANY: &str = r"(?s:.)";
const NONE: &str = r"[^\x{0}-\x{10ffff}]";
const DIGITS: &str = "0-9";
const WORD: &str = "0-9A-Z_a-z";
const SPACE: &str = r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";

/// Patterns that a text has to match, all of them, so that it matches `source`.
///
/// # Errors
/// The parts that no grammar can follow.
pub fn rust_patterns(source: &str) -> Result<Vec<String>> {
    let mut patterns = Vec::new();
    let mut rest = source;
    let mut anchored = false;
    loop {
        if let Some(after) = rest.strip_prefix('^') {
            (anchored, rest) = (true, after);
        } else if anchored && (rest.starts_with("(?=") || rest.starts_with("(?!")) {
            let end = end_of_group(rest)?;
            let inner = &rest[3..end];
            patterns.push(if rest.starts_with("(?=") {
                format!("^(?:{})", translated(inner.trim_start_matches('^'))?)
            } else {
                without(inner)?
            });
            rest = &rest[end + 1..];
        } else {
            break;
        }
    }
    if patterns.is_empty() {
        return Ok(vec![translated(source)?]);
    }
    if has_alternatives(rest) {
        bail!("look-around beside alternatives");
    }
    if !rest.is_empty() {
        patterns.push(format!("^{}", translated(rest)?));
    }
    Ok(patterns)
}

/// Where the parenthesis at the start of `source` is closed.
fn end_of_group(source: &str) -> Result<usize> {
    let mut depth = 0;
    let found = outside_of_classes(source).find(|&(_, sign)| {
        depth += i32::from(sign == '(') - i32::from(sign == ')');
        depth == 0
    });
    found.map(|(at, _)| at).ok_or_else(|| anyhow::anyhow!("an open parenthesis"))
}

/// A pattern that allows more: look-aheads that are no pattern of their own are left out.
pub fn without_look_ahead(source: &str) -> String {
    let mut text = source.to_owned();
    loop {
        let found = outside_of_classes(&text)
            .find(|&(at, sign)| sign == '(' && (text[at..].starts_with("(?=") || text[at..].starts_with("(?!")));
        let Some((at, _)) = found else { return text };
        let Ok(end) = end_of_group(&text[at..]) else { return text };
        text.replace_range(at..=at + end, "");
    }
}

fn has_alternatives(source: &str) -> bool {
    let mut depth = 0;
    outside_of_classes(source).any(|(_, sign)| {
        depth += i32::from(sign == '(') - i32::from(sign == ')');
        sign == '|' && depth == 0
    })
}

/// The signs that are neither escaped nor inside of brackets, with their places.
fn outside_of_classes(source: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut escaped, mut in_class) = (false, false);
    source.char_indices().filter(move |&(_, sign)| {
        let plain = !escaped && !in_class;
        match sign {
            '\\' => escaped = !escaped,
            _ if escaped => escaped = false,
            '[' => in_class = true,
            ']' => in_class = false,
            _ => {}
        }
        plain && sign != '\\'
    })
}

/// A pattern for texts that do not begin with a match of `inner`, for the kinds of `inner` that have one.
fn without(inner: &str) -> Result<String> {
    let begins = inner.trim_start_matches('^');
    if begins == "$" {
        return Ok(ANY.to_owned());
    }
    if let Some(class) = begins.strip_suffix("*$").and_then(negated) {
        return Ok(class);
    }
    if let Some(class) = begins.strip_suffix("+$").and_then(negated) {
        return Ok(format!("^$|{class}"));
    }
    if let Some(class) = begins.strip_prefix(".*").and_then(negated) {
        return Ok(format!("^{class}*$"));
    }
    let word = begins.strip_suffix('$');
    let Some(mut left) = atoms(word.unwrap_or(begins)) else { bail!("look-around such as (?!{inner})") };
    let mut pattern = word.map_or_else(String::new, |_| format!("{ANY}+"));
    while let Some(atom) = left.pop() {
        let not = negated(&atom).unwrap_or_else(|| NONE.to_owned());
        let longer = if pattern.is_empty() { String::new() } else { format!("|{}{pattern}", translated(&atom)?) };
        pattern = format!("(?:|{not}{ANY}*{longer})");
    }
    Ok(format!("^{pattern}$"))
}

/// The complement of `atom`, if it is a character or a class.
fn negated(atom: &str) -> Option<String> {
    let [only] = &atoms(atom)?[..] else { return None };
    let text = translated(only).ok()?;
    Some(match text.strip_prefix("[^") {
        Some(class) => format!("[{class}"),
        None if text.starts_with('[') => format!("[^{}", &text[1..]),
        None => format!("[^{text}]"),
    })
}

/// The characters and classes that `source` is a sequence of; `None` where there is something else.
fn atoms(source: &str) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let mut chars = source.chars();
    while let Some(sign) = chars.next() {
        let mut atom = String::from(sign);
        match sign {
            '\\' => match chars.next()? {
                after if after.is_ascii_alphanumeric() && !"dDwWsSnrtvf".contains(after) => return None,
                after => atom.push(after),
            },
            '[' => {
                let closed = closing_bracket(chars.as_str())?;
                atom.push_str(&chars.as_str()[..=closed]);
                chars = chars.as_str()[closed + 1..].chars();
            }
            '^' | '$' | '(' | ')' | '|' | '*' | '+' | '?' | '{' | '}' | ']' => return None,
            _ => {}
        }
        found.push(atom);
    }
    (!found.is_empty()).then_some(found)
}

fn closing_bracket(source: &str) -> Option<usize> {
    let mut escaped = false;
    let found = source.char_indices().find(|&(_, sign)| {
        let closes = sign == ']' && !escaped;
        escaped = sign == '\\' && !escaped;
        closes
    });
    found.map(|(at, _)| at)
}

fn translated(source: &str) -> Result<String> {
    Translation { chars: source.chars().peekable(), text: String::new() }.run()
}

/// Reads an expression from left to right.
struct Translation<'a> {
    chars: Peekable<Chars<'a>>,
    text: String,
}

/// A part of a class: a character, or several of them.
enum Member {
    One(char),
    Set(String),
}

impl Translation<'_> {
    fn run(mut self) -> Result<String> {
        while let Some(sign) = self.chars.next() {
            match sign {
                '\\' => match self.escape(false)? {
                    Member::One(sign) => self.push_literal(sign),
                    Member::Set(set) => self.text.push_str(&set),
                },
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => self.text.push_str(DOT),
                '{' if !self.is_count() => self.push_literal('{'),
                '{' => {
                    self.text.push('{');
                    for sign in self.chars.by_ref() {
                        self.text.push(sign);
                        if sign == '}' {
                            break;
                        }
                    }
                }
                '}' | ']' => self.push_literal(sign),
                _ => self.text.push(sign),
            }
        }
        Ok(self.text)
    }

    /// Whether a brace is followed by `2}`, `2,}` or `2,3}`; elsewhere it is a text.
    fn is_count(&self) -> bool {
        let inner: String = self.chars.clone().take_while(|&sign| sign != '}').collect();
        let closed = self.chars.clone().any(|sign| sign == '}');
        let (least, most) = inner.split_once(',').unwrap_or((&inner, ""));
        let is_number = |text: &str| text.chars().all(|sign| sign.is_ascii_digit());
        closed && !least.is_empty() && is_number(least) && is_number(most)
    }

    /// After an opening parenthesis. Names of groups say nothing here.
    fn group(&mut self) -> Result<()> {
        if self.chars.peek() != Some(&'?') {
            self.text.push_str("(?:");
            return Ok(());
        }
        self.chars.next();
        let after: String = self.chars.clone().take(2).collect();
        if after.starts_with(['=', '!']) || after == "<=" || after == "<!" {
            bail!("look-around");
        }
        if after.starts_with('<') {
            self.chars.by_ref().find(|&sign| sign == '>');
            self.text.push_str("(?:");
        } else {
            self.text.push_str("(?"); // of `(?:` and of flags
        }
        Ok(())
    }

    /// After a backslash.
    fn escape(&mut self, in_class: bool) -> Result<Member> {
        let Some(sign) = self.chars.next() else { bail!("a backslash at the end") };
        let set = |inner: &str, not: bool| match (in_class, not) {
            (true, false) => Member::Set(inner.to_owned()),
            (_, true) => Member::Set(format!("[^{inner}]")),
            (false, false) => Member::Set(format!("[{inner}]")),
        };
        Ok(match sign {
            'd' | 'D' => set(DIGITS, sign == 'D'),
            'w' | 'W' => set(WORD, sign == 'W'),
            's' | 'S' => set(SPACE, sign == 'S'),
            'p' | 'P' if self.chars.peek() == Some(&'{') => {
                let name: String = self.chars.by_ref().take_while(|&sign| sign != '}').collect();
                Member::Set(format!("\\{sign}{name}}}"))
            }
            'b' if in_class => Member::One('\u{8}'),
            'b' | 'B' => bail!("borders of words"),
            'c' => bail!("control characters"),
            '1'..='9' | 'k' if !in_class => bail!("references back"),
            '0' => Member::One('\0'),
            'n' => Member::One('\n'),
            'r' => Member::One('\r'),
            't' => Member::One('\t'),
            'v' => Member::One('\u{b}'),
            'f' => Member::One('\u{c}'),
            'x' => self.code(2)?,
            'u' if self.chars.peek() == Some(&'{') => {
                self.chars.next();
                let digits: String = self.chars.by_ref().take_while(|&sign| sign != '}').collect();
                Member::One(character(u32::from_str_radix(&digits, 16)?)?)
            }
            'u' => self.unit()?,
            other => Member::One(other),
        })
    }

    /// A code of `digits` hexadecimal digits.
    fn code(&mut self, digits: usize) -> Result<Member> {
        let text: String = self.chars.clone().take(digits).collect();
        if text.len() < digits || !text.chars().all(|sign| sign.is_ascii_hexdigit()) {
            return Ok(Member::One(if digits == 2 { 'x' } else { 'u' }));
        }
        self.chars.nth(digits - 1);
        Ok(Member::One(character(u32::from_str_radix(&text, 16)?)?))
    }

    /// A code unit of UTF-16, of which two may be a character.
    fn unit(&mut self) -> Result<Member> {
        let text: String = self.chars.clone().take(10).collect();
        let unit = |from: usize| text.get(from..from + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if let (Some(high @ 0xd800..0xdc00), Some("\\u"), Some(low @ 0xdc00..0xe000)) =
            (unit(0), text.get(4..6), unit(6))
        {
            self.chars.nth(9);
            return Ok(Member::One(character(0x10000 + ((high - 0xd800) << 10) + low - 0xdc00)?));
        }
        self.code(4)
    }

    /// After an opening bracket.
    fn class(&mut self) -> Result<()> {
        let not = self.chars.next_if_eq(&'^').is_some();
        let mut members = Vec::new();
        loop {
            match self.chars.next() {
                None => bail!("an open bracket"),
                Some(']') => break,
                Some('\\') => members.push(self.escape(true)?),
                Some(sign) => members.push(Member::One(sign)),
            }
        }
        if members.is_empty() {
            self.text.push_str(if not { ANY } else { NONE });
            return Ok(());
        }
        self.text.push_str(if not { "[^" } else { "[" });
        let mut at = 0;
        while let Some(member) = members.get(at) {
            let range = match (member, members.get(at + 1), members.get(at + 2)) {
                (Member::One(from), Some(Member::One('-')), Some(Member::One(to))) => Some((*from, *to)),
                _ => None,
            };
            match (range, member) {
                (Some((from, to)), _) => {
                    self.push_literal(from);
                    self.text.push('-');
                    self.push_literal(to);
                    at += 2;
                }
                (None, Member::One(sign)) => self.push_literal(*sign),
                (None, Member::Set(set)) => self.text.push_str(set),
            }
            at += 1;
        }
        self.text.push(']');
        Ok(())
    }

    /// A character that stands for itself.
    fn push_literal(&mut self, sign: char) {
        if sign.is_ascii_alphanumeric() || !sign.is_ascii() || sign == ' ' || sign == '_' {
            self.text.push(sign);
        } else {
            self.text.push_str(&format!("\\x{:02x}", sign as u32));
        }
    }
}

fn character(code: u32) -> Result<char> {
    match char::from_u32(code) {
        Some(found) => Ok(found),
        None => bail!("half of a character, U+{code:04X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_ecmascript_are_those_of_rust() {
        for (source, wanted) in [
            ("^[^[\\]]+$", r"^[^\x5b\x5d]+$"),
            ("[a-z&&b]", r"[a-z\x26\x26b]"),
            ("[\\w-.]", r"[0-9A-Z_a-z\x2d\x2e]"),
            ("a{,2}", r"a\x7b,2\x7d"),
            ("a{2,}", "a{2,}"),
            ("(?<year>\\d{4})", "(?:[0-9]{4})"),
            ("\\/\\-\\@", r"\x2f\x2d\x40"),
            ("\\ud83d\\ude00", "\u{1f600}"),
            ("[^]", ANY),
            ("[]", NONE),
            ("]", r"\x5d"),
        ] {
            assert_eq!(rust_patterns(source).expect(source), [wanted]);
        }
    }

    #[test]
    fn look_aheads_at_the_start_become_patterns() {
        let found = rust_patterns(r"^(?=.*[A-Z])(?=.*\d).{8,}$").expect("patterns");
        assert_eq!(found, [format!("^(?:{DOT}*[A-Z])"), format!("^(?:{DOT}*[0-9])"), format!("^{DOT}{{8,}}$")]);
        let decimal = rust_patterns(r"^(?!^[-+.]*$)[+-]?\d*$").expect("patterns");
        assert_eq!(decimal, [r"[^\x2d\x2b\x2e]", r"^[\x2b\x2d]?[0-9]*$"]);
        assert_eq!(without_look_ahead(r"^[A-Z]{6}(?!00)[\dA-Z(?=]{2}(?=a(b))c$"), r"^[A-Z]{6}[\dA-Z(?=]{2}c$");
        let user = rust_patterns(r"^(?!ab$).+$").expect("patterns");
        assert_eq!(user[0], format!("^(?:|[^a]{ANY}*|a(?:|[^b]{ANY}*|b{ANY}+))$"));
        for refused in [r"\cJ", r"a(?=b)", r"\bword\b", r"(a)\1", r"(?<=a)b", r"^(?!a.*b)c|d", r"^(?=a)b|c", "\\ud83d"]
        {
            rust_patterns(refused).expect_err(refused);
        }
    }
}
