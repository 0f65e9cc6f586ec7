//! The CPU kernels on cases worked out by hand, and what must hold for any numbers.
#![cfg(not(target_arch = "wasm32"))]

#[path = "common/tiny.rs"]
mod tiny;
#[path = "common/yielding.rs"]
mod yielding;

use proptest::prelude::*;
use tiny::{VOCAB, config, f32_bytes, model, random};
use webgguf::ErrorCode;
use webgguf::cpu::{CacheFormat, CpuModel, Logits};
use webgguf::gguf::{GgmlType, dequantize, f16_from_f32, f16_to_f32};
use webgguf::kernels::reference::{
    AttentionShape, CacheElement, Matrix, NormShape, ScanInputs, ScoreShape, argmax, argmax_axis, attention, cumsum,
    frequencies, gather, layer_norm, log_sum_exp, mat_mul, mat_vec, reduce, rms_norm, rope, selective_scan, silu,
    sinkhorn, softmax, softmax_rows, swiglu, top_k,
};
use webgguf::model::program::Output;
use webgguf::model::{PerLayer, RopeStyle, architectures, weight_specs};
use yielding::{count_yields, yield_now};

#[track_caller]
fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let limit = tolerance * expected.abs().max(1.0);
        assert!((found - expected).abs() <= limit, "element {index}: expected {expected}, found {found}");
    }
}

// By hand.

#[test]
fn rms_norm_divides_by_the_root_of_the_mean_square() {
    // Mean of 9 and 16 is 12.5 in each row; the second row is twice the first.
    let mut x = [3.0, -4.0, 6.0, -8.0];
    rms_norm(&mut x, &[1.0, 2.0], 0.0);
    assert_close(&x, &[0.848_528_1, -2.262_741_7, 0.848_528_1, -2.262_741_7], 1e-6);
    // eps 12.5 doubles what is under the root; a row of zeros stays zero.
    let mut x = [3.0, -4.0, 0.0, 0.0];
    rms_norm(&mut x, &[1.0, 1.0], 12.5);
    assert_close(&x, &[0.6, -0.8, 0.0, 0.0], 1e-6);
}

#[test]
fn rope_turns_neighbours_or_halves() {
    // Pair 0 turns by a quarter, pair 1 by a half; both heads alike.
    let quarters = [std::f64::consts::FRAC_PI_2, std::f64::consts::PI];
    let start = [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 30.0, 40.0];
    let mut x = start;
    rope(&mut x, 4, 1, &quarters, RopeStyle::Interleaved);
    assert_close(&x, &[-2.0, 1.0, -3.0, -4.0, -20.0, 10.0, -30.0, -40.0], 1e-6);
    let mut x = start;
    rope(&mut x, 4, 1, &quarters, RopeStyle::SplitHalf);
    assert_close(&x, &[-3.0, -2.0, 1.0, -4.0, -30.0, -20.0, 10.0, -40.0], 1e-6);
}

#[test]
fn rope_leaves_what_is_not_rotated() {
    // Two of four elements: the halves are those of the rotated part.
    for style in [RopeStyle::Interleaved, RopeStyle::SplitHalf] {
        let mut x = [1.0, 2.0, 3.0, 4.0];
        rope(&mut x, 4, 2, &[std::f64::consts::FRAC_PI_4], style);
        assert_close(&x, &[-2.0, 1.0, 3.0, 4.0], 1e-6);
    }
}

#[test]
fn frequencies_fall_scale_and_divide() {
    // theta^(-2i / 4): 1, 1/100.
    assert_eq!(frequencies(4, 10_000.0, 1.0, None), [1.0, 0.01]);
    assert_eq!(frequencies(4, 10_000.0, 0.25, Some(&[1.0, 8.0])), [0.25, 0.000_312_5]);
}

