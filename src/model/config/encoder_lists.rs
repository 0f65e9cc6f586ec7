//! What files say of images in lists, and in keys that not all projectors have.

mod blocks;

pub(in crate::model) use blocks::{Block, Blocks};

use super::encoder::{CLIP, EncoderConfig, MAX_SIDE, MAX_WINDOW, Projector};
use super::numbers::undivided;
use super::{Keys, MAX_DEEP_ROWS, MAX_FFN, MAX_HEADS, MAX_HIDDEN};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::TensorInfo;
use crate::model::ActivationKind;

/// Values of a head of a resampler.
pub(in crate::model) const RESAMPLER_HEAD: usize = 128;
/// Upper bound of the queries of a resampler.
const MAX_QUERIES: u64 = 1 << 12;
/// Upper bound of the tiles of an image.
const MAX_TILES: usize = 1 << 8;
/// Upper bound of the layers whose rows a projector takes together.
pub(in crate::model) const MAX_TAKEN: usize = 8;

/// The layer behind which rows are merged: `wa_layer_indexes`, of which the first one counts.
pub(super) fn merges_behind(keys: &Keys, layers: usize) -> Result<usize> {
    let name = keys.name("wa_layer_indexes");
    let found = keys.metadata.i32s(&name)?.and_then(|found| found.first().copied());
    match found.unwrap_or(0) {
        layer if layer >= 0 && (layer as usize) < layers.max(1) => Ok(layer as usize),
        layer => Err(Error::bad_file(format!("metadata `{name}`: expected a layer below {layers}, found {layer}"))),
    }
}

/// The number of layers that are run, and `feature_layer`: those whose rows the projector of LLaVA or of Granite Speech
/// takes, counted from the embedding.
pub(super) fn taken_layers(keys: &Keys, layers: usize) -> Result<(usize, Vec<usize>)> {
    let name = keys.name("feature_layer");
    let found = keys.metadata.i32s(&name)?.unwrap_or_default();
    if let Some(wrong) = found.iter().find(|&&layer| layer < 0 || layer as usize > layers) {
        return Err(Error::bad_file(format!("metadata `{name}`: expected layers up to {layers}, found {wrong}")));
    }
    if found.len() > MAX_TAKEN {
        let message = format!("metadata `{name}`: expected up to {MAX_TAKEN} layers, found {}", found.len());
        return Err(Error::bad_file(message));
    }
    // In the order of the layers, each once.
    let taken: Vec<usize> = (0..=layers).filter(|&layer| found.contains(&(layer as i32))).collect();
    Ok((taken.last().copied().unwrap_or(layers.saturating_sub(1)), taken))
}

/// Frames that become a row in Parakeet's three convolutions.
const SUBSAMPLING: usize = 8;

/// `subsampling_factor`: Parakeet's convolutions leave one of eight frames, whatever a file says.
///
/// # Errors
/// `unsupported_architecture` for another factor.
pub(super) fn check_subsampling(keys: &Keys, projector: &Projector) -> Result<()> {
    if projector.name != "parakeet" {
        return Ok(());
    }
    match keys.required("subsampling_factor", MAX_WINDOW)? {
        SUBSAMPLING => Ok(()),
        found => {
            let name = keys.name("subsampling_factor");
            Err(super::unsupported(format!("metadata `{name}`: expected {SUBSAMPLING}, found {found}")))
        }
    }
}

impl EncoderConfig {
    /// The numbers of an encoder whose rows see those of their block, and of the queries that see windows of its rows.
    pub(super) fn with_blocks(self, keys: &Keys, layers: usize) -> Result<Self> {
        let places = keys.required("max_pos_emb", MAX_WINDOW)?;
        let window = Some(keys.required("chunk_size", places + 1)?);
        let queries = self.merge / keys.required("projector.downsample_rate", self.merge)?;
        let (name, hidden) = ("projector.head_count", keys.required("embedding_length", MAX_HIDDEN)?);
        let query_heads = keys.required(name, MAX_HEADS)?;
        if !hidden.is_multiple_of(query_heads) {
            return Err(undivided(keys, name, [hidden, query_heads]));
        }
        let taken = taken_layers(keys, layers)?.1;
        Ok(Self { window, places, queries, query_heads, taken, ..self })
    }
}

/// Values of a head of a Q-Former of Granite Vision.
const QUERY_HEAD: usize = 64;

