//! The vocabulary: the bytes each token stands for, its kind, and the way back from bytes to a token.

use super::bytes::{fallback_byte, is_byte_level, push_decoded, push_unescaped};
use super::index::{IndexTable, hash_bytes};
use crate::error::{Error, Result};
use crate::gguf::Strings;
use crate::yielding::ITEMS;

/// The kinds of tokens, with GGUF's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text. Undefined kinds are taken as text, too.
    Normal,
    /// For text that has no token.
    Unknown,
    /// Controls the model, such as the end of a turn; never part of plain text.
    Control,
    /// Added text, found in the input before anything else.
    UserDefined,
    /// Reserved text.
    Unused,
    /// One byte, for text that has no token of its own.
    Byte,
}

impl Kind {
    fn from_number(number: i32) -> Self {
        match number {
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => Self::Normal,
        }
    }

    /// Whether merging pieces of plain text may end at such a token. Control tokens may not: typing `<s>` must not
    /// start a sequence.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Normal | Self::UserDefined | Self::Unused)
    }

    /// Whether a prompt that names such a token has it.
    pub fn is_special(self) -> bool {
        matches!(self, Self::Control | Self::Unknown | Self::UserDefined)
    }
}

/// How normal tokens spell their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// GPT-2's byte alphabet.
    ByteLevel,
    /// As they are, with U+2581 for a space.
    Metaspace,
    /// As they are, with U+2581 in front of tokens that begin a word.
    WordStarts,
    /// With escapes such as `\n` and `\xff`: any bytes.
    Escaped,
    /// As they are.
    Plain,
}

/// SentencePiece's sign for a space, U+2581.
pub(super) const METASPACE: char = '\u{2581}';

/// The bytes of all tokens in one arena. After the tokens there may be further pieces that are only intermediate
/// results of merges.
#[derive(Debug, Clone)]
pub(super) struct Vocab {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    kinds: Vec<Kind>,
    by_bytes: IndexTable,
    spelling: Spelling,
}

