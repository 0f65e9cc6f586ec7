//! The special tokens of a vocabulary: which ids they have, and where encoding puts them.

use super::load::Family;
use super::pretokenizers::PreTokenizer;
use super::special::Sides;
use super::vocab::Vocab;
use crate::error::{Error, Result};
use crate::gguf::Metadata;

/// The special tokens, and those that encoding adds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rules {
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub unknown: Option<u32>,
    pub padding: Option<u32>,
    /// Stands in front of a text.
    pub begin: Option<u32>,
    /// Stands behind a text.
    pub end: Option<u32>,
    /// Stand between the two texts of a pair.
    pub between: [Option<u32>; 2],
    /// Text gets a leading space, which decoding removes again.
    pub space_prefix: bool,
    strips: Strips,
}

/// Which special tokens swallow white space beside them. GGUF has no key for that, so llama.cpp goes by names.
#[derive(Debug, Clone, Copy, Default)]
enum Strips {
    #[default]
    None,
    /// All but three, on the right.
    Phi3,
    /// The mask of encoders, on the left.
    Mask(u32),
}

/// The ids that the metadata gives, or that llama.cpp takes where it gives none.
struct Ids {
    bos: Option<u32>,
    eos: Option<u32>,
    unknown: Option<u32>,
    padding: Option<u32>,
    separator: Option<u32>,
}

impl Rules {
    /// Reads the `tokenizer.ggml.*` keys of special tokens.
    pub fn new(
        metadata: &Metadata,
        vocab: &Vocab,
        family: Family,
        words: &PreTokenizer,
        warnings: &mut Vec<String>,
    ) -> Result<Self> {
        let ids = Ids::new(metadata, vocab, family, warnings)?;
        let flag = |name: &str, default: bool| -> Result<bool> {
            Ok(metadata.bool(&format!("tokenizer.ggml.{name}"))?.unwrap_or(default))
        };
        let (spm, bert) = (family == Family::SentencePiece, family == Family::WordPiece);
        // Gemma 4's files say that they want none, by mistake.
        let gemma4 = family == Family::Characters && words.add_bos;
        let add_bos = flag("add_bos_token", spm || words.add_bos)? || bert || gemma4;
        let add_eos = flag("add_eos_token", family == Family::Unigram)?;
        let add_separator = flag("add_sep_token", bert || words.add_separator)?;
        let end = ids.eos.or(ids.separator);
        for (wanted, name, id) in [("add_bos_token", "bos", ids.bos), ("add_eos_token", "eos", end)] {
            let (key, id_key) = (format!("tokenizer.ggml.{wanted}"), id_key(name));
            if id.is_none() && metadata.get(&id_key).is_none() && metadata.bool(&key)? == Some(true) {
                return Err(Error::bad_file(format!("{key} is true, but {id_key} is missing")));
            }
        }
        let mut between = [end.filter(|_| add_eos), ids.separator.filter(|_| add_separator)];
        if bert && !add_eos {
            between = [None, ids.separator];
        }
        Ok(Self {
            bos: ids.bos,
            eos: ids.eos,
            unknown: ids.unknown,
            padding: ids.padding,
            begin: ids.bos.filter(|_| add_bos),
            end: if bert { ids.separator } else { end.filter(|_| add_eos) },
            between,
            space_prefix: flag("add_space_prefix", spm)? && (spm || family == Family::Unigram),
            strips: Strips::new(metadata, vocab)?,
        })
    }

    /// The sides of a special token on which it swallows white space.
    pub fn sides(&self, vocab: &Vocab, id: u32) -> Sides {
        // Phi-3's own tokenizer does not for these.
        let keeps = [&b"<unk>"[..], b"<s>", b"<|endoftext|>"];
        match self.strips {
            Strips::None => Sides::default(),
            Strips::Phi3 => Sides { left: false, right: !vocab.token(id).is_some_and(|text| keeps.contains(&text)) },
            Strips::Mask(mask) => Sides { left: id == mask, right: false },
        }
    }
}

impl Ids {
    fn new(metadata: &Metadata, vocab: &Vocab, family: Family, warnings: &mut Vec<String>) -> Result<Self> {
        let mut id = |name: &str| token_id(metadata, &id_key(name), vocab, warnings);
        let mut ids = Self {
            bos: id("bos")?,
            eos: id("eos")?,
            unknown: id("unknown")?,
            padding: id("padding")?,
            // The format's own spelling.
            separator: id("seperator")?,
        };
        let or = |id: &mut Option<u32>, default: u32| *id = id.or(Some(default).filter(|&id| vocab.is_token(id)));
        match family {
            Family::SentencePiece | Family::Plamo => {
                or(&mut ids.unknown, 0);
                or(&mut ids.bos, 1);
                or(&mut ids.eos, 2);
                if family == Family::Plamo {
                    or(&mut ids.padding, 3);
                }
            }
            Family::WordPiece => {
                ids.bos = match ids.bos {
                    Some(bos) => Some(bos),
                    None => id("cls")?,
                };
                or(&mut ids.padding, 0);
                or(&mut ids.unknown, 100);
                or(&mut ids.bos, 101);
                or(&mut ids.separator, 102);
            }
            Family::Unigram => {
                or(&mut ids.padding, 0);
                or(&mut ids.eos, 1);
                or(&mut ids.unknown, 2);
            }
            Family::ByteLevel | Family::Characters | Family::World => {}
        }
        Ok(ids)
    }
}

impl Strips {
    fn new(metadata: &Metadata, vocab: &Vocab) -> Result<Self> {
        let text = |key: &str| -> Result<&str> { Ok(metadata.str(key)?.unwrap_or_default()) };
        let name = text("general.name")?.to_ascii_lowercase();
        let (words, architecture) = (text("tokenizer.ggml.pre")?, text("general.architecture")?);
        let any = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
        let mask = if any(words, &["jina-v2-de", "jina-v2-es", "jina-v2-code", "mmbert"])
            || any(architecture, &["nomic-bert-moe", "jina-bert-v3"])
        {
            "<mask>"
        } else if any(&name, &["phi-3", "phi3"]) {
            return Ok(Self::Phi3);
        } else if any(&name, &["modern-bert"]) {
            "[MASK]"
        } else {
            return Ok(Self::None);
        };
        let named = (0..vocab.len() as u32).find(|&id| vocab.token(id) == Some(mask.as_bytes()));
        Ok(named.map_or(Self::None, Self::Mask))
    }
}

fn id_key(name: &str) -> String {
    format!("tokenizer.ggml.{name}_token_id")
}

/// A token id of the metadata; all 32 bits set means none. One past the last token counts as none too, with a warning,
/// as in llama.cpp: files with an odd padding token are good models otherwise.
pub(super) fn token_id(
    metadata: &Metadata,
    key: &str,
    vocab: &Vocab,
    warnings: &mut Vec<String>,
) -> Result<Option<u32>> {
    let Some(id) = metadata.u64(key)?.filter(|&id| id != u64::from(u32::MAX)) else { return Ok(None) };
    if id >= vocab.len() as u64 {
        warnings.push(format!("{key} is {id}, but there are {} tokens: it is ignored", vocab.len()));
        return Ok(None);
    }
    Ok(Some(id as u32))
}
