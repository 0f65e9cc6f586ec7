//! The hyperparameters of an encoder of images or sounds: a separate file with `general.architecture` = `clip`.

use super::encoder_lists::{
    Blocks, Sam, activation, check_subsampling, is_bilinear, merges_behind, pixels, projector_widths, queries,
    taken_layers, tiled,
};
use super::parts::Part;
use super::{Keys, MAX_DEEP_ROWS, MAX_FFN, MAX_HIDDEN, Suggested};
use crate::error::{Error, Result};
use crate::gguf::{Gguf, TensorInfo};
use crate::model::ActivationKind;

/// The name of the architecture in encoder files.
pub(in crate::model) const CLIP: &str = "clip";
/// The prefix of keys of an encoder of images.
pub(in crate::model) const VISION: &str = "clip.vision";
/// The prefix of keys of an encoder of sounds.
pub(in crate::model) const AUDIO: &str = "clip.audio";
/// The prefix of keys of a vocoder.
pub(in crate::model) const VOICE: &str = "clip.gen.audio";

/// Upper bound of the pixels along a side of an image or a patch.
pub(super) const MAX_SIDE: usize = 1 << 14;
/// Upper bound of the patches along a side that are merged into one row.
const MAX_MERGE: usize = 1 << 4;
/// Upper bound of the layers between two layers with full attention.
const MAX_PATTERN: usize = 1 << 10;
/// Upper bound of the rows that a row sees.
pub(super) const MAX_WINDOW: usize = 1 << 14;
/// Upper bound of the rows of a position table.
pub(super) const MAX_PLACES: u64 = 1 << 20;
/// Upper bound of the values of a spectrogram frame.
const MAX_BINS: usize = 1 << 8;

/// A kind of projector, as its row of the table of encoders describes it before a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projector {
    /// `clip.projector_type`.
    pub name: &'static str,
    /// The key, without prefix, of `merge`, for encoders whose files have it.
    pub merge_key: Option<&'static str>,
    /// Patches along a side, or frames, that are merged into one row, where the file does not say.
    pub merge: usize,
    /// Upper bound of the patches of an image or a tile, or of the frames of a sound.
    pub rows: MostRows,
    /// Whether queries and keys are rotated by the axes of the image.
    pub is_rotated: bool,
    /// Whether the encoder has no layers: it projects merged patches directly, and nothing is rounded to f16.
    pub is_bare: bool,
    /// Whether nothing is rounded to f16, as it is in convolutions of llama.cpp.
    pub is_exact: bool,
    /// Whether the file must say how many pixels an image has.
    pub is_sized: bool,
    /// Which part of a file with several programs it is.
    pub part: Option<Part>,
}

impl Projector {
    /// Patches along a side, or frames, that are merged into one row.
    fn merge(&self, keys: &Keys) -> Result<usize> {
        let found = self.merge_key.map(|key| keys.count(key, MAX_MERGE)).transpose()?.flatten();
        Ok(found.unwrap_or(self.merge))
    }
}

/// The upper bound of the number of patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MostRows {
    /// Images have the size that the file says; this many rows without a patch are added.
    OfImage(usize),
    /// An image has at most this many merged rows.
    Merged(usize),
    /// Tiles are `side` pixels wide; an image without tiles has at most `merged` merged rows.
    OfTile {
        /// Pixels along a side of a tile.
        side: usize,
        /// Merged rows of an image without tiles.
        merged: usize,
    },
    /// This many patches or frames.
    Fixed(usize),
    /// A row for each code of a frame.
    Codes,
}

