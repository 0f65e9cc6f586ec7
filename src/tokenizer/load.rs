//! `tokenizer.*` metadata → [`Tokenizer`].

use super::bpe::Bpe;
use super::charsmap::Charsmap;
use super::plamo::Plamo;
use super::pretokenizers::{self, PreTokenizer};
use super::rules::{Rules, token_id};
use super::special::{Matcher, end_tokens};
use super::spm::Spm;
use super::unigram::Unigram;
use super::vocab::{Kind, Spelling, Vocab, shown};
use super::wordpiece::WordPiece;
use super::world::World;
use super::{Model, Tokenizer, normal, unigram, wordpiece};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::{Metadata, Strings};

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";
const SCORES: &str = "tokenizer.ggml.scores";
const CHARSMAP: &str = "tokenizer.ggml.precompiled_charsmap";

/// Names of pre-tokenizers that make `gpt2` BPE over characters.
const OVER_CHARACTERS: [&str; 6] =
    ["gemma4", "granite-embed-multi-311m", "sarvam-moe", "domyn-small", "mmbert", SOPRANO];

/// The only one whose tokens have spaces as they are, and a token for what has none.
const SOPRANO: &str = "soprano";

/// Older files of RWKV have this name in the place of a chat template.
const NAMED_TEMPLATE: &str = "rwkv-world";

/// The tokenizer models that are implemented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// `gpt2`: BPE over bytes.
    ByteLevel,
    /// `llama`: SentencePiece.
    SentencePiece,
    /// `gemma4`: BPE over characters, spelled like SentencePiece.
    Characters,
    /// `bert`: WordPiece.
    WordPiece,
    /// `t5`: SentencePiece's unigram model.
    Unigram,
    /// `rwkv`: the longest tokens.
    World,
    /// `plamo2`, `plamo3`: the tokens with the highest scores.
    Plamo,
}

pub(super) async fn tokenizer(metadata: &Metadata, yield_now: &mut impl AsyncFnMut()) -> Result<Tokenizer> {
    let family = family(metadata)?;
    let mut warnings = Vec::new();
    let words = pre_tokenizer(metadata, family, &mut warnings)?;
    let kinds = metadata.i32s("tokenizer.ggml.token_type")?;
    let is_soprano = family == Family::Characters && words.names.contains(&SOPRANO);
    let tokens = required_strings(metadata, "tokenizer.ggml.tokens")?;
    let mut vocab = Vocab::new(tokens, kinds.as_deref(), spelling(family, is_soprano), yield_now).await?;
    let rules = Rules::new(metadata, &vocab, family, words, &mut warnings)?;
    if kinds.is_none() {
        [rules.bos, rules.eos, rules.end].into_iter().flatten().for_each(|id| vocab.set_kind(id, Kind::Control));
        rules.unknown.into_iter().for_each(|id| vocab.set_kind(id, Kind::Unknown));
    }
    let model = match family {
        Family::SentencePiece => Model::Spm(Spm::new(&vocab, &scores(metadata, &vocab)?, rules.unknown)?),
        Family::ByteLevel | Family::Characters => {
            let merges = required_strings(metadata, "tokenizer.ggml.merges")?;
            let composes = normal::composes(metadata.str(PRE)?.unwrap_or_default());
            let unknown = rules.unknown.filter(|_| is_soprano);
            Model::Bpe(Bpe::new(&mut vocab, merges, (words, composes), unknown, yield_now).await?)
        }
        Family::WordPiece => Model::WordPiece(WordPiece {
            pieces: Matcher::new(&vocab, Kind::is_text, yield_now).await,
            normalizer: normalizer(metadata)?,
            unknown: rules.unknown,
        }),
        Family::Unigram => {
            let scores = scores(metadata, &vocab)?;
            let normalizer = unigram::Normalizer {
                charsmap: metadata.bytes(CHARSMAP)?.map(Charsmap::new).transpose()?,
                space_prefix: rules.space_prefix,
                merge_spaces: metadata.bool("tokenizer.ggml.remove_extra_whitespaces")?.unwrap_or(false),
            };
            Model::Unigram(Unigram::new(&vocab, scores, rules.unknown, normalizer, yield_now).await?)
        }
        Family::World => {
            let tokens = Matcher::of(&vocab, |kind, _| kind.is_text(), yield_now).await;
            Model::World(World { tokens, unknown: rules.unknown })
        }
        Family::Plamo => {
            let cuts = metadata.str(MODEL)? == Some("plamo3");
            Model::Plamo(Plamo::new(&vocab, &scores(metadata, &vocab)?, cuts, yield_now).await?)
        }
    };
    let mut named = vec![rules.eos];
    for key in ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"] {
        named.push(token_id(metadata, key, &vocab, &mut warnings)?);
    }
    let ends = end_tokens(&mut vocab, named.into_iter().flatten());
    yield_now().await;
    let (tool_template, speech_template) = (template(metadata, ".tool_use")?, template(metadata, ".tts")?);
    Ok(Tokenizer {
        special: Matcher::new(&vocab, Kind::is_special, yield_now).await,
        added: Matcher::new(&vocab, |kind| kind == Kind::UserDefined, yield_now).await,
        chat_template: template(metadata, "")?.or(template(metadata, ".default")?).or(tool_template.clone()),
        tool_template,
        speech_template,
        suppressed: suppressed(metadata, &vocab)?,
        rank_template: metadata.str("tokenizer.chat_template.rerank")?.map(str::to_owned),
        vocab,
        model,
        rules,
        ends,
        warnings,
    })
}

