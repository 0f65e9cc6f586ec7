//! RWKV's tokenizer: a text is cut, from its start, into the longest tokens, byte by byte.
//!
//! Origin: Peng et al., <https://arxiv.org/abs/2404.05892>, section 6, and the published vocabulary "World". Its tokens
//! are any bytes, every single one among them.

use super::special::Matcher;
use super::vocab::Vocab;

/// An encoder of the longest tokens.
#[derive(Debug)]
pub(super) struct World {
    pub tokens: Matcher,
    /// For a byte that no token begins with; without it the byte is left out.
    pub unknown: Option<u32>,
}

impl World {
    /// Appends the tokens of plain text.
    pub fn encode(&self, vocab: &Vocab, text: &str, out: &mut Vec<u32>) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            let found = self.tokens.longest(vocab, rest);
            out.extend(found.or(self.unknown));
            rest = &rest[found.and_then(|id| vocab.token(id)).map_or(1, <[u8]>::len)..];
        }
    }
}
