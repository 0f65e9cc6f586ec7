//! The numbers of an encoder of images or sounds: a file of its own beside the model's, `general.architecture` =
//! `clip`.

use std::borrow::Cow;

use super::{Keys, MAX_DEEP_ROWS, MAX_FFN, MAX_HIDDEN, ModelConfig};
use crate::error::{Error, Result};
use crate::gguf::{GgmlType, Gguf, TensorInfo};
use crate::model::ActivationKind;

/// What its files call the architecture.
pub(in crate::model) const CLIP: &str = "clip";
/// The prefix of the keys of its encoder of images.
pub(in crate::model) const VISION: &str = "clip.vision";
/// The prefix of the keys of its encoder of sounds.
pub(in crate::model) const AUDIO: &str = "clip.audio";

/// How names of kernels of convolutions begin.
const KERNELS: [&str; 3] = ["v.patch_embd.weight", "a.conv1d.", "a.conv2d."];

/// What makes one row of several patches, in some files as a kernel of a convolution.
const MERGER: &str = "mm.patch_merger.weight";

/// Pixels along a side of an image or a patch, at most.
const MAX_SIDE: usize = 1 << 14;
/// Patches along a side of what becomes one row, at most.
const MAX_MERGE: usize = 1 << 4;
/// Layers between two with full attention, at most.
const MAX_PATTERN: usize = 1 << 10;
/// Rows of a table of positions, at most.
const MAX_PLACES: u64 = 1 << 20;
/// Values of a frame of a spectrogram, at most.
const MAX_BINS: usize = 1 << 8;

/// What is known of a kind of projector before its file is read: the row of its family says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projector {
    /// `clip.projector_type`.
    pub name: &'static str,
    /// The key of how many patches along a side, or frames, become one row, where files say so; without the prefix.
    pub merge_key: Option<&'static str>,
    /// How many become one row where the file does not say.
    pub merge: usize,
    /// Patches of an image or a tile, or frames of a sound, at most.
    pub rows: MostRows,
    /// Whether queries and keys are rotated, by the axes of an image.
    pub is_rotated: bool,
    /// Whether there are no layers: what becomes one row is read at once, and nothing is rounded to f16.
    pub is_bare: bool,
}

impl Projector {
    /// How many patches along a side, or frames, become one row.
    fn merge(&self, keys: &Keys) -> Result<usize> {
        let found = self.merge_key.map(|key| keys.count(key, MAX_MERGE)).transpose()?.flatten();
        Ok(found.unwrap_or(self.merge))
    }
}

/// How the number of patches is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MostRows {
    /// The image has the size that the file says; so many rows of no patch are added.
    OfImage(usize),
    /// There are so many rows after patches became one.
    Merged(usize),
    /// A tile has so many pixels along a side; an image alone has so many rows after patches became one.
    OfTile {
        /// Pixels.
        side: usize,
        /// Rows.
        merged: usize,
    },
    /// So many.
    Fixed(usize),
}

/// The numbers of an encoder that a text model's do not have.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderConfig {
    /// Its kind.
    pub projector: Projector,
    /// Values of a row that it gives, without those for deeper layers.
    pub width: usize,
    /// Pixels along a side of the image that it was trained on, or of a tile.
    pub image_size: usize,
    /// Pixels along a side of a patch.
    pub patch_size: usize,
    /// Patches along a side of what becomes one row.
    pub merge: usize,
    /// The activation of its feed-forward.
    pub activation: ActivationKind,
    /// What each channel's mean is subtracted ...
    pub mean: [f32; 3],
    /// ... and divided by.
    pub deviation: [f32; 3],
    /// Pixels along the longer side before it is cut into tiles, where the file says.
    pub longest_edge: Option<usize>,
    /// Tiles, at least and at most, where the file says.
    pub tiles: [Option<usize>; 2],
    /// All layers but the last of so many attend in windows.
    pub window_pattern: Option<usize>,
    /// Rows of the table of positions; 0 where there is none.
    pub places: usize,
    /// Whether the tensors of the feed-forward have each other's names, as an old converter wrote them.
    pub is_swapped: bool,
    /// Layers whose rows become those for deeper layers of the text model.
    pub deep_layers: Vec<usize>,
    /// Width of the feed-forward.
    pub ffn: usize,
    /// Values of a frame of its spectrogram; 0: it reads images.
    pub bins: usize,
    /// Widths of the outputs of products of the projector that the metadata does not say, by the name of the tensor.
    pub widths: Vec<(String, usize)>,
}

