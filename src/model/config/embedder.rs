//! Embedders and rerankers: how the rows of a text are pooled.

use super::{Keys, ModelConfig, unsupported};
use crate::error::{Error, Result};
use crate::model::GateKind;
use crate::model::program::PoolKind;

/// Upper bound of a classifier's labels.
const MAX_LABELS: usize = 1 << 16;
/// Upper bound of the kinds of text segments.
const MAX_TOKEN_TYPES: usize = 1 << 16;

/// Whether an architecture makes embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Embeds {
    /// It writes text, even if a file has a pooling type.
    #[default]
    Never,
    /// It writes text, unless a file has a pooling type.
    IfPooled,
    /// It writes no text. Its tokens see all other tokens, unless a file says otherwise.
    Always,
}

/// How the vectors of a text's tokens become one result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean of its tokens' vectors.
    Mean,
    /// The vector of its first token, which stands for classification.
    Cls,
    /// The vector of its last token.
    Last,
    /// Scores of a classifier over one of these.
    Rank,
}

impl Pooling {
    /// The name in the JavaScript API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Cls => "cls",
            Self::Last => "last",
            Self::Rank => "rank",
        }
    }
}

/// The numbers of an embedder or a reranker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedderConfig {
    /// Whether the architecture makes vectors at all.
    pub embeds: Embeds,
    /// `pooling_type`; `None` where the model writes text.
    pub pooling: Option<Pooling>,
    /// `classifier.pooling_type`: which vector a classifier reads, if the file says.
    pub classified: Option<PoolKind>,
    /// `attention.causal`: whether a token sees only itself and the tokens before it.
    pub causal: bool,
    /// `hidden_activation`: the activation of ModernBERT's feed-forward.
    pub gate: GateKind,
    /// The number of labels of the classifier.
    pub labels: usize,
    /// Rows of the table of text segments; 0 where there is none.
    pub token_types: usize,
    /// `embedding_length_out`: the width of vectors, where a product after pooling makes them.
    pub projected: Option<usize>,
    /// Width between the two dense layers after pooling, if the file has them.
    pub dense: Option<usize>,
}

impl EmbedderConfig {
    pub(super) fn read(keys: &Keys, embeds: Embeds, hidden: usize) -> Result<Self> {
        let labels = keys.metadata.strings(&keys.name("classifier.output_labels"))?;
        let labels = labels.map_or(1, |labels| labels.len());
        if !(1..=MAX_LABELS).contains(&labels) {
            let name = keys.name("classifier.output_labels");
            return Err(Error::bad_file(format!("metadata `{name}`: expected 1 to {MAX_LABELS}, found {labels}")));
        }
        Ok(Self {
            embeds,
            pooling: pooling(keys, "pooling_type")?
                .filter(|_| embeds != Embeds::Never)
                .or((embeds == Embeds::Always).then_some(Pooling::Mean)),
            classified: pooling(keys, "classifier.pooling_type")?.and_then(kind),
            causal: causal(keys, embeds)?,
            gate: gate(keys)?,
            labels,
            token_types: token_types(keys)?,
            projected: match keys.projects_embedding() {
                true => Some(keys.count("embedding_length_out", super::MAX_HIDDEN)?.unwrap_or(hidden)),
                false => None,
            },
            dense: dense(keys, hidden)?,
        })
    }

    /// Refuses models that would write text although they were trained without a causal mask.
    ///
    /// # Errors
    /// `unsupported_architecture` where the model writes text and `attention.causal` is false.
    pub fn check_sight(&self, architecture: &str) -> Result<()> {
        match self.pooling {
            None if !self.causal => Err(unsupported(format!(
                "metadata `{architecture}.attention.causal`: expected true, found false: the model would write text"
            ))),
            _ => Ok(()),
        }
    }

    /// How rows are pooled. Classifiers read the token that has seen all others.
    pub fn pool_kind(&self) -> Option<PoolKind> {
        let of_classifier = if self.causal { PoolKind::Last } else { PoolKind::First };
        self.pooling.map(|pooling| kind(pooling).unwrap_or(self.classified.unwrap_or(of_classifier)))
    }
}

