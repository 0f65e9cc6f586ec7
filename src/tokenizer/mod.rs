//! Text ↔ token ids, from the metadata of a GGUF file alone.
//!
//! [`Tokenizer::from_metadata`] reads the vocabulary into compact tables and needs the metadata no longer. Encoding
//! cuts out special tokens, splits the rest into words and merges each word's pieces; decoding concatenates the tokens'
//! bytes. [`TextStream`] and [`StopMatcher`] do the latter for text that is still being generated. Chat templates are
//! rendered in JavaScript; [`Tokenizer::protect`] keeps special tokens out of what people write.
//!
//! Rules that the file does not spell out (which names of pre-tokenizers mean what, which tokens end an answer, when
//! BOS is added) are those of llama.cpp, for which these files are made.

mod bpe;
mod bytes;
mod charsmap;
mod classes;
mod index;
mod join;
mod load;
mod merge;
mod normal;
mod pair;
mod patterns;
mod plamo;
mod pretokenizers;
mod rules;
mod runs;
mod same;
mod special;
mod split;
mod spm;
mod stream;
mod unigram;
mod vocab;
mod wordpiece;
mod words;
mod world;

use std::borrow::Cow;

use self::bpe::Bpe;
use self::join::Joint;
use self::plamo::Plamo;
use self::rules::Rules;
use self::special::{Fragment, Matcher};
use self::spm::Spm;
use self::unigram::Unigram;
use self::vocab::{Kind, METASPACE, Spelling, Vocab};
use self::wordpiece::WordPiece;
use self::world::World;
use crate::error::Result;
use crate::gguf::Metadata;
use crate::yielding::{at_once, none};

pub use self::stream::{StopMatcher, StopStatus, TextStream, Utf8Stream};

