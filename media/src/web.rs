//! The classes for JavaScript, which `js/media/webgguf_media.d.ts` declares. Errors are strings.

use js_sys::{Array, Float32Array, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::arriving::Arriving;
use crate::mel::{Mel, Spectrogram};
use crate::plan::{Encoder, Tile, Tiles};
use crate::rate::Resampler;
use crate::sizes::Size;
use crate::sound::{Listener, Piece};
use crate::steps::Steps;
use crate::tables::Taps;
use crate::wave;

/// An image that is prepared for an encoder.
#[wasm_bindgen]
pub struct Picture {
    encoder: Encoder,
    size: Size,
    /// The work in progress, until the tiles are ready.
    work: Option<Steps<Result<Tiles, String>>>,
    tiles: Tiles,
    tile: Tile,
    /// Whether tiles lie on one canvas, as MiniCPM-V 4.7 has them.
    has_canvas: bool,
}

#[wasm_bindgen]
impl Picture {
    /// Pixels `[height, width, 4]` for an encoder. `numbers`: the fields of [`Encoder`] from `image_size` on.
    #[wasm_bindgen(constructor)]
    pub fn new(projector: &str, numbers: &[f64], width: u32, height: u32, rgba: Vec<u8>) -> Self {
        let whole = |at: usize| numbers.get(at).map_or(0, |&n| n as usize);
        let channels = |at: usize| [0, 1, 2].map(|channel| numbers.get(at + channel).map_or(1.0, |&n| n as f32));
        let last = numbers.len().saturating_sub(3);
        let tiled = numbers.get(18..last).unwrap_or_default().chunks_exact(2);
        let has_canvas = projector == "minicpmv4_7";
        let encoder = Encoder {
            projector: if has_canvas { "minicpmv4_6" } else { projector }.to_owned(),
            image_size: whole(0),
            patch_size: whole(1).max(1),
            merge: whole(2).max(1),
            longest_edge: whole(3),
            places: whole(4),
            place_taps: whole(5),
            head_dim: whole(6),
            mean: channels(7),
            deviation: channels(10),
            pixels: [whole(13), whole(14)],
            is_bilinear: whole(15) != 0,
            queries: whole(16),
            width: whole(17),
            tiled: tiled.map(|pair| Size { width: pair[0] as usize, height: pair[1] as usize }).collect(),
            most_tokens: whole(last),
            stretches: whole(last + 1) != 0,
            has_breaks: whole(last + 2) != 0,
        };
        let own = encoder.clone();
        let size = Size { width: width as usize, height: height as usize };
        let work = Steps::new(async move { own.prepare([width, height], rgba).await });
        Self { encoder, size, work: Some(work), tiles: Tiles::default(), tile: Tile::default(), has_canvas }
    }

    /// Runs one step. Once it returns true, the tiles are ready, which the methods below need.
    pub fn step(&mut self) -> Result<bool, JsValue> {
        if let Some(tiles) = self.work.as_mut().and_then(Steps::step) {
            self.work = None;
            self.tiles = tiles.map_err(JsValue::from)?;
        }
        Ok(self.work.is_none())
    }

    /// Returns columns and rows of tiles, 1 if an overview follows them, and the number of tiles with the overview.
    pub fn grid(&self) -> Vec<u32> {
        let [columns, rows] = self.tiles.grid.map(|n| n as u32);
        vec![columns, rows, self.tiles.has_overview.into(), self.tiles.images.len() as u32]
    }

    /// The number of prompt rows of the image, known before the first step.
    pub fn outputs(&self) -> Result<usize, JsValue> {
        self.encoder.rows(self.size).map_err(JsValue::from)
    }

    /// Selects a tile for the methods below. Returns the number of rows of the layers, columns and number of output
    /// rows, the tile's place on the canvas, see [`Encoder::canvas`], then (rows, taps) of each fold.
    pub fn select(&mut self, number: usize) -> Result<Vec<u32>, JsValue> {
        let image = self.tiles.images.get(number).ok_or_else(|| JsValue::from("no such tile"))?;
        self.tile = self.encoder.tile(image).map_err(JsValue::from)?;
        let [columns, rows] = self.tile.outputs;
        let (columns, canvas) = if self.has_canvas { self.encoder.canvas(&self.tiles, number) } else { (columns, 0) };
        let folds = self.tile.folds.iter().flat_map(|fold| [fold.rows, fold.taps.len()]);
        Ok([self.tile.rows, columns, rows, canvas].into_iter().chain(folds).map(|n| n as u32).collect())
    }

    /// The taps of all [`Tile::folds`].
    pub fn folds(&self) -> Vec<u32> {
        self.tile.folds.iter().flat_map(|fold| &fold.taps).copied().collect()
    }

    /// See [`Encoder::order`]; empty where rows stand in a prompt as tiles give them. `whole`: of the overview alone.
    pub fn order(&self, whole: bool) -> Vec<u32> {
        match self.encoder.is_assembled() {
            true => self.encoder.order((!whole).then_some((self.size, self.tiles.grid))),
            false => Vec::new(),
        }
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

/// Resamples a sound to 16 kHz, piece by piece.
#[wasm_bindgen]
pub struct Samples {
    resampler: Resampler,
    /// The sample format, for the bytes of a file.
    header: Option<wave::Header>,
}

#[wasm_bindgen]
impl Samples {
    /// A sound of `count` samples, see [`Resampler::new`].
    #[wasm_bindgen(constructor)]
    pub fn new(rate: f64, count: usize) -> Result<Self, JsValue> {
        Ok(Self { resampler: Resampler::new(rate as u32, count)?, header: None })
    }

    /// A RIFF WAVE file with `bytes` bytes of samples and this chunk `fmt `; `undefined` if samples are compressed.
    #[wasm_bindgen(js_name = ofWave)]
    pub fn of_wave(header: &[u8], bytes: usize) -> Result<Option<Self>, JsValue> {
        let Some(header) = wave::Header::of(header) else { return Ok(None) };
        let resampler = Resampler::new(header.rate, bytes / header.moment())?;
        Ok(Some(Self { resampler, header: Some(header) }))
    }

    /// Takes the next samples; an empty array finishes the sound.
    pub fn push(&mut self, samples: &[f32]) -> Result<Vec<f32>, JsValue> {
        match samples.is_empty() {
            true => Ok(self.resampler.finish()),
            false => self.resampler.push(samples).map_err(JsValue::from),
        }
    }

    /// Takes the next bytes of a file, which are whole sample frames.
    #[wasm_bindgen(js_name = pushBytes)]
    pub fn push_bytes(&mut self, bytes: &[u8]) -> Result<Vec<f32>, JsValue> {
        let samples = self.header.map_or_else(Vec::new, |header| header.read(bytes));
        self.push(&samples)
    }
}

/// A sound that is prepared for an encoder.
#[wasm_bindgen]
pub struct Sound {
    listener: Listener,
    /// The samples so far, until `work` starts.
    samples: Vec<f32>,
    count: usize,
    /// The spectrogram in progress, and whether all frames are computed.
    work: Option<(Spectrogram, bool)>,
    mel: Mel,
    piece: Piece,
}

#[wasm_bindgen]
impl Sound {
    /// A sound of `count` samples at 16 kHz for an encoder. `numbers`: the fields of [`Listener`] from `bins` on,
    /// with two others before the last one.
    #[wasm_bindgen(constructor)]
    pub fn new(projector: &str, numbers: &[f64], count: usize) -> Self {
        let whole = |at: usize| numbers.get(at).map_or(1, |&n| n as usize).max(1);
        let [bins, merge, hidden, queries] = [0, 1, 2, 5].map(whole);
        let listener = Listener { projector: projector.to_owned(), bins, merge, hidden, queries };
        Self { listener, samples: Vec::new(), count, work: None, mel: Mel::default(), piece: Piece::default() }
    }

    /// Appends samples.
    pub fn push(&mut self, samples: &[f32]) {
        self.samples.reserve(self.count.saturating_sub(self.samples.len()));
        self.samples.extend_from_slice(samples);
    }

    /// Runs one step, after all samples were pushed. Once it returns true, the spectrogram is ready for
    /// [`Self::select`].
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

    /// The number of prompt rows of the sound.
    pub fn outputs(&self) -> usize {
        self.listener.outputs(self.count)
    }

    /// The number of pieces.
    pub fn count(&self) -> usize {
        self.listener.pieces(self.count)
    }

    /// Selects a piece for the methods below. Returns the rows of the layers, the output rows, then (rows, taps) of
    /// each fold.
    pub fn select(&mut self, number: usize) -> Vec<u32> {
        self.piece = self.listener.piece(&self.mel, number);
        self.piece.counts()
    }

    /// See [`Piece::patches`]: a view of this module's memory.
    pub fn patches(&self) -> Float32Array {
        view(&self.piece.patches)
    }

    /// See [`tables`], with [`Piece::turns`], [`Piece::breaks`] and the taps of all [`Piece::folds`].
    pub fn tables(&self) -> Array {
        self.piece.tables()
    }
}

/// A sound that arrives.
#[wasm_bindgen]
pub struct ArrivingSound {
    sound: Arriving,
    piece: Piece,
}

#[wasm_bindgen]
impl ArrivingSound {
    /// Begins a sound at 16 kHz for an encoder with the numbers of [`Sound::new`].
    #[wasm_bindgen(constructor)]
    pub fn new(numbers: &[f64]) -> Self {
        let [bins, merge] = [0, 1].map(|at| numbers.get(at).map_or(1, |&n| n as usize).max(1));
        Self { sound: Arriving::new(bins, merge), piece: Piece::default() }
    }

    /// Takes the next samples. Returns how many prompt rows have arrived and were not taken.
    pub fn push(&mut self, samples: &[f32]) -> usize {
        self.sound.push(samples);
        self.sound.outputs()
    }

    /// Takes rows that have arrived, `most` at most, for the methods below; as [`Sound::select`].
    pub fn take(&mut self, most: usize) -> Vec<u32> {
        self.piece = self.sound.take(most);
        self.piece.counts()
    }

    /// See [`Sound::patches`].
    pub fn patches(&self) -> Float32Array {
        view(&self.piece.patches)
    }

    /// See [`Sound::tables`].
    pub fn tables(&self) -> Array {
        self.piece.tables()
    }
}

impl Piece {
    fn counts(&self) -> Vec<u32> {
        let folds = self.folds.iter().flat_map(|fold| [fold.rows, fold.taps.len()]);
        [self.rows, self.outputs].into_iter().chain(folds).map(|n| n as u32).collect()
    }

    fn tables(&self) -> Array {
        let Self { places, groups, turns, breaks, folds, .. } = self;
        let taps: Vec<u32> = folds.iter().flat_map(|fold| &fold.taps).copied().collect();
        tables([places, groups], [turns, breaks], &taps)
    }
}

/// An array of the indices and weights of taps, then values, then integers.
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

/// A view of the values in this module's memory. JavaScript copies them before it calls the module again, which may
/// grow its memory.
fn view(values: &[f32]) -> Float32Array {
    // SAFETY: no value is written and nothing is allocated here before the copy.
    unsafe { Float32Array::view(values) }
}