fn spelling(family: Family, is_soprano: bool) -> Spelling {
    match family {
        _ if is_soprano => Spelling::Plain,
        Family::ByteLevel => Spelling::ByteLevel,
        Family::WordPiece => Spelling::WordStarts,
        Family::SentencePiece | Family::Characters | Family::Unigram => Spelling::Metaspace,
        Family::World => Spelling::Escaped,
        Family::Plamo => Spelling::Plain,
    }
}

/// A chat template of the file, of which those with a name have it behind the key.
fn template(metadata: &Metadata, name: &str) -> Result<Option<String>> {
    let text = metadata.str(&format!("tokenizer.chat_template{name}"))?;
    Ok(text.filter(|text| !["", NAMED_TEMPLATE].contains(&text.trim())).map(str::to_owned))
}

fn family(metadata: &Metadata) -> Result<Family> {
    match metadata.str(MODEL)?.ok_or_else(|| missing(MODEL))? {
        "gpt2" if OVER_CHARACTERS.contains(&metadata.str(PRE)?.unwrap_or_default()) => Ok(Family::Characters),
        "gpt2" => Ok(Family::ByteLevel),
        "llama" => Ok(Family::SentencePiece),
        "gemma4" => Ok(Family::Characters),
        "bert" => Ok(Family::WordPiece),
        "t5" => Ok(Family::Unigram),
        "rwkv" => Ok(Family::World),
        "plamo2" | "plamo3" => Ok(Family::Plamo),
        other => Err(Error::new(
            ErrorCode::UnsupportedArchitecture,
            format!(
                "{MODEL} is {}, supported are bert, gemma4, gpt2, llama, plamo2, plamo3, rwkv and t5",
                shown(other.as_bytes())
            ),
        )),
    }
}

fn pre_tokenizer(metadata: &Metadata, family: Family, warnings: &mut Vec<String>) -> Result<&'static PreTokenizer> {
    let name = match family {
        Family::Characters => metadata.str(PRE)?.filter(|name| OVER_CHARACTERS.contains(name)).or(Some("gemma4")),
        Family::ByteLevel => metadata.str(PRE)?,
        _ => None,
    };
    let Some(name) = name else {
        if family == Family::ByteLevel {
            warnings.push(format!("{PRE} is missing: words are split by default rules, and answers may be worse"));
        }
        return Ok(pretokenizers::fallback());
    };
    pretokenizers::by_name(name).ok_or_else(|| {
        let message = format!("{PRE} is {}, which is not known: words would be split wrongly", shown(name.as_bytes()));
        Error::new(ErrorCode::UnsupportedArchitecture, message)
    })
}

/// Ids past the last token are left out, as in llama.cpp.
fn suppressed(metadata: &Metadata, vocab: &Vocab) -> Result<Vec<u32>> {
    let ids = metadata.i32s("tokenizer.ggml.suppress_tokens")?.unwrap_or_default();
    Ok(ids.into_iter().filter_map(|id| id.try_into().ok()).filter(|&id| vocab.is_token(id)).collect())
}

fn scores(metadata: &Metadata, vocab: &Vocab) -> Result<Vec<f32>> {
    let scores = metadata.f32s(SCORES)?.ok_or_else(|| missing(SCORES))?;
    if scores.len() != vocab.len() {
        let (found, expected) = (scores.len(), vocab.len());
        return Err(Error::bad_file(format!("{SCORES} has {found} entries, but there are {expected} tokens")));
    }
    Ok(scores)
}

fn normalizer(metadata: &Metadata) -> Result<wordpiece::Normalizer> {
    let lowercase = metadata.bool("tokenizer.ggml.normalizer.lowercase")?.unwrap_or(true);
    let strip_accents = metadata.bool("tokenizer.ggml.normalizer.strip_accents")?.unwrap_or(lowercase);
    Ok(wordpiece::Normalizer { lowercase, strip_accents })
}

fn required_strings<'m>(metadata: &'m Metadata, key: &str) -> Result<&'m Strings> {
    metadata.strings(key)?.ok_or_else(|| missing(key))
}

fn missing(key: &str) -> Error {
    Error::bad_file(format!("{key} is missing"))
}
