//! The `tojson` filter of templates, as Python's `json.dumps` writes it: models were trained on exactly that.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// Values nested deeper than this are refused.
const DEEPEST: usize = 64;

/// How to write: the arguments of `json.dumps`.
struct Style {
    /// Spaces per level; without it everything stays on one line.
    indent: Option<usize>,
    ensure_ascii: bool,
    sort_keys: bool,
    between_items: String,
    after_key: String,
}

/// `value | tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`
pub(super) fn tojson(value: &Value, kwargs: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = kwargs.get::<Option<u8>>("indent")?.map(usize::from);
    let separators: Option<Vec<String>> = kwargs.get("separators")?;
    let [between_items, after_key] = match separators.as_deref() {
        Some([items, keys]) => [items.clone(), keys.clone()],
        Some(other) => {
            let found = format!("separators has {} entries, expected 2", other.len());
            return Err(Error::new(ErrorKind::InvalidOperation, found));
        }
        None => [if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()],
    };
    let flag = |name| kwargs.get::<Option<bool>>(name).map(Option::unwrap_or_default);
    let style =
        Style { indent, ensure_ascii: flag("ensure_ascii")?, sort_keys: flag("sort_keys")?, between_items, after_key };
    kwargs.assert_all_used()?;
    let mut out = String::new();
    style.write(value, 0, &mut out)?;
    Ok(out)
}

impl Style {
    fn write(&self, value: &Value, depth: usize, out: &mut String) -> Result<(), Error> {
        if depth > DEEPEST {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("value is nested deeper than {DEEPEST} levels"),
            ));
        }
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)),
            ValueKind::String => self.write_string(value.as_str().unwrap_or_default(), out),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.write_list(['[', ']'], &items, depth, out, |item, out| self.write(item, depth + 1, out))?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sort_keys {
                    keys.sort();
                }
                self.write_list(['{', '}'], &keys, depth, out, |key, out| {
                    self.write_string(&key.to_string(), out);
                    out.push_str(&self.after_key);
                    self.write(&value.get_item(key)?, depth + 1, out)
                })?;
            }
            other => {
                return Err(Error::new(ErrorKind::BadSerialization, format!("{other} is not JSON serializable")));
            }
        }
        Ok(())
    }

    fn write_list(
        &self,
        [open, close]: [char; 2],
        items: &[Value],
        depth: usize,
        out: &mut String,
        mut item: impl FnMut(&Value, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        out.push(open);
        for (index, each) in items.iter().enumerate() {
            out.push_str(if index > 0 { &self.between_items } else { "" });
            self.break_line(depth + 1, out);
            item(each, out)?;
        }
        if !items.is_empty() {
            self.break_line(depth, out);
        }
        out.push(close);
        Ok(())
    }

    fn break_line(&self, depth: usize, out: &mut String) {
        if let Some(indent) = self.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        }
    }

    fn write_string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\0'..='\u{1f}' => push_escape(c as u16, out),
                '\u{7f}'.. if self.ensure_ascii => {
                    c.encode_utf16(&mut [0; 2]).iter().for_each(|&unit| push_escape(unit, out));
                }
                _ => out.push(c),
            }
        }
        out.push('"');
    }
}

fn push_escape(unit: u16, out: &mut String) {
    out.push_str(&format!("\\u{unit:04x}"));
}

/// A number as Python's `repr` writes it.
pub(super) fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    let Ok(float) = f64::try_from(value.clone()) else { return value.to_string() };
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // Rust writes 1e-7 and 1e16 where Python writes 1e-07 and 1e+16.
    let text = format!("{float:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |positive| ('-', positive));
            format!("{}e{sign}{exponent:0>2}", digits.strip_suffix(".0").unwrap_or(digits))
        }
    }
}
