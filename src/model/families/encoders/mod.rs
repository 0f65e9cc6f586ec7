//! Encoders of images: files of their own, whose programs read patches and give rows for the prompts of a model.
//!
//! The caller has the patches in an order in which those that become one row follow each other, and gives tables: taps
//! into the table of positions, angles of rotations, and taps that make one row of several.

mod gemma;
mod internvl;
mod pixtral;
mod qwen;
mod siglip;
mod vit;

use super::super::config::{Architecture, Embeds, EncoderConfig, ModelConfig, VISION};
use super::super::program::Program;
use crate::gguf::Metadata;
use crate::{Error, ErrorCode, Result};

/// One kind of projector, with its encoder.
struct Encoder {
    projector: &'static str,
    program: fn(&ModelConfig, &EncoderConfig) -> Program,
}

const fn encoder(projector: &'static str, program: fn(&ModelConfig, &EncoderConfig) -> Program) -> Encoder {
    Encoder { projector, program }
}

/// Every encoder that webgguf runs, by the projector that its file names.
static ENCODERS: &[Encoder] = &[
    encoder("lfm2", siglip::lfm2),
    encoder("idefics3", siglip::idefics3),
    encoder("gemma3", siglip::gemma3),
    encoder("qwen3vl_merger", qwen::qwen3vl),
    encoder("qwen2.5vl_merger", qwen::qwen25vl),
    encoder("qwen2vl_merger", qwen::qwen2vl),
    encoder("pixtral", pixtral::pixtral),
    encoder("internvl", internvl::internvl),
    encoder("gemma4v", gemma::gemma4v),
];

/// The encoder of images of a file.
pub(super) fn known(metadata: &Metadata) -> Result<Architecture> {
    if metadata.bool("clip.has_vision_encoder")? != Some(true) {
        return Err(unsupported("an encoder without images".to_owned()));
    }
    let own = metadata.str("clip.vision.projector_type")?;
    let name = if own.is_some() { own } else { metadata.str("clip.projector_type")? };
    let name = name.ok_or_else(|| Error::bad_file("metadata `clip.projector_type` is missing"))?;
    match ENCODERS.iter().find(|encoder| encoder.projector == name) {
        Some(Encoder { projector, .. }) => {
            Ok(Architecture { name: VISION, embeds: Embeds::Never, axes: None, projector: Some(projector) })
        }
        None => {
            let shown: String = name.chars().take(64).collect();
            let known: Vec<&str> = ENCODERS.iter().map(|encoder| encoder.projector).collect();
            Err(unsupported(format!("projector {shown:?} is not supported, known are {}", known.join(", "))))
        }
    }
}

fn unsupported(message: String) -> Error {
    Error::new(ErrorCode::UnsupportedArchitecture, message)
}

/// The program of an encoder with these numbers.
pub(super) fn program(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    // `known` lets no other projector through.
    let family = ENCODERS.iter().find(|family| family.projector == encoder.projector);
    family.map(|family| (family.program)(config, encoder)).unwrap_or_default()
}
