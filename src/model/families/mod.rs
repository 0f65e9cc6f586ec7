//! The families of models: each is a function from a model's numbers to its program.
//!
//! To add one, write a file that reads like the family's paper, and give it a row of [`FAMILIES`].

mod bert;
mod builder;
mod embedder;
mod gemma;
mod gemma4;
mod gpt2;
mod gpt_oss;
mod lfm2;
mod llama;
mod mamba2;
mod olmo;
mod phi;
mod qwen35;
mod recurrent;
mod stablelm;

use super::ModelConfig;
use super::program::Program;
use crate::gguf::Metadata;
use crate::{Error, ErrorCode, Result};

/// One architecture.
struct Family {
    /// `general.architecture`, and the prefix of its metadata keys.
    name: &'static str,
    program: fn(&ModelConfig) -> Program,
}

/// Every architecture that webgguf runs.
static FAMILIES: &[Family] = &[
    Family { name: "llama", program: llama::llama },
    Family { name: "qwen2", program: llama::qwen2 },
    Family { name: "qwen3", program: llama::qwen3 },
    Family { name: "qwen2vl", program: llama::qwen2 },
    Family { name: "qwen3vl", program: llama::qwen3 },
    Family { name: "internlm2", program: llama::llama },
    Family { name: "ernie4_5", program: llama::llama },
    Family { name: "exaone", program: llama::exaone },
    Family { name: "minicpm", program: llama::minicpm },
    Family { name: "olmoe", program: llama::olmoe },
    Family { name: "smollm3", program: llama::smollm3 },
    Family { name: "granite", program: llama::granite },
    Family { name: "granitemoe", program: llama::granite },
    Family { name: "mistral3", program: llama::mistral3 },
    Family { name: "phi3", program: phi::phi3 },
    Family { name: "phi2", program: phi::phi2 },
    Family { name: "gpt2", program: gpt2::gpt2 },
    Family { name: "starcoder2", program: gpt2::starcoder2 },
    Family { name: "stablelm", program: stablelm::stablelm },
    Family { name: "olmo2", program: olmo::olmo2 },
    Family { name: "qwen2moe", program: llama::qwen2 },
    Family { name: "qwen3moe", program: llama::qwen3 },
    Family { name: "qwen35", program: qwen35::qwen35 },
    Family { name: "qwen35moe", program: qwen35::qwen35 },
    Family { name: "qwen3next", program: qwen35::qwen3next },
    Family { name: "gemma", program: gemma::gemma },
    Family { name: "gemma2", program: gemma::gemma2 },
    Family { name: "gemma3", program: gemma::gemma3 },
    Family { name: "bert", program: bert::bert },
    Family { name: "nomic-bert", program: bert::nomic_bert },
    Family { name: "modern-bert", program: bert::modern_bert },
    Family { name: "gemma-embedding", program: gemma::gemma_embedding },
    Family { name: "lfm2", program: lfm2::lfm2 },
    Family { name: "lfm2moe", program: lfm2::lfm2 },
    Family { name: "mamba2", program: mamba2::mamba2 },
    Family { name: "granitehybrid", program: mamba2::granite_hybrid },
    Family { name: "falcon-h1", program: mamba2::falcon_h1 },
    Family { name: "gemma4", program: gemma4::gemma4 },
    Family { name: "gpt-oss", program: gpt_oss::gpt_oss },
];

/// The names of all architectures that webgguf runs.
pub fn architectures() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|family| family.name)
}

/// The architecture that a file names.
pub(super) fn known(metadata: &Metadata) -> Result<&'static str> {
    let name = metadata.str("general.architecture")?;
    let name = name.ok_or_else(|| Error::bad_file("metadata `general.architecture` is missing"))?;
    architectures().find(|known| *known == name).ok_or_else(|| {
        let shown: String = name.chars().take(64).collect();
        let (nearest, known) = (nearest(&shown), architectures().collect::<Vec<_>>().join(", "));
        let message = format!("architecture {shown:?} is not supported, the nearest known is {nearest:?} of {known}");
        Error::new(ErrorCode::UnsupportedArchitecture, message)
    })
}

/// The known name that is fewest edits away; of equals, the one that begins most alike.
fn nearest(name: &str) -> &'static str {
    let same = |known: &str| known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    architectures().min_by_key(|known| (edits(name, known), usize::MAX - same(known))).unwrap_or("")
}

/// How many characters have to be put in, taken out or replaced (Levenshtein).
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

/// The program of a model with these numbers.
pub fn program(config: &ModelConfig) -> Program {
    let family = FAMILIES.iter().find(|family| family.name == config.architecture);
    // `super::config()` lets no other name through.
    family.map(|family| (family.program)(config)).unwrap_or_default()
}
