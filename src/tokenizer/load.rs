//! `tokenizer.*` metadata → [`Tokenizer`].

use super::bpe::Bpe;
use super::pretokenizers::{self, PreTokenizer};
use super::special::{Matcher, end_tokens};
use super::spm::Spm;
use super::vocab::{Kind, Spelling, Vocab, shown};
use super::{Model, Rules, Tokenizer};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::{Metadata, Strings};

const MODEL: &str = "tokenizer.ggml.model";
const PRE: &str = "tokenizer.ggml.pre";

/// The tokenizer models that are implemented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// `gpt2`: BPE over bytes.
    ByteLevel,
    /// `llama`: SentencePiece.
    SentencePiece,
    /// `gemma4`: BPE over characters, spelled like SentencePiece.
    Characters,
}

pub(super) async fn tokenizer(metadata: &Metadata, yield_now: &mut impl AsyncFnMut()) -> Result<Tokenizer> {
    let family = family(metadata)?;
    let mut warnings = Vec::new();
    let words = pre_tokenizer(metadata, family, &mut warnings)?;
    let kinds = metadata.i32s("tokenizer.ggml.token_type")?;
    let spelling = if family == Family::ByteLevel { Spelling::ByteLevel } else { Spelling::Metaspace };
    let tokens = required_strings(metadata, "tokenizer.ggml.tokens")?;
    let mut vocab = Vocab::new(tokens, kinds.as_deref(), spelling, yield_now).await?;
    let rules = rules(metadata, &vocab, family, words, &mut warnings)?;
    if kinds.is_none() {
        [rules.bos, rules.eos].into_iter().flatten().for_each(|id| vocab.set_kind(id, Kind::Control));
        rules.unknown.into_iter().for_each(|id| vocab.set_kind(id, Kind::Unknown));
    }
    let model = match family {
        Family::SentencePiece => {
            let scores = metadata.f32s("tokenizer.ggml.scores")?.ok_or_else(|| missing("tokenizer.ggml.scores"))?;
            Model::Spm(Spm::new(&vocab, &scores, rules.unknown)?)
        }
        Family::ByteLevel | Family::Characters => {
            let merges = required_strings(metadata, "tokenizer.ggml.merges")?;
            Model::Bpe(Bpe::new(&mut vocab, merges, words, yield_now).await?)
        }
    };
    let mut named = vec![rules.eos];
    for key in ["tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"] {
        named.push(token_id(metadata, key, &vocab, &mut warnings)?);
    }
    let ends = end_tokens(&mut vocab, named.into_iter().flatten());
    yield_now().await;
    let is_special = |kind| matches!(kind, Kind::Control | Kind::Unknown | Kind::UserDefined);
    Ok(Tokenizer {
        special: Matcher::new(&vocab, is_special, yield_now).await,
        added: Matcher::new(&vocab, |kind| kind == Kind::UserDefined, yield_now).await,
        chat_template: metadata
            .str("tokenizer.chat_template")?
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned),
        vocab,
        model,
        rules,
        ends,
        warnings,
    })
}

fn family(metadata: &Metadata) -> Result<Family> {
    match metadata.str(MODEL)?.ok_or_else(|| missing(MODEL))? {
        "gpt2" => Ok(Family::ByteLevel),
        "llama" => Ok(Family::SentencePiece),
        "gemma4" => Ok(Family::Characters),
        other => Err(Error::new(
            ErrorCode::UnsupportedArchitecture,
            format!("{MODEL} is {}, supported are gpt2, llama and gemma4", shown(other.as_bytes())),
        )),
    }
}

fn pre_tokenizer(metadata: &Metadata, family: Family, warnings: &mut Vec<String>) -> Result<&'static PreTokenizer> {
    let name = match family {
        Family::Characters => Some("gemma4"),
        Family::SentencePiece => None,
        Family::ByteLevel => metadata.str(PRE)?,
    };
    let Some(name) = name else {
        if family == Family::ByteLevel {
            warnings.push(format!("{PRE} is missing, words are split by the default rules"));
        }
        return Ok(pretokenizers::fallback());
    };
    Ok(pretokenizers::by_name(name).unwrap_or_else(|| {
        let name = shown(name.as_bytes());
        warnings.push(format!("{PRE} is {name}, which is not known: words are split by the default rules"));
        pretokenizers::fallback()
    }))
}

fn rules(
    metadata: &Metadata,
    vocab: &Vocab,
    family: Family,
    words: &PreTokenizer,
    warnings: &mut Vec<String>,
) -> Result<Rules> {
    let spm = family == Family::SentencePiece;
    let mut id = |name: &str| token_id(metadata, &format!("tokenizer.ggml.{name}_token_id"), vocab, warnings);
    // SentencePiece's own defaults, for old files.
    let by_default = |id: u32| (spm && vocab.is_token(id)).then_some(id);
    let rules = Rules {
        bos: id("bos")?.or_else(|| by_default(1)),
        eos: id("eos")?.or_else(|| by_default(2)),
        unknown: id("unknown")?.or_else(|| by_default(0)),
        padding: id("padding")?,
        add_bos: metadata.bool("tokenizer.ggml.add_bos_token")?.unwrap_or(spm || words.add_bos)
            || family == Family::Characters,
        add_eos: metadata.bool("tokenizer.ggml.add_eos_token")?.unwrap_or(false),
        space_prefix: metadata.bool("tokenizer.ggml.add_space_prefix")?.unwrap_or(spm) && spm,
        eats_space: is_phi3(metadata)?,
    };
    for (wanted, name, id) in [("add_bos_token", "bos", rules.bos), ("add_eos_token", "eos", rules.eos)] {
        let (key, id_key) = (format!("tokenizer.ggml.{wanted}"), format!("tokenizer.ggml.{name}_token_id"));
        if id.is_none() && metadata.get(&id_key).is_none() && metadata.bool(&key)? == Some(true) {
            return Err(Error::bad_file(format!("{key} is true, but {id_key} is missing")));
        }
    }
    Ok(rules)
}

/// Phi-3's special tokens swallow the white space after them. GGUF has no key for that, so llama.cpp goes by
/// the name.
fn is_phi3(metadata: &Metadata) -> Result<bool> {
    let name = metadata.str("general.name")?.unwrap_or_default().to_ascii_lowercase();
    Ok(name.contains("phi-3") || name.contains("phi3"))
}

/// A token id of the metadata; all 32 bits set means none. One past the last token counts as none too, with a warning,
/// as in llama.cpp: files with an odd padding token are good models otherwise.
fn token_id(metadata: &Metadata, key: &str, vocab: &Vocab, warnings: &mut Vec<String>) -> Result<Option<u32>> {
    let Some(id) = metadata.u64(key)?.filter(|&id| id != u64::from(u32::MAX)) else { return Ok(None) };
    if id >= vocab.len() as u64 {
        warnings.push(format!("{key} is {id}, but there are {} tokens: it is ignored", vocab.len()));
        return Ok(None);
    }
    Ok(Some(id as u32))
}

fn required_strings<'m>(metadata: &'m Metadata, key: &str) -> Result<&'m Strings> {
    metadata.strings(key)?.ok_or_else(|| missing(key))
}

fn missing(key: &str) -> Error {
    Error::bad_file(format!("{key} is missing"))
}