/// SAM's layers, of DeepSeek-OCR.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sam {
    /// Layers.
    pub layers: usize,
    /// Heads.
    pub heads: usize,
    /// Values of a row.
    pub hidden: usize,
    /// Patches along a side of a window.
    pub window: usize,
    /// Patches along a side of an image.
    pub side: usize,
}

impl Sam {
    /// Patches along a side of what a patch sees in a layer, or 0 for all.
    pub fn window_of(&self, layer: usize) -> usize {
        if [2, 5, 8, 11].contains(&layer) { 0 } else { self.window }
    }

    /// The numbers of a file whose table of positions and first kernel have these shapes; and pixels along a side of a
    /// patch, which the key for the other layers need not say.
    fn read(keys: &Keys, [table, kernel]: [Option<&[u64]>; 2]) -> Result<(Self, usize)> {
        let wrong = |message: String| Err(Error::bad_file(message));
        let layers = keys.required("sam.block_count", 64)?;
        let heads = keys.required("sam.head_count", MAX_HEADS)?;
        let hidden = keys.required("sam.embedding_length", MAX_HIDDEN)?;
        if !hidden.is_multiple_of(heads) {
            return Err(undivided(keys, "sam.head_count", [hidden, heads]));
        }
        let window = keys.required("window_size", MAX_GRID)?;
        // The shapes may be flat by now: a row for each position, and a row for each output of the kernel.
        let values = |dims: Option<&[u64]>, some: fn(&[u64]) -> &[u64]| {
            some(dims.unwrap_or_default()).iter().fold(1, |all: u64, &count| all.saturating_mul(count))
        };
        let positions = values(table, |dims| dims.get(1..).unwrap_or_default());
        let side = match positions {
            1024 => 32,
            4096 => 64,
            found => {
                return wrong(format!("tensor v.sam.pos_embd.weight: expected 1024 or 4096 positions, found {found}"));
            }
        };
        let pixels = values(kernel, |dims| dims.split_last().map_or(&[], |(_, before)| before)) / 3;
        match pixels.isqrt() {
            patch @ 1..=64 if pixels == patch * patch => {
                Ok((Self { layers, heads, hidden, window, side }, patch as usize))
            }
            _ => wrong(format!("tensor v.sam.patch_embd.weight: expected squares of up to 64 × 64, found {pixels}")),
        }
    }
}

/// Upper bound of the patches along a side of a window of SAM's layers.
const MAX_GRID: usize = 128;
/// The least and the most tiles of DeepSeek-OCR, where its file does not say.
const PAGE_TILES: [usize; 2] = [2, 9];

impl EncoderConfig {
    /// Checks the numbers, and reads those that only one projector has. `dims`: the shape of a tensor.
    pub(super) fn with_own<'d>(
        self,
        keys: &Keys,
        layers: usize,
        dims: &dyn Fn(&str) -> Option<&'d [u64]>,
    ) -> Result<Self> {
        self.check(keys)?;
        match self.projector.name {
            "gemma3nv" => self.with_blocks_of_grids(dims),
            "granite4_vision" => self.with_projectors(keys, layers),
            "deepseekocr" => {
                let (sam, patch_size) =
                    Sam::read(keys, ["v.sam.pos_embd.weight", "v.sam.patch_embd.weight"].map(dims))?;
                let [least, most] = [0, 1].map(|of: usize| self.tiles[of].unwrap_or(PAGE_TILES[of]).min(MAX_TILES));
                let image_size = sam.side * patch_size;
                let tiled = grids(least, most, image_size * 5 / 8);
                Ok(Self { sam: Some(sam), patch_size, image_size, tiled, ..self })
            }
            _ => Ok(self),
        }
    }

    /// Rows of the layers that the queries of a window see.
    pub fn window_rows(&self) -> usize {
        if self.bins > 0 { self.merge } else { self.merge * self.merge }
    }

    /// The numbers of Granite Vision's projectors: the layer whose rows each takes, and what its queries begin with.
    pub(super) fn with_projectors(self, keys: &Keys, layers: usize) -> Result<Self> {
        let (taken, depth) = projected_layers(keys, layers)?;
        let wrong = |name: &str, what: String| Err(Error::bad_file(format!("metadata `{}`: {what}", keys.name(name))));
        let hidden = keys.required("embedding_length", MAX_HIDDEN)?;
        if !hidden.is_multiple_of(QUERY_HEAD) {
            return wrong("embedding_length", format!("expected a multiple of {QUERY_HEAD}, found {hidden}"));
        }
        let (side, window) = (self.image_size / self.patch_size, self.merge);
        if !side.is_multiple_of(window) {
            return wrong("projector.window_side", format!("expected a divisor of {side} patches, found {window}"));
        }
        let queries = keys.required("projector.query_side", window)?;
        if !window.is_multiple_of(queries) {
            return wrong("projector.query_side", format!("expected a divisor of {window}, found {queries}"));
        }
        if self.tiled.is_empty() {
            return wrong("image_grid_pinpoints", "expected a size of tiles, found none".to_owned());
        }
        let offsets = offsets(keys, taken.len(), window / queries)?;
        let (deep_layers, query_heads) = (taken[1..].to_vec(), hidden / QUERY_HEAD);
        Ok(Self { taken, depth, deep_layers, offsets, query_heads, queries: queries * queries, ..self })
    }
}