/// ChatML, for models that have its tokens but no template.
const CHATML: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n\
                      {% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
/// Stands inside of what only looks like a control token, until the text around it is encoded. Unicode has it for
/// such uses: it is no character, and no text that is exchanged has it.
const MARK: char = '\u{FDD1}';

/// A vocabulary with its rules. Ids are below [`Tokenizer::vocab_size`].
#[derive(Debug)]
pub struct Tokenizer {
    vocab: Vocab,
    model: Model,
    /// Finds all special and added tokens.
    special: Matcher,
    /// Finds added tokens only: those that count as text.
    added: Matcher,
    rules: Rules,
    ends: Vec<u32>,
    suppressed: Vec<u32>,
    chat_template: Option<String>,
    /// The template for conversations with tools, where the file has one of its own.
    tool_template: Option<String>,
    /// The template for a text that is to be spoken, where the file has one.
    speech_template: Option<String>,
    /// The prompt for a query and a document, which stand in it as `{query}` and `{document}`.
    rank_template: Option<String>,
    warnings: Vec<String>,
}

#[derive(Debug)]
enum Model {
    Bpe(Bpe),
    Spm(Spm),
    WordPiece(WordPiece),
    Unigram(Unigram),
    World(World),
    Plamo(Plamo),
}

impl Tokenizer {
    /// Reads the `tokenizer.*` keys.
    ///
    /// # Errors
    /// `unsupported_architecture` for a `tokenizer.ggml.model` other than `bert`, `gemma4`, `gpt2`, `llama`, `plamo2`,
    /// `plamo3`, `rwkv` and `t5`; `bad_file` where keys are missing, of the wrong type, of different lengths, or name
    /// ids past the end.
    pub fn from_metadata(metadata: &Metadata) -> Result<Self> {
        at_once(Self::yielding(metadata, none))
    }

    /// As [`Tokenizer::from_metadata`], but awaits `yield_now` every millisecond or two: a large vocabulary takes a
    /// tenth of a second.
    ///
    /// # Errors
    /// As [`Tokenizer::from_metadata`].
    pub async fn yielding(metadata: &Metadata, mut yield_now: impl AsyncFnMut()) -> Result<Self> {
        load::tokenizer(metadata, &mut yield_now).await
    }

    /// The token ids of `text`.
    ///
    /// `add_special` adds BOS and EOS where the file wants them, for BERT `[CLS]` and `[SEP]`. `parse_special` reads
    /// special tokens that stand in the text, such as `<|im_start|>`; without it they are text like any other. A prompt
    /// made by a chat template is encoded by [`Self::encode_prompt`].
    pub fn encode(&self, text: &str, add_special: bool, parse_special: bool) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 2);
        if add_special {
            ids.extend(self.rules.begin);
        }
        let matcher = if parse_special { &self.special } else { &self.added };
        self.encode_parts(text, matcher, true, &mut ids);
        if add_special {
            ids.extend(self.rules.end);
        }
        ids
    }

    /// The token ids of a text in the middle of another: no space is put before it, and nothing in it is special.
    pub fn encode_inside(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 2);
        self.encode_parts(text, &self.added, false, &mut ids);
        ids
    }

    fn encode_parts(&self, text: &str, matcher: &Matcher, mut at_start: bool, ids: &mut Vec<u32>) {
        matcher.cut(
            &self.vocab,
            text,
            |id| self.rules.sides(&self.vocab, id),
            |fragment| {
                match fragment {
                    Fragment::Token(id) => ids.push(id),
                    // Marks are of texts in which special tokens are looked for.
                    Fragment::Text(text) if std::ptr::eq(matcher, &self.special) && text.contains(MARK) => {
                        self.encode_text(&text.replace(MARK, ""), at_start, ids);
                    }
                    Fragment::Text(text) => self.encode_text(text, at_start, ids),
                }
                at_start = matches!(fragment, Fragment::Token(_));
            },
        );
    }

    /// A text that is put into a prompt and has no control tokens: those that are written in it are text. Each gets a
    /// mark behind its first character, which [`Self::encode_prompt`] takes out again. Tokens for which `keeps` is true
    /// stay tokens.
    pub fn protect(&self, text: &str, keeps: impl Fn(&str) -> bool) -> String {
        let text = text.replace(MARK, "");
        let mut out = String::with_capacity(text.len() + 8);
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let found = self.special.longest(&self.vocab, rest.as_bytes());
            let name = found.and_then(|id| self.vocab.token(id)).map_or("", |name| &rest[..name.len()]);
            let is_control = found.is_some_and(|id| self.is_special(id) || special::is_sign(name)) && !keeps(name);
            // A token may begin inside of a protected one.
            let taken = if is_control || name.is_empty() { first.len_utf8() } else { name.len() };
            out.push_str(&rest[..taken]);
            if is_control {
                out.push(MARK);
            }
            rest = &rest[taken..];
        }
        out
    }

    /// The token ids of a prompt in the model's own format: special tokens are read, but not those of
    /// [`Self::protect`], and BOS is added where the file wants it and the text has none yet. EOS is not added.
    pub fn encode_prompt(&self, text: &str) -> Vec<u32> {
        let mut ids = self.encode(text, false, true);
        if let Some(bos) = self.rules.begin
            && ids.first() != Some(&bos)
        {
            ids.insert(0, bos);
        }
        ids
    }

    fn encode_text(&self, text: &str, at_start: bool, ids: &mut Vec<u32>) {
        match &self.model {
            Model::Bpe(bpe) => bpe.encode(&self.vocab, &self.with_spaces(text, at_start), ids),
            Model::Spm(spm) => spm.encode(&self.vocab, &self.with_spaces(text, at_start), ids),
            Model::WordPiece(wordpiece) => wordpiece.encode(&self.vocab, text, ids),
            Model::Unigram(unigram) => unigram.encode(&self.vocab, text, ids),
            Model::World(world) => world.encode(&self.vocab, text, ids),
            Model::Plamo(plamo) => plamo.encode(&self.vocab, text, ids),
        }
    }

    /// The text with the space in front that the file wants, and with spaces as the vocabulary has them.
    fn with_spaces<'t>(&self, text: &'t str, at_start: bool) -> Cow<'t, str> {
        let prefix = if self.rules.space_prefix && at_start { " " } else { "" };
        // This character stands for a space in the model's vocabulary.
        let metaspace = self.vocab.spelling() == Spelling::Metaspace && text.contains(METASPACE);
        match (prefix, metaspace) {
            ("", false) => Cow::Borrowed(text),
            (_, false) => Cow::Owned([prefix, text].concat()),
            (_, true) => Cow::Owned([prefix, &text.replace(METASPACE, " ")].concat()),
        }
    }

    /// The text of `ids`, where bytes that are not UTF-8 become U+FFFD. Control tokens are left out unless
    /// `show_special`; ids past the end are left out.
    pub fn decode(&self, ids: &[u32], show_special: bool) -> String {
        let mut bytes = Vec::new();
        let mut joint = Joint::Start;
        for &id in ids {
            self.push_token(id, show_special, &mut joint, &mut bytes);
        }
        joint.end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes of a token's text, which need not be whole characters; for a control token its name. `None` past the
    /// last id.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.vocab.token(id)
    }

    /// Whether a token is a control token or the unknown token, rather than text.
    pub fn is_special(&self, id: u32) -> bool {
        matches!(self.vocab.kind(id), Some(Kind::Control | Kind::Unknown))
    }

    /// The control or added token of this name.
    pub fn special_id(&self, name: &str) -> Option<u32> {
        let id = self.special.longest(&self.vocab, name.as_bytes())?;
        (self.vocab.token(id) == Some(name.as_bytes())).then_some(id)
    }

    /// Whether a token is written as text, and does not end it.
    pub fn is_text(&self, id: u32) -> bool {
        let kind = self.vocab.kind(id);
        matches!(kind, Some(Kind::Normal | Kind::UserDefined | Kind::Byte)) && !self.is_end_of_generation(id)
    }

    /// The number of tokens.
    pub fn vocab_size(&self) -> usize {
        self.vocab.len()
    }

    /// The token that begins a sequence.
    pub fn bos(&self) -> Option<u32> {
        self.rules.bos
    }

    /// The token that ends a sequence.
    pub fn eos(&self) -> Option<u32> {
        self.rules.eos
    }

    /// The unknown token, for text without a token.
    pub fn unknown(&self) -> Option<u32> {
        self.rules.unknown
    }

    /// The padding token.
    pub fn padding(&self) -> Option<u32> {
        self.rules.padding
    }

    /// Whether `encode` with `add_special` begins with BOS.
    pub fn adds_bos(&self) -> bool {
        self.rules.begin.is_some()
    }

    /// Whether an answer ends with this token.
    pub fn is_end_of_generation(&self, id: u32) -> bool {
        self.ends.binary_search(&id).is_ok()
    }

    /// All tokens that end an answer, ascending: end of text, of turn, of message, and those known by their names.
    pub fn end_of_generation_ids(&self) -> Vec<u32> {
        self.ends.clone()
    }

    /// Tokens that must never be generated, such as those that stand for images in a prompt.
    pub fn suppressed_ids(&self) -> &[u32] {
        &self.suppressed
    }

    /// The file's chat template, in Jinja.
    pub fn chat_template(&self) -> Option<&str> {
        self.chat_template.as_deref()
    }

    /// The file's chat template for conversations with tools, where it has one of its own.
    pub fn tool_template(&self) -> Option<&str> {
        self.tool_template.as_deref()
    }

    /// The file's template for a text that is to be spoken, named `tts`, where it has one.
    pub fn speech_template(&self) -> Option<&str> {
        self.speech_template.as_deref()
    }

    /// The template for conversations: the file's, else ChatML where `<|im_start|>` is one of its tokens.
    pub fn conversation_template(&self) -> Option<&str> {
        self.chat_template().or_else(|| self.special.has(&self.vocab, "<|im_start|>").then_some(CHATML))
    }

    /// The name of a token, empty where there is none.
    pub fn name(&self, id: Option<u32>) -> String {
        let text = id.and_then(|id| self.vocab.token(id));
        text.map_or_else(String::new, |text| String::from_utf8_lossy(text).into_owned())
    }

    /// Oddities of the file that were worked around, for a log.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}
