//! GBNF, the grammars of llama.cpp (see their README there), as Lark.
//!
//! GBNF describes characters, Lark describes lexemes. Rules that refer to no rule above them are regular: they become
//! terminals, and where a rule that is not regular has several regular parts in a row, these become one terminal. A
//! grammar without recursion is one terminal, and means exactly the same.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail, ensure};

mod parse;
use parse::{Expr, Rule, parse};

/// The same grammar in Lark.
///
/// # Errors
/// The error of a grammar, with its line.
pub fn lark_of_gbnf(text: &str) -> Result<String> {
    let rules = parse(text)?;
    let index: HashMap<&str, usize> = rules.iter().enumerate().map(|(i, rule)| (rule.name.as_str(), i)).collect();
    ensure!(index.contains_key("root"), "the grammar has no rule 'root'");
    for rule in &rules {
        let mut missing = None;
        rule.body.each_reference(&mut |name| {
            missing = missing.take().or_else(|| (!index.contains_key(name)).then(|| name.to_owned()));
        });
        if let Some(missing) = missing {
            bail!("line {}: rule '{}' refers to '{missing}', which there is not", rule.line, rule.name);
        }
    }
    let regular = regular_rules(&rules, &index);
    Writer { rules: &rules, index: &index, regular: &regular, extra: Vec::new() }.write()
}

/// Which rules never come back to a rule on the way: by their number.
fn regular_rules(rules: &[Rule], index: &HashMap<&str, usize>) -> Vec<bool> {
    let references: Vec<HashSet<usize>> = rules
        .iter()
        .map(|rule| {
            let mut of_rule = HashSet::new();
            rule.body.each_reference(&mut |name| of_rule.extend(index.get(name)));
            of_rule
        })
        .collect();
    let mut regular = vec![false; rules.len()];
    // A rule is regular once all that it refers to are.
    loop {
        let next = (0..rules.len()).find(|&i| !regular[i] && references[i].iter().all(|&of| regular[of]));
        let Some(next) = next else { return regular };
        regular[next] = true;
    }
}

struct Writer<'a> {
    rules: &'a [Rule],
    index: &'a HashMap<&'a str, usize>,
    regular: &'a [bool],
    /// Terminals of several parts in a row.
    extra: Vec<String>,
}

impl Writer<'_> {
    fn write(mut self) -> Result<String> {
        let root = self.index["root"];
        let mut lines = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            let body = match self.regular[number] {
                true => self.terminal(&rule.body),
                false => self.rule(&rule.body),
            };
            lines.push(format!("{}: {}", self.name(number), or_empty(body)));
        }
        let start = match self.regular[root] {
            true => format!("start: {}", self.lexeme(&Expr::Reference("root".into()))),
            false => format!("start: {}", self.name(root)),
        };
        lines.insert(0, start);
        lines.append(&mut self.extra);
        Ok(lines.join("\n") + "\n")
    }

    /// Lark tells rules from terminals by case; numbers keep names apart that differ in case or in punctuation.
    fn name(&self, number: usize) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let plain: String = self.rules[number].name.chars().map(letter).collect();
        let name = format!("g{number}_{plain}");
        if self.regular[number] { name.to_ascii_uppercase() } else { name }
    }

    fn is_regular(&self, expr: &Expr) -> bool {
        let mut regular = true;
        expr.each_reference(&mut |name| regular &= self.regular[self.index[name]]);
        regular
    }

    /// Whether it matches the empty text.
    fn is_nullable(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Literal(text) => text.is_empty(),
            Expr::Class(_) => false,
            Expr::Reference(name) => {
                let number = self.index[name.as_str()];
                self.regular[number] && self.is_nullable(&self.rules[number].body)
            }
            Expr::Sequence(parts) => parts.iter().all(|part| self.is_nullable(part)),
            Expr::Choice(parts) => parts.iter().any(|part| self.is_nullable(part)),
            Expr::Repeat(inner, least, _) => *least == 0 || self.is_nullable(inner),
        }
    }

    /// A regular expression in the words of terminals; empty for one that matches the empty text alone.
    fn terminal(&self, expr: &Expr) -> String {
        match expr {
            Expr::Literal(text) if text.is_empty() => String::new(),
            Expr::Literal(text) => serde_json::Value::from(text.as_str()).to_string(),
            Expr::Class(class) => format!("/{class}/"),
            Expr::Reference(name) => self.name(self.index[name.as_str()]),
            Expr::Sequence(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.terminal(part)).collect();
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
            }
            Expr::Choice(parts) => choice(parts.iter().map(|part| self.terminal(part)).collect()),
            Expr::Repeat(inner, least, most) => repeat(self.terminal(inner), *least, *most),
        }
    }

    /// A body of a rule that is not regular.
    fn rule(&mut self, expr: &Expr) -> String {
        if self.is_regular(expr) {
            return self.lexeme(expr);
        }
        match expr {
            Expr::Sequence(parts) => {
                let runs: Vec<&[Expr]> = parts.chunk_by(|a, b| self.is_regular(a) && self.is_regular(b)).collect();
                let word = |run: &[Expr]| match run {
                    [part] => self.rule(part),
                    run => self.lexeme(&Expr::Sequence(run.to_vec())),
                };
                let mut words: Vec<String> = runs.into_iter().map(word).collect();
                words.retain(|word| !word.is_empty());
                words.join(" ")
            }
            Expr::Choice(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.rule(part)).collect();
                choice(parts)
            }
            Expr::Repeat(inner, least, most) => repeat(self.rule(inner), *least, *most),
            Expr::Reference(name) => self.name(self.index[name.as_str()]),
            Expr::Literal(_) | Expr::Class(_) => unreachable!("these are regular"),
        }
    }

    /// A terminal for a regular part of a rule. No lexeme may be empty.
    fn lexeme(&mut self, expr: &Expr) -> String {
        let body = self.terminal(expr);
        if body.is_empty() {
            return body;
        }
        let number = self.extra.len();
        let nullable = self.is_nullable(expr);
        self.extra.push(match nullable {
            true => format!("L{number}: ({body}) & /(?s:.+)/"),
            false => format!("L{number}: {body}"),
        });
        format!("L{number}{}", if nullable { "?" } else { "" })
    }
}