impl ModelConfig {
    /// The same model as an embedder with this pooling, instead of what the file says.
    ///
    /// # Errors
    /// `unsupported_architecture` where the family makes no embeddings.
    pub fn with_pooling(mut self, pooling: Pooling) -> Result<Self> {
        if self.embedder.embeds == Embeds::Never {
            return Err(unsupported(format!("architecture {} gives no embeddings", self.architecture)));
        }
        self.embedder.pooling = Some(pooling);
        Ok(self)
    }
}

fn kind(pooling: Pooling) -> Option<PoolKind> {
    match pooling {
        Pooling::Mean => Some(PoolKind::Mean),
        Pooling::Cls => Some(PoolKind::First),
        Pooling::Last => Some(PoolKind::Last),
        Pooling::Rank => None,
    }
}

/// GGUF's numbers of pooling types; 0 means none.
fn pooling(keys: &Keys, key: &str) -> Result<Option<Pooling>> {
    let name = keys.name(key);
    match keys.metadata.u64(&name)? {
        None | Some(0) => Ok(None),
        Some(1) => Ok(Some(Pooling::Mean)),
        Some(2) => Ok(Some(Pooling::Cls)),
        Some(3) => Ok(Some(Pooling::Last)),
        Some(4) => Ok(Some(Pooling::Rank)),
        Some(found) => Err(Error::bad_file(format!("metadata `{name}`: expected 0 to 4, found {found}"))),
    }
}

/// Whether a token sees only itself and the tokens before it.
///
/// # Errors
/// `unsupported_architecture` where an architecture that only writes text has no causal mask: such a file is
/// an embedder.
fn causal(keys: &Keys, embeds: Embeds) -> Result<bool> {
    let name = keys.name("attention.causal");
    match keys.metadata.bool(&name)? {
        // Rows of a draft may see those behind them.
        Some(false) if embeds == Embeds::Never && keys.architecture != "dflash" => {
            let only = format!("architecture {} writes text alone", keys.architecture);
            Err(unsupported(format!("metadata `{name}`: expected true, found false: {only}")))
        }
        found => Ok(found.unwrap_or(embeds != Embeds::Always)),
    }
}

/// # Errors
/// `unsupported_architecture` for ModernBERT with ReLU. An unknown name means GELU.
fn gate(keys: &Keys) -> Result<GateKind> {
    let name = keys.name("hidden_activation");
    match keys.metadata.str(&name)? {
        Some("silu" | "swiglu" | "swish") => Ok(GateKind::SwiGlu),
        Some(found @ ("relu" | "reglu")) if keys.architecture == "modern-bert" => {
            Err(unsupported(format!("metadata `{name}`: expected gelu or silu, found {found}")))
        }
        _ => Ok(GateKind::GeGlu),
    }
}

fn token_types(keys: &Keys) -> Result<usize> {
    const KEY: &str = "tokenizer.ggml.token_type_count";
    match keys.metadata.u64(KEY)?.unwrap_or(0) {
        found if found <= MAX_TOKEN_TYPES as u64 => Ok(found as usize),
        found => Err(Error::bad_file(format!("metadata `{KEY}`: expected 0 to {MAX_TOKEN_TYPES}, found {found}"))),
    }
}

/// `dense_2_feat_out`, which must be what the second product takes.
fn dense(keys: &Keys, hidden: usize) -> Result<Option<usize>> {
    let Some(width) = keys.count("dense_2_feat_out", super::MAX_FFN)? else { return Ok(None) };
    let rest = [("dense_2_feat_in", hidden), ("dense_3_feat_in", width), ("dense_3_feat_out", hidden)];
    for (key, expected) in rest {
        if let Some(found) = keys.count(key, super::MAX_FFN)?.filter(|&found| found != expected) {
            let name = keys.name(key);
            return Err(Error::bad_file(format!("metadata `{name}`: expected {expected}, found {found}")));
        }
    }
    Ok(Some(width))
}