/// The hyperparameters of an encoder that text models lack.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderConfig {
    /// The kind of projector.
    pub projector: Projector,
    /// Width of an output row, without the parts for deeper layers of the text model.
    pub width: usize,
    /// Pixels along a side of a training image, or of a tile.
    pub image_size: usize,
    /// Pixels along a side of a patch.
    pub patch_size: usize,
    /// Patches along a side that are merged into one row.
    pub merge: usize,
    /// The activation of the feed-forward.
    pub activation: ActivationKind,
    /// Mean of each channel, which is subtracted.
    pub mean: [f32; 3],
    /// Standard deviation of each channel, which divides.
    pub deviation: [f32; 3],
    /// The least and the most pixels of an image that is resized; 0: the projector takes any number.
    pub pixels: [usize; 2],
    /// Whether images are resized with a triangle, else with a spline, for projectors whose files say.
    pub is_bilinear: bool,
    /// Pixels along the longer side before an image is cut into tiles, if the file says.
    pub longest_edge: Option<usize>,
    /// The least and the most tiles, if the file says.
    pub tiles: [Option<usize>; 2],
    /// Widths and heights, in pixels, of the images that are cut into tiles, where the file lists them.
    pub tiled: Vec<[usize; 2]>,
    /// Layers that are run: LLaVA's projector does not take the rows of the last one.
    pub depth: usize,
    /// The projector takes the rows before these layers, or behind all that are run, side by side; none: those behind.
    pub taken: Vec<usize>,
    /// Queries that attend to the patches of an image, for projectors that have some.
    pub queries: usize,
    /// Heads of their attention, for projectors whose files say.
    pub query_heads: usize,
    /// Which patch in the place of a query each projector begins it with, or their mean.
    pub offsets: Vec<Option<usize>>,
    /// The layer behind which rows are merged, of encoders that merge rows among their layers.
    pub merges_behind: usize,
    /// All layers but the last of each group of this size attend in windows.
    pub window_pattern: Option<usize>,
    /// Encoders of sounds: rows that a row sees, itself and those before it, or its whole block, if the file says.
    pub window: Option<usize>,
    /// Rows of the position table; 0 where there is none.
    pub places: usize,
    /// Whether `ffn_up` and `ffn_down` have each other's names, as an old converter wrote them.
    pub is_swapped: bool,
    /// DeepStack: layers whose rows are also projected, for deeper layers of the text model.
    pub deep_layers: Vec<usize>,
    /// The layers before the others, of DeepSeek-OCR.
    pub sam: Option<Sam>,
    /// The blocks of MobileNetV5, in the place of layers.
    pub blocks: Option<Blocks>,
    /// Width of the feed-forward.
    pub ffn: usize,
    /// Values of a spectrogram frame, for vocoders of a feature; 0 for encoders of images.
    pub bins: usize,
    /// Rows that the first product of a vocoder reads, and rows that convolutions along the rows do.
    pub kernels: [usize; 2],
    /// Which of several published models it is of, where the file says.
    pub variant: Option<String>,
    /// How the file suggests that codes of speech are chosen.
    pub sampling: Suggested,
    /// Output widths of the projector's matrices, by tensor name, since the metadata lacks them.
    pub widths: Vec<(String, usize)>,
}

impl EncoderConfig {
    /// Reads and checks the metadata of an encoder.
    pub(super) fn read(keys: &Keys, gguf: &Gguf, projector: Projector, layers: usize) -> Result<Self> {
        if let Some(part) = projector.part {
            return Self::of_part(keys, gguf, projector, part);
        }
        match keys.architecture {
            AUDIO => Self::of_sounds(keys, gguf, projector, layers),
            VOICE => Self::of_voice(keys, gguf, projector, layers),
            _ => Self::of_images(keys, gguf, projector, layers),
        }
    }

    fn of_sounds(keys: &Keys, gguf: &Gguf, projector: Projector, layers: usize) -> Result<Self> {
        let dims = |name: &str| Some(gguf.tensors.iter().find(|tensor| tensor.name == name)?.dims.as_slice());
        let rows = |name: &str, most: usize| {
            let found = dims(name).and_then(|dims| dims.get(1)).copied();
            found.filter(|&rows| rows <= most as u64).unwrap_or(0) as usize
        };
        check_subsampling(keys, &projector)?;
        let is_windowed = matches!(projector.name, "lfm3a" | "voxtral_rt");
        // All layers have convolutions of the same length.
        let is_along =
            |tensor: &&TensorInfo| tensor.name.starts_with("a.blk.") && tensor.name.ends_with(".conv_dw.weight");
        let along = gguf.tensors.iter().find(is_along).and_then(|tensor| tensor.dims.first()).copied();
        // Without layers there is no spectrogram, whatever a file says.
        let bins = if projector.is_bare { projector.merge } else { keys.required("num_mel_bins", MAX_BINS)? };
        let config = Self {
            width: keys.required("projection_dim", MAX_HIDDEN)?,
            merge: projector.merge(keys)?,
            places: rows("a.position_embd.weight", MAX_PLACES as usize),
            ffn: rows("a.blk.0.ffn_up.weight", MAX_FFN),
            bins,
            kernels: [0, along.map_or(0, |length| length.min(MAX_FFN as u64) as usize)],
            window: is_windowed.then(|| keys.required("window_size", MAX_WINDOW)).transpose()?,
            activation: if is_windowed { ActivationKind::Silu } else { ActivationKind::GeluErf },
            widths: projector_widths(&gguf.tensors),
            ..Self::nothing(projector)
        };
        if projector.name == "granite_speech" { config.with_blocks(keys, layers) } else { Ok(config) }
    }

