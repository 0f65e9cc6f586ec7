//! Encoders of images and sounds: files of their own, whose programs read patches or frames and give rows for the
//! prompts of a model. Vocoders, which make spectra of what a model writes, are programs of the same kind.
//!
//! The caller has the patches in an order in which those that become one row follow each other, and gives tables: taps
//! into the table of positions, angles of rotations, and taps that make one row of several.

mod conformer;
mod deepseek_ocr;
mod gemma;
mod gemma_unified;
mod glm;
mod granite_speech;
mod granite_vision;
mod hunyuan;
mod internvl;
mod lfm3;
mod lfm_audio;
mod lfm_speech;
mod llava;
mod minicpm;
mod mobilenet;
mod parakeet;
mod pixtral;
mod pocket;
mod queries;
mod qwen;
mod qwen_audio;
mod resampler;
mod siglip;
mod vit;
mod vocos;
mod voxtral;
mod whisper;

use super::super::config::{
    AUDIO, Architecture, CLIP, Embeds, EncoderConfig, ModelConfig, MostRows, Part, Projector, VISION, VOICE,
};
use super::super::program::Program;
use crate::gguf::Metadata;
use crate::{Error, ErrorCode, Result};

/// One kind of projector, with its encoder.
struct Encoder {
    projector: Projector,
    /// The prefix of its keys.
    prefix: &'static str,
    program: fn(&ModelConfig, &EncoderConfig) -> Program,
}

type Family = fn(&ModelConfig, &EncoderConfig) -> Program;

