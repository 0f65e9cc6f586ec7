//! Encoders of images and sounds: files of their own, whose programs read patches or frames and give rows for the
//! prompts of a model.
//!
//! The caller has the patches in an order in which those that become one row follow each other, and gives tables: taps
//! into the table of positions, angles of rotations, and taps that make one row of several.

mod gemma;
mod internvl;
mod pixtral;
mod qwen;
mod siglip;
mod vit;
mod whisper;

use super::super::config::{AUDIO, Architecture, CLIP, Embeds, EncoderConfig, ModelConfig, VISION};
use super::super::program::Program;
use crate::gguf::Metadata;
use crate::{Error, ErrorCode, Result};

/// One kind of projector, with its encoder.
struct Encoder {
    projector: &'static str,
    /// The prefix of its keys.
    prefix: &'static str,
    program: fn(&ModelConfig, &EncoderConfig) -> Program,
}

type Family = fn(&ModelConfig, &EncoderConfig) -> Program;

const fn encoder(projector: &'static str, program: Family) -> Encoder {
    Encoder { projector, prefix: VISION, program }
}

const fn of_sounds(projector: &'static str, program: Family) -> Encoder {
    Encoder { projector, prefix: AUDIO, program }
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
    of_sounds("ultravox", whisper::ultravox),
    of_sounds("qwen2a", whisper::qwen2a),
];

/// The encoder of a file: that of images, where it has both.
pub(super) fn known(metadata: &Metadata) -> Result<Architecture> {
    let has = |name: &str| Ok::<_, Error>(metadata.bool(&format!("{CLIP}.has_{name}_encoder"))? == Some(true));
    let prefix = match (has("vision")?, has("audio")?) {
        (true, _) => VISION,
        (_, true) => AUDIO,
        _ => return Err(unsupported("an encoder without images and sounds".to_owned())),
    };
    let own = metadata.str(&format!("{prefix}.projector_type"))?;
    let name = if own.is_some() { own } else { metadata.str("clip.projector_type")? };
    let name = name.ok_or_else(|| Error::bad_file("metadata `clip.projector_type` is missing"))?;
    // Qwen2.5-Omni names both at once.
    let name = match (name, prefix) {
        ("qwen2.5o", VISION) => "qwen2.5vl_merger",
        ("qwen2.5o", _) => "qwen2a",
        _ => name,
    };
    match ENCODERS.iter().find(|encoder| encoder.projector == name && encoder.prefix == prefix) {
        Some(&Encoder { projector, prefix, .. }) => {
            Ok(Architecture { name: prefix, embeds: Embeds::Never, axes: None, projector: Some(projector) })
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