    /// A vocoder, whose rows come in as features: kernels are as long as their tensors say.
    fn of_voice(keys: &Keys, gguf: &Gguf, projector: Projector, layers: usize) -> Result<Self> {
        let dims = |name: &str| gguf.tensors.iter().find(|tensor| tensor.name == name).map(|tensor| &tensor.dims);
        let last = |name: &str, most: usize| {
            let found = dims(name).and_then(|dims| dims.last()).copied();
            found.filter(|&rows| rows <= most as u64).unwrap_or(0) as usize
        };
        let bins = keys.required("projection_dim", MAX_HIDDEN)?;
        let hidden = keys.required("embedding_length", MAX_HIDDEN)?;
        let kernel = |name: &str, channels: u64| {
            let values = dims(name).map_or(0, |dims| dims.iter().fold(1, |all: u64, &n| all.saturating_mul(n)));
            match values / channels {
                length @ (1 | 3 | 5 | 7) if length * channels == values => Ok(length as usize),
                length => {
                    Err(Error::bad_file(format!("tensor {name}: expected a kernel of 1, 3, 5 or 7, found {length}")))
                }
            }
        };
        let kernels = [
            kernel("a.gen.wav.input.weight", (bins * hidden) as u64)?,
            kernel("a.gen.wav.up.blk.0.dwconv.weight", hidden as u64)?,
        ];
        Ok(Self {
            width: last("a.gen.wav.output.weight", MAX_FFN),
            // Rows before and after a row on which it depends.
            merge: kernels[0] / 2 + layers * (kernels[1] / 2),
            ffn: last("a.gen.wav.up.blk.0.pw1.weight", MAX_FFN),
            bins,
            kernels,
            ..Self::nothing(projector)
        })
    }

    /// No numbers.
    pub(super) fn nothing(projector: Projector) -> Self {
        Self {
            projector,
            width: 0,
            image_size: 0,
            patch_size: 0,
            merge: 0,
            activation: ActivationKind::GeluErf,
            mean: [0.0; 3],
            deviation: [1.0; 3],
            pixels: [0; 2],
            is_bilinear: false,
            longest_edge: None,
            tiles: [None; 2],
            tiled: Vec::new(),
            depth: 0,
            taken: Vec::new(),
            queries: 0,
            query_heads: 0,
            offsets: Vec::new(),
            merges_behind: 0,
            window_pattern: None,
            window: None,
            places: 0,
            is_swapped: false,
            deep_layers: Vec::new(),
            sam: None,
            blocks: None,
            ffn: 0,
            bins: 0,
            kernels: [0; 2],
            variant: None,
            sampling: Suggested::default(),
            widths: Vec::new(),
        }
    }

    fn of_images(keys: &Keys, gguf: &Gguf, projector: Projector, layers: usize) -> Result<Self> {
        let hidden = keys.required("embedding_length", MAX_HIDDEN)?;
        let dims = |name: &str| Some(gguf.tensors.iter().find(|tensor| tensor.name == name)?.dims.as_slice());
        let of_ffn = |name: &str| dims(&format!("v.blk.0.{name}.weight")).unwrap_or_default();
        let is_swapped = (!projector.is_exact || ["mlp", "resampler"].contains(&projector.name))
            && of_ffn("ffn_down").first() == Some(&(hidden as u64));
        let wide = of_ffn(if is_swapped { "ffn_down" } else { "ffn_up" });
        let ffn = wide.get(1).copied().filter(|&rows| rows <= MAX_FFN as u64).unwrap_or(0) as usize;
        let places = dims("v.position_embd.weight").map_or(0, |dims| dims.iter().skip(1).product::<u64>());
        if places > MAX_PLACES {
            let message = format!("tensor v.position_embd.weight: expected up to {MAX_PLACES} rows, found {places}");
            return Err(Error::bad_file(message));
        }
        let is_deep = |layer: &usize| dims(&format!("v.deepstack.{layer}.fc1.weight")).is_some();
        let mean = channels(keys, "image_mean")?;
        let [side, merge] = [keys.required("patch_size", MAX_SIDE)?, projector.merge(keys)?];
        let [patch_size, merge] = if projector.is_bare { [side * merge, 1] } else { [side, merge] };
        let is_sliced = projector.name.starts_with("minicpm") || projector.name == "resampler";
        let (depth, taken) = if projector.name == "mlp" { taken_layers(keys, layers)? } else { (layers, Vec::new()) };
        let config = Self {
            width: keys.required("projection_dim", MAX_HIDDEN)?,
            image_size: keys.required("image_size", MAX_SIDE)?,
            patch_size,
            merge,
            activation: activation(keys, &projector)?,
            mean,
            deviation: deviations(keys)?,
            pixels: if projector.is_sized { pixels(keys, &projector, side * merge)? } else { [0; 2] },
            is_bilinear: projector.name == "lfm3vl" && is_bilinear(keys)?,
            longest_edge: keys.count_or_none("preproc_image_size", MAX_SIDE)?,
            tiles: [
                keys.count_or_none("preproc_min_tiles", MAX_SIDE)?,
                keys.count_or_none(if is_sliced { "max_slice_nums" } else { "preproc_max_tiles" }, MAX_SIDE)?,
            ],
            tiled: tiled(keys, &projector)?,
            depth,
            taken,
            queries: queries(keys, &projector, dims("resampler.query").unwrap_or_default())?,
            merges_behind: merges_behind(keys, layers)?,
            window_pattern: keys.count_or_none("n_wa_pattern", MAX_PATTERN)?,
            places: places as usize,
            is_swapped,
            deep_layers: (0..layers).filter(is_deep).take(MAX_DEEP_ROWS).collect(),
            ffn,
            widths: projector_widths(&gguf.tensors),
            ..Self::nothing(projector)
        };
        config.with_own(keys, layers, &dims)
    }