#[test]
fn mat_vec_multiplies_rows() {
    let bytes = f32_bytes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let w = Matrix::new(GgmlType::F32, 2, 3, &bytes).unwrap();
    let mut out = [0.0; 2];
    mat_vec(&w, &[1.0, 0.0, -1.0], &mut out).unwrap();
    assert_eq!(out, [-2.0, -2.0]);
    let mut out = [0.0; 4];
    mat_mul(&w, &[1.0, 0.0, -1.0, 0.5, 1.0, 2.0], &mut out).unwrap();
    assert_eq!(out, [-2.0, -2.0, 8.5, 19.0]);
}

#[test]
fn mat_vec_reads_blocks() {
    // One Q8_0 block per row: scale 0.5 and quants 1, -2, 0 …; scale 2 and quants all 3.
    let row = |scale: f32, quants: [i8; 32]| {
        let mut bytes = f16_from_f32(scale).to_le_bytes().to_vec();
        bytes.extend(quants.map(|q| q as u8));
        bytes
    };
    let mut first = [0; 32];
    (first[0], first[1]) = (1, -2);
    let bytes = [row(0.5, first), row(2.0, [3; 32])].concat();
    let mut out = [0.0; 2];
    mat_vec(&Matrix::new(GgmlType::Q8_0, 2, 32, &bytes).unwrap(), &[1.0; 32], &mut out).unwrap();
    assert_eq!(out, [-0.5, 192.0]);
}

#[test]
fn matrices_refuse_bytes_that_do_not_fit() {
    let refused = |ty, rows, cols, bytes: usize, parts: [&str; 2]| {
        let error = Matrix::new(ty, rows, cols, &vec![0; bytes]).expect_err("must be refused");
        assert_eq!(error.code(), ErrorCode::BadFile);
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
    };
    refused(GgmlType::Q8_0, 2, 48, 102, ["48", "32"]);
    refused(GgmlType::Q4_K, 1, 256, 143, ["144", "143"]);
    refused(GgmlType::F32, 1, 0, 0, ["0", "1"]);
}

#[test]
fn attention_weighs_values_by_their_keys() {
    // One head of 4, so scores are halved. Query 0 sees key 0 only; query 1 has scores 0 and ln 3: weights 1/4 and 3/4.
    let shape = AttentionShape::plain([1, 1, 4], 0);
    let q = [9.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0];
    let keys = [0.0, 1.0, 0.0, 0.0, 3.0_f32.ln(), 0.0, 0.0, 0.0];
    let values = [4.0, 8.0, 0.0, 1.0, 8.0, 0.0, 4.0, 1.0];
    let mut out = [0.0; 8];
    attention(shape, &q, &keys, &values, &mut out);
    assert_close(&out, &[4.0, 8.0, 0.0, 1.0, 7.0, 2.0, 3.0, 1.0], 1e-6);
}

#[test]
fn attention_shares_heads_in_groups() {
    // Heads 0 and 1 read the first kv head, 2 and 3 the second.
    let shape = AttentionShape::plain([4, 2, 2], 0);
    let mut out = [0.0; 8];
    attention(shape, &[1.0; 8], &[1.0_f32; 4], &[1.0, 2.0, 3.0, 4.0], &mut out);
    assert_eq!(out, [1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 3.0, 4.0]);
}

#[test]
fn softmax_survives_large_numbers() {
    let mut x = [1000.0, 1000.0 + 3.0_f32.ln()];
    softmax(&mut x);
    assert_close(&x, &[0.25, 0.75], 1e-4);
    assert_close(&[log_sum_exp(&[1000.0, 1000.0])], &[1000.0 + 2.0_f32.ln()], 1e-7);
    softmax(&mut []);
}

