//! The families of models: each is a function from a model's numbers to its program.
//!
//! To add one, write a file that reads like the family's paper, and give it a row of [`FAMILIES`]; in `rare/`, and a
//! row of [`rare::FAMILIES`], where pages should only fetch its code for models of the family.

mod behind;
mod blocks;
mod builder;
mod cohere;
mod embedder;
mod encoders;
mod exaone4;
mod gemma;
mod gemma4;
mod glm4;
mod gpt2;
mod gpt_oss;
mod hadamard;
mod llama;
mod mixture;
mod neox;
mod olmo;
mod phi;
mod rare;
mod scales;
mod stablelm;
mod ungated;

pub use encoders::{PART, SOUNDS, check_input};
pub(super) use hadamard::check as check_rotations;
pub(super) use rare::DRAFTERS;

use super::config::{Architecture, Axes, CLIP, Embeds, MAX_DEEP_ROWS, ModelConfig, WholeImages};
use super::program::{Op, Program};
use crate::gguf::Metadata;
use crate::{Error, ErrorCode, Result};

/// One architecture.
struct Family {
    architecture: Architecture,
    program: fn(&ModelConfig) -> Program,
    whole_images: fn(&ModelConfig) -> WholeImages,
}

/// An architecture that writes text, with positions of one axis and causal attention.
const fn family(name: &'static str, program: fn(&ModelConfig) -> Program) -> Family {
    let architecture = Architecture { name, embeds: Embeds::Never, axes: None, projector: None };
    Family { architecture, program, whole_images: |_| WholeImages::Never }
}

impl Family {
    const fn embeds(mut self, embeds: Embeds) -> Self {
        self.architecture.embeds = embeds;
        self
    }

    const fn axes(mut self, axes: Axes) -> Self {
        self.architecture.axes = Some(axes);
        self
    }

    const fn whole_images(mut self, whole: fn(&ModelConfig) -> WholeImages) -> Self {
        self.whole_images = whole;
        self
    }
}

/// Architectures that every page has the code of; the others are in [`rare::FAMILIES`].
static FAMILIES: &[Family] = &[
    family("llama", llama::llama).embeds(Embeds::IfPooled),
    family("qwen2", llama::qwen2).embeds(Embeds::IfPooled),
    family("qwen3", llama::qwen3).embeds(Embeds::IfPooled),
    family("qwen2vl", llama::qwen2).axes(Axes::InSections),
    family("qwen3vl", llama::qwen3).axes(Axes::ByTurns),
    family("internlm2", llama::llama),
    family("ernie4_5", llama::llama),
    family("exaone", llama::exaone),
    family("minicpm", llama::minicpm),
    family("olmoe", llama::olmoe),
    family("smollm3", llama::smollm3),
    family("granite", llama::granite),
    family("granitemoe", llama::granite),
    family("mistral3", llama::mistral3),
    family("phi3", phi::phi3),
    family("phi2", phi::phi2),
    family("gpt2", gpt2::gpt2),
    family("starcoder2", gpt2::starcoder2),
    family("stablelm", stablelm::stablelm),
    family("olmo2", olmo::olmo2),
    family("qwen2moe", llama::qwen2_moe),
    family("qwen3moe", llama::qwen3),
    family("gemma", gemma::gemma).embeds(Embeds::IfPooled),
    family("gemma2", gemma::gemma2).embeds(Embeds::IfPooled),
    family("gemma3", gemma::gemma3).embeds(Embeds::IfPooled).whole_images(|_| WholeImages::Always),
    family("gemma-embedding", gemma::gemma_embedding).embeds(Embeds::Always),
    family("gemma-embedding2", gemma4::gemma4).embeds(Embeds::Always),
    family("gemma4", gemma4::gemma4).whole_images(gemma4::whole_images),
    family("gpt-oss", gpt_oss::gpt_oss),
    family("glm4", glm4::glm4).axes(Axes::InSections),
    family("exaone4", exaone4::exaone4),
    family("hunyuan-dense", llama::hunyuan_dense),
    family("cohere2", cohere::cohere2),
    family("command-r", cohere::command_r),
    family("arcee", ungated::arcee),
    family("apertus", ungated::apertus),
    family("nemotron", ungated::nemotron),
    family("olmo", olmo::olmo),
    family("maincoder", llama::maincoder),
    family("nanbeige", llama::nanbeige),
    family("starcoder", gpt2::gpt2),
    family("gptneox", neox::gptneox),
    family("falcon", neox::falcon),
    family("qwen3vlmoe", llama::qwen3).axes(Axes::ByTurns),
    family("paddleocr", llama::exaone).axes(Axes::InSections),
    family("hunyuan_vl", llama::hunyuan_dense).axes(Axes::InSections),
    family("granite_swa", llama::granite_swa),
    family("phimoe", phi::phimoe),
    family("chatglm", phi::chatglm),
    family("openelm", llama::qwen3),
    family("qwen", llama::qwen),
    family("xverse", llama::llama),
    family("orion", stablelm::stablelm),
    family("codeshell", gpt2::starcoder2),
    family("pangu-embedded", llama::exaone),
    family("mellum", llama::mellum),
    family("jais2", ungated::nemotron),
    family("spark2_5", llama::spark),
    family("llama-embed", llama::llama).embeds(Embeds::Always),
    family("eurobert", llama::exaone).embeds(Embeds::Always),
    family("pockettts", gpt2::pockettts),
];

/// The names of all architectures that webgguf runs.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    all().map(|family| family.architecture.name)
}

