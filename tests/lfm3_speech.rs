//! The programs by which an LFM3 speaks: their tensors, what is refused of them, and what they make on the CPU, and
//! with the feature `gpu-tests` on a GPU, beside llama.cpp.
#![cfg(not(target_arch = "wasm32"))]

#[allow(dead_code)]
#[path = "common/yielding.rs"]
mod yielding;

#[cfg(feature = "gpu-tests")]
#[path = "common/device.rs"]
mod device;

#[path = "common/parts.rs"]
mod parts;

use std::f64::consts::TAU;

use parts::{Parts, config, floats, fold, near};
use webgguf::ErrorCode::{BadFile, UnsupportedArchitecture};
use webgguf::gguf::Gguf;
use webgguf::model::{EncoderInput, flatten, match_tensors, program};
use webgguf::runtime::Matched;

const LFM3: Parts = Parts("lfm3a-gen");
/// Codes of a frame, and kinds of each.
const BOOKS: usize = 12;
const KINDS: usize = 41;
/// Values of a row of the text model.
const WIDTH: usize = 52;
/// Each part, the width of its rows, and how many folds of rows it has.
const PARTS: [(&str, usize, usize); 3] = [("flow", BOOKS * KINDS, 1), ("next", WIDTH, 0), ("wave", 1282, 1)];