impl Vocab {
    /// Reads the vocabulary; `kinds` are the numbers of `tokenizer.ggml.token_type`, where there are any.
    pub async fn new(
        tokens: &Strings,
        kinds: Option<&[i32]>,
        spelling: Spelling,
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<Self> {
        if tokens.is_empty() {
            return Err(Error::bad_file("tokenizer.ggml.tokens is empty"));
        }
        if let Some(kinds) = kinds
            && kinds.len() != tokens.len()
        {
            let (found, expected) = (kinds.len(), tokens.len());
            return Err(Error::bad_file(format!(
                "tokenizer.ggml.token_type has {found} entries, but there are {expected} tokens"
            )));
        }
        let mut vocab = Self {
            bytes: Vec::new(),
            ends: Vec::with_capacity(tokens.len()),
            kinds: Vec::with_capacity(tokens.len()),
            by_bytes: IndexTable::with_room(tokens.len()),
            spelling,
        };
        for (id, text) in tokens.iter().enumerate() {
            vocab.push(id, text, kinds.map(|kinds| kinds[id]))?;
            if id % ITEMS == 0 {
                yield_now().await;
            }
        }
        vocab.bytes.shrink_to_fit();
        vocab.index_tokens(tokens, yield_now).await;
        Ok(vocab)
    }

    fn push(&mut self, id: usize, text: &[u8], kind: Option<i32>) -> Result<()> {
        let text = std::str::from_utf8(text)
            .map_err(|_| Error::bad_file(format!("token {id} is not UTF-8: {}", shown(text))))?;
        let byte = fallback_byte(text.as_bytes());
        let kind = match kind {
            Some(number) => Kind::from_number(number),
            None if byte.is_some() && self.spelling == Spelling::Metaspace => Kind::Byte,
            None => Kind::Normal,
        };
        match (kind, byte) {
            (Kind::Byte, Some(byte)) => self.bytes.push(byte),
            (Kind::Byte, None) => {
                let text = shown(text.as_bytes());
                return Err(Error::bad_file(format!("token {id} is a byte token, but its text {text} is not <0xHH>")));
            }
            (Kind::Normal | Kind::Unused, _) => push_spelled(text, self.spelling, &mut self.bytes),
            _ => self.bytes.extend_from_slice(text.as_bytes()),
        }
        self.ends.push(end_of(&self.bytes)?);
        self.kinds.push(kind);
        Ok(())
    }

    /// Normal tokens go first: where another one has the same bytes, merges mean the normal one. Merges never
    /// arrive at a token that is spelled in another way.
    async fn index_tokens(&mut self, tokens: &Strings, yield_now: &mut impl AsyncFnMut()) {
        for normal in [true, false] {
            for id in 0..self.len() {
                let kind = self.kinds[id];
                if kind.is_text() && (kind == Kind::Normal) == normal && self.is_spelled(kind, tokens.get(id)) {
                    self.index_token(id as u32);
                }
                if id % ITEMS == 0 {
                    yield_now().await;
                }
            }
        }
    }

    /// Whether the text of a token is spelled as merges spell it. Gemma's added runs of spaces are not: a text of
    /// U+2581 merges to single ones.
    fn is_spelled(&self, kind: Kind, text: Option<&[u8]>) -> bool {
        let text = text.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        match self.spelling {
            Spelling::ByteLevel => !matches!(kind, Kind::Normal | Kind::Unused) || is_byte_level(text),
            Spelling::Metaspace => !text.contains(' '),
            Spelling::WordStarts | Spelling::Escaped | Spelling::Plain => true,
        }
    }

    fn index_token(&mut self, id: u32) {
        if self.piece(id).is_empty() {
            return;
        }
        // The first one of several tokens with the same bytes encodes texts; each decodes to its own text.
        if self.find(self.piece(id)).is_none() {
            self.index_piece(id);
        }
    }

    fn index_piece(&mut self, id: u32) {
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.by_bytes.insert(id, |item| hash_bytes(piece_of(bytes, ends, item)));
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether `id` is a token, not just a piece of merges.
    pub fn is_token(&self, id: u32) -> bool {
        (id as usize) < self.kinds.len()
    }

    /// The kind of a token; `None` past the last.
    pub fn kind(&self, id: u32) -> Option<Kind> {
        self.kinds.get(id as usize).copied()
    }

    /// Overrides the kind of a token whose text is the same in either kind.
    pub fn set_kind(&mut self, id: u32, kind: Kind) {
        if let Some(slot) = self.kinds.get_mut(id as usize) {
            *slot = kind;
        }
    }

    /// The bytes of a token; `None` past the last.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.is_token(id).then(|| self.piece(id))
    }

    /// All pieces that merging may end at or pass through: text tokens and what [`Self::intern`] added.
    fn text_pieces(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let is_text = |&id: &u32| self.kind(id).is_none_or(Kind::is_text);
        (0..self.ends.len() as u32).filter(is_text).map(|id| self.piece(id))
    }

    /// The text token, or the piece of merges, with exactly these bytes.
    pub fn find(&self, bytes: &[u8]) -> Option<u32> {
        self.by_bytes.find(hash_bytes(bytes), |item| self.piece(item) == bytes)
    }

    /// As [`Self::find`], but adds the piece where there is none. Merges may pass through pieces that are no tokens.
    pub fn intern(&mut self, bytes: &[u8]) -> Result<u32> {
        if let Some(id) = self.find(bytes) {
            return Ok(id);
        }
        let id = u32::try_from(self.ends.len()).map_err(|_| too_long())?;
        self.bytes.extend_from_slice(bytes);
        self.ends.push(end_of(&self.bytes)?);
        self.index_piece(id);
        Ok(id)
    }

    /// The token of every byte, for text without a token of its own; past the last token where there is none.
    pub fn byte_tokens(&self) -> Box<[u32; 256]> {
        let mut tokens = Box::new([super::merge::NO_ID; 256]);
        for (id, kind) in (0..).zip(&self.kinds) {
            if *kind == Kind::Byte
                && let &[byte] = self.piece(id)
            {
                tokens[usize::from(byte)] = id;
            }
        }
        tokens
    }

    /// Whether no piece has a space behind another character: then merging never crosses the start of a word.
    pub fn splits_at_spaces(&self) -> bool {
        self.text_pieces().all(|piece| !piece.array_windows().any(|[before, here]| *before != b' ' && *here == b' '))
    }

    /// How normal tokens and merges are spelled.
    pub fn spelling(&self) -> Spelling {
        self.spelling
    }

    fn piece(&self, id: u32) -> &[u8] {
        piece_of(&self.bytes, &self.ends, id)
    }
}

fn piece_of<'a>(bytes: &'a [u8], ends: &[u32], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = id.checked_sub(1).map_or(0, |before| ends[before] as usize);
    &bytes[start..ends[id] as usize]
}

/// Appends the bytes that a normal token's text spells.
pub(super) fn push_spelled(text: &str, spelling: Spelling, out: &mut Vec<u8>) {
    match spelling {
        // Text outside the byte alphabet is taken literally.
        Spelling::ByteLevel => {
            if !push_decoded(text, out) {
                out.extend_from_slice(text.as_bytes());
            }
        }
        Spelling::Metaspace => {
            for (index, part) in text.split(METASPACE).enumerate() {
                if index > 0 {
                    out.push(b' ');
                }
                out.extend_from_slice(part.as_bytes());
            }
        }
        Spelling::WordStarts => {
            let word = text.strip_prefix(METASPACE);
            out.extend_from_slice(if word.is_some() { b" " } else { b"" });
            out.extend_from_slice(word.unwrap_or(text).as_bytes());
        }
        Spelling::Escaped => push_unescaped(text, out),
        Spelling::Plain => out.extend_from_slice(text.as_bytes()),
    }
}

fn end_of(bytes: &[u8]) -> Result<u32> {
    u32::try_from(bytes.len()).map_err(|_| too_long())
}

fn too_long() -> Error {
    Error::bad_file(format!("the vocabulary is larger than {} bytes", u32::MAX))
}

/// A text of a file, cut short where it is long, for a message.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 48;
    let cut = &text[..text.len().min(LONGEST)];
    let rest = if text.len() > LONGEST { "…" } else { "" };
    format!("'{}{rest}'", cut.escape_ascii())
}
