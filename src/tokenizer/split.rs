//! Pre-tokenizers: cutting text into the words within which BPE merges.
//!
//! The patterns were published as regular expressions; here each is a small hand-written matcher over characters, which
//! is exact about backtracking and needs no regex engine. A pre-tokenizer is a list of [`Stage`]s. Each stage cuts the
//! pieces of the one before: each match of its pattern becomes a piece, and so does the text between two matches.

use super::classes::Classes;
use super::runs::{after, after_space, behind, classes_at, if_in, is_number, run, run_of, run_up_to, run_without};

/// One pattern of a pre-tokenizer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// The usual alternation of words, numbers, punctuation and white space.
    Words(Words),
    /// DeepSeek V3's alternation: `[ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
    /// ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, or without line breaks behind signs and with single ones,
    /// `[\r\n]|\s+(?!\S)|\s+`
    DeepSeekWords { single_breaks: bool },
    /// `\p{N}{1,n}`
    Numbers(usize),
    /// `[0-9][0-9][0-9]`
    ThreeLimbs,
    /// `\s?[…]+`, a run of characters that the function accepts
    SpacedRun(fn(char) -> bool),
    /// `[…]+`
    Run(fn(char) -> bool),
    /// ` ?[…]+`, after a plain space only
    PlainSpacedRun(fn(char) -> bool),
    /// `[\r\n]`
    LineBreak,
    /// `\s+$`
    SpaceAtEnd,
    /// `[^\n]+|[\n]+`
    Lines,
    /// A pattern of its own, see `patterns.rs`.
    Custom(fn(&str, usize) -> usize),
    /// Places at which to cut, where what is cut off depends on what lies far behind; see `patterns.rs`.
    Cuts(fn(&str, &mut dyn FnMut(usize))),
}

/// The parts in which the usual alternations differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words {
    pub contractions: Contractions,
    pub letters: Letters,
    pub numbers: Numbers,
    /// Characters that end a run of punctuation, apart from white space and numbers.
    pub not_punctuation: Classes,
    /// Whether only `\p{P}` and `\p{S}` are punctuation.
    pub only_signs: bool,
    /// Characters that follow a run of punctuation and belong to it: all of them, or one.
    pub tail: &'static [u8],
    pub single_tail: bool,
    pub spaces: Spaces,
}

/// White space that belongs to no word: in any case `\s+(?!\S)|\s+`, a run that leaves its last character to the word
/// behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spaces {
    Runs,
    /// `\s*[\r\n]+` before that.
    LineBreaks,
    /// As `LineBreaks`, but runs are cut into powers of two up to 512:
    /// `\s{512}(?!\S)|\s{256}(?!\S)|…|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}`
    Powers,
}

/// `'s|'t|'re|'ve|'m|'ll|'d`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contractions {
    /// Not as pieces of their own; [`Letters::Cased`] may still take them.
    No,
    /// In small letters only.
    Small,
    /// In small and capital letters.
    AnyCase,
}

