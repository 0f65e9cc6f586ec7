//! Tokens → text, one by one: what stands between the texts of two tokens.

use super::Tokenizer;
use super::vocab::{Kind, Spelling};

/// How the text so far affects the next token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// Text begins here, where encoding would have put a space.
    Start,
    /// Text goes on.
    Inside,
    /// WordPiece: an apostrophe between words waits for what follows.
    Apostrophe,
}

/// Signs that WordPiece writes without the space in front.
const CLOSING: &[u8] = b".?!,";

impl Tokenizer {
    /// Appends a token's bytes as they appear in text.
    pub(super) fn push_token(&self, id: u32, show_special: bool, joint: &mut Joint, out: &mut Vec<u8>) {
        let (Some(bytes), Some(kind)) = (self.vocab.token(id), self.vocab.kind(id)) else { return };
        let special = matches!(kind, Kind::Control | Kind::Unknown);
        if self.vocab.spelling() == Spelling::WordStarts {
            return if show_special || !special {
                push_word(bytes, kind, joint, out)
            };
        }
        if special {
            out.extend_from_slice(if show_special { bytes } else { b"" });
            *joint = Joint::Start;
            return;
        }
        let prefixed = *joint == Joint::Start && self.rules.space_prefix && kind != Kind::UserDefined;
        out.extend_from_slice(if prefixed { bytes.strip_prefix(b" ").unwrap_or(bytes) } else { bytes });
        *joint = if kind == Kind::UserDefined { Joint::Start } else { Joint::Inside };
    }
}

impl Joint {
    /// Appends what waited for another token.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if *self == Self::Apostrophe {
            out.extend_from_slice(b" '");
            *self = Self::Inside;
        }
    }
}

/// Appends a token of WordPiece, with the spaces of English text as Hugging Face's `clean_up_tokenization` leaves them:
/// none before closing signs and around apostrophes.
fn push_word(bytes: &[u8], kind: Kind, joint: &mut Joint, out: &mut Vec<u8>) {
    let (word, begins) = match bytes.strip_prefix(b" ") {
        Some(word) => (word, true),
        None => (bytes, !kind.is_text() || kind == Kind::UserDefined),
    };
    let spaced = begins && *joint != Joint::Start && !word.first().is_some_and(|sign| CLOSING.contains(sign));
    match *joint {
        Joint::Apostrophe if spaced => out.push(b'\''),
        Joint::Apostrophe => out.extend_from_slice(b" '"),
        _ if spaced && word == b"'" => {
            *joint = Joint::Apostrophe;
            return;
        }
        _ if spaced => out.push(b' '),
        _ => {}
    }
    out.extend_from_slice(word);
    *joint = Joint::Inside;
}
