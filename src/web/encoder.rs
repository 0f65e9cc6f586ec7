//! The class behind the option `mmproj`: an encoder of images or sounds, whose rows enter the prompts of a model.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Float32Array, Function, Promise, Uint8Array};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::device_handle::DeviceHandle;
use super::errors::{from_value, to_js, to_value};
use super::load::load_encoder;
use super::one_at_a_time::OneAtATime;
use super::promise::promise;
use super::source::ByteSource;
use crate::Error;
use crate::model::{EncoderInput, Fold, Suggested, TableWidths};
use crate::runtime::{AnyEmbedder, SelfCheck};

/// Index that stands for a row of zeros among the taps of a fold.
const NOTHING: u32 = u32::MAX;

/// Tensors one of which an encoder of sounds has.
const HEARING: [&str; 2] = ["a.blk.0.ffn_up.weight", "mm.a.input_projection.weight"];

/// The encoder that JavaScript holds.
#[wasm_bindgen]
pub struct WasmEncoder {
    encoder: OneAtATime<AnyEmbedder>,
    stop: Rc<Cell<bool>>,
    /// Rows of a sound that goes on, as far as the caches hold what follows needs; `None` where a call ended early.
    heard: Rc<Cell<Option<usize>>>,
    /// Whether the next call goes on with it.
    goes_on: Cell<bool>,
}

/// Mirrors `EncoderInfo` in `js/wasm/webgguf.d.ts`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    projector: &'static str,
    /// Number of values of a row that the encoder gives, including those for deeper layers.
    width: usize,
    /// Number of parts of a row: one, and one for each of the deeper layers.
    parts: usize,
    /// Maximum number of rows of a pass.
    most_rows: usize,
    /// Whether a row stands between the lines of an image.
    has_breaks: bool,
    /// Whether this is an encoder of sounds.
    hears: bool,
    /// Whether the file has an encoder of sounds, too.
    hears_too: bool,
    /// Arguments for `Picture` or `Sound` of the module `media`, without those that the caller chooses.
    numbers: Vec<f64>,
    /// Which of several published models it is of, where the file says.
    variant: Option<String>,
    /// How the file suggests that codes of speech are chosen.
    sampling: Suggested,
    /// Name of the GPU; empty on the CPU.
    adapter: String,
    self_check: SelfCheck,
}

impl Info {
    fn of(model: &AnyEmbedder) -> Option<Self> {
        let config = model.config();
        let encoder = config.encoder.as_ref()?;
        let TableWidths { places: [place_taps, _], breaks, .. } = TableWidths::of(&crate::model::program(config));
        let name = encoder.projector.name;
        let takes_tiles = name.starts_with("minicpm") || ["internvl", "resampler"].contains(&name);
        let sizes = [
            encoder.image_size,
            encoder.patch_size,
            encoder.merge,
            if takes_tiles { encoder.tiles[1] } else { encoder.longest_edge }.unwrap_or(0),
            encoder.places,
            place_taps,
            config.head_dim,
        ];
        let numbers = sizes.iter().map(|&n| n as f64);
        let hears = encoder.bins > 0;
        let channels = encoder.mean.iter().chain(&encoder.deviation).map(|&of| f64::from(of));
        let last = if encoder.kernels[0] > 0 { encoder.kernels[0] } else { config.hidden };
        let of_sounds = [encoder.bins, encoder.merge, last, config.head_dim, config.layers, encoder.queries];
        let [least, most] = encoder.pixels;
        let resizing = [least, most, encoder.is_bilinear.into(), encoder.queries, encoder.width];
        let tiled = encoder.tiled.iter().flatten().copied();
        let images = numbers.chain(channels).chain(resizing.into_iter().chain(tiled).map(|n| n as f64));
        let (adapter, self_check) = match model {
            AnyEmbedder::Gpu(encoder) => {
                let model = encoder.model();
                (model.device().adapter.name.clone(), model.self_check().clone())
            }
            AnyEmbedder::Cpu(_) => Default::default(),
        };
        Some(Self {
            projector: encoder.projector.name,
            width: encoder.row_width(),
            parts: 1 + encoder.deep_layers.len(),
            most_rows: model.context_length(),
            has_breaks: breaks > 0 && encoder.projector.name == "pixtral",
            hears,
            hears_too: !hears && HEARING.iter().any(|name| config.has_tensor(name)),
            // One of several programs: values of a row of the text model, a latent, a frame, a head; layers; queries.
            numbers: if hears { of_sounds.map(|n| n as f64).into() } else { images.collect() },
            variant: encoder.variant.clone(),
            sampling: encoder.sampling.clone(),
            adapter,
            self_check,
        })
    }
}