impl EncoderConfig {
    /// Reads and checks what is there for an encoder.
    pub(super) fn read(keys: &Keys, gguf: &Gguf, projector: Projector, layers: usize) -> Result<Self> {
        match keys.architecture {
            AUDIO => Self::of_sounds(keys, gguf, projector),
            _ => Self::of_images(keys, gguf, projector, layers),
        }
    }

    fn of_sounds(keys: &Keys, gguf: &Gguf, projector: Projector) -> Result<Self> {
        let dims = |name: &str| Some(gguf.tensors.iter().find(|tensor| tensor.name == name)?.dims.as_slice());
        let rows = |name: &str, most: usize| {
            let found = dims(name).and_then(|dims| dims.get(1)).copied();
            found.filter(|&rows| rows <= most as u64).unwrap_or(0) as usize
        };
        Ok(Self {
            projector,
            width: keys.required("projection_dim", MAX_HIDDEN)?,
            image_size: 0,
            patch_size: 0,
            merge: projector.merge(keys)?,
            activation: ActivationKind::GeluErf,
            mean: [0.0; 3],
            deviation: [1.0; 3],
            longest_edge: None,
            tiles: [None; 2],
            window_pattern: None,
            places: rows("a.position_embd.weight", MAX_PLACES as usize),
            is_swapped: false,
            deep_layers: Vec::new(),
            ffn: rows("a.blk.0.ffn_up.weight", MAX_FFN),
            // Without layers there is no spectrogram, whatever a file says.
            bins: if projector.is_bare { projector.merge } else { keys.required("num_mel_bins", MAX_BINS)? },
            widths: projector_widths(&gguf.tensors),
        })
    }

    fn of_images(keys: &Keys, gguf: &Gguf, projector: Projector, layers: usize) -> Result<Self> {
        let hidden = keys.required("embedding_length", MAX_HIDDEN)?;
        let dims = |name: &str| Some(gguf.tensors.iter().find(|tensor| tensor.name == name)?.dims.as_slice());
        let of_ffn = |name: &str| dims(&format!("v.blk.0.{name}.weight")).unwrap_or_default();
        let is_swapped = of_ffn("ffn_down").first() == Some(&(hidden as u64));
        let wide = of_ffn(if is_swapped { "ffn_down" } else { "ffn_up" });
        let ffn = wide.get(1).copied().filter(|&rows| rows <= MAX_FFN as u64).unwrap_or(0) as usize;
        let places = dims("v.position_embd.weight").map_or(0, |dims| dims.iter().skip(1).product::<u64>());
        if places > MAX_PLACES {
            let message = format!("tensor v.position_embd.weight: expected up to {MAX_PLACES} rows, found {places}");
            return Err(Error::bad_file(message));
        }
        let is_deep = |layer: &usize| dims(&format!("v.deepstack.{layer}.fc1.weight")).is_some();
        let [mean, deviation] = [channels(keys, "image_mean")?, channels(keys, "image_std")?];
        if let Some(wrong) = deviation.iter().find(|&&of| of == 0.0) {
            let name = keys.name("image_std");
            return Err(Error::bad_file(format!("metadata `{name}`: expected numbers other than 0, found {wrong}")));
        }
        let [side, merge] = [keys.required("patch_size", MAX_SIDE)?, projector.merge(keys)?];
        let [patch_size, merge] = if projector.is_bare { [side * merge, 1] } else { [side, merge] };
        let config = Self {
            projector,
            width: keys.required("projection_dim", MAX_HIDDEN)?,
            image_size: keys.required("image_size", MAX_SIDE)?,
            patch_size,
            merge,
            activation: activation(keys)?,
            mean,
            deviation,
            longest_edge: keys.count_or_none("preproc_image_size", MAX_SIDE)?,
            tiles: [
                keys.count_or_none("preproc_min_tiles", MAX_SIDE)?,
                keys.count_or_none("preproc_max_tiles", MAX_SIDE)?,
            ],
            window_pattern: keys.count_or_none("n_wa_pattern", MAX_PATTERN)?,
            places: places as usize,
            is_swapped,
            deep_layers: (0..layers).filter(is_deep).take(MAX_DEEP_ROWS).collect(),
            ffn,
            bins: 0,
            widths: projector_widths(&gguf.tensors),
        };
        config.check(keys)?;
        Ok(config)
    }

