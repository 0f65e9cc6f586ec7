//! The classes that JavaScript sees; `js/media/webgguf_media.d.ts` declares them. Errors are strings.

use js_sys::Float32Array;
use wasm_bindgen::prelude::*;

use crate::image::check_size;
use crate::mel::Mel;
use crate::plan::{Encoder, Tile, Tiles};
use crate::rate::at_16_khz;
use crate::sound::{Listener, Piece};
use crate::steps::Steps;
use crate::wave;

/// See [`check_size`].
#[wasm_bindgen(js_name = checkSize)]
pub fn check(width: f64, height: f64) -> Result<(), JsValue> {
    check_size(width as u32, height as u32).map_err(JsValue::from)
}

/// An image on its way to an encoder.
#[wasm_bindgen]
pub struct Picture {
    encoder: Encoder,
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
        let work = Steps::new(async move { own.prepare([width, height], rgba).await });
        Self { encoder, work: Some(work), tiles: Tiles::default(), tile: Tile::default() }
    }

    /// Does a part of the work. Once it returns true, the image is resized and cut, as all other methods need it.
    pub fn step(&mut self) -> Result<bool, JsValue> {
        if let Some(tiles) = self.work.as_mut().and_then(Steps::step) {
            self.work = None;
            self.tiles = tiles.map_err(JsValue::from)?;
        }
        Ok(self.work.is_none())
    }

    /// How many tiles there are, an overview included.
    pub fn count(&self) -> usize {
        self.tiles.images.len()
    }

    /// Columns and rows of tiles, and 1 where an overview follows them.
    pub fn grid(&self) -> Vec<u32> {
        let [columns, rows] = self.tiles.grid.map(|n| n as u32);
        vec![columns, rows, self.tiles.has_overview.into()]
    }

    /// How many rows of a prompt become of the image.
    pub fn outputs(&self) -> usize {
        self.tiles.images.iter().map(|image| self.encoder.outputs(image.size)).sum()
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

    /// See [`Tile::turns`].
    pub fn turns(&self) -> Vec<f32> {
        self.tile.turns.clone()
    }

    /// See [`Tile::breaks`].
    pub fn breaks(&self) -> Vec<f32> {
        self.tile.breaks.clone()
    }

    /// See [`Tile::parts`].
    pub fn parts(&self) -> Vec<u32> {
        self.tile.parts.clone()
    }

    /// See [`Tile::places`].
    #[wasm_bindgen(js_name = placeRows)]
    pub fn place_rows(&self) -> Vec<u32> {
        self.tile.places.indices.clone()
    }

    /// See [`Tile::places`].
    #[wasm_bindgen(js_name = placeWeights)]
    pub fn place_weights(&self) -> Vec<f32> {
        self.tile.places.weights.clone()
    }

    /// See [`Tile::groups`].
    #[wasm_bindgen(js_name = groupRows)]
    pub fn group_rows(&self) -> Vec<u32> {
        self.tile.groups.indices.clone()
    }

    /// See [`Tile::groups`].
    #[wasm_bindgen(js_name = groupWeights)]
    pub fn group_weights(&self) -> Vec<f32> {
        self.tile.groups.weights.clone()
    }
}

/// The samples at 16 kHz. See [`at_16_khz`].
#[wasm_bindgen]
pub fn resample(samples: &[f32], rate: f64) -> Result<Vec<f32>, JsValue> {
    at_16_khz(samples, rate as u32).map_err(JsValue::from)
}

/// The samples of a RIFF WAVE file at 16 kHz; `undefined` where it is none that is read here.
#[wasm_bindgen(js_name = readWave)]
pub fn read_wave(bytes: &[u8]) -> Result<Option<Vec<f32>>, JsValue> {
    let found = wave::read(bytes).map(|wave| at_16_khz(&wave.samples, wave.rate));
    found.transpose().map_err(JsValue::from)
}

/// A sound on its way to an encoder.
#[wasm_bindgen]
pub struct Sound {
    listener: Listener,
    mel: Mel,
    samples: usize,
    piece: Piece,
}

#[wasm_bindgen]
impl Sound {
    /// Samples at 16 kHz for an encoder. `numbers`: the fields of [`Listener`] from `bins` on.
    #[wasm_bindgen(constructor)]
    pub fn new(projector: &str, numbers: &[f64], samples: &[f32]) -> Result<Self, JsValue> {
        let whole = |at: usize| numbers.get(at).map_or(1, |&n| n as usize).max(1);
        let listener = Listener { projector: projector.to_owned(), bins: whole(0), merge: whole(1), hidden: whole(2) };
        let mel = listener.mel(samples).map_err(JsValue::from)?;
        Ok(Self { listener, mel, samples: samples.len(), piece: Piece::default() })
    }

    /// How many rows of a prompt become of it.
    pub fn outputs(&self) -> usize {
        self.listener.outputs(self.samples)
    }

    /// How many pieces there are.
    pub fn count(&self) -> usize {
        self.listener.pieces(self.samples)
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

    /// Taps of all folds, see [`Piece::folds`].
    pub fn fold(&self) -> Vec<u32> {
        self.piece.folds.iter().flat_map(|fold| fold.taps.iter().copied()).collect()
    }

    /// See [`Piece::turns`].
    pub fn turns(&self) -> Vec<f32> {
        self.piece.turns.clone()
    }

    /// See [`Piece::places`].
    #[wasm_bindgen(js_name = placeRows)]
    pub fn place_rows(&self) -> Vec<u32> {
        self.piece.places.indices.clone()
    }

    /// See [`Piece::places`].
    #[wasm_bindgen(js_name = placeWeights)]
    pub fn place_weights(&self) -> Vec<f32> {
        self.piece.places.weights.clone()
    }

    /// See [`Piece::groups`].
    #[wasm_bindgen(js_name = groupRows)]
    pub fn group_rows(&self) -> Vec<u32> {
        self.piece.groups.indices.clone()
    }

    /// See [`Piece::groups`].
    #[wasm_bindgen(js_name = groupWeights)]
    pub fn group_weights(&self) -> Vec<f32> {
        self.piece.groups.weights.clone()
    }
}

/// The values where they lie. JavaScript copies them before it calls this module again, which may move its memory.
fn view(values: &[f32]) -> Float32Array {
    // SAFETY: no value is written and nothing is allocated here before the copy.
    unsafe { Float32Array::view(values) }
}
