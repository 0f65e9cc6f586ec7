//! The tokens of a model as a trie, which masks are computed over.

use std::sync::Arc;

use anyhow::{Result, ensure};
use llguidance::ParserFactory;
use toktrie::{InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

/// What a token of this kind stands for in [`Tokens::kinds`]: its bytes are text.
pub const TEXT: u8 = 0;
/// A control token: its bytes are its name, and no text.
pub const CONTROL: u8 = 1;

/// How a text is cut into tokens, in the middle of an answer.
pub type Tokenize = Box<dyn Fn(&str) -> Vec<TokenId> + Send + Sync>;

/// The tokens of a model.
pub struct Tokens<'a> {
    /// The bytes of all tokens, one after the other.
    pub bytes: &'a [u8],
    /// Where the bytes of each end.
    pub ends: &'a [u32],
    /// The kind of each token: 0 for text, 1 for a control token, other numbers for tokens that are never written.
    pub kinds: &'a [u8],
    /// The tokens that end an answer.
    pub end_of_generation: &'a [TokenId],
}

/// A trie of the tokens of a model, and what compiles grammars for it.
pub struct Vocabulary {
    pub(crate) factory: ParserFactory,
}

impl Vocabulary {
    /// Builds the trie: about 0.4 s for 128,000 tokens. Without `tokenize` no tokens are forced.
    ///
    /// # Errors
    /// Where the parts of `tokens` do not fit each other.
    pub fn new(tokens: &Tokens, tokenize: Option<Tokenize>) -> Result<Self> {
        let env: TokEnv = Arc::new(Env { trie: trie_of(tokens)?, tokenize });
        // Without slices: they take a second and 78 MB, and gain half a millisecond where a mask is computed.
        let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), &[])?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Self { factory })
    }
}

fn trie_of(tokens: &Tokens) -> Result<TokTrie> {
    let Tokens { bytes, ends, kinds, end_of_generation } = *tokens;
    ensure!(ends.len() == kinds.len(), "{} tokens of {} kinds", ends.len(), kinds.len());
    ensure!(!end_of_generation.is_empty(), "the vocabulary has no token that ends a text");
    let missing = end_of_generation.iter().find(|&&id| id as usize >= ends.len());
    ensure!(missing.is_none(), "the vocabulary of {} tokens has no token {missing:?}", ends.len());
    let mut words = Vec::with_capacity(ends.len());
    let mut start = 0;
    for (&end, &kind) in ends.iter().zip(kinds) {
        let word = bytes.get(start..end as usize);
        let Some(word) = word else { anyhow::bail!("a token of bytes {start} to {end}, there are {}", bytes.len()) };
        start = end as usize;
        words.push(match kind {
            TEXT => word.to_vec(),
            CONTROL => [&[TokTrie::SPECIAL_TOKEN_MARKER], word].concat(),
            _ => Vec::new(),
        });
    }
    let info = TokRxInfo::new(words.len() as u32, end_of_generation[0]);
    Ok(TokTrie::from(&info, &words).with_eos_tokens(end_of_generation))
}

/// The trie with the model's own tokenizer.
struct Env {
    trie: TokTrie,
    tokenize: Option<Tokenize>,
}

impl TokenizerEnv for Env {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    /// As the model's tokenizer cuts it, where its tokens have these very bytes: some normalise.
    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        let text = std::str::from_utf8(bytes).ok();
        let ids = text.zip(self.tokenize.as_ref()).map(|(text, tokenize)| tokenize(text));
        ids.filter(|ids| self.trie.decode_raw(ids) == bytes).unwrap_or_else(|| self.trie.greedy_tokenize(bytes))
    }

    fn tokenize_is_canonical(&self) -> bool {
        self.tokenize.is_some()
    }
}