/// Every architecture that webgguf runs.
fn all() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().chain(rare::FAMILIES)
}

/// Whether a file's model is of a family whose program is made by the part of the WebAssembly for rare families, which
/// pages link before.
pub fn is_rare(metadata: &Metadata) -> bool {
    name_of(metadata).is_some_and(|name| rare::FAMILIES.iter().any(|family| family.architecture.name == name))
}

/// Whether models of such a family run kernels of common families alone, whatever their tensor types.
pub fn is_usual(metadata: &Metadata) -> bool {
    name_of(metadata).is_some_and(|name| rare::USUAL.contains(&name))
}

fn name_of(metadata: &Metadata) -> Option<&str> {
    metadata.str("general.architecture").ok().flatten()
}

/// What a drafter is that becomes a block of its model.
macro_rules! drafts {
    ($name:literal) => {
        concat!("a drafter, of architecture ", $name, ": give it to the option 'draft', beside its model")
    };
}

/// Files that are not models, by the values of two keys, with their names.
const OTHER_KINDS: [(&str, &str, &str); 7] = [
    (
        "general.type",
        "adapter",
        "an adapter (LoRA): give it to the option 'adapters' or to addAdapter, beside its model",
    ),
    ("general.architecture", "controlvector", "a control vector: give it to the option 'adapters', beside its model"),
    ("general.type", "imatrix", "an importance matrix, which serves to quantise a model: take the file of the model"),
    ("general.architecture", "eagle3", drafts!("eagle3")),
    ("general.architecture", "gemma4-assistant", drafts!("gemma4-assistant")),
    ("general.architecture", "dflash", drafts!("dflash")),
    ("general.type", "mmproj", "an encoder of images or sounds: give it to the option 'mmproj', beside its model"),
];

/// Whether a file is an encoder or a vocoder, whose header the part of the WebAssembly for encoders reads.
pub fn is_encoder(metadata: &Metadata) -> bool {
    name_of(metadata) == Some(CLIP)
}

/// Checks that a file is a model, or an encoder where one is expected.
///
/// # Errors
/// `invalid_argument` for a file of another kind: says what it is.
pub fn check_kind(metadata: &Metadata, wants_encoder: bool) -> Result<()> {
    let is = |key: &str, kind: &str| metadata.str(key).ok().flatten() == Some(kind);
    let other = OTHER_KINDS.iter().find(|(key, kind, _)| match *kind {
        "mmproj" => !wants_encoder && (is_encoder(metadata) || is(key, kind)),
        _ => is(key, kind),
    });
    other.map_or(Ok(()), |(_, _, what)| Err(Error::invalid_argument(format!("the file is {what}"))))
}

/// The architecture that a file names.
pub(super) fn known(metadata: &Metadata) -> Result<Architecture> {
    check_kind(metadata, true)?;
    let name = metadata.str("general.architecture")?;
    let name = name.ok_or_else(|| Error::bad_file("metadata `general.architecture` is missing"))?;
    if name == CLIP {
        return encoders::known(metadata);
    }
    of(name).map(|family| family.architecture).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let (nearest, known) = (nearest(&shown), architectures().collect::<Vec<_>>().join(", "));
        let message = format!("architecture {shown:?} is not supported, the nearest known is {nearest:?} of {known}");
        Error::new(ErrorCode::UnsupportedArchitecture, message)
    })
}

/// The known name with the fewest edits; among equals, the one with the longest common prefix.
fn nearest(name: &str) -> &'static str {
    let same = |known: &str| known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    architectures().min_by_key(|known| (edits(name, known), usize::MAX - same(known))).unwrap_or("")
}

/// The Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, of_a) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, of_b) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(of_a != of_b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.chars().count()]
}

/// The row of an architecture, by its name.
fn of(name: &str) -> Option<&'static Family> {
    all().find(|family| family.architecture.name == name)
}

/// In which layers the rows of an image see all others of it, and not only those before them.
pub fn whole_images(config: &ModelConfig) -> WholeImages {
    of(config.architecture).map_or(WholeImages::Never, |family| (family.whole_images)(config))
}

/// The program of a model with these numbers.
pub fn program(config: &ModelConfig) -> Program {
    if let Some(encoder) = &config.encoder {
        return encoders::program(config, encoder);
    }
    // `super::config()` refuses other names.
    let program = of(config.architecture).map(|family| (family.program)(config)).unwrap_or_default();
    let program = scales::with_scales(with_deep_rows(program, config), config);
    let program = hadamard::with_rotations(program, config);
    match config.drafter.as_deref().filter(|_| config.predicts_next) {
        Some(drafter) => drafter.behind(program, config),
        None => program,
    }
}

/// Names of the rows for deeper layers.
const DEEP: [&str; MAX_DEEP_ROWS] = ["deep 0", "deep 1", "deep 2", "deep 3", "deep 4", "deep 5", "deep 6", "deep 7"];

/// Adds further rows of images after some layers (DeepStack, Meng et al. 2024, <https://arxiv.org/abs/2406.04334>). For
/// tokens these rows are zero.
fn with_deep_rows(mut program: Program, config: &ModelConfig) -> Program {
    let to = program.residual();
    for (name, row) in DEEP.into_iter().zip(0..config.deep.rows) {
        let x = program.activation(name, config.hidden);
        program.embed.push(Op::Input { y: x });
        for [layer, _] in config.deep.at.iter().filter(|[_, of]| *of == row) {
            program.layers[*layer].push(Op::Add { x, scale: 1.0, to });
        }
    }
    program
}
