//! The text of a GBNF grammar as rules.

use std::iter::Peekable;
use std::str::Chars;

use anyhow::{Result, anyhow, bail, ensure};

/// Repetitions that may be asked for, at most: as llama.cpp.
const MAX_REPETITIONS: u32 = 2000;
/// Parentheses within each other, at most.
const MAX_DEPTH: usize = 64;

pub struct Rule {
    pub name: String,
    pub line: usize,
    pub body: Expr,
}

#[derive(Debug, Clone)]
pub enum Expr {
    Literal(String),
    /// One character, as a regular expression.
    Class(String),
    Reference(String),
    Sequence(Vec<Expr>),
    Choice(Vec<Expr>),
    /// At least and, where there is a limit, at most so often.
    Repeat(Box<Expr>, u32, Option<u32>),
}

impl Expr {
    /// Calls `each` with every rule that is referred to.
    pub fn each_reference<'e>(&'e self, each: &mut impl FnMut(&'e str)) {
        match self {
            Self::Literal(_) | Self::Class(_) => {}
            Self::Reference(name) => each(name),
            Self::Sequence(parts) | Self::Choice(parts) => parts.iter().for_each(|part| part.each_reference(each)),
            Self::Repeat(inner, ..) => inner.each_reference(each),
        }
    }
}

/// All rules; the last of several with one name counts.
pub fn parse(text: &str) -> Result<Vec<Rule>> {
    let mut parser = Parser { rest: text.chars().peekable(), line: 1 };
    let mut rules: Vec<Rule> = Vec::new();
    loop {
        parser.skip(true);
        let line = parser.line;
        if parser.rest.peek().is_none() {
            return Ok(rules);
        }
        let rule = parser.rule(line).map_err(|error| anyhow!("line {}: {error}", parser.line))?;
        rules.retain(|known| known.name != rule.name);
        rules.push(rule);
    }
}

