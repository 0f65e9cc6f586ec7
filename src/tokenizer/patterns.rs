//! Patterns that one model or two have. Those for [`Stage::Custom`] give the end of the match that starts at `at`, or
//! `at` where there is none; those for [`Stage::Cuts`] the places at which a text is cut, in order.
//!
//! [`Stage::Custom`]: super::split::Stage::Custom
//! [`Stage::Cuts`]: super::split::Stage::Cuts

use super::classes::Classes;
use super::runs::{first_char, run_of};
use super::wordpiece::lowered;

/// Numbers in threes, counted from the end of their run: `1 234 567`.
pub(super) fn number_groups(text: &str, cut: &mut dyn FnMut(usize)) {
    each_run(text, |c| Classes::of(c).meets(Classes::NUMBER), |run| run.cut_groups(cut));
}

/// `\d{1,3}(?=(?:\d{3})*\b)`: as [`number_groups`], where no letter follows the run.
pub(super) fn digit_groups(text: &str, cut: &mut dyn FnMut(usize)) {
    let word = Classes::LETTER.or(Classes::MARK).or(Classes::NUMBER);
    let goes_on = |c: char| Classes::of(c).meets(word) || is_connector(c);
    each_run(text, is_digit, |run| {
        if !first_char(text, run.start + run.digits.len()).is_some_and(goes_on) {
            run.cut_groups(cut);
        }
    });
}

/// `(?=(\d{3})+(?!\d))`: before three digits with a multiple of three behind them.
pub(super) fn before_threes(text: &str, cut: &mut dyn FnMut(usize)) {
    each_run(text, is_digit, |run| run.cut_before_threes(cut));
}

/// A run of digits.
struct Run<'t> {
    start: usize,
    digits: &'t str,
}

impl Run<'_> {
    fn cut_before_threes(&self, cut: &mut dyn FnMut(usize)) {
        let count = self.digits.chars().count();
        for (index, (offset, _)) in self.digits.char_indices().enumerate() {
            if (count - index).is_multiple_of(3) {
                cut(self.start + offset);
            }
        }
    }

    fn cut_groups(&self, cut: &mut dyn FnMut(usize)) {
        cut(self.start);
        self.cut_before_threes(cut);
        cut(self.start + self.digits.len());
    }
}

fn each_run<'t>(text: &'t str, accepts: impl Fn(char) -> bool, mut each: impl FnMut(Run<'t>)) {
    let mut at = 0;
    while let Some(start) = text[at..].find(&accepts).map(|offset| at + offset) {
        at = run_of(text, start, &accepts);
        each(Run { start, digits: &text[start..at] });
    }
}

/// `<sentinel:[0-9]+>`
pub(super) fn sentinel(text: &str, at: usize) -> usize {
    let Some(rest) = text[at..].strip_prefix("<sentinel:") else { return at };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits > 0 && rest[digits..].starts_with('>') { text.len() - rest.len() + digits + 1 } else { at }
}

/// `(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z`
pub(super) fn image(text: &str, at: usize) -> usize {
    let Some(rest) = text[at..].strip_prefix("IMGIMG") else { return at };
    let letters = rest.bytes().take_while(|byte| matches!(byte, b'A'..=b'I')).count();
    if (1..=4).contains(&letters) && rest[letters..].starts_with('Z') {
        text.len() - rest.len() + letters + 1
    } else {
        at
    }
}

/// `[\t\n]|    |  `
pub(super) fn indent(text: &str, at: usize) -> usize {
    ["\t", "\n", "    ", "  "].iter().find(|piece| text[at..].starts_with(**piece)).map_or(at, |piece| at + piece.len())
}

/// ``[\p{P}!-/:-@\[-`{-~]``, one sign
pub(super) fn sign(text: &str, at: usize) -> usize {
    let is_sign = |c: char| c.is_ascii_punctuation() || Classes::of(c).meets(Classes::PUNCTUATION);
    first_char(text, at).filter(|&c| is_sign(c)).map_or(at, |c| at + c.len_utf8())
}

/// A space and what is behind it up to the next one.
pub(super) fn spaced(text: &str, at: usize) -> usize {
    if text[at..].starts_with(' ') { run_of(text, at + 1, |c| c != ' ') } else { at }
}

/// `\s+|[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+`
pub(super) fn same_kind(text: &str, at: usize) -> usize {
    let kind = |c: char| {
        let classes = Classes::of(c);
        (classes.meets(Classes::SPACE), classes.meets(Classes::LETTER.or(Classes::NUMBER)) || c == '_')
    };
    let first = first_char(text, at).map(kind);
    run_of(text, at, |c| Some(kind(c)) == first)
}

/// Without U+200C behind a bracket.
pub(super) fn without_joiners(text: &str) -> String {
    text.replace("[\u{200c}", "[").replace("<\u{200c}", "<")
}

/// With a space in front of every line that has none.
pub(super) fn spaced_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut before = '\n';
    for c in text.chars() {
        if before == '\n' && c != '\n' && c != ' ' {
            out.push(' ');
        }
        out.push(c);
        before = c;
    }
    out
}

/// In small letters, with single spaces.
pub(super) fn small_letters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_whitespace() {
            true if out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(c),
        }
    }
    lowered(out)
}

/// `[一-龥぀-ゟ゠-ヿ]`
pub(super) fn is_han_or_kana(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fa5}' | '\u{3040}'..='\u{30ff}')
}

/// `[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]`
pub(super) fn is_asian(c: char) -> bool {
    matches!(c, '\u{e40}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{2f00}'..='\u{2fdf}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a9e0}'..='\u{a9ff}' | '\u{aa60}'..='\u{aa7f}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff65}'..='\u{ff9f}')
}

/// `[가-힣ㄱ-ㆎ]`
pub(super) fn is_korean(c: char) -> bool {
    matches!(c, '가'..='힣' | 'ㄱ'..='ㆎ')
}

/// `[！…“”‘’—：；，、-〿︰-﹏]`
pub(super) fn is_chinese_sign(c: char) -> bool {
    "！…“”‘’—：；，".contains(c) || matches!(c, '、'..='\u{303f}' | '\u{fe30}'..='\u{fe4f}')
}

/// `[ㄅ-ㄯ]`
pub(super) fn is_bopomofo(c: char) -> bool {
    matches!(c, 'ㄅ'..='ㄯ')
}

/// `[一-龥ࠀ-一가-퟿]`
pub(super) fn is_east_asian(c: char) -> bool {
    matches!(c, '\u{0800}'..='\u{9fa5}' | '\u{ac00}'..='\u{d7ff}')
}

/// `\d`
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || !c.is_ascii() && super::classes::is_decimal(c)
}

/// `\p{Pc}`, which is part of a word for `\b`.
fn is_connector(c: char) -> bool {
    matches!(
        c,
        '_' | '\u{203f}' | '\u{2040}' | '\u{2054}' | '\u{fe33}' | '\u{fe34}' | '\u{fe4d}'..='\u{fe4f}' | '\u{ff3f}'
    )
}