/// `feature_layer` of Granite Vision: for each projector the layer whose rows it takes. And how many layers are run.
fn projected_layers(keys: &Keys, layers: usize) -> Result<(Vec<usize>, usize)> {
    let name = keys.name("feature_layer");
    let found = keys.metadata.i32s(&name)?.unwrap_or_default();
    if !(1..=MAX_DEEP_ROWS + 1).contains(&found.len()) {
        let most = MAX_DEEP_ROWS + 1;
        return Err(Error::bad_file(format!("metadata `{name}`: expected 1 to {most} layers, found {}", found.len())));
    }
    match found.iter().find(|&&layer| layer < 0 || layer as usize >= layers) {
        Some(wrong) => {
            Err(Error::bad_file(format!("metadata `{name}`: expected layers below {layers}, found {wrong}")))
        }
        None => {
            let taken: Vec<usize> = found.iter().map(|&layer| layer as usize).collect();
            let last = taken.iter().copied().max().unwrap_or(0);
            Ok((taken, last + 1))
        }
    }
}

/// `projector.spatial_offsets`: for each of the `count` projectors which of 2 × 2 patches a query begins with, or a
/// negative number for the mean of `side` × `side` patches.
fn offsets(keys: &Keys, count: usize, side: usize) -> Result<Vec<Option<usize>>> {
    let name = keys.name("projector.spatial_offsets");
    let found = keys.metadata.i32s(&name)?.unwrap_or_default();
    if found.len() != count {
        return Err(Error::bad_file(format!("metadata `{name}`: expected {count} numbers, found {}", found.len())));
    }
    let most = if side == 2 { 3 } else { -1 };
    match found.iter().find(|&&offset| offset > most) {
        Some(wrong) => Err(Error::bad_file(format!("metadata `{name}`: expected numbers up to {most}, found {wrong}"))),
        None => Ok(found.iter().map(|&offset| usize::try_from(offset).ok()).collect()),
    }
}

/// The sizes of `least` to `most` tiles of this side, the smallest first.
fn grids(least: usize, most: usize, side: usize) -> Vec<[usize; 2]> {
    let is_within = |[width, height]: &[usize; 2]| (least..=most).contains(&(width * height));
    let all = (1..=most).flat_map(|width| (1..=most / width).map(move |height| [width, height]));
    let mut all: Vec<[usize; 2]> = all.filter(is_within).collect();
    all.sort_by_key(|[width, height]| width * height);
    all.into_iter().map(|of| of.map(|count| count * side)).collect()
}

/// `image_grid_pinpoints`: sizes of whole tiles.
pub(super) fn tiled(keys: &Keys, projector: &Projector) -> Result<Vec<[usize; 2]>> {
    if !["granite4_vision", "mlp"].contains(&projector.name) {
        return Ok(Vec::new());
    }
    let tile = keys.required("image_size", MAX_SIDE)?;
    let name = keys.name("image_grid_pinpoints");
    let found = keys.metadata.i32s(&name)?.unwrap_or_default();
    let wrong = |found: String| {
        let expected = format!("expected sizes of up to {MAX_TILES} tiles of {tile} × {tile} pixels");
        Err(Error::bad_file(format!("metadata `{name}`: {expected}, found {found}")))
    };
    if !found.len().is_multiple_of(2) {
        return wrong(format!("{} numbers", found.len()));
    }
    let mut sizes = Vec::new();
    for pair in found.chunks_exact(2) {
        let [width, height] = [pair[0], pair[1]].map(|side| usize::try_from(side).unwrap_or(0));
        let [columns, lines] = [width, height].map(|side| side / tile);
        let is_whole = [width, height].iter().all(|side| (1..=MAX_SIDE).contains(side) && side.is_multiple_of(tile));
        if !is_whole || columns * lines > MAX_TILES {
            return wrong(format!("{} × {}", pair[0], pair[1]));
        }
        sizes.push([width, height]);
    }
    Ok(sizes)
}

