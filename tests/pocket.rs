//! The programs of Pocket TTS: their tensors, what is refused of them, and what they make on the CPU, and with the
//! feature `gpu-tests` on a GPU, beside llama.cpp.
#![cfg(not(target_arch = "wasm32"))]

#[allow(dead_code)]
#[path = "common/yielding.rs"]
mod yielding;

#[cfg(feature = "gpu-tests")]
#[path = "common/device.rs"]
mod device;

use webgguf::ErrorCode::{BadFile, UnsupportedArchitecture};
#[path = "common/parts.rs"]
mod parts;

use parts::{Parts, config, floats, fold, near};
use webgguf::gguf::Gguf;
use webgguf::model::{EncoderInput, Fold, flatten, match_tensors, program};
use webgguf::runtime::Matched;

const POCKET: Parts = Parts("pocket");

/// Each part, the width of its rows, and how many folds of rows it has.
const PARTS: [(&str, usize, usize); 5] =
    [("flow", 8 + 1 + 32, 0), ("frames", 24, 0), ("wave", 1, 11), ("listen", 24, 7), ("voice", 32, 0)];

#[test]
fn every_tensor_belongs_to_one_part() {
    let mut used = std::collections::BTreeMap::new();
    for (part, width, folds) in PARTS {
        let mut gguf = POCKET.open(Some(part));
        let config = config(&gguf).expect(part);
        flatten(&mut gguf);
        for (index, _) in match_tensors(&config, &gguf.tensors).expect(part) {
            assert!(*used.entry(index).or_insert(part) == part, "{} is of {part}, too", gguf.tensors[index].name);
        }
        let program = program(&config);
        assert_eq!([program.width(program.output_activation()), program.folds().count()], [width, folds], "{part}");
        assert_eq!(program.stage_rows.len(), folds, "{part}");
    }
    let gguf = POCKET.open(None);
    let unused = (0..gguf.tensors.len()).filter(|index| !used.contains_key(index));
    let unused: Vec<&str> = unused.map(|index| gguf.tensors[index].name.as_str()).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// A causal convolution.
fn kernel(rows: usize, taps: usize) -> Fold {
    fold(rows, [rows, taps], |row, tap| row - taps as i64 + 1 + tap)
}

/// Cosines and sines for heads of 12 values.
fn turns(rows: usize) -> Vec<f32> {
    let angle = |at: usize| (at / 6) as f64 * 10_000_f64.powf(-((at % 6) as f64) / 6.0);
    (0..rows * 6).flat_map(|at| [angle(at).cos() as f32, angle(at).sin() as f32]).collect()
}

#[test]
fn the_flow_makes_the_latents_of_states_that_llama_cpp_makes() {
    let expected = POCKET.expected();
    for case in expected["cases"].as_array().expect("cases") {
        for step in 0..2 {
            let [patches, turns] = ["states", "noise"].map(|name| floats(&case[name][step]));
            let input =
                EncoderInput { rows: 1, outputs: 1, patches, turns, breaks: vec![1.0; 2], ..Default::default() };
            let found = POCKET.run("flow", &input);
            near(&found[..8], &floats(&case["latents"][step]));
            let ends = case["ends"].as_array().expect("steps").contains(&step.into());
            assert_eq!(found[8] > -4.0, ends, "{case}");
        }
    }
}

/// The first 16 latents, since nothing depends on what follows.
#[test]
fn the_codec_makes_the_samples_of_latents_that_llama_cpp_makes() {
    let expected = POCKET.expected();
    let case = &expected["cases"][0];
    let rows = 16 * 16;
    let latents = floats(&case["latents"])[..16 * 8].to_vec();
    let patches = latents.chunks(8).flat_map(|latent| latent.repeat(16)).collect();
    let mut places = [vec![0; rows * 32], vec![0; rows * 32]];
    for row in 0..rows {
        for (tap, from) in [(row % 16, Some(row)), (row % 16 + 16, row.checked_sub(16))] {
            if let Some(from) = from {
                places[0][row * 32 + tap] = from as u32;
                places[1][row * 32 + tap] = 1_f32.to_bits();
            }
        }
    }
    let input = EncoderInput { rows, outputs: rows, patches, places, turns: turns(rows), ..Default::default() };
    let frames = POCKET.run("frames", &input);
    let (mut here, mut folds) = (rows, vec![kernel(rows, 7)]);
    for stride in [6, 5, 4] {
        folds.push(fold(here, [here, 2], |row, tap| row - tap));
        folds.push(fold(here, [here * stride, 1], |row, _| row));
        here *= stride;
        folds.push(kernel(here, 3));
    }
    folds.push(kernel(here, 3));
    let samples =
        POCKET.run("wave", &EncoderInput { rows: here, outputs: here, patches: frames, folds, ..Default::default() });
    let every: Vec<f32> = samples.into_iter().step_by(131).collect();
    near(&every, &floats(&case["samples"])[..every.len()]);
}

/// The first 16 rows, likewise.
#[test]
fn a_voice_becomes_the_rows_that_llama_cpp_gives() {
    let expected = POCKET.expected();
    let rows = 256 * 120;
    let sample = |at: i64| {
        let x = at as f64;
        let value = 0.4 * (0.05 * x + 3.0 * (0.0007 * x).sin()).sin() + 0.2 * (0.31 * x).sin();
        if at < 0 { 0.0 } else { value as f32 }
    };
    let patches = (0..rows as i64).flat_map(|row| (0..7).map(move |tap| sample(row + tap - 6))).collect();
    let (mut here, mut folds) = (rows, Vec::new());
    for stride in [4_i64, 5, 6] {
        folds.push(kernel(here, 3));
        let behind = here / stride as usize;
        folds.push(fold(here, [behind, 2 * stride as usize], |row, tap| row * stride - stride + tap));
        here = behind;
    }
    folds.push(kernel(here, 3));
    let frames =
        POCKET.run("listen", &EncoderInput { rows: here, outputs: here, patches, folds, ..Default::default() });
    let groups = fold(here, [16, 32], |row, tap| (row * 16 - 16 + tap).max(0)).taps;
    let input =
        EncoderInput { rows: here, outputs: 16, patches: frames, groups, turns: turns(here), ..Default::default() };
    near(&POCKET.run("voice", &input), &floats(&expected["rows"])[..16 * 32]);
}

/// The code of parts is linked where a page asks for one.
#[test]
fn a_file_does_not_choose_a_part_by_itself() {
    let error = Matched::of(&mut POCKET.open(Some("flow")), None, None).map(|_| ()).expect_err("no part was asked for");
    assert_eq!(error.code(), UnsupportedArchitecture, "{error}");
    let matched = Matched::of(&mut POCKET.open(Some("flow")), None, Some("wave")).expect("a part");
    assert_eq!(matched.config.encoder.expect("an encoder").width, 1);
}

#[test]
fn few_rows_run_on_the_cpu() {
    for (part, width, _) in PARTS {
        let rows = if part == "flow" { 1 } else { 5 };
        let found = POCKET.run(part, &EncoderInput::sample(POCKET.load(part, rows).program(), rows));
        assert_eq!(found.len(), rows * width, "{part}");
        assert!(found.iter().all(|value| value.is_finite()), "{part}: {found:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let message = |gguf: &mut Gguf| {
        let config = config(gguf)?;
        flatten(gguf);
        match_tensors(&config, &gguf.tensors).map(|_| ())
    };
    let error = message(&mut POCKET.open(None)).expect_err("no encoder of sounds for prompts");
    assert_eq!(error.code(), UnsupportedArchitecture, "{error}");
    assert!(error.message().contains("pockettts_spkenc"), "{error}");
    let error = message(&mut POCKET.open(Some("other"))).expect_err("no such part");
    assert_eq!(error.code(), UnsupportedArchitecture, "{error}");
    for (part, name, dims) in [
        ("wave", "a.gen.wav.seanet.blk.1.scale_conv.weight", vec![8, 8, 12]),
        ("wave", "a.gen.wav.seanet.conv_in.weight", vec![5, 24, 16]),
        ("frames", "a.gen.wav.upsample.weight", vec![30, 1, 24]),
        ("flow", "a.gen.flow.blk.1.ada.weight", vec![20, 40]),
        ("flow", "a.gen.flow.time.0.freqs", vec![7]),
        ("listen", "a.seanet.blk.0.scale_conv.weight", vec![10, 6, 8]),
        ("voice", "a.downsample.conv.weight", vec![31, 24, 8]),
    ] {
        let mut gguf = POCKET.open(Some(part));
        gguf.tensors.iter_mut().find(|tensor| tensor.name == name).expect(name).dims = dims;
        let error = message(&mut gguf).expect_err(name);
        assert_eq!(error.code(), BadFile, "{name}: {error}");
    }
    let mut gguf = POCKET.open(Some("wave"));
    let tensor = gguf.tensors.iter_mut().find(|tensor| tensor.name.ends_with("conv_out.bias")).expect("a bias");
    tensor.name = "a.gen.wav.seanet.conv_mid.bias".to_owned();
    assert!(message(&mut gguf).is_err(), "a bias that nothing reads");
}
