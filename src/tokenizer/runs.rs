//! Runs of characters in a text: places are in bytes.

use super::classes::Classes;

pub(super) fn first_char(text: &str, at: usize) -> Option<char> {
    match text.as_bytes().get(at) {
        Some(&byte) if byte.is_ascii() => Some(char::from(byte)),
        Some(_) => text[at..].chars().next(),
        None => None,
    }
}

pub(super) fn classes_at(text: &str, at: usize) -> Classes {
    first_char(text, at).map_or(Classes::NONE, Classes::of)
}

/// Where the character at `at` ends.
pub(super) fn after(text: &str, at: usize) -> usize {
    at + first_char(text, at).map_or(0, char::len_utf8)
}

/// Behind a plain space at `at`, or `at`.
pub(super) fn after_space(text: &str, at: usize) -> usize {
    if text.as_bytes().get(at) == Some(&b' ') { at + 1 } else { at }
}

pub(super) fn if_in(text: &str, at: usize, classes: Classes) -> usize {
    if classes_at(text, at).meets(classes) { after(text, at) } else { at }
}

pub(super) fn run(text: &str, at: usize, classes: Classes) -> usize {
    run_of(text, at, |character| Classes::of(character).meets(classes))
}

pub(super) fn run_up_to(text: &str, at: usize, accepts: impl Fn(char) -> bool, max: usize) -> usize {
    text[at..].chars().take(max).take_while(|&c| accepts(c)).fold(at, |end, c| end + c.len_utf8())
}

pub(super) fn is_number(c: char) -> bool {
    Classes::of(c).meets(Classes::NUMBER)
}

pub(super) fn run_without(text: &str, at: usize, classes: Classes) -> usize {
    run_of(text, at, |character| !Classes::of(character).meets(classes))
}

pub(super) fn run_of(text: &str, at: usize, accepts: impl Fn(char) -> bool) -> usize {
    let mut end = at;
    while let Some(character) = first_char(text, end)
        && accepts(character)
    {
        end += character.len_utf8();
    }
    end
}

/// Where `rest` ends behind an optional prefix from `at` to `from`; `at` when it matches nothing there.
pub(super) fn behind(at: usize, from: usize, rest: impl FnOnce(usize) -> usize) -> usize {
    let end = rest(from);
    if end > from { end } else { at }
}
