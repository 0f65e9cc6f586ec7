//! What files say of images in lists, and in keys that not all projectors have.

use super::encoder::{EncoderConfig, MAX_SIDE, MAX_WINDOW, Projector};
use super::numbers::undivided;
use super::{Keys, MAX_HEADS, MAX_HIDDEN};
use crate::error::{Error, ErrorCode, Result};

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

/// `image_grid_pinpoints`: sizes of whole tiles.
pub(super) fn tiled(keys: &Keys, projector: &Projector) -> Result<Vec<[usize; 2]>> {
    if projector.name != "mlp" {
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
