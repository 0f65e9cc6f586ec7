//! Drafters that are published as files of their own and run on the inside of a model: a file's tensors become a block
//! behind the layers of the model.

use super::config::{Architecture, Embeds, ModelConfig};
use super::families::DRAFTERS;
use super::program::Program;
use super::roles::WeightKey;
use crate::gguf::Gguf;
use crate::{Error, Result};

/// How a block that drafts has the rows of passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drafted {
    /// Whether a token has the position of the hidden state that it goes with, the one before its own.
    pub earlier: bool,
    /// Whether it has no keys of its own: all steps of a draft have the position of the first one's token, and see the
    /// rows before it.
    pub held: bool,
    /// Where the block has a vocabulary of its own: for each of its ids the model's, as 64-bit integers.
    pub ids: Option<WeightKey>,
    /// Where one pass of the block drafts several tokens.
    pub masks: Option<Masks>,
}

/// How one pass of a block drafts several tokens: its rows are the last token of the text, and a mask for each token
/// to be drafted. The model's own passes write the keys and values of the text that they see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masks {
    /// The id of a token to be drafted.
    pub id: u32,
    /// Rows at most.
    pub rows: usize,
    /// Whether a row sees those behind it.
    pub sees_all: bool,
}

/// A kind of drafter.
pub struct Kind {
    /// `general.architecture`.
    pub name: &'static str,
    /// Reads its further numbers, and checks that it is a drafter of this model.
    pub read: fn(&Gguf, &ModelConfig, &mut Drafter) -> Result<()>,
    /// The model's program with the drafter as [`Program::next`].
    pub program: fn(Program, &ModelConfig, &Drafter) -> Program,
}

/// A drafter of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Drafter {
    /// The numbers that every model has. The names of tensors are the ones behind the layers of the model.
    pub config: ModelConfig,
    /// Tokens of its own vocabulary, if that is not the model's.
    pub own_vocab: Option<usize>,
    /// The layers of the model whose inputs it reads; the number of layers stands for the output of the last one.
    pub taps: Vec<usize>,
    /// Whether what it reads of these is normalised.
    pub norms_taps: bool,
    /// Whether its residual stream begins with the normalised state.
    pub begins_normed: bool,
    /// Where one pass of it drafts several tokens.
    pub masks: Option<Masks>,
    /// The factor of what its attention adds.
    pub value_scale: Option<f32>,
    /// Whether its gates are GELUs.
    pub has_gelu: bool,
    /// Bytes of its tensors.
    pub bytes: u64,
}

impl Drafter {
    /// Puts the tensors of a drafter's file behind the model's, in place of a block that the model may have, and gives
    /// the model's configuration with it. `parts`: files that the model has.
    ///
    /// # Errors
    /// `invalid_argument` for a file that is no drafter, or one of another model; the errors of
    /// [`config`](super::config()).
    #[inline(never)]
    pub fn join(gguf: &mut Gguf, parts: usize, config: ModelConfig, draft: Gguf) -> Result<ModelConfig> {
        let name = draft.metadata.str("general.architecture")?;
        let kind = DRAFTERS.iter().find(|kind| Some(kind.name) == name);
        let kind = kind.ok_or_else(|| Error::invalid_argument("option 'draft': not a drafter"))?;
        let architecture = Architecture { name: kind.name, embeds: Embeds::Never, axes: None, projector: None };
        let own = ModelConfig::from_gguf(&draft, architecture)?;
        let bytes = draft.tensors.iter().map(|tensor| tensor.bytes).sum();
        let mut drafter = Self {
            config: own,
            own_vocab: None,
            taps: Vec::new(),
            norms_taps: false,
            begins_normed: false,
            masks: None,
            value_scale: None,
            has_gelu: false,
            bytes,
        };
        check_same("vocabulary", [drafter.config.vocab, config.vocab])?;
        (kind.read)(&draft, &config, &mut drafter)?;
        let layers = config.layers;
        gguf.tensors.retain(|tensor| layer_of(&tensor.name).is_none_or(|layer| layer < layers));
        gguf.put_behind(draft, parts, |name| renamed(name, layers));
        let names: Vec<String> = gguf.tensors.iter().map(|tensor| tensor.name.clone()).collect();
        drafter.config.tensor_names =
            names.iter().filter(|name| layer_of(name).is_some_and(|of| of >= layers)).cloned().collect();
        let config = ModelConfig {
            tensor_names: names.into_iter().collect(),
            digest: gguf.digest,
            predicts_next: true,
            drafter: Some(drafter.into()),
            ..config
        };
        super::program(&config).check(&config)?;
        Ok(config)
    }

    /// The model's program with this drafter.
    #[inline(never)]
    pub(super) fn behind(&self, program: Program, config: &ModelConfig) -> Program {
        let kind = DRAFTERS.iter().find(|kind| kind.name == self.config.architecture);
        kind.map_or_else(Program::default, |kind| (kind.program)(program, config, self))
    }
}

/// Checks that a drafter has as many of these as its model.
///
/// # Errors
/// `invalid_argument` with both numbers.
pub fn check_same(what: &str, [found, expected]: [usize; 2]) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "option 'draft': a drafter of another model: its {what} is {found}, here it is {expected}"
    )))
}

/// The layer of a tensor, by its name.
fn layer_of(name: &str) -> Option<usize> {
    name.strip_prefix("blk.")?.split('.').next()?.parse().ok()
}

/// The name of a drafter's tensor behind `layers` layers.
fn renamed(name: &str, layers: usize) -> String {
    match layer_of(name) {
        Some(layer) => {
            let rest = name.splitn(3, '.').nth(2).unwrap_or_default();
            format!("blk.{}.{rest}", layers + layer.min(1 << 20))
        }
        None => format!("blk.{layers}.{name}"),
    }
}
