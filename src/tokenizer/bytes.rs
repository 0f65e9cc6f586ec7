//! The byte alphabet of byte-level BPE: in a vocabulary every byte is written as a printable character.
//!
//! Origin: GPT-2's published tokenizer. Bytes that are printable in Latin-1 are written as themselves; the other 68 as
//! U+0100 and up, in their order.

/// The characters run to U+0143.
const CHARACTERS: usize = 0x144;
const NONE: u16 = u16::MAX;

static BYTE_OF: [u16; CHARACTERS] = byte_of_character();

const fn stands_for_itself(byte: usize) -> bool {
    matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff)
}

const fn byte_of_character() -> [u16; CHARACTERS] {
    let mut table = [NONE; CHARACTERS];
    let mut next = 0x100;
    let mut byte = 0;
    while byte < 256 {
        if stands_for_itself(byte) {
            table[byte] = byte as u16;
        } else {
            table[next] = byte as u16;
            next += 1;
        }
        byte += 1;
    }
    table
}

/// The byte that the first character of a text spells, and the length of the character. All of the alphabet are of one
/// or two bytes, so that nothing is decoded: a vocabulary has millions of characters with its merges.
#[inline(always)]
fn first_byte(text: &[u8]) -> Option<(u8, usize)> {
    let (character, len) = match *text {
        [first, ..] if first.is_ascii() => (usize::from(first), 1),
        [first @ 0xc2..=0xc5, second, ..] => (usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f), 2),
        _ => return None,
    };
    BYTE_OF.get(character).filter(|&&byte| byte != NONE).map(|&byte| (byte as u8, len))
}

/// Appends the bytes that `text` spells. `false`, with `out` unchanged, where a character is not of the alphabet.
pub(super) fn push_decoded(text: &str, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let Some((byte, len)) = first_byte(rest) else {
            out.truncate(start);
            return false;
        };
        out.push(byte);
        rest = &rest[len..];
    }
    true
}

/// Whether every character of `text` is of the alphabet.
pub(super) fn is_byte_level(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some((_, len)) = first_byte(rest) {
        rest = &rest[len..];
    }
    rest.is_empty()
}

/// Appends the bytes of a text with escapes: `\t`, `\n`, `\r`, `\x` and two digits, or a backslash in front of any
/// other character, which stands for itself.
pub(super) fn push_unescaped(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes().iter().copied();
    while let Some(byte) = rest.next() {
        let escaped = if byte == b'\\' { rest.next() } else { None };
        out.push(match escaped {
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b'x') => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16)).unwrap_or(0);
                (digit() * 16 + digit()) as u8
            }
            other => other.unwrap_or(byte),
        });
    }
}

/// The byte of a byte-fallback token such as `<0x0A>`.
pub(super) fn fallback_byte(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"<0x")?.strip_suffix(b">")?;
    let [high, low] = digits.as_array::<2>()?.map(|digit| char::from(digit).to_digit(16));
    Some((high? * 16 + low?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_is_a_bijection() {
        let mut bytes: Vec<u16> = BYTE_OF.iter().copied().filter(|&byte| byte != NONE).collect();
        bytes.sort_unstable();
        assert_eq!(bytes, (0..256).collect::<Vec<u16>>());
    }

    #[test]
    fn decodes_known_spellings() {
        let mut out = b"x".to_vec();
        assert!(push_decoded("ĠHelloĊ", &mut out));
        assert_eq!(out, b"x Hello\n");
        assert!(!push_decoded("a\u{2581}", &mut out));
        assert_eq!(out, b"x Hello\n");
    }

    #[test]
    fn escapes_are_bytes() {
        let mut out = Vec::new();
        push_unescaped(r"a\n\t\r\\\'\x00\xfF é\xe6", &mut out);
        assert_eq!(out, b"a\n\t\r\\'\0\xff \xc3\xa9\xe6");
        // An incomplete sequence at the end.
        for (text, bytes) in [(r"a\", &b"a\\"[..]), (r"\x", b"\0"), (r"\x4", b"@")] {
            out.clear();
            push_unescaped(text, &mut out);
            assert_eq!(out, bytes, "{text}");
        }
    }

    #[test]
    fn reads_fallback_tokens() {
        assert_eq!(fallback_byte(b"<0x0A>"), Some(10));
        assert_eq!(fallback_byte(b"<0xff>"), Some(255));
        for not_one in [&b"<0x0>"[..], b"<0x0G>", b"0x0A", b"<0x0A", b"<0x00A>", b""] {
            assert_eq!(fallback_byte(not_one), None);
        }
    }
}
