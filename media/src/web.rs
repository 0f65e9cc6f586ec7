//! The classes that JavaScript sees; `js/media/webgguf_media.d.ts` declares them. Errors are strings.

use js_sys::{Array, Float32Array, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::mel::{Mel, Spectrogram};
use crate::plan::{Encoder, Tile, Tiles};
use crate::rate::Resampler;
use crate::sizes::Size;
use crate::sound::{Listener, Piece};
use crate::steps::Steps;
use crate::tables::Taps;
use crate::wave;

/// An image on its way to an encoder.
#[wasm_bindgen]
pub struct Picture {
    encoder: Encoder,
    size: Size,
    /// What makes the tiles, until they are there.
    work: Option<Steps<Result<Tiles, String>>>,
    tiles: Tiles,
    tile: Tile,
}

#[wasm_bindgen]
impl Picture {
    /// Pixels `[height, width, 4]` for an encoder. `numbers`: the fields of [`Encoder`] from `image_size` on.
    #[wasm_bindgen(constructor)]
    pub fn new(projector: &str, numbers: &[f64], width: u32, height: u32, rgba: Vec<u8>) -> Self {
        let whole = |at: usize| numbers.get(at).map_or(0, |&n| n as usize);
        let channels = |at: usize| [0, 1, 2].map(|channel| numbers.get(at + channel).map_or(1.0, |&n| n as f32));
        let encoder = Encoder {
            projector: projector.to_owned(),
            image_size: whole(0),
            patch_size: whole(1).max(1),
            merge: whole(2).max(1),
            longest_edge: whole(3),
            places: whole(4),
            place_taps: whole(5),
            head_dim: whole(6),
            mean: channels(7),
            deviation: channels(10),
            most_tokens: whole(13),
            stretches: whole(14) != 0,
            has_breaks: whole(15) != 0,
        };
        let own = encoder.clone();
        let size = Size { width: width as usize, height: height as usize };
        let work = Steps::new(async move { own.prepare([width, height], rgba).await });
        Self { encoder, size, work: Some(work), tiles: Tiles::default(), tile: Tile::default() }
    }

    /// Does a part of the work. Once it returns true, the image is resized and cut, as all other methods need it.
    pub fn step(&mut self) -> Result<bool, JsValue> {
        if let Some(tiles) = self.work.as_mut().and_then(Steps::step) {
            self.work = None;
            self.tiles = tiles.map_err(JsValue::from)?;
        }
        Ok(self.work.is_none())
    }

    /// Columns and rows of tiles, 1 where an overview follows them, and how many tiles there are, the overview
    /// included.
    pub fn grid(&self) -> Vec<u32> {
        let [columns, rows] = self.tiles.grid.map(|n| n as u32);
        vec![columns, rows, self.tiles.has_overview.into(), self.tiles.images.len() as u32]
    }

    /// How many rows of a prompt become of the image, before the first step.
    pub fn outputs(&self) -> Result<usize, JsValue> {
        self.encoder.rows(self.size).map_err(JsValue::from)
    }

    /// Makes a tile the one that the other methods tell of: its patches, and columns and rows that become of it.
    pub fn select(&mut self, number: usize) -> Result<Vec<u32>, JsValue> {
        let image = self.tiles.images.get(number).ok_or_else(|| JsValue::from("no such tile"))?;
        self.tile = self.encoder.tile(image).map_err(JsValue::from)?;
        let [columns, rows] = self.tile.outputs;
        Ok([self.tile.rows, columns, rows].map(|n| n as u32).into())
    }

    /// See [`Tile::patches`]: a view of this module's memory.
    pub fn patches(&self) -> Float32Array {
        view(&self.tile.patches)
    }

    /// See [`tables`], with [`Tile::turns`], [`Tile::parts`] and [`Tile::breaks`].
    pub fn tables(&self) -> Array {
        let Tile { places, groups, turns, parts, breaks, .. } = &self.tile;
        tables([places, groups], [turns, breaks], parts)
    }
}

/// The samples of a sound at 16 kHz, piece by piece.
#[wasm_bindgen]
pub struct Samples {
    resampler: Resampler,
    /// Of a file.
    header: Option<wave::Header>,
}

#[wasm_bindgen]
impl Samples {
    /// Of `count` samples, see [`Resampler::new`].
    #[wasm_bindgen(constructor)]
    pub fn new(rate: f64, count: usize) -> Result<Self, JsValue> {
        Ok(Self { resampler: Resampler::new(rate as u32, count)?, header: None })
    }

    /// Of a RIFF WAVE file with so many bytes of samples, given its part `fmt `; `undefined` where these are packed.
    #[wasm_bindgen(js_name = ofWave)]
    pub fn of_wave(header: &[u8], bytes: usize) -> Result<Option<Self>, JsValue> {
        let Some(header) = wave::Header::of(header) else { return Ok(None) };
        let resampler = Resampler::new(header.rate, bytes / header.moment())?;
        Ok(Some(Self { resampler, header: Some(header) }))
    }

    /// The next samples; none after the last ones.
    pub fn push(&mut self, samples: &[f32]) -> Result<Vec<f32>, JsValue> {
        match samples.is_empty() {
            true => Ok(self.resampler.finish()),
            false => self.resampler.push(samples).map_err(JsValue::from),
        }
    }

    /// The next whole moments of a file.
    #[wasm_bindgen(js_name = pushBytes)]
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<Vec<f32>, JsValue> {
        let samples = self.header.map_or_else(Vec::new, |header| header.read(bytes));
        self.push(&samples)
    }
}

/// A sound on its way to an encoder.
#[wasm_bindgen]
pub struct Sound {
    listener: Listener,
    /// What has come of the samples, until there is work.
    samples: Vec<f32>,
    count: usize,
    /// What makes the spectrogram, until it is there, and whether all frames are.
    work: Option<(Spectrogram, bool)>,
    mel: Mel,
    piece: Piece,
}

#[wasm_bindgen]
impl Sound {
    /// Of `count` samples at 16 kHz, for an encoder. `numbers`: the fields of [`Listener`] from `bins` on.
    #[wasm_bindgen(constructor)]
    pub fn new(projector: &str, numbers: &[f64], count: usize) -> Self {
        let whole = |at: usize| numbers.get(at).map_or(1, |&n| n as usize).max(1);
        let listener = Listener { projector: projector.to_owned(), bins: whole(0), merge: whole(1), hidden: whole(2) };
        Self { listener, samples: Vec::new(), count, work: None, mel: Mel::default(), piece: Piece::default() }
    }

    /// The next samples.
    pub fn push(&mut self, samples: &[f32]) {
        self.samples.reserve(self.count.saturating_sub(self.samples.len()));
        self.samples.extend_from_slice(samples);
    }

    /// Does a part of the work on all samples. Once it returns true, there is a spectrogram, as [`Self::select`] needs.
    pub fn step(&mut self) -> Result<bool, JsValue> {
        let Some((work, is_whole)) = &mut self.work else {
            self.work = self.listener.begin(&mut self.samples)?.map(|work| (work, false));
            if self.work.is_none() {
                let values = std::mem::take(&mut self.samples);
                self.mel = Mel { bins: self.listener.bins, values, silence: 0.0 };
            }
            return Ok(self.work.is_none());
        };
        if !*is_whole {
            *is_whole = !work.step();
            return Ok(false);
        }
        let Some(mel) = work.scale() else { return Ok(false) };
        (self.mel, self.work) = (mel, None);
        Ok(true)
    }

    /// How many rows of a prompt become of it.
    pub fn outputs(&self) -> usize {
        self.listener.outputs(self.count)
    }

    /// How many pieces there are.
    pub fn count(&self) -> usize {
        self.listener.pieces(self.count)
    }

    /// Makes a piece the one that the other methods tell of: rows of the layers, rows that become of them, and of each
    /// fold rows and taps.
    pub fn select(&mut self, number: usize) -> Vec<u32> {
        self.piece = self.listener.piece(&self.mel, number);
        let folds = self.piece.folds.iter().flat_map(|fold| [fold.rows, fold.taps.len()]);
        [self.piece.rows, self.piece.outputs].into_iter().chain(folds).map(|n| n as u32).collect()
    }

    /// See [`Piece::patches`]: a view of this module's memory.
    pub fn patches(&self) -> Float32Array {
        view(&self.piece.patches)
    }

    /// See [`tables`], with [`Piece::turns`] and the taps of all [`Piece::folds`].
    pub fn tables(&self) -> Array {
        let Piece { places, groups, turns, folds, .. } = &self.piece;
        let taps: Vec<u32> = folds.iter().flat_map(|fold| &fold.taps).copied().collect();
        tables([places, groups], [turns, &[]], &taps)
    }
}

/// Indices and weights of each of some taps, then values, then whole numbers.
fn tables(taps: [&Taps; 2], values: [&[f32]; 2], numbers: &[u32]) -> Array {
    let all = Array::new();
    for Taps { indices, weights } in taps {
        all.push(&Uint32Array::from(indices.as_slice()));
        all.push(&Float32Array::from(weights.as_slice()));
    }
    for values in values {
        all.push(&Float32Array::from(values));
    }
    all.push(&Uint32Array::from(numbers));
    all
}

/// The values where they lie. JavaScript copies them before it calls this module again, which may move its memory.
fn view(values: &[f32]) -> Float32Array {
    // SAFETY: no value is written and nothing is allocated here before the copy.
    unsafe { Float32Array::view(values) }
}