/// The least and the most pixels of an image.
pub(super) fn pixels(keys: &Keys, projector: &Projector, side: usize) -> Result<[usize; 2]> {
    let bounds = [("image_min_pixels", 256), ("image_max_pixels", 16_384)];
    let [least, most] = bounds.map(|(key, rows)| match projector.name {
        "hunyuanvl" => Ok(keys.count(key, MAX_SIDE * MAX_SIDE)?.unwrap_or(rows * side * side)),
        _ => keys.required(key, MAX_SIDE * MAX_SIDE),
    });
    Ok([least?, most?])
}

/// Whether images are resized with a triangle, else with a spline.
pub(super) fn is_bilinear(keys: &Keys) -> Result<bool> {
    let name = keys.name("image_resize_algo");
    match keys.metadata.str(&name)? {
        Some("bilinear") => Ok(true),
        Some("bicubic") => Ok(false),
        found => Err(super::unsupported(format!("metadata `{name}`: expected bilinear or bicubic, found {found:?}"))),
    }
}

/// The queries of a resampler, of this shape. MiniCPM-V 2.5 has other texts around the slices of an image.
pub(super) fn queries(keys: &Keys, projector: &Projector, shape: &[u64]) -> Result<usize> {
    if projector.name != "resampler" {
        return Ok(0);
    }
    let (name, versions) = ("clip.minicpmv_version", [3, 4, 5, 6, 100_045]);
    let version = keys.metadata.u64(name)?.unwrap_or(2);
    if !versions.contains(&version) {
        let message = format!("metadata `{name}`: {versions:?} are supported, found {version}");
        return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
    }
    let (name, width) = (keys.name("projection_dim"), keys.required("projection_dim", MAX_HIDDEN)?);
    if !width.is_multiple_of(RESAMPLER_HEAD) {
        return Err(Error::bad_file(format!(
            "metadata `{name}`: expected a multiple of {RESAMPLER_HEAD}, found {width}"
        )));
    }
    match shape.get(1).copied().unwrap_or(1) {
        count if (1..=MAX_QUERIES).contains(&count) && !shape.is_empty() => Ok(count as usize),
        count => Err(Error::bad_file(format!(
            "tensor resampler.query: expected 1 to {MAX_QUERIES} queries, found {}",
            if shape.is_empty() { 0 } else { count }
        ))),
    }
}

/// The activation, from two keys; without them the quick GELU, but for Gemma 4, whose files do not have them.
pub(super) fn activation(keys: &Keys, projector: &Projector) -> Result<ActivationKind> {
    let is_set = |name: &str| Ok::<_, Error>(keys.metadata.bool(&format!("{CLIP}.{name}"))?.unwrap_or(false));
    match (is_set("use_gelu")?, is_set("use_silu")?) {
        (true, true) => Err(Error::bad_file("metadata `clip.use_gelu` and `clip.use_silu`: expected one, found both")),
        (true, false) => Ok(ActivationKind::Gelu),
        (false, true) => Ok(ActivationKind::Silu),
        (false, false) if projector.name == "gemma4v" => Ok(ActivationKind::Gelu),
        (false, false) => Ok(ActivationKind::QuickGelu),
    }
}

/// Output widths of the projector's matrices and of the kernels before the encoder's layers.
pub(super) fn projector_widths(tensors: &[TensorInfo]) -> Vec<(String, usize)> {
    let matrices = tensors.iter().filter(|tensor| tensor.name.ends_with(".weight") && tensor.dims.len() >= 2);
    let begins = [
        "mm.",
        "v.deepstack.",
        "a.conv1d.",
        "a.conv2d.",
        "a.pre_encode.",
        "v.vit_merger.",
        "a.enc_",
        "a.proj_",
        "v.proj_",
        "v.sam.",
    ];
    let own = matrices.filter(|tensor| begins.iter().any(|begin| tensor.name.starts_with(begin)));
    let width = |tensor: &TensorInfo| tensor.dims.last().copied().unwrap_or(0).min(MAX_FFN as u64) as usize;
    own.map(|tensor| (tensor.name.clone(), width(tensor))).collect()
}