    fn check(&self, keys: &Keys) -> Result<()> {
        if self.patch_size > self.image_size {
            let name = keys.name("patch_size");
            let message = format!("metadata `{name}`: expected up to the image's {}, found", self.image_size);
            return Err(Error::bad_file(format!("{message} {}", self.patch_size)));
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
        if heads == 0 && !self.projector.is_bare {
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
        }
    }

    /// Values of a row that it gives, with those for deeper layers.
    pub fn row_width(&self) -> usize {
        self.width * (1 + self.deep_layers.len())
    }

    /// The width of the output of a product of the projector, by the name of its tensor.
    pub fn width_of(&self, tensor: &str) -> usize {
        self.widths.iter().find(|(name, _)| name == tensor).map_or(0, |(_, width)| *width)
    }
}

impl ModelConfig {
    /// Whether it reads patches or frames by convolutions; see [`rounded_kernel`].
    pub fn rounds_kernels(&self) -> bool {
        self.encoder.as_ref().is_some_and(|encoder| !encoder.projector.is_bare)
    }

    /// Whether it is of the file's other encoder, which reads sounds where this one reads images.
    pub(in crate::model) fn is_of_another_encoder(&self, tensor: &str) -> bool {
        let is_sounds = tensor.starts_with("a.") || tensor.starts_with("mm.a.");
        self.encoder.as_ref().is_some_and(|encoder| is_sounds != (encoder.bins > 0))
    }
}

/// Two keys say which; without them it is the quick GELU.
fn activation(keys: &Keys) -> Result<ActivationKind> {
    let is_set = |name: &str| Ok::<_, Error>(keys.metadata.bool(&format!("{CLIP}.{name}"))?.unwrap_or(false));
    match (is_set("use_gelu")?, is_set("use_silu")?) {
        (true, true) => Err(Error::bad_file("metadata `clip.use_gelu` and `clip.use_silu`: expected one, found both")),
        (true, false) => Ok(ActivationKind::Gelu),
        (false, true) => Ok(ActivationKind::Silu),
        (false, false) => Ok(ActivationKind::QuickGelu),
    }
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

/// Rows of the matrices behind the encoder, and of kernels before it.
fn projector_widths(tensors: &[TensorInfo]) -> Vec<(String, usize)> {
    let matrices = tensors.iter().filter(|tensor| tensor.name.ends_with(".weight") && tensor.dims.len() >= 2);
    let begins = ["mm.", "v.deepstack.", "a.conv1d.", "a.conv2d.", "a.pre_encode."];
    let own = matrices.filter(|tensor| begins.iter().any(|begin| tensor.name.starts_with(begin)));
    let width = |tensor: &TensorInfo| tensor.dims.last().copied().unwrap_or(0).min(MAX_FFN as u64) as usize;
    own.map(|tensor| (tensor.name.clone(), width(tensor))).collect()
}

/// The bytes of a tensor as they are used: where a model `rounds` kernels of convolutions, they are rounded to f16, as
/// llama.cpp rounds them.
pub fn rounded_kernel<'b>(rounds: bool, tensor: &TensorInfo, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    let is_rounded = rounds && tensor.ty == GgmlType::F32 && is_kernel(&tensor.name);
    if !(is_rounded && tensor.name.contains(".weight")) {
        return bytes.into();
    }
    let round = |value: &[u8]| {
        let value = f32::from_le_bytes([value[0], value[1], value[2], value[3]]);
        half::f16::from_f32(value).to_f32().to_le_bytes()
    };
    bytes.chunks_exact(4).flat_map(round).collect()
}

fn is_kernel(name: &str) -> bool {
    KERNELS.iter().any(|kernel| name.starts_with(kernel)) && !name.contains(".norm.")
}

/// Kernels of convolutions over patches or frames as matrices, and tables of positions of several axes as one: a row
/// per output.
pub fn flatten(gguf: &mut Gguf) {
    let is_own = |name: &str| name.starts_with(['v', 'a']) || name == MERGER;
    for tensor in gguf.tensors.iter_mut().filter(|tensor| is_own(&tensor.name) && tensor.dims.len() > 1) {
        let product = |dims: &[u64]| dims.iter().fold(1, |all: u64, &n| all.saturating_mul(n));
        let dims = &tensor.dims;
        let before = product(&dims[..dims.len() - 1]);
        tensor.dims = if is_kernel(&tensor.name) && before == 1 {
            vec![product(dims)]
        } else if (is_kernel(&tensor.name) || tensor.name == MERGER) && dims.len() > 2 {
            vec![before, dims[dims.len() - 1]]
        } else if tensor.name == "v.position_embd.weight" {
            vec![dims[0], product(&dims[1..])]
        } else {
            continue;
        };
    }
}