#[test]
fn softmax_of_rows_scales_caps_masks_and_looks_back() {
    let shape = ScoreShape { width: 2, causal_rows: None, scale: 2.0, soft_cap: None };
    let half_ln_3 = 0.549_306_1;
    assert_close(&softmax_rows(&[0.0, half_ln_3], &shape, |_, _| 0.0), &[0.25, 0.75], 1e-6);
    assert_close(&softmax_rows(&[5.0, 5.0], &shape, |_, i| -1e30 * i as f32), &[1.0, 0.0], 0.0);
    assert_close(&softmax_rows(&[f32::NEG_INFINITY; 2], &shape, |_, _| 0.0), &[0.0, 0.0], 0.0);
    // tanh of ±∞ is ±1: the cap makes them ±half_ln_3.
    let capped = ScoreShape { soft_cap: Some(half_ln_3), ..shape };
    assert_close(&softmax_rows(&[-1e30, 1e30], &capped, |_, _| 0.0), &[0.25, 0.75], 1e-6);
    let causal = ScoreShape { width: 3, causal_rows: Some(2), ..shape };
    let third = 1.0 / 3.0;
    assert_close(&softmax_rows(&[1.0; 6], &causal, |_, _| 0.0), &[0.5, 0.5, 0.0, third, third, third], 1e-6);
}

#[test]
fn layer_norm_takes_off_the_mean() {
    let weight: Option<&[f32]> = Some(&[0.0, 1.0]);
    let shape = NormShape { width: 2, centred: true, eps: 0.0, weight, weight_offset: 1.0, bias: None };
    assert_close(&layer_norm(&[3.0, 7.0], &shape), &[-1.0, 2.0], 1e-6);
    let shape = NormShape { centred: false, weight: None, bias: Some(&[10.0, 20.0]), ..shape };
    assert_close(&layer_norm(&[3.0, -4.0], &shape), &[10.848_528, 18.868_63], 1e-6);
}

#[test]
fn reductions_go_along_the_middle_axis() {
    let x = [1.0, -2.0, 3.0, f32::NAN, 3.0, 5.0];
    let shape = [1, 3, 2];
    assert_eq!(reduce(&x[..4], [2, 2, 1], 0.0, |a, b| a + b)[0], -1.0);
    assert_eq!(reduce(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape, 1.0, |a, b| a * b), [15.0, 48.0]);
    assert_eq!(argmax_axis(&x, shape), [1, 2]);
    assert_eq!(argmax_axis(&[f32::NAN, f32::NAN, f32::NEG_INFINITY], [1, 3, 1]), [2]);
    assert_eq!(argmax_axis(&[f32::NAN; 2], [1, 2, 1]), [0]);
    let (values, indices) = top_k(&x, 6, 5);
    assert_eq!((values, indices), (vec![5.0, 3.0, 3.0, 1.0, -2.0], vec![5, 2, 4, 0, 1]));
    assert_eq!(cumsum(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape, false), [1.0, 2.0, 4.0, 6.0, 9.0, 12.0]);
    assert_eq!(cumsum(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape, true), [0.0, 0.0, 1.0, 2.0, 4.0, 6.0]);
}

#[test]
fn a_selective_scan_decays_and_adds() {
    // exp(Δ A) is 1/2 at every step.
    let (delta, a) = ([1.0; 3], [-std::f32::consts::LN_2]);
    let (x, c) = ([4.0, 0.0, 2.0], [1.0, 1.0, 2.0]);
    let inputs = ScanInputs { x: &x, delta: &delta, a: &a, b: &[1.0; 3], c: &c, d: &[10.0] };
    let mut state = [8.0];
    assert_close(&selective_scan(&inputs, [1, 3, 1], 1, &mut state), &[48.0, 4.0, 28.0], 1e-6);
    assert!((state[0] - 4.0).abs() < 1e-6);
}

#[test]
fn sinkhorn_makes_sums_1_and_keeps_zeros() {
    assert_eq!(sinkhorn(&[1.0, 3.0, 3.0, 1.0], 2, 1, None), [0.25, 0.75, 0.75, 0.25]);
    assert_eq!(sinkhorn(&[0.0, 0.0, 0.0, 7.0], 2, 5, None), [0.0, 0.0, 0.0, 1.0]);
    let y = sinkhorn(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0], 3, 200, Some(1e-6));
    for i in 0..3 {
        let (row, column) = (&y[3 * i..3 * i + 3], [y[i], y[i + 3], y[i + 6]]);
        assert_close(&[row.iter().sum(), column.iter().sum()], &[1.0; 2], 2e-6);
    }
}