#[wasm_bindgen]
impl WasmEncoder {
    /// Loads an encoder; `js/wasm/webgguf.d.ts` describes the arguments.
    pub fn load(
        sources: Vec<ByteSource>,
        options: JsValue,
        on_progress: Function,
        device: Option<DeviceHandle>,
    ) -> Promise {
        promise(async move {
            let options = from_value(options, "options")?;
            let encoder = load_encoder(sources, options, on_progress, device).await?;
            Ok(Self {
                encoder: OneAtATime::new(encoder),
                stop: Rc::default(),
                heard: Rc::default(),
                goes_on: Cell::default(),
            })
        })
    }

    /// Properties of the encoder.
    pub fn info(&self) -> Result<JsValue, JsValue> {
        to_value(&Info::of(&*self.encoder.take().ok_or_else(busy)?))
    }

    /// Fills `values` with the rows of an image or a tile, `[parts, outputs, width / parts]`; `false` where the call
    /// was cancelled. The caller allocates it, because an allocation that fails here would be an exception inside
    /// WebAssembly.
    #[allow(clippy::too_many_arguments, reason = "arrays cross to JavaScript one by one")]
    pub fn encode(
        &self,
        counts: &[u32],
        patches: Vec<f32>,
        place_rows: Vec<u32>,
        place_weights: &[f32],
        group_rows: Vec<u32>,
        group_weights: &[f32],
        turns: Vec<f32>,
        parts: Vec<u32>,
        breaks: Vec<f32>,
        folds: &[u32],
        values: Float32Array,
    ) -> Promise {
        let bits = |weights: &[f32]| weights.iter().map(|weight| weight.to_bits()).collect();
        let count = |at: usize| counts.get(at).map_or(0, |&count| count as usize);
        let input = EncoderInput {
            rows: count(0),
            outputs: count(1),
            patches,
            places: [place_rows, bits(place_weights)],
            groups: [group_rows, bits(group_weights)],
            turns,
            parts,
            breaks,
            folds: folds_of(counts, folds),
            ..EncoderInput::default()
        };
        let (encoder, stop, heard) = (self.encoder.clone(), self.stop.clone(), self.heard.clone());
        let position = begins_at(heard.take(), self.goes_on.take());
        stop.set(false);
        promise(async move {
            let mut encoder = encoder.take().ok_or_else(busy)?;
            let bytes = Uint8Array::new_with_byte_offset_and_length(
                &values.buffer(),
                values.byte_offset(),
                values.byte_length(),
            );
            let mut filled = 0;
            let mut fill = |piece: &[u8]| {
                bytes.subarray(filled, filled + piece.len() as u32).copy_from(piece);
                filled += piece.len() as u32;
            };
            let program = crate::model::program(encoder.config());
            let input = EncoderInput { position: position?, ..input }.with_later(&program).with_cells(&program);
            let is_done = encoder.encode(&input, &stop, &mut fill).await.map_err(to_js)?;
            heard.set(is_done.then_some(input.position + input.rows));
            Ok(is_done)
        })
    }

    /// Lets the next `encode` go on with the sound of the last one, for an encoder of sounds that arrive.
    #[wasm_bindgen(js_name = goOn)]
    pub fn go_on(&self) {
        self.goes_on.set(true);
    }

    /// Makes a running `encode` end soon.
    pub fn cancel(&self) {
        self.stop.set(true);
    }
}

/// The folds of an input. After rows and outputs, `counts` has for each fold the number of rows before it, and how many
/// of `rows` are its taps.
fn folds_of(counts: &[u32], mut rows: &[u32]) -> Vec<Fold> {
    let fold = |pair: &[u32]| {
        let (own, others) = rows.split_at((pair[1] as usize).min(rows.len()));
        rows = others;
        let weights = own.iter().map(|&row| if row == NOTHING { 0 } else { 1_f32.to_bits() }).collect();
        Fold { rows: pair[0] as usize, taps: [own.to_vec(), weights] }
    };
    counts.get(2..).unwrap_or_default().chunks_exact(2).map(fold).collect()
}

/// The position of the rows of a call, where the caches have `heard` rows of a sound.
fn begins_at(heard: Option<usize>, goes_on: bool) -> Result<usize, JsValue> {
    match (goes_on, heard) {
        (false, _) => Ok(0),
        (true, Some(position)) => Ok(position),
        (true, None) => Err(to_js(Error::invalid_argument("the sound does not go on here"))),
    }
}

fn busy() -> JsValue {
    to_js(Error::invalid_argument("the encoder is busy with another image: await that first"))
}