    pub(super) fn check(&self, keys: &Keys) -> Result<()> {
        if self.patch_size > self.image_size {
            let name = keys.name("patch_size");
            let message = format!("metadata `{name}`: expected up to the image's {}, found", self.image_size);
            return Err(Error::bad_file(format!("{message} {}", self.patch_size)));
        }
        if self.projector.name.starts_with("minicpm") && ![2, 4].contains(&self.merge) {
            let name = keys.name("projector.scale_factor");
            return Err(Error::bad_file(format!("metadata `{name}`: expected 2 or 4, found {}", self.merge)));
        }
        if self.most_rows() > 1 << 16 {
            let name = keys.name("image_size");
            let message = format!("metadata `{name}`: {} patches of an image, expected up to 65536", self.most_rows());
            return Err(Error::bad_file(message));
        }
        Ok(())
    }

    /// There are heads. Those that are rotated by two axes have a quarter of their values for each of cosine and sine
    /// of each.
    pub(super) fn check_heads(&self, keys: &Keys, heads: usize, head_dim: usize) -> Result<()> {
        let name = keys.name("attention.head_count");
        let has_none = self.projector.is_bare || (keys.architecture == VOICE && self.projector.part.is_none());
        if heads == 0 && !has_none {
            return Err(Error::bad_file(format!("metadata `{name}`: expected at least 1 head, found 0")));
        }
        if !self.projector.is_rotated || head_dim.is_multiple_of(4) {
            return Ok(());
        }
        Err(Error::bad_file(format!("metadata `{name}`: expected heads of a multiple of 4 values, found {head_dim}")))
    }

    /// Patches of an image or a tile, at most.
    pub fn most_rows(&self) -> usize {
        match self.projector.rows {
            MostRows::OfImage(others) => (self.image_size / self.patch_size).pow(2) + others,
            MostRows::Merged(rows) => rows * self.merge.pow(2),
            MostRows::OfTile { side, merged } => (side / self.patch_size).pow(2).max(merged * self.merge.pow(2)),
            MostRows::Fixed(rows) => rows,
            MostRows::Codes => self.kernels[0],
        }
    }

    /// Width of an output row, with the parts for deeper layers.
    pub fn row_width(&self) -> usize {
        self.width * (1 + self.deep_layers.len())
    }

    /// The output width of a matrix of the projector, by its name; 0 for unknown names.
    pub fn width_of(&self, tensor: &str) -> usize {
        self.widths.iter().find(|(name, _)| name == tensor).map_or(0, |(_, width)| *width)
    }
}

/// The standard deviation of each channel.
fn deviations(keys: &Keys) -> Result<[f32; 3]> {
    let found = channels(keys, "image_std")?;
    if let Some(wrong) = found.iter().find(|&&of| of == 0.0) {
        let name = keys.name("image_std");
        return Err(Error::bad_file(format!("metadata `{name}`: expected numbers other than 0, found {wrong}")));
    }
    Ok(found)
}

/// A finite number for each channel.
fn channels(keys: &Keys, key: &str) -> Result<[f32; 3]> {
    let name = keys.name(key);
    let found = keys.metadata.f32s(&name)?.unwrap_or_default();
    match found.get(..3).and_then(|first| <[f32; 3]>::try_from(first).ok()) {
        Some(values) if values.iter().all(|value| value.is_finite()) => Ok(values),
        _ => Err(Error::bad_file(format!("metadata `{name}`: expected 3 finite numbers, found {}", found.len()))),
    }
}