#[test]
fn every_tensor_belongs_to_one_part_or_to_the_encoder() {
    let mut used = std::collections::BTreeMap::new();
    let parts = PARTS.map(|(part, width, folds)| (Some(part), width, folds));
    for (part, width, folds) in parts.into_iter().chain([(None, WIDTH, 3)]) {
        let mut gguf = LFM3.open(part);
        let config = config(&gguf).expect("a program");
        flatten(&mut gguf);
        for (index, _) in match_tensors(&config, &gguf.tensors).expect("its tensors") {
            assert!(*used.entry(index).or_insert(part) == part, "{} is of {part:?}, too", gguf.tensors[index].name);
        }
        let program = program(&config);
        assert_eq!([program.width(program.output_activation()), program.folds().count()], [width, folds], "{part:?}");
    }
    let gguf = LFM3.open(None);
    let unused = (0..gguf.tensors.len()).filter(|index| !used.contains_key(index));
    let unused: Vec<&str> = unused.map(|index| gguf.tensors[index].name.as_str()).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// Codes of a frame, or none where they are not known.
fn of_state(state: Vec<f32>, codes: &[Option<usize>]) -> EncoderInput {
    let row = |(book, code): (usize, &Option<usize>)| (book * KINDS + code.unwrap_or(0)) as u32;
    let ones = |is: bool| if is { 1.0_f32 } else { 0.0 };
    EncoderInput {
        rows: BOOKS,
        outputs: 1,
        patches: state,
        places: [
            codes.iter().enumerate().map(row).collect(),
            codes.iter().map(|code| ones(code.is_some()).to_bits()).collect(),
        ],
        groups: [(0..BOOKS as u32).collect(), vec![1_f32.to_bits(); BOOKS]],
        breaks: codes.iter().map(|code| ones(code.is_none())).collect(),
        folds: vec![fold(1, [BOOKS, 1], |row, _| row)],
        ..Default::default()
    }
}

#[test]
fn logits_of_each_pass_and_the_row_behind_them_are_what_llama_cpp_has() {
    for case in LFM3.expected()["cases"].as_array().expect("cases") {
        let [order, codes] = ["orders", "codes"].map(|name| floats(&case[name][0]));
        for pass in 0..3 {
            let known = &order[..4 * pass];
            let of_book = |book: usize| known.contains(&(book as f32)).then(|| codes[book] as usize);
            let input = of_state(floats(&case["states"][0]), &(0..BOOKS).map(of_book).collect::<Vec<_>>());
            near(&LFM3.run("flow", &input), &floats(&case["logits"][0][pass]));
        }
        let rows = codes.iter().enumerate().map(|(book, &code)| (book * KINDS) as u32 + code as u32).collect();
        let places = [rows, vec![1_f32.to_bits(); BOOKS]];
        let input = EncoderInput { rows: 1, outputs: 1, patches: vec![0.0; WIDTH], places, ..Default::default() };
        near(&LFM3.run("next", &input), &floats(&case["rows"][0]));
    }
}

/// Samples of spectra, by the definition of the inverse transform: windows of 1280 samples, one every 320.
fn samples(spectra: &[f32]) -> Vec<f32> {
    let (size, hop, bins) = (1280, 320, 641);
    let rows: Vec<&[f32]> = spectra.chunks(2 * bins).collect();
    let mut sums = vec![[0.0_f64; 2]; size + (rows.len() - 1) * hop];
    for (row, spectrum) in rows.iter().enumerate() {
        for at in 0..size {
            let window = 0.5 - 0.5 * (TAU * at as f64 / size as f64).cos();
            // The first and the last value have no mirror image and no imaginary part.
            let term = |bin: usize| {
                let (phase, turn) = (f64::from(spectrum[bins + bin]), TAU * ((bin * at) % size) as f64 / size as f64);
                let is_alone = bin == 0 || bin == bins - 1;
                let wave = if is_alone { phase.cos() * turn.cos() } else { 2.0 * (phase + turn).cos() };
                f64::from(spectrum[bin]).exp() * wave
            };
            let value = (0..bins).map(term).sum::<f64>() / size as f64;
            let sum = &mut sums[row * hop + at];
            *sum = [sum[0] + value * window, sum[1] + window * window];
        }
    }
    let trimmed = (size - hop) / 2;
    sums[trimmed..sums.len() - trimmed].iter().map(|[sum, weight]| (sum / weight.max(1e-11)) as f32).collect()
}

#[test]
fn spectra_of_codes_become_the_samples_that_llama_cpp_makes() {
    let expected = LFM3.expected();
    let case = &expected["cases"][0];
    let codes = floats(&case["codes"]);
    let frames = codes.len() / BOOKS;
    let rows = codes.iter().map(|&code| code as u32).collect();
    let input = EncoderInput {
        rows: 6 * frames,
        outputs: 6 * frames,
        patches: vec![0.0; 5 * codes.len()],
        places: [rows, vec![1_f32.to_bits(); codes.len()]],
        folds: vec![fold(codes.len(), [6 * frames, BOOKS], |row, tap| row / 6 * BOOKS as i64 + tap)],
        ..Default::default()
    };
    let found = samples(&LFM3.run("wave", &input));
    assert_eq!(found.len() as u64, case["count"].as_u64().expect("a number"));
    let every: Vec<f32> = found.into_iter().step_by(67).collect();
    near(&every, &floats(&case["samples"]));
}

/// The code of parts is linked where a page asks for one.
#[test]
fn the_encoder_of_sounds_beside_it_is_the_default() {
    let matched = Matched::of(&mut LFM3.open(Some("wave")), None, None).expect("the encoder of sounds");
    assert_eq!(matched.config.encoder.expect("an encoder").projector.name, "lfm3a");
    let matched = Matched::of(&mut LFM3.open(Some("flow")), None, Some("next")).expect("a part");
    assert_eq!(matched.config.encoder.expect("an encoder").width, WIDTH);
}

#[test]
fn what_does_not_fit_is_refused() {
    let message = |gguf: &mut Gguf| {
        let config = config(gguf)?;
        flatten(gguf);
        match_tensors(&config, &gguf.tensors).map(|_| ())
    };
    let error = message(&mut LFM3.open(Some("other"))).expect_err("no such part");
    assert_eq!(error.code(), UnsupportedArchitecture, "{error}");
    for (part, name, dims) in [
        ("flow", "a.gen.code.embd.weight", vec![24, 41, 65]),
        ("flow", "a.gen.code.embd.weight", vec![24, 41]),
        ("flow", "a.gen.code.embd.weight", vec![24, 1 << 40, 12]),
        ("flow", "a.gen.code.embd.weight", vec![23, 41, 12]),
        ("flow", "a.gen.code.head_norm.weight", vec![24, 11]),
        ("flow", "a.gen.code.blk.0.attn_q_norm.weight", vec![11]),
        ("flow", "a.gen.code.blk.0.attn_q_norm.weight", vec![1 << 20]),
        ("flow", "a.gen.code.blk.0.attn_k.weight", vec![24, 36]),
        ("flow", "a.gen.code.blk.1.attn_gate.weight", vec![24, 3]),
        ("next", "a.gen.code.out_embd.weight", vec![52, 491]),
        ("wave", "a.gen.wav.quant.first.codebook.weight", vec![6, 40]),
        ("wave", "a.gen.wav.tfm.blk.0.conv_dw.weight", vec![3, 31]),
        ("wave", "a.gen.wav.tfm.blk.1.attn_q.weight", vec![32, 1]),
        ("wave", "a.gen.wav.tfm.in_proj.weight", vec![36, 33]),
    ] {
        let mut gguf = LFM3.open(Some(part));
        gguf.tensors.iter_mut().find(|tensor| tensor.name == name).expect(name).dims = dims;
        let error = message(&mut gguf).expect_err(name);
        assert_eq!(error.code(), BadFile, "{name}: {error}");
    }
}