#[test]
fn silu_and_swiglu() {
    assert_close(&[silu(0.0), silu(1.0), silu(-1.0), silu(-200.0)], &[0.0, 0.731_058_6, -0.268_941_4, 0.0], 1e-6);
    let mut gate = [1.0, 0.0];
    swiglu(&mut gate, &[2.0, 5.0]);
    assert_close(&gate, &[1.462_117_2, 0.0], 1e-6);
}

#[test]
fn gather_copies_rows_and_knows_its_end() {
    let bytes = f32_bytes(&[1.0, 2.0, 3.0, 4.0]);
    let table = Matrix::new(GgmlType::F32, 2, 2, &bytes).unwrap();
    let mut out = [0.0; 6];
    gather(&table, &[1, 0, 1], &mut out).unwrap();
    assert_eq!(out, [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    let error = gather(&table, &[2], &mut out[..2]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
}

#[test]
fn argmax_takes_the_first_and_never_nan() {
    assert_eq!(argmax(&[1.0, 3.0, 3.0]), 1);
    assert_eq!(argmax(&[f32::NAN, -5.0, f32::NAN]), 1);
    assert_eq!(argmax(&[f32::NAN, f32::NAN]), 0);
}

// For any numbers.

fn numbers(range: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f32>> {
    prop::collection::vec(-4.0_f32..4.0, range)
}

fn style() -> impl Strategy<Value = RopeStyle> {
    prop_oneof![Just(RopeStyle::Interleaved), Just(RopeStyle::SplitHalf)]
}

fn norm(x: &[f32]) -> f32 {
    x.iter().map(|x| x * x).sum::<f32>().sqrt()
}

proptest! {
    #[test]
    fn rope_at_the_start_changes_nothing(x in numbers(64..65), style in style()) {
        let mut turned = x.clone();
        rope(&mut turned, 16, 0, &frequencies(16, 10_000.0, 1.0, None), style);
        prop_assert_eq!(turned, x);
    }

    #[test]
    fn rope_keeps_length_and_relative_position(
        x in numbers(32..33), position in 0..50_000_usize, apart in 0..500_usize, style in style(),
    ) {
        let (q, k) = x.split_at(16);
        let table = frequencies(12, 10_000.0, 1.0, None);
        let turned = |x: &[f32], position| {
            let mut x = x.to_vec();
            rope(&mut x, 16, position, &table, style);
            x
        };
        let product = |q: Vec<f32>, k: Vec<f32>| q.iter().zip(&k).map(|(q, k)| q * k).sum::<f32>();
        prop_assert!((norm(&turned(q, position)) - norm(q)).abs() < 1e-4);
        let here = product(turned(q, position + apart), turned(k, position));
        let there = product(turned(q, apart), turned(k, 0));
        prop_assert!((here - there).abs() < 2e-3, "{} and {}", here, there);
    }

    #[test]
    fn rms_norm_brings_rows_to_length_one(x in numbers(33..34)) {
        prop_assume!(norm(&x) > 0.1);
        let mut x = x;
        rms_norm(&mut x, &[1.0; 33], 0.0);
        prop_assert!((norm(&x) - 33.0_f32.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn attention_to_one_key_is_its_value(q in numbers(12..13), k in numbers(4..5), v in numbers(4..5)) {
        let shape = AttentionShape::plain([3, 1, 4], 0);
        let mut out = vec![0.0; 12];
        attention(shape, &q, &k, &v, &mut out);
        prop_assert_eq!(out, [v.clone(), v.clone(), v].concat());
    }

    #[test]
    fn attention_stays_among_its_values_and_ignores_the_future(x in numbers(40..41), future in -100.0_f32..100.0) {
        let shape = AttentionShape::plain([1, 1, 4], 2);
        let (q, rest) = x.split_at(8);
        let (mut keys, mut values) = (rest[..16].to_vec(), rest[16..].to_vec());
        let (mut before, mut after) = (vec![0.0; 8], vec![0.0; 8]);
        attention(shape, q, &keys, &values, &mut before);
        let seen = values.iter().copied();
        let (least, most) = (seen.clone().fold(f32::MAX, f32::min), seen.fold(f32::MIN, f32::max));
        prop_assert!(before.iter().all(|&x| x >= least - 1e-5 && x <= most + 1e-5));
        keys[12..].fill(future);
        values[12..].fill(future);
        attention(shape, q, &keys, &values, &mut after);
        prop_assert_eq!(&before[..4], &after[..4], "query 0 sees keys 0 to 2 only");
    }

    #[test]
    fn softmax_sums_to_one(x in numbers(1..300)) {
        let logarithm = log_sum_exp(&x);
        let mut chances = x.clone();
        softmax(&mut chances);
        prop_assert!((chances.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let first = (x[0] - logarithm).exp();
        prop_assert!((first - chances[0]).abs() < 1e-5);
    }
}

/// Bytes of any block format are some weights; scales that are not finite are made 1.
fn random_blocks(ty: GgmlType, seed: u64, blocks: usize) -> Vec<u8> {
    let raw: Vec<u8> = random(seed, blocks * ty.block_bytes()).iter().map(|x| ((x + 1.0) * 128.0) as u8).collect();
    let mut weights = vec![0.0; blocks * ty.block_len()];
    let mut bytes = raw;
    for block in bytes.chunks_exact_mut(ty.block_bytes()) {
        let weights = &mut weights[..ty.block_len()];
        dequantize(ty, block, weights).unwrap();
        if weights.iter().any(|w| !w.is_finite() || w.abs() > 1e6) {
            block.fill(0x11);
        }
    }
    bytes
}

#[test]
fn products_agree_with_a_sum_in_f64_for_every_format_and_odd_sizes() {
    for ty in GgmlType::ALL {
        for (blocks, rows) in [(1, 1), (3, 31), (9, 33), (35, 2)] {
            let (cols, tokens) = (blocks * ty.block_len(), 3);
            let bytes = random_blocks(ty, 7 + blocks as u64, rows * blocks);
            let w = Matrix::new(ty, rows, cols, &bytes).unwrap();
            let x = random(99, tokens * cols);
            let (mut one, mut all) = (vec![0.0; rows], vec![0.0; tokens * rows]);
            mat_mul(&w, &x, &mut all).unwrap();
            let mut weights = vec![0.0; cols];
            for (token, x) in x.chunks_exact(cols).enumerate() {
                mat_vec(&w, x, &mut one).unwrap();
                assert_eq!(one, all[token * rows..][..rows], "{} {cols}: mat_vec and mat_mul", ty.name());
                for (row, &found) in one.iter().enumerate() {
                    dequantize(ty, w.row(row), &mut weights).unwrap();
                    let terms = weights.iter().zip(x).map(|(&w, &x)| f64::from(w) * f64::from(x));
                    let (sum, size) = (terms.clone().sum::<f64>(), terms.map(f64::abs).sum::<f64>());
                    assert!((f64::from(found) - sum).abs() <= 1e-6 * size, "{} {cols}: {found} and {sum}", ty.name());
                }
            }
        }
    }
}

#[test]
fn every_f16_comes_back_from_the_cache() {
    for bits in 0..=u16::MAX {
        let (x, read) = (f16_to_f32(bits), CacheElement::to_f32(bits));
        if x.is_nan() {
            assert!(read.is_nan(), "{bits:#x}");
        } else {
            assert_eq!((read.to_bits(), <u16 as CacheElement>::from_f32(x)), (x.to_bits(), bits), "{bits:#x}");
        }
    }
}

// The whole model.

#[test]
fn a_text_in_one_call_is_the_text_token_by_token() {
    // More than a chunk of 32, and not a multiple of it.
    let ids: Vec<u32> = (0..75_u32).map(|n| n * 7 % VOCAB as u32).collect();
    let writes_text = |name: &&str| {
        let program = webgguf::model::program(&config(name));
        program.output == Output::Logits && program.source.is_none()
    };
    for architecture in architectures().filter(writes_text) {
        for cache in [CacheFormat::F16, CacheFormat::F32] {
            let config = config(architecture);
            let mut whole = model(&config, 80, cache);
            let logits = whole.forward(&ids, 0, Logits::All).unwrap();
            let mut steps = model(&config, 80, cache);
            for (position, row) in logits.chunks_exact(VOCAB).enumerate() {
                let one = steps.forward(&ids[position..=position], position, Logits::Last).unwrap();
                assert_close(&one, row, 1e-5);
            }
            assert_eq!(whole.forward(&ids, 0, Logits::Last).unwrap(), logits[74 * VOCAB..]);
            assert!(whole.forward(&ids, 0, Logits::None).unwrap().is_empty());
            assert_eq!((whole.cached(), steps.cached()), (75, 75));
        }
    }
}

#[test]
fn the_cache_goes_back_to_any_position() {
    let config = config("llama");
    let mut model = model(&config, 64, CacheFormat::F16);
    let expected = model.forward(&[1, 2, 3, 4, 5], 0, Logits::Last).unwrap();
    model.forward(&[9, 9, 9, 9, 9, 9], 2, Logits::None).unwrap();
    let again = model.forward(&[3, 4, 5], 2, Logits::Last).unwrap();
    assert_eq!((again, model.cached()), (expected, 5));
}

#[test]
fn recurrent_states_go_back_to_a_copy_only() {
    for architecture in ["lfm2", "mamba2", "mamba", "qwen35", "rwkv6", "rwkv7"] {
        let mut model = model(&config(architecture), 64, CacheFormat::F32);
        let expected = model.forward(&[1, 2, 3, 4, 5], 0, Logits::Last).unwrap();
        model.forward(&[1, 2], 0, Logits::None).unwrap();
        let (states, at) = (model.states().to_vec(), model.states_at());
        model.forward(&[9, 9, 9], 2, Logits::None).unwrap();
        assert_eq!((at, model.states_at()), (Some(2), Some(5)));
        let error = model.forward(&[3, 4, 5], 2, Logits::Last).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument, "{error:?}");
        model.restore(&states, 2);
        assert_eq!(model.forward(&[3, 4, 5], 2, Logits::Last).unwrap(), expected);
    }
}

#[test]
fn an_unfinished_pass_leaves_a_whole_cache() {
    let config = config("qwen3");
    let mut model = model(&config, 64, CacheFormat::F32);
    let ids: Vec<u32> = (0..40).map(|n| n % VOCAB as u32).collect();
    let expected = model.forward(&ids, 0, Logits::Last).unwrap();
    // Two layers and the head are a chunk of 32; the fourth step is inside the second chunk.
    let mut pass = model.begin(&ids, 0, Logits::Last).unwrap();
    for _ in 0..4 {
        assert!(pass.step().unwrap());
        assert!(pass.residual().iter().all(|x| x.is_finite()));
    }
    assert_eq!(pass.residual().len(), 8 * config.hidden);
    drop(pass);
    assert_eq!(model.cached(), 32);
    assert_eq!(model.forward(&ids[32..], 32, Logits::Last).unwrap(), expected);
}

#[test]
fn steps_are_layers_and_heads() {
    let config = config("llama");
    let mut model = model(&config, 64, CacheFormat::F32);
    let mut pass = model.begin(&[1; 33], 0, Logits::Last).unwrap();
    let mut steps = 1;
    while pass.step().unwrap() {
        steps += 1;
    }
    assert_eq!(steps, 2 * (config.layers + 1));
    assert!(!pass.step().unwrap(), "nothing is left to do");
    assert_eq!(pass.finish().unwrap().len(), VOCAB);
}

/// A page's thread is free again after some four million multiply-adds, however wide the layer.
#[test]
fn wide_layers_and_heads_give_up_the_thread_in_between() {
    const WIDTH: usize = 1 << 16;
    let mut config = config("llama");
    (config.ffn, config.layers) = (PerLayer::All(WIDTH), 1);
    let mut model = model(&config, 64, CacheFormat::F32);
    let ids: Vec<u32> = (0..24).collect();
    let expected = model.forward(&ids, 0, Logits::Last).unwrap();
    let mut pass = model.begin(&ids, 0, Logits::Last).unwrap();
    let (more, yields) = count_yields(pass.step_yielding(yield_now));
    assert!(more.unwrap());
    // Gate, up and down.
    let work = 3 * ids.len() * WIDTH * config.hidden;
    assert!(yields >= work / (4 << 20), "{yields} yields in {work} multiply-adds");
    let (more, yields) = count_yields(pass.step_yielding(yield_now));
    assert!(!more.unwrap() && yields > 0, "{yields} yields in the head");
    assert_eq!(pass.into_logits(), expected);
}

#[test]
fn settings_reach_the_answer() {
    let ids = [3, 1, 4, 1, 5, 9, 2, 6];
    let base = config("llama");
    let answer = |config: &_| model(config, 16, CacheFormat::F32).forward(&ids, 0, Logits::Last).unwrap();
    let expected = answer(&base);
    let mut changed = vec![base.clone(); 5];
    changed[0].rope_theta = 500_000.0;
    changed[1].rope_scaling.scale = 0.5;
    changed[2].norm_eps = 0.1;
    changed[3].architecture = config("qwen2").architecture;
    changed[4].kv_heads = PerLayer::All(4);
    for (index, config) in changed.iter().enumerate() {
        assert_ne!(answer(config), expected, "change {index}");
    }
}

#[test]
fn rope_dims_may_be_fewer_than_the_head() {
    let mut config = config("qwen2");
    config.rope_dims = 6;
    let mut whole = model(&config, 16, CacheFormat::F32);
    let logits = whole.forward(&[1, 2, 3], 0, Logits::Last).unwrap();
    assert!(logits.iter().all(|x| x.is_finite()));
    config.rope_dims = 8;
    assert_ne!(model(&config, 16, CacheFormat::F32).forward(&[1, 2, 3], 0, Logits::Last).unwrap(), logits);
}

#[test]
fn wrong_calls_are_errors_and_change_nothing() {
    let config = config("llama");
    let mut model = model(&config, 8, CacheFormat::F16);
    model.forward(&[1, 2, 3], 0, Logits::None).unwrap();
    let mut refused = |ids: &[u32], position, code: ErrorCode, parts: [&str; 2]| {
        let error = model.forward(ids, position, Logits::Last).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(parts.iter().all(|part| error.message().contains(part)), "{error}");
        assert_eq!(model.cached(), 3);
    };
    refused(&[1; 6], 3, ErrorCode::ContextFull, ["9 tokens", "8"]);
    refused(&[1; 9], 0, ErrorCode::ContextFull, ["9 tokens", "8"]);
    refused(&[], 3, ErrorCode::InvalidArgument, ["no tokens", ""]);
    refused(&[1], 4, ErrorCode::InvalidArgument, ["position 4", "3 cached"]);
    refused(&[37], 3, ErrorCode::InvalidArgument, ["37", "vocabulary"]);
    assert!(model.forward(&[1; 5], 3, Logits::Last).is_ok(), "a full context is not too full");
}

#[test]
fn a_model_needs_all_its_tensors() {
    let config = config("qwen2");
    let specs = weight_specs(&config);
    for left_out in &specs {
        let mut builder = CpuModel::builder(config.clone());
        for spec in specs.iter().filter(|spec| spec.name != left_out.name) {
            builder.put(spec, GgmlType::F32, vec![0; spec.rows() * spec.cols() * 4]).unwrap();
        }
        match builder.build(8, CacheFormat::F16) {
            Ok(_) => assert!(left_out.optional, "{}", left_out.name),
            Err(error) => assert!(!left_out.optional && error.message().contains(&left_out.name), "{error}"),
        }
    }
    let mut builder = CpuModel::builder(config.clone());
    let error = builder.put(&specs[0], GgmlType::F16, vec![0; 3]).unwrap_err();
    assert!(error.message().contains("token_embd.weight") && error.message().contains("found 3"), "{error}");
}
