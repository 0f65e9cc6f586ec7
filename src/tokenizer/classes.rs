//! Character classes for the pre-tokenizers: `\p{L}`, `\p{N}`, `\s` and the rest of what their patterns name.
//!
//! The general categories come from `icu_properties` (Unicode Consortium, Unicode-3.0 licence). Of the maintained
//! crates it is the smallest by far in WebAssembly: 18 KiB of code and tables (6 KiB gzipped) against 65 to 72 KiB (13
//! to 25 KiB) of `unicode-general-category`, `unicode-properties` and `finl_unicode`.

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory as Category;

/// A set of character classes, or the classes of one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classes(u16);

impl Classes {
    pub const NONE: Self = Self(0);
    /// `\p{Lu}\p{Lt}`
    pub const UPPER: Self = Self(1);
    /// `\p{Ll}`
    pub const LOWER: Self = Self(1 << 1);
    /// `\p{Lm}\p{Lo}`
    pub const CASELESS: Self = Self(1 << 2);
    /// `\p{M}`
    pub const MARK: Self = Self(1 << 3);
    /// `\p{N}`
    pub const NUMBER: Self = Self(1 << 4);
    /// `\p{P}`
    pub const PUNCTUATION: Self = Self(1 << 5);
    /// `\p{S}`
    pub const SYMBOL: Self = Self(1 << 6);
    /// `\s`, which is White_Space
    pub const SPACE: Self = Self(1 << 7);
    /// `[\r\n]`
    pub const LINE_BREAK: Self = Self(1 << 8);
    /// U+200C and U+200D, which join letters or keep them apart
    pub const JOINER: Self = Self(1 << 9);
    /// `\p{L}`
    pub const LETTER: Self = Self::UPPER.or(Self::LOWER).or(Self::CASELESS);

    /// Either set.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the two have a class in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The classes of a character.
    pub fn of(character: char) -> Self {
        match ASCII.get(character as usize) {
            Some(&classes) => classes,
            None => of_any(character),
        }
    }
}

static ASCII: [Classes; 128] = {
    let mut table = [Classes::NONE; 128];
    let mut code = 0;
    while code < 128 {
        table[code] = of_ascii(code as u8);
        code += 1;
    }
    table
};

const fn of_ascii(byte: u8) -> Classes {
    match byte {
        b'A'..=b'Z' => Classes::UPPER,
        b'a'..=b'z' => Classes::LOWER,
        b'0'..=b'9' => Classes::NUMBER,
        b'\r' | b'\n' => Classes::SPACE.or(Classes::LINE_BREAK),
        b' ' | b'\t' | 0x0b | 0x0c => Classes::SPACE,
        b'$' | b'+' | b'<' | b'=' | b'>' | b'^' | b'`' | b'|' | b'~' => Classes::SYMBOL,
        b'!'..=b'~' => Classes::PUNCTUATION,
        _ => Classes::NONE,
    }
}

fn of_any(character: char) -> Classes {
    let classes = match category(character) {
        Category::Format if matches!(character, '\u{200c}' | '\u{200d}') => Classes::JOINER,
        Category::UppercaseLetter | Category::TitlecaseLetter => Classes::UPPER,
        Category::LowercaseLetter => Classes::LOWER,
        Category::ModifierLetter | Category::OtherLetter => Classes::CASELESS,
        Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark => Classes::MARK,
        Category::DecimalNumber | Category::LetterNumber | Category::OtherNumber => Classes::NUMBER,
        Category::ConnectorPunctuation
        | Category::DashPunctuation
        | Category::OpenPunctuation
        | Category::ClosePunctuation
        | Category::InitialPunctuation
        | Category::FinalPunctuation
        | Category::OtherPunctuation => Classes::PUNCTUATION,
        Category::MathSymbol | Category::CurrencySymbol | Category::ModifierSymbol | Category::OtherSymbol => {
            Classes::SYMBOL
        }
        _ => Classes::NONE,
    };
    if character.is_whitespace() { classes.or(Classes::SPACE) } else { classes }
}

/// `\p{Mn}`: the accents that a decomposed character has behind its base.
pub(super) fn is_nonspacing_mark(character: char) -> bool {
    category(character) == Category::NonspacingMark
}

/// `\p{Nd}`
pub(super) fn is_decimal(character: char) -> bool {
    category(character) == Category::DecimalNumber
}

/// `\p{Cc}\p{Cf}\p{Co}`
pub(super) fn is_control_or_format(character: char) -> bool {
    matches!(category(character), Category::Control | Category::Format | Category::PrivateUse)
}

fn category(character: char) -> Category {
    CodePointMapData::<Category>::new().get(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_agrees_with_the_tables() {
        for byte in 0..128_u8 {
            let expected = of_any(char::from(byte));
            let breaks = if matches!(byte, b'\r' | b'\n') { Classes::LINE_BREAK } else { Classes::NONE };
            assert_eq!(of_ascii(byte), expected.or(breaks), "{byte:#x}");
        }
    }

    #[test]
    fn known_characters() {
        for (character, classes) in [
            ('ǅ', Classes::UPPER),
            ('ß', Classes::LOWER),
            ('ʰ', Classes::CASELESS),
            ('我', Classes::CASELESS),
            ('\u{17b6}', Classes::MARK),
            ('½', Classes::NUMBER),
            ('～', Classes::SYMBOL),
            ('「', Classes::PUNCTUATION),
            ('\u{a0}', Classes::SPACE),
            ('\u{85}', Classes::SPACE),
            ('\u{200d}', Classes::JOINER),
            ('🦙', Classes::SYMBOL),
        ] {
            assert_eq!(Classes::of(character), classes, "{character:?}");
        }
    }
}