struct Parser<'t> {
    rest: Peekable<Chars<'t>>,
    line: usize,
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.rest.peek() == Some(&wanted);
        if found {
            self.next();
        }
        found
    }

    /// Skips blanks and comments, and new lines where these do not end a rule.
    fn skip(&mut self, lines: bool) {
        while let Some(&c) = self.rest.peek() {
            match c {
                ' ' | '\t' => {}
                '\n' | '\r' if lines => {}
                '#' => {
                    while self.rest.next_if(|&c| c != '\n').is_some() {}
                    continue;
                }
                _ => return,
            }
            self.next();
        }
    }

    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            word.push(c);
        }
        word
    }

    fn rule(&mut self, line: usize) -> Result<Rule> {
        let name = self.word();
        if name.is_empty() {
            bail!("expected the name of a rule, found '{}'", self.rest.peek().unwrap_or(&' '));
        }
        self.skip(false);
        if !(self.take(':') && self.take(':') && self.take('=')) {
            bail!("expected '::=' after '{name}'");
        }
        self.skip(true);
        let body = self.choice(0)?;
        match self.rest.peek() {
            None | Some('\n' | '\r') => Ok(Rule { name, line, body }),
            Some(')') => bail!("a parenthesis is closed that was not opened"),
            Some(c) => bail!("unexpected '{c}' in rule '{name}'"),
        }
    }

    fn choice(&mut self, depth: usize) -> Result<Expr> {
        ensure!(depth <= MAX_DEPTH, "parentheses within each other more than {MAX_DEPTH} times");
        let mut choices = vec![self.sequence(depth)?];
        while self.take('|') {
            self.skip(true);
            choices.push(self.sequence(depth)?);
        }
        Ok(if choices.len() == 1 { choices.remove(0) } else { Expr::Choice(choices) })
    }

    fn sequence(&mut self, depth: usize) -> Result<Expr> {
        let mut parts = Vec::new();
        while let Some(&c) = self.rest.peek() {
            match c {
                '"' => parts.push(Expr::Literal(self.literal()?)),
                '[' => parts.push(Expr::Class(self.class()?)),
                '.' => {
                    self.next();
                    parts.push(Expr::Class("(?s:.)".into()));
                }
                '(' => {
                    self.next();
                    self.skip(true);
                    parts.push(self.choice(depth + 1)?);
                    ensure!(self.take(')'), "a parenthesis is not closed");
                }
                '*' | '+' | '?' | '{' => {
                    let last = parts.pop().ok_or_else(|| anyhow!("nothing to repeat before '{c}'"))?;
                    let (least, most) = self.repetition()?;
                    parts.push(Expr::Repeat(Box::new(last), least, most));
                }
                '<' | '!' => bail!("tokens by name or number are not possible"),
                c if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') => parts.push(Expr::Reference(self.word())),
                _ => break,
            }
            self.skip(depth > 0);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::Sequence(parts) })
    }

    fn repetition(&mut self) -> Result<(u32, Option<u32>)> {
        match self.next() {
            Some('*') => return Ok((0, None)),
            Some('+') => return Ok((1, None)),
            Some('?') => return Ok((0, Some(1))),
            _ => {}
        }
        self.skip(true);
        let least = self.number()?;
        self.skip(true);
        let most = match self.take(',') {
            true => {
                self.skip(true);
                self.number()?
            }
            false => Some(least.ok_or_else(|| anyhow!("expected a number after '{{'"))?),
        };
        self.skip(true);
        ensure!(self.take('}'), "a repetition is not closed");
        let least = least.unwrap_or(0);
        if let Some(most) = most.filter(|&most| most < least) {
            bail!("a repetition of at least {least} and at most {most}");
        }
        Ok((least, most))
    }

    fn number(&mut self) -> Result<Option<u32>> {
        let mut digits = String::new();
        while let Some(c) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(c);
        }
        if digits.is_empty() {
            return Ok(None);
        }
        let number = digits.parse().ok().filter(|&number| number <= MAX_REPETITIONS);
        number.map(Some).ok_or_else(|| anyhow!("{digits} repetitions, {MAX_REPETITIONS} are possible"))
    }

    fn literal(&mut self) -> Result<String> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => bail!("a text is not closed"),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some(c) => text.push(c),
            }
        }
    }

    /// A set of characters in the words of regular expressions.
    fn class(&mut self) -> Result<String> {
        self.next();
        let mut class = String::from("[");
        if self.take('^') {
            class.push('^');
        }
        loop {
            match self.next() {
                None => bail!("a set of characters is not closed"),
                Some(']') => break,
                Some('-') if !class.ends_with(['[', '^']) && self.rest.peek().is_some_and(|&c| c != ']') => {
                    class.push('-');
                }
                Some('\\') => push_character(&mut class, self.escape()?),
                Some(c) => push_character(&mut class, c),
            }
        }
        ensure!(class.len() > 1 && class != "[^", "a set of characters is empty");
        Ok(class + "]")
    }

    fn escape(&mut self) -> Result<char> {
        let digits = match self.next() {
            Some('n') => return Ok('\n'),
            Some('r') => return Ok('\r'),
            Some('t') => return Ok('\t'),
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            Some(c @ ('\\' | '"' | '[' | ']' | '-' | '^' | '/')) => return Ok(c),
            Some(c) => bail!("unknown escape '\\{c}'"),
            None => bail!("an escape is not closed"),
        };
        let hex: String = (0..digits).filter_map(|_| self.rest.next_if(char::is_ascii_hexdigit)).collect();
        let code = if hex.len() == digits { u32::from_str_radix(&hex, 16).ok() } else { None };
        code.and_then(char::from_u32).ok_or_else(|| anyhow!("an escape with the digits '{hex}'"))
    }
}

/// Letters and digits stand for themselves; everything else goes by its number.
fn push_character(class: &mut String, c: char) {
    match c {
        c if c.is_ascii_alphanumeric() || c == ' ' => class.push(c),
        c => class.push_str(&format!("\\x{{{:x}}}", c as u32)),
    }
}
