//! An encoder of a sound that arrives: whatever the pieces, its rows are the same as of all of it at once, on the CPU
//! and with the feature `gpu-tests` on a GPU; and what it keeps does not grow.
#![cfg(not(target_arch = "wasm32"))]

mod common {
    #[cfg(feature = "gpu-tests")]
    pub mod device;
    #[allow(dead_code, reason = "each test uses its part")]
    pub mod in_memory;
}

use std::cell::Cell;

use common::in_memory::cpu_model;
use webgguf::cpu::{CacheFormat, CpuModel, Input};
use webgguf::model::{EncoderInput, Fold};

const FILE: &[u8] = include_bytes!("fixtures/encoders/voxtral_rt.gguf");
/// Rows that are merged into one, values of a frame, and rows that a row sees.
const MERGE: usize = 4;
const BINS: usize = 27;
const WINDOW: usize = 9;
/// Rows of all of the sound.
const ROWS: usize = 1320;
const NOTHING: u32 = u32::MAX;

/// The input of `rows` rows behind `position` others.
fn piece(position: usize, rows: usize) -> EncoderInput {
    let again = usize::from(position > 0);
    let frame = |at: usize, bin: usize| (((at * 31 + bin * 7) % 101) as f32 / 50.0 - 1.0) * (at as f32 / 90.0).sin();
    let before = |at: usize, back: usize, bin: usize| at.checked_sub(back).map_or(0.0, |at| frame(at, bin));
    let frames = 2 * position - again..2 * (position + rows);
    let patches = frames.flat_map(|at| (0..BINS).flat_map(move |bin| [2, 1, 0].map(|back| before(at, back, bin))));
    let taps = |row: usize| [2 * row + again, 2 * row + again + 1, 2 * row + again + 2];
    let taps: Vec<u32> =
        (0..rows).flat_map(taps).map(|tap| tap.checked_sub(1).map_or(NOTHING, |tap| tap as u32)).collect();
    let weights = taps.iter().map(|&tap| if tap == NOTHING { 0 } else { 1_f32.to_bits() }).collect();
    EncoderInput {
        position,
        rows,
        outputs: rows / MERGE,
        patches: patches.collect(),
        groups: [(0..rows as u32).collect(), vec![1_f32.to_bits(); rows]],
        folds: vec![Fold { rows: 2 * rows + again, taps: [taps, weights] }],
        ..EncoderInput::default()
    }
}

/// Sizes of pieces in turn, and how many rows they come to.
fn sizes(of: &[usize]) -> Vec<[usize; 2]> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < ROWS {
        let rows = of[found.len() % of.len()].min(ROWS - at);
        found.push([at, rows]);
        at += rows;
    }
    found
}

const SIZES: [&[usize]; 4] = [&[512], &[4], &[4, 8, 4, 12, 160], &[20, 300]];

fn run(model: &mut CpuModel, input: &EncoderInput) -> webgguf::Result<Vec<f32>> {
    Ok(pollster::block_on(model.embed(Input::Image(input), async || {}, &|| false))?.expect("which nobody stopped"))
}

fn on_cpu(of: &[usize], format: CacheFormat) -> Vec<f32> {
    let mut model = cpu_model(FILE, 512, format);
    let rows = sizes(of).into_iter().flat_map(|[at, rows]| {
        let found = run(&mut model, &piece(at, rows)).expect("rows");
        let [kept, row] = [model.rows(0, 0).len(), model.row_bytes()[0]];
        assert!(kept <= (WINDOW + 256 + 512) * row, "{} rows are kept", kept / row);
        found
    });
    rows.collect()
}

fn near(found: &[f32], expected: &[f32], most: f32) {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
    let apart = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    let apart = apart.fold(0.0, f32::max) / largest;
    assert!(apart <= most, "rows differ by {apart}");
}

#[test]
fn rows_of_pieces_are_those_of_the_whole_on_the_cpu() {
    let whole = on_cpu(SIZES[0], CacheFormat::F32);
    assert_eq!(whole.len(), ROWS / MERGE * 26);
    assert!(whole[..26] != whole[26 * 300..][..26]);
    for of in SIZES {
        assert!(on_cpu(of, CacheFormat::F32) == whole, "pieces of {of:?}");
    }
    near(&on_cpu(SIZES[3], CacheFormat::F16), &whole, 1e-3);
}

#[test]
fn a_sound_goes_on_where_it_was() {
    let mut model = cpu_model(FILE, 512, CacheFormat::F32);
    let first = run(&mut model, &piece(0, 8)).expect("rows");
    let error = run(&mut model, &piece(12, 4)).expect_err("a gap");
    assert!(error.message().contains("row 12 of a sound behind 8 others"), "{error}");
    let stop = Cell::new(true);
    let stopped =
        pollster::block_on(model.embed(Input::Image(&piece(8, 4)), async || {}, &|| stop.get())).expect("no error");
    assert_eq!(stopped, None);
    let next = run(&mut model, &piece(8, 4)).expect("after a stop");
    assert!(run(&mut model, &piece(0, 8)).expect("begun again") == first);
    assert!(run(&mut model, &piece(8, 4)).expect("rows") == next);
}

#[cfg(feature = "gpu-tests")]
#[test]
fn rows_of_pieces_are_those_of_the_whole_on_a_gpu() {
    use common::in_memory::{header, put_weights};
    use webgguf::forward::Room;
    use webgguf::runtime::{GpuModelBuilder, GpuRun};

    let whole = on_cpu(SIZES[0], CacheFormat::F16);
    pollster::block_on(async {
        let (gguf, device) = (header(FILE), common::device::device().await);
        let config = webgguf::model::config(&gguf).expect("a known encoder");
        let matched = webgguf::model::match_tensors(&config, &gguf.tensors).expect("all tensors");
        let caps = device.caps.clone();
        let builder = GpuModelBuilder::new(device, caps, config, Room::one(512), &gguf.tensors, matched);
        let mut builder = builder.expect("room");
        builder.check_kernels(None);
        put_weights(&mut builder, FILE, &gguf);
        let GpuRun::Embedder(mut encoder) = builder.finish_any().await.expect("an encoder") else {
            panic!("it writes")
        };
        let checked = format!("{:?}", encoder.model().self_check());
        assert!(checked.contains("Passed"), "the lists of few rows and of many: {checked}");
        let (stop, bytes) = (Cell::new(false), encoder.bytes());
        for of in SIZES {
            let mut found = Vec::new();
            for [at, rows] in sizes(of) {
                let mut take = |bytes: &[u8]| found.extend(bytemuck::pod_collect_to_vec::<u8, f32>(bytes));
                assert!(encoder.encode(&piece(at, rows), &stop, &mut take).await.expect("rows"));
            }
            near(&found, &whole, 2e-3);
        }
        assert_eq!(encoder.bytes(), bytes, "it keeps no more");
    });
}