/// Lark has no empty body.
fn or_empty(body: String) -> String {
    if body.is_empty() { "\"\"".into() } else { body }
}

fn choice(mut parts: Vec<String>) -> String {
    let count = parts.len();
    parts.retain(|part| !part.is_empty());
    let optional = if parts.len() < count { "?" } else { "" };
    if parts.is_empty() { String::new() } else { format!("({}){optional}", parts.join(" | ")) }
}

fn repeat(inner: String, least: u32, most: Option<u32>) -> String {
    if inner.is_empty() || most == Some(0) {
        return String::new();
    }
    match (least, most) {
        (0, None) => format!("({inner})*"),
        (1, None) => format!("({inner})+"),
        (0, Some(1)) => format!("({inner})?"),
        (_, None) => format!("({inner}){{{least},}}"),
        (_, Some(most)) => format!("({inner}){{{least},{most}}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grammar_without_recursion_is_one_terminal() {
        let lark = lark_of_gbnf("root ::= greeting \" \" [a-z]+ # who\ngreeting ::= \"hi\" | \"ho\\n\"\n").unwrap();
        let expected =
            "start: L0\nG0_ROOT: G1_GREETING \" \" (/[a-z]/)+\nG1_GREETING: (\"hi\" | \"ho\\n\")\nL0: G0_ROOT\n";
        assert_eq!(lark, expected);
    }

    #[test]
    fn regular_parts_in_a_row_are_one_lexeme() {
        let lark = lark_of_gbnf("root ::= \"(\" ws root? ws \")\"\nws ::= [ ]*").unwrap();
        assert!(lark.contains("g0_root: L0 (g0_root)? L1\n"), "{lark}");
        assert!(lark.contains("L0: \"(\" G1_WS\n") && lark.contains("L1: G1_WS \")\"\n"), "{lark}");
    }

    #[test]
    fn lexemes_are_never_empty() {
        let lark = lark_of_gbnf("root ::= | ws root \"a\" | \"b\"\nws ::= [ ]*").unwrap();
        assert!(lark.contains("g0_root: (L0? g0_root L1 | L2)?\n"), "{lark}");
        assert!(lark.contains("L0: (G1_WS) & /(?s:.+)/\n"), "{lark}");
    }

    #[test]
    fn mistakes_are_named_with_their_lines() {
        let of = |text: &str| lark_of_gbnf(text).unwrap_err().to_string();
        assert_eq!(of("a ::= \"b\""), "the grammar has no rule 'root'");
        assert_eq!(of("root ::= a\n"), "line 1: rule 'root' refers to 'a', which there is not");
        assert_eq!(of("root ::= \"a\"\n\nb = c"), "line 3: expected '::=' after 'b'");
        assert_eq!(of("root ::= (\"a\""), "line 1: a parenthesis is not closed");
        assert_eq!(of("root ::= \"a"), "line 1: a text is not closed");
        assert_eq!(of("root ::= [a-"), "line 1: a set of characters is not closed");
        assert_eq!(of("root ::= *"), "line 1: nothing to repeat before '*'");
        assert_eq!(of("root ::= \"a\"{3,2}"), "line 1: a repetition of at least 3 and at most 2");
    }
}