/// The key of [`Projector::merge`], and the number where the file does not say.
type Merge = (Option<&'static str>, usize);

/// The key of the patches along a side that are merged into one row, for most projectors ...
const SCALE: Option<&str> = Some("projector.scale_factor");
/// ... and for Qwen's and Pixtral.
const MERGE: Option<&str> = Some("spatial_merge_size");
/// The same of rows that queries see, for Granite Speech.
const WINDOW: Merge = (Some("projector.window_size"), 15);
/// Patches along a side of the window that queries see, for Granite Vision.
const WINDOW_SIDE: Merge = (Some("projector.window_side"), 1);
/// 1,024 rows of 2 × 2 patches.
const PATCHES: MostRows = MostRows::Fixed(4096);
/// A projector without options.
const NONE: Projector = Projector {
    name: "",
    merge_key: None,
    merge: 1,
    rows: MostRows::Fixed(0),
    is_rotated: false,
    is_bare: false,
    is_exact: false,
    is_sized: false,
    part: None,
};

/// The key by which a loader asks for a part of a file.
pub const PART: &str = "webgguf.part";

/// The part of a file that reads sounds, where another one reads images.
pub const SOUNDS: &str = "sounds";

/// 2,048 rows of 2 × 2 patches: a page of text.
const PAGE: MostRows = MostRows::Fixed(8192);

/// An encoder of images: `merge` patches along a side are merged into one row, unless the file says otherwise.
const fn encoder(name: &'static str, program: Family, (merge_key, merge): Merge, rows: MostRows) -> Encoder {
    Encoder { projector: Projector { name, merge_key, merge, rows, ..NONE }, prefix: VISION, program }
}

/// An encoder of sounds with up to `rows` rows, of which `merge` are merged into one, unless the file says otherwise.
const fn of_sounds(name: &'static str, program: Family, (merge_key, merge): Merge, rows: usize) -> Encoder {
    let rows = MostRows::Fixed(rows);
    Encoder { projector: Projector { name, merge_key, merge, rows, ..NONE }, prefix: AUDIO, program }
}

/// A part of a file with several programs, with up to `rows` rows.
const fn part_of((name, prefix): (&'static str, &'static str), part: Part, program: Family, rows: usize) -> Encoder {
    let projector = Projector { name, rows: MostRows::Fixed(rows), is_exact: true, part: Some(part), ..NONE };
    Encoder { projector, prefix, program }
}

/// The part that gives the codes of a frame.
const fn of_codes((name, prefix): (&'static str, &'static str), part: Part, program: Family) -> Encoder {
    let projector = Projector { name, rows: MostRows::Codes, is_exact: true, part: Some(part), ..NONE };
    Encoder { projector, prefix, program }
}

impl Encoder {
    /// Queries and keys are rotated.
    const fn rotated(mut self) -> Self {
        self.projector.is_rotated = true;
        self
    }

    /// Nothing is rounded to f16.
    const fn exact(mut self) -> Self {
        self.projector.is_exact = true;
        self
    }

    /// The file says how many pixels an image has.
    const fn sized(mut self) -> Self {
        self.projector.is_sized = true;
        self
    }

    /// There are no layers.
    const fn bare(mut self) -> Self {
        self.projector.is_bare = true;
        self
    }
}

/// Every encoder that webgguf runs, by the projector that its file names.
static ENCODERS: &[Encoder] = &[
    // Tiles have their own size.
    encoder("lfm2", siglip::lfm2, (SCALE, 1), MostRows::OfTile { side: 512, merged: 256 }),
    encoder("lfm3vl", lfm3::lfm3vl, (MERGE, 2), PATCHES).rotated().exact().sized(),
    encoder("idefics3", siglip::idefics3, (SCALE, 1), MostRows::OfImage(0)),
    encoder("janus_pro", siglip::janus_pro, (None, 1), MostRows::OfImage(0)).exact(),
    // And a class token, with CLIP.
    encoder("mlp", llava::mlp, (None, 1), MostRows::OfImage(1)).exact(),
    encoder("gemma3", siglip::gemma3, (SCALE, 4), MostRows::OfImage(0)),
    encoder("qwen3vl_merger", qwen::qwen3vl, (MERGE, 2), PATCHES).rotated(),
    encoder("qwen2.5vl_merger", qwen::qwen25vl, (MERGE, 2), PATCHES).rotated(),
    encoder("qwen2vl_merger", qwen::qwen2vl, (MERGE, 2), PATCHES).rotated(),
    encoder("glm4v", glm::glm4v, (MERGE, 2), PATCHES).rotated(),
    encoder("pixtral", pixtral::pixtral, (MERGE, 1), PATCHES).rotated(),
    encoder("lightonocr", pixtral::pixtral, (MERGE, 1), PAGE).rotated().exact(),
    encoder("paddleocr", siglip::paddleocr, (None, 2), PAGE).rotated().exact().sized(),
    encoder("minicpmv4_6", minicpm::minicpmv, (SCALE, 4), MostRows::Fixed(minicpm::ROWS)).exact(),
    encoder("minicpmv4_7", minicpm::minicpmv, (SCALE, 4), MostRows::Fixed(minicpm::ROWS)).exact(),
    encoder("minicpm_ocr_1_0", minicpm::minicpmv, (SCALE, 4), MostRows::Fixed(minicpm::ROWS)).exact(),
    encoder("resampler", resampler::resampler, (None, 1), MostRows::Fixed(minicpm::ROWS)).exact(),
    encoder("phi4", siglip::phi4, (None, 1), PATCHES).exact().sized(),
    encoder("kimivl", siglip::kimivl, (SCALE, 1), PATCHES).rotated().exact(),
    encoder("hunyuanvl", hunyuan::hunyuanvl, (MERGE, 2), PAGE).exact().sized(),
    encoder("dots_ocr", qwen::dots_ocr, (SCALE, 2), PAGE).rotated().exact().sized(),
    // A class token and 16 × 16 rows, or the ends of a line and of an image.
    encoder("deepseekocr", deepseek_ocr::deepseekocr, (None, 4), MostRows::Fixed(258)).exact(),
    // And the end of a line.
    encoder("granite4_vision", granite_vision::granite4_vision, WINDOW_SIDE, MostRows::OfImage(1)).exact(),
    // And a class token.
    encoder("internvl", internvl::internvl, (SCALE, 1), MostRows::OfImage(1)),
    // A grid of 16 × 16 rows, at most.
    encoder("gemma3nv", mobilenet::gemma3nv, (None, 1), MostRows::Fixed(256)).exact(),
    // As many rows as llama.cpp takes.
    encoder("gemma4v", gemma::gemma4v, (SCALE, 3), MostRows::Merged(1120)).rotated(),
    encoder("gemma4uv", gemma_unified::gemma4uv, (SCALE, 3), MostRows::Merged(1120)).bare(),
    of_sounds("ultravox", whisper::ultravox, (Some("projector.stack_factor"), 1), whisper::ROWS),
    of_sounds("voxtral", whisper::voxtral, (Some("projector.stack_factor"), 4), whisper::ROWS),
    of_sounds("voxtral_rt", voxtral::voxtral_rt, (Some("projector.stack_factor"), 4), voxtral::ROWS).exact().rotated(),
    // Pairs of frames, whatever a file says.
    of_sounds("qwen2a", whisper::qwen2a, (None, 2), whisper::ROWS),
    of_sounds("musicflamingo", whisper::musicflamingo, (None, 2), whisper::ROWS).exact(),
    of_sounds("glma", whisper::glma, (Some("projector.stack_factor"), 4), whisper::ROWS).exact(),
    of_sounds("meralion", whisper::meralion, (Some("projector.stack_factor"), 1), whisper::ROWS).exact(),
    of_sounds("gemma4a", conformer::gemma4a, (None, 1), conformer::ROWS),
    of_sounds("gemma4ua", gemma_unified::gemma4ua, (None, gemma_unified::SAMPLES), conformer::ROWS).bare(),
    of_sounds("lfm2a", lfm_audio::lfm2a, (None, 1), lfm_audio::ROWS).exact(),
    of_sounds("lfm3a", lfm_audio::lfm3a, (None, 1), lfm_audio::ROWS).exact().rotated(),
    of_sounds("parakeet", parakeet::parakeet, (None, 1), lfm_audio::ROWS).exact(),
    // Windows of a Q-Former.
    of_sounds("granite_speech", granite_speech::granite_speech, WINDOW, granite_speech::ROWS).exact(),
    of_sounds("qwen3a", qwen_audio::qwen3a, (None, 1), qwen_audio::ROWS),
    Encoder { prefix: VOICE, ..of_sounds("soprano", vocos::soprano, (None, 1), vocos::ROWS) },
    part_of((pocket::SPEAKS, VOICE), pocket::FLOW, pocket::flow, 1),
    part_of((pocket::SPEAKS, VOICE), pocket::FRAMES, pocket::frames, pocket::ROWS).rotated(),
    part_of((pocket::SPEAKS, VOICE), pocket::WAVE, pocket::wave, pocket::SAMPLES),
    part_of((pocket::LISTENS, AUDIO), pocket::LISTEN, pocket::listen, pocket::SAMPLES / pocket::HOP),
    part_of((pocket::LISTENS, AUDIO), pocket::VOICE, pocket::voice, pocket::ROWS).rotated(),
    of_codes((lfm_speech::SPEAKS, VOICE), lfm_speech::CODE, lfm_speech::code),
    part_of((lfm_speech::SPEAKS, VOICE), lfm_speech::NEXT, lfm_speech::next, 1),
    part_of((lfm_speech::SPEAKS, VOICE), lfm_speech::SOUND, lfm_speech::sound, lfm_speech::ROWS),
];

/// Checks that a file reads images or sounds where no program of a vocoder is asked for: the code of those may not be
/// linked then (`tools/modules.mjs`).
///
/// # Errors
/// `invalid_argument` for a vocoder.
#[inline(never)]
pub fn check_input(metadata: &Metadata, part: Option<&str>) -> Result<()> {
    let has = |name: &str| matches!(metadata.bool(&format!("{CLIP}.has_{name}_encoder")), Ok(Some(true)));
    if part.is_some_and(|part| part != SOUNDS) || !has("gen_audio") || has("vision") || has("audio") {
        return Ok(());
    }
    Err(Error::invalid_argument("the file is a vocoder: give it to the option 'vocoder', beside its model"))
}

/// The encoder of a file: that of images, where it has both.
pub(super) fn known(metadata: &Metadata) -> Result<Architecture> {
    let has = |name: &str| Ok::<_, Error>(metadata.bool(&format!("{CLIP}.has_{name}_encoder"))? == Some(true));
    let part = metadata.str(PART)?.filter(|part| !part.is_empty());
    let prefix = match (has("vision")?, has("audio")?) {
        _ if part.is_some() && has("gen_audio")? => {
            let listens = [pocket::LISTEN.name, pocket::VOICE.name].contains(&part.unwrap_or_default());
            if listens { AUDIO } else { VOICE }
        }
        (true, _) => VISION,
        (_, true) => AUDIO,
        _ if has("gen_audio")? => VOICE,
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
    let is_wanted = |encoder: &&Encoder| {
        let is_part = encoder.projector.part.is_none_or(|of| Some(of.name) == part);
        encoder.projector.name == name && encoder.prefix == prefix && is_part
    };
    match ENCODERS.iter().find(is_wanted) {
        Some(&Encoder { projector, prefix, .. }) => {
            Ok(Architecture { name: prefix, embeds: Embeds::Never, axes: None, projector: Some(projector) })
        }
        None => {
            let shown: String = name.chars().take(64).collect();
            let mut known: Vec<&str> = ENCODERS.iter().map(|encoder| encoder.projector.name).collect();
            known.dedup();
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