/// Runs of letters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Letters {
    /// ` ?\p{L}+`
    Spaced,
    /// `[^\r\n\p{L}\p{N}]?[…]+` of these classes
    Prefixed(Classes),
    /// As `Prefixed`, but a word also ends where a small letter meets a capital:
    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[\p{Lu}…]+[\p{Ll}…]*`
    Cased { contractions: bool },
    /// As `Cased` with contractions, where Chinese characters are pieces of their own: `\p{Han}+`
    CasedWithoutHan,
    /// `[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+`: words with single spaces between them
    Sentences,
}

/// Runs of numbers.
#[derive(Debug, Clone, Copy)]
pub(super) enum Numbers {
    /// ` ?\p{N}+`
    Spaced,
    /// `\p{N}{1,n}`
    UpTo(usize),
    /// `\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))`: threes, counted from the end of the run
    Threes,
}

/// Calls `word` with every piece of `text`, in order and without gaps.
pub(super) fn split<'t>(text: &'t str, stages: &[Stage], word: &mut impl FnMut(&'t str)) {
    let Some((stage, later)) = stages.split_first() else {
        if !text.is_empty() {
            word(text);
        }
        return;
    };
    let mut gap = 0;
    let mut at = 0;
    if let Stage::Cuts(cuts) = stage {
        cuts(text, &mut |end| {
            split(&text[gap..end], later, word);
            gap = end;
        });
        at = text.len();
    }
    while at < text.len() {
        let end = stage.match_end(text, at);
        if end == at {
            at = after(text, at);
            continue;
        }
        if gap < at {
            split(&text[gap..at], later, word);
        }
        split(&text[at..end], later, word);
        at = end;
        gap = end;
    }
    if gap < text.len() {
        split(&text[gap..], later, word);
    }
}

impl Stage {
    /// The end of the match that starts at `at`; `at` itself where there is none.
    fn match_end(&self, text: &str, at: usize) -> usize {
        match *self {
            Self::Words(words) => words.match_end(text, at),
            Self::DeepSeekWords { single_breaks } => deep_seek_words(text, at, single_breaks),
            Self::Numbers(max) => run_up_to(text, at, is_number, max),
            Self::ThreeLimbs => match text.as_bytes()[at..].first_chunk::<3>() {
                Some(digits) if digits.iter().all(u8::is_ascii_digit) => at + 3,
                _ => at,
            },
            Self::SpacedRun(accepts) => {
                let start = if classes_at(text, at).meets(Classes::SPACE) { after(text, at) } else { at };
                // The optional space may also be part of the run, if the run accepts it (backtracking).
                let end = run_of(text, start, accepts);
                if end > start { end } else { run_of(text, at, accepts) }
            }
            Self::PlainSpacedRun(accepts) => behind(at, after_space(text, at), |from| run_of(text, from, accepts)),
            Self::Run(accepts) => run_of(text, at, accepts),
            Self::LineBreak => if_in(text, at, Classes::LINE_BREAK),
            Self::SpaceAtEnd => {
                let end = run(text, at, Classes::SPACE);
                if end == text.len() { end } else { at }
            }
            Self::Lines => {
                let line_feeds = text.as_bytes()[at] == b'\n';
                let same = |&byte: &u8| (byte == b'\n') == line_feeds;
                at + text.as_bytes()[at..].iter().take_while(|byte| same(byte)).count()
            }
            Self::Custom(match_end) => match_end(text, at),
            // `split` cuts by itself.
            Self::Cuts(_) => at,
        }
    }
}

impl Words {
    fn match_end(&self, text: &str, at: usize) -> usize {
        if self.contractions != Contractions::No {
            let end = contraction(text, at, self.contractions);
            if end > at {
                return end;
            }
        }
        let end = self.letters.match_end(text, at);
        if end > at {
            return end;
        }
        let end = match self.numbers {
            Numbers::Spaced => behind(at, after_space(text, at), |from| run(text, from, Classes::NUMBER)),
            Numbers::UpTo(max) => run_up_to(text, at, is_number, max),
            Numbers::Threes => {
                let count = text[at..].chars().take_while(|&c| is_number(c)).count();
                run_up_to(text, at, is_number, if count.is_multiple_of(3) { 3 } else { count % 3 })
            }
        };
        if end > at {
            return end;
        }
        let not_punctuation = self.not_punctuation.or(Classes::SPACE).or(Classes::NUMBER);
        let end = behind(at, after_space(text, at), |from| match self.only_signs {
            true => run(text, from, Classes::PUNCTUATION.or(Classes::SYMBOL)),
            false => run_without(text, from, not_punctuation),
        });
        if end > at {
            let most = if self.single_tail { 1 } else { text.len() };
            return end + text.as_bytes()[end..].iter().take(most).take_while(|byte| self.tail.contains(byte)).count();
        }
        white_space(text, at, self.spaces)
    }
}

impl Letters {
    fn match_end(self, text: &str, at: usize) -> usize {
        match self {
            Self::Spaced => behind(at, after_space(text, at), |from| run(text, from, Classes::LETTER)),
            Self::Prefixed(letters) => {
                let first = classes_at(text, at);
                if first.meets(letters) {
                    return run(text, at, letters);
                }
                if first.meets(NO_PREFIX) {
                    return at;
                }
                behind(at, after(text, at), |from| run(text, from, letters))
            }
            Self::Cased { contractions } => {
                let end = cased(text, at, Classes::of);
                if contractions && end > at { contraction(text, end, Contractions::AnyCase) } else { end }
            }
            Self::CasedWithoutHan => {
                let han = run_of(text, at, is_han);
                let end = if han > at { han } else { cased(text, at, classes_without_han) };
                if han == at && end > at { contraction(text, end, Contractions::AnyCase) } else { end }
            }
            Self::Sentences => {
                let start = if classes_at(text, at).meets(NO_PREFIX) { at } else { after(text, at) };
                behind(at, start, |from| sentence(text, from))
            }
        }
    }
}

/// Characters that may not stand before a word: `[\r\n\p{L}\p{N}]`.
const NO_PREFIX: Classes = Classes::LINE_BREAK.or(Classes::LETTER).or(Classes::NUMBER);
const EITHER_CASE: Classes = Classes::CASELESS.or(Classes::MARK);
const UPPER: Classes = Classes::UPPER.or(EITHER_CASE);
const LOWER: Classes = Classes::LOWER.or(EITHER_CASE);

/// A word whose case changes at most from upper to lower, perhaps after another character.
fn cased(text: &str, at: usize, classes_of: fn(char) -> Classes) -> usize {
    let prefixed = if classes_at(text, at).meets(NO_PREFIX) { at } else { after(text, at) };
    for shape in [upper_then_lower, upper_first] {
        for start in [prefixed, at] {
            let end = shape(text, start, classes_of);
            if end > start {
                return end;
            }
        }
    }
    at
}

/// `[UPPER]*[LOWER]+`. Backtracking: the first run gives back as little as the second needs.
fn upper_then_lower(text: &str, start: usize, classes_of: fn(char) -> Classes) -> usize {
    let border = run_of(text, start, |c| classes_of(c).meets(UPPER));
    let end = run_of(text, border, |c| classes_of(c).meets(LOWER));
    if end > border {
        return end;
    }
    let given_back = text[start..border].char_indices().rev().find(|(_, c)| classes_of(*c).meets(LOWER));
    given_back.map_or(start, |(offset, c)| start + offset + c.len_utf8())
}

/// `[UPPER]+[LOWER]*`
fn upper_first(text: &str, start: usize, classes_of: fn(char) -> Classes) -> usize {
    let border = run_of(text, start, |c| classes_of(c).meets(UPPER));
    if border > start { run_of(text, border, |c| classes_of(c).meets(LOWER)) } else { start }
}

/// `(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+`
fn sentence(text: &str, start: usize) -> usize {
    let mut end = start;
    loop {
        let letter = if end > start { after_space(text, end) } else { end };
        if !classes_at(text, letter).meets(Classes::LETTER) {
            return end;
        }
        end = run(text, after(text, letter), Classes::MARK);
    }
}

/// `\p{Han}`, as far as its characters are letters.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3005}' | '\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303b}' | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{fa6d}' | '\u{fa70}'..='\u{fad9}' | '\u{20000}'..='\u{2fa1f}'
        | '\u{30000}'..='\u{323af}')
}

fn classes_without_han(c: char) -> Classes {
    if is_han(c) { Classes::NONE } else { Classes::of(c) }
}

fn deep_seek_words(text: &str, at: usize, single_breaks: bool) -> usize {
    let bytes = text.as_bytes();
    if bytes[at].is_ascii_punctuation() {
        let letters = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if letters > 0 {
            return at + 1 + letters;
        }
    }
    let word = Classes::LETTER.or(Classes::MARK);
    let sign = Classes::PUNCTUATION.or(Classes::SYMBOL);
    let first = classes_at(text, at);
    let end = if first.meets(word) {
        run(text, at, word)
    } else if first.meets(sign.or(Classes::LINE_BREAK)) {
        at
    } else {
        behind(at, after(text, at), |from| run(text, from, word))
    };
    if end > at {
        return end;
    }
    let end = behind(at, after_space(text, at), |from| run(text, from, sign));
    if end > at {
        return if single_breaks { end } else { run(text, end, Classes::LINE_BREAK) };
    }
    match single_breaks {
        true if first.meets(Classes::LINE_BREAK) => after(text, at),
        true => white_space(text, at, Spaces::Runs),
        false => white_space(text, at, Spaces::LineBreaks),
    }
}

fn white_space(text: &str, at: usize, spaces: Spaces) -> usize {
    let end = run(text, at, Classes::SPACE);
    let space = &text[at..end];
    if spaces != Spaces::Runs
        && let Some(last) = space.rfind(['\r', '\n'])
    {
        return at + last + 1;
    }
    if spaces == Spaces::Powers && !space.is_empty() {
        // White space to take: all of it at the end of the text, else all but the last character.
        let free = space.chars().count() - usize::from(end < text.len());
        let power = if free == 0 { 1 } else { (1 << free.ilog2()).min(512) };
        return run_up_to(text, at, char::is_whitespace, power);
    }
    if end == text.len() {
        return end;
    }
    match space.char_indices().next_back() {
        Some((last, _)) if last > 0 => at + last,
        _ => end,
    }
}

fn contraction(text: &str, at: usize, kind: Contractions) -> usize {
    let rest = &text.as_bytes()[at..];
    if rest.first() != Some(&b'\'') {
        return at;
    }
    let is = |suffix: &&&[u8]| match rest.get(1..=suffix.len()) {
        Some(found) if kind == Contractions::Small => found == **suffix,
        Some(found) => found.eq_ignore_ascii_case(suffix),
        None => false,
    };
    let suffixes: [&[u8]; 7] = [b"s", b"t", b"re", b"ve", b"m", b"ll", b"d"];
    suffixes.iter().find(is).map_or(at, |suffix| at + 1 + suffix.len())
}
