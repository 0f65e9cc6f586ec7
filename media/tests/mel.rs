//! Spectrograms as the formulas in float64 give them; `tools/make_sound_fixtures.py` writes what is expected.

use webgguf_media::arriving::Arriving;
use webgguf_media::mel::{Ends, Mel, Spectrogram};
use webgguf_media::sound::{Listener, NOTHING, Piece};

/// A wave with noise, which is a hundred thousandth as loud after two thirds.
fn samples(count: u64) -> Vec<f32> {
    let sample = |at: u64| {
        let noise = (((at * 2_654_435_761 + 12_345) % (1 << 32)) >> 16) as f64 / 65_536.0 - 0.5;
        let wave = (at % 50) as f64 / 50.0 - 0.5;
        ((noise / 8.0 + wave / 2.0) * if at * 3 < count * 2 { 1.0 } else { 1e-5 }) as f32
    };
    (0..count).map(sample).collect()
}

/// The spectrogram, and how many steps it took.
fn made(samples: Vec<f32>, bins: usize, ends: Option<Ends>) -> (Mel, usize) {
    let mut work = Spectrogram::new(samples, bins, ends);
    let mut steps = 1;
    while work.step() {
        steps += 1;
    }
    loop {
        steps += 1;
        if let Some(mel) = work.scale() {
            return (mel, steps);
        }
    }
}

fn mel(samples: Vec<f32>, bins: usize, ends: Ends) -> Mel {
    made(samples, bins, Some(ends)).0
}

fn listened(listener: &Listener, mut samples: Vec<f32>) -> Result<Mel, String> {
    let Some(mut work) = listener.begin(&mut samples)? else {
        return Ok(Mel { bins: listener.bins, values: samples, silence: 0.0 });
    };
    while work.step() {}
    Ok(std::iter::repeat_with(|| work.scale()).flatten().next().expect("an end"))
}

#[test]
fn a_long_sound_is_listened_to_in_many_steps() {
    for ends in [Some(Ends::Silent), Some(Ends::Mirrored), None] {
        let steps = made(samples(160_000), 80, ends).1;
        assert!(steps > 7, "{steps} steps for ten seconds");
    }
}

#[test]
fn spectrograms_are_those_of_the_formulas() {
    compare(include_bytes!("fixtures/mel.bin"), 4, |samples, bins| mel(samples, bins, Ends::Silent));
}

#[test]
fn spectrograms_of_gemma_are_those_of_the_formulas() {
    compare(include_bytes!("fixtures/mel_gemma.bin"), 3, |samples, bins| made(samples, bins, None).0);
}

/// Compares `cases` spectrograms with expected ones from a file.
fn compare(mut rest: &[u8], cases: usize, spectrogram: fn(Vec<f32>, usize) -> Mel) {
    let mut count = 0;
    while !rest.is_empty() {
        let short = |at: usize| u16::from_le_bytes([rest[at], rest[at + 1]]);
        let long = |at: usize| [rest[at], rest[at + 1], rest[at + 2], rest[at + 3]];
        let bins = usize::from(short(0));
        let length = u64::from(u32::from_le_bytes(long(2)));
        let frames = u32::from_le_bytes(long(6)) as usize;
        let silence = f32::from_le_bytes(long(10));
        let (expected, others) = rest[14..].split_at(frames * bins * 4);
        let mel = spectrogram(samples(length), bins);
        assert_eq!(mel.frames(), frames, "{length} samples");
        assert!((mel.silence - silence).abs() < 1e-6, "{length} samples: {}", mel.silence);
        for (at, (found, expected)) in mel.values.iter().zip(expected.chunks_exact(4)).enumerate() {
            let expected = f32::from_le_bytes([expected[0], expected[1], expected[2], expected[3]]);
            assert!((found - expected).abs() < 1e-5, "{length} samples, value {at}: {found}, expected {expected}");
        }
        (rest, count) = (others, count + 1);
    }
    assert_eq!(count, cases);
}

#[test]
fn pieces_have_neighbours_of_zeros_and_silence_behind_the_end() {
    let listener = Listener { projector: "ultravox".to_owned(), bins: 40, merge: 8, hidden: 32, queries: 1 };
    let mel = listened(&listener, samples(8219)).expect("a known encoder");
    assert_eq!([1, 480_000, 480_001].map(|count| listener.pieces(count)), [1, 1, 2]);
    let piece = listener.piece(&mel, 0);
    assert_eq!((piece.folds[0].rows, piece.rows, piece.outputs), (3000, 1500, 187));
    assert_eq!(piece.patches.len(), 3000 * 40 * 3);
    assert_eq!(piece.patches[0], 0.0, "before the first frame");
    assert!((piece.patches[1] - mel.values[0]).abs() < 1e-3 && piece.patches[1] != 0.0);
    assert_eq!(piece.patches[3], 0.0, "the next bin");
    assert_eq!(piece.patches[2], piece.patches[121], "a frame is the neighbour of the one before");
    assert!((piece.patches[2999 * 120 + 1] - mel.silence).abs() < 1e-3);
    assert_eq!(piece.patches[2999 * 120 + 2], 0.0, "behind the last frame");
    assert_eq!(piece.folds[0].taps[..6], [NOTHING, 0, 1, 1, 2, 3]);
    assert_eq!(piece.folds[0].taps[4497..], [2997, 2998, 2999]);
    assert_eq!(piece.groups.indices.len(), 187 * 8);
    let pooled = Listener { projector: "qwen2a".to_owned(), bins: 40, merge: 2, hidden: 24, queries: 1 }.piece(&mel, 0);
    assert_eq!((pooled.outputs, pooled.groups.weights[0]), (750, 0.5));
    let stacked = Listener { projector: "voxtral".to_owned(), bins: 40, merge: 4, hidden: 24, queries: 1 };
    let piece = stacked.piece(&mel, 0);
    assert_eq!((piece.outputs, piece.groups.weights[0], stacked.outputs(480_001)), (375, 1.0, 750));
    let other = Listener { projector: "other".to_owned(), bins: 40, merge: 2, hidden: 24, queries: 1 };
    assert!(listened(&other, vec![0.0]).is_err());
}

#[test]
fn the_end_of_a_sound_may_be_mirrored() {
    for count in [8219, 480, 201] {
        // As loud at the end as before: the loudest value sets the floor.
        let found = samples(2 * count)[..count as usize].to_vec();
        let mut mirrored = found.clone();
        let back = |back: usize| found.len().checked_sub(back).map_or(0.0, |at| found[at]);
        mirrored.extend((2..202).map(back));
        let expected = mel(mirrored.clone(), 40, Ends::Silent);
        let mel = mel(found.clone(), 40, Ends::Mirrored);
        assert_eq!(mel.frames(), found.len() / 160 + 1, "{count} samples");
        assert_eq!(mel.values, expected.values[..mel.values.len()], "{count} samples");
    }
    // What there is nothing to mirror of is silence.
    assert_eq!([1, 77].map(|count| mel(samples(count), 40, Ends::Mirrored).frames()), [1, 1]);
}

#[test]
fn chunks_have_neighbours_of_zeros_and_are_filled_up_with_zeros() {
    let listener = Listener { projector: "qwen3a".to_owned(), bins: 27, merge: 1, hidden: 36, queries: 1 };
    let count = 140_123;
    let mel = listened(&listener, samples(count)).expect("a known encoder");
    assert_eq!(mel.frames(), 876);
    assert_eq!([1, 15_999, 16_000, 127_999, 128_000].map(|count| listener.pieces(count)), [1, 1, 1, 1, 2]);
    assert_eq!([1, 15_999, 16_000, 140_123].map(|count| listener.outputs(count)), [13, 13, 26, 117]);
    let (whole, rest) = (listener.piece(&mel, 0), listener.piece(&mel, 1));
    assert_eq!((whole.rows, whole.outputs, rest.rows), (104, 104, 13));
    let sizes = |piece: &webgguf_media::sound::Piece| piece.folds.iter().map(|fold| fold.rows).collect::<Vec<_>>();
    // 50 × 14, 25 × 7 and 13 × 4 for each chunk.
    assert_eq!((sizes(&whole), sizes(&rest)), (vec![5600, 1400, 416], vec![700, 175, 52]));
    assert_eq!(whole.patches.len(), 5600 * 9);
    let taps: Vec<usize> = rest.folds.iter().map(|fold| fold.taps.len()).collect();
    assert_eq!(taps, [175 * 9, 52 * 9, 52]);
    // Bin 1 of frame 801, the middle of what row 1 · 14 + 1 reads is bin 2 of frame 2.
    let value = |frame: usize, bin: usize| rest.patches[(frame / 2 * 14 + bin / 2) * 9 + 4];
    assert!((value(2, 4) - mel.at(802, 4)).abs() < 1e-3);
    assert_eq!((rest.patches[0], rest.patches[1], rest.patches[3]), (0.0, 0.0, 0.0), "before the first bin and frame");
    let last = (75 / 2 * 14 + 1) * 9;
    assert!(rest.patches[last + 4] != 0.0 && rest.patches[last + 14 * 9 + 4] == 0.0, "frame 876 is behind the end");
    assert_eq!(rest.folds[0].taps[..9], [NOTHING, NOTHING, NOTHING, NOTHING, 0, 14, NOTHING, 1, 15]);
    assert_eq!(whole.folds[0].taps[175 * 9 + 4], 700, "each chunk is by itself");
    assert_eq!(whole.places.indices[12..15], [12, 0, 1]);
}

#[test]
fn sounds_for_gemma_are_cut_after_thirty_seconds() {
    let listener = Listener { projector: "gemma4a".to_owned(), bins: 27, merge: 1, hidden: 6, queries: 1 };
    assert_eq!([1, 320, 321, 480_000, 480_001].map(|count| listener.pieces(count)), [1, 1, 1, 1, 2]);
    // 2,999 frames make 750 rows, 51 frames make 13.
    assert_eq!([1, 8219, 480_000, 500_123].map(|count| listener.outputs(count)), [1, 13, 750, 782]);
    let mel = listened(&listener, samples(500_123)).expect("a known encoder");
    assert_eq!(mel.frames(), 2999 + 125);
    let alone = listened(&listener, samples(500_123)[480_000..].to_vec()).expect("a known encoder");
    assert_eq!(mel.values[2999 * 27..], alone.values, "each piece is by itself");
    let (whole, rest) = (listener.piece(&mel, 0), listener.piece(&mel, 1));
    assert_eq!((whole.rows, rest.rows, rest.outputs), (750, 32, 32));
    let sizes = |piece: &webgguf_media::sound::Piece| piece.folds.iter().map(|fold| fold.rows).collect::<Vec<_>>();
    // 1,500 × 14 and 750 × 7, 63 × 14 and 32 × 7.
    assert_eq!((sizes(&whole), sizes(&rest)), (vec![21_000, 5250], vec![882, 224]));
    assert_eq!(rest.folds[0].taps[..9], [NOTHING, NOTHING, NOTHING, NOTHING, 0, 1, NOTHING, 14, 15], "frame by frame");
    assert!((rest.patches[5] - mel.at(2999, 1)).abs() < 4e-3, "the middle and the right of the first: bins 0 and 1");
    assert!((rest.patches[7] - mel.at(3000, 0)).abs() < 4e-3, "below it is the next frame");
    let [first, second] = [0, 1].map(|distance| &rest.turns[distance * 6..][..6]);
    assert_eq!(first, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    let angles = [1.0_f32, 0.01, 0.0001];
    assert!(angles.iter().zip(second).all(|(angle, sine)| (angle.sin() - sine).abs() < 1e-6), "{second:?}");
    assert!(rest.turns[12 * 6..].iter().all(|&value| value == 0.0) && rest.turns.len() == 32 * 6);
}

#[test]
fn sounds_for_lfm_are_cut_after_376_rows() {
    let [centred, filled] = ["lfm2a", "lfm3a"].map(|name| Listener {
        projector: name.to_owned(),
        bins: 27,
        merge: 1,
        hidden: 6,
        queries: 1,
    });
    // 481,279 samples have 3,008 frames, as many as a piece takes.
    assert_eq!([1, 481_279, 481_280].map(|count| centred.pieces(count)), [1, 1, 2]);
    assert_eq!([1, 1279, 1280, 481_280].map(|count| centred.outputs(count)), [1, 1, 2, 377]);
    // The first frame takes 400 samples, each other one 160 more.
    assert_eq!([1, 400, 1520, 1521, 481_520, 481_521].map(|count| filled.outputs(count)), [1, 1, 1, 2, 376, 377]);
    assert_eq!([481_520, 481_521].map(|count| filled.pieces(count)), [1, 2]);
    let mel = listened(&centred, samples(481_281)).expect("a known encoder");
    let (whole, rest) = (centred.piece(&mel, 0), centred.piece(&mel, 1));
    assert_eq!((whole.rows, whole.outputs, rest.rows), (376, 376, 1));
    let sizes: Vec<_> = whole.folds.iter().map(|fold| (fold.rows, fold.taps.len())).collect();
    assert_eq!(sizes, [(1504 * 14, 752 * 7 * 9), (752 * 7, 376 * 4 * 9), (376 * 4, 376 * 4)]);
    // The middle of what the first row reads, then the next bin, then the next frame.
    let value = |at: usize| whole.patches[at];
    assert_eq!([4, 5, 7].map(value), [mel.at(0, 0), mel.at(0, 1), mel.at(1, 0)]);
    let [one, back] = [1, 377].map(|row| &whole.turns[row * 6..][..6]);
    assert!((one[0] - 1.0_f32.sin()).abs() < 1e-6 && (one[1] - 1.0_f32.cos()).abs() < 1e-6, "{one:?}");
    let expected: Vec<f32> = one.chunks(2).flat_map(|pair| [-pair[0], pair[1]]).collect();
    assert_eq!(back, expected);
    let mel = listened(&filled, samples(8219)).expect("a known encoder");
    let piece = filled.piece(&mel, 0);
    assert_eq!([4, 5, 7].map(|at| piece.patches[at]), [mel.at(0, 0), mel.at(1, 0), mel.at(0, 1)]);
    assert!(piece.turns.is_empty());
}

#[test]
fn bins_of_nemo_have_mean_0_and_deviation_1() {
    for count in [8219, 480, 161, 1] {
        let mel = made(samples(count), 27, Some(Ends::Centred)).0;
        let own = count as usize / 160;
        assert_eq!((mel.frames(), mel.silence), (own + 1, 0.0), "{count} samples");
        assert!(mel.values[own * 27..].iter().all(|&value| value == 0.0), "{count} samples: behind the end");
        for bin in 0..27 {
            let values: Vec<f32> = (0..own).map(|frame| mel.at(frame, bin)).collect();
            let mean = values.iter().sum::<f32>() / own.max(1) as f32;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>();
            let variance = squares / own.saturating_sub(1).max(1) as f32;
            let expected = if own > 1 { 1.0 } else { 0.0 };
            assert!(mean.abs() < 1e-4 && (variance - expected).abs() < 1e-3, "{count} samples: {mean}, {variance}");
        }
    }
}

/// The frames of a sound that arrives in pieces, as they are given.
fn frames_of(samples: &[f32], piece: usize) -> Vec<f32> {
    let mut work = Spectrogram::new(Vec::new(), 24, Some(Ends::Steady));
    samples.chunks(piece).flat_map(|piece| work.go_on(piece)).collect()
}

#[test]
fn frames_of_a_sound_that_arrives_are_those_of_all_of_it() {
    let all = samples(20_000);
    let whole = made(all.clone(), 24, Some(Ends::Steady)).0.values;
    for piece in [1, 37, 160, 977, 5_003, 20_000] {
        let frames = frames_of(&all, piece);
        // Frames in pairs, and those whose windows are complete.
        assert_eq!(frames.len(), 124 * 24, "pieces of {piece}");
        assert!(frames[..] == whole[..frames.len()], "pieces of {piece}");
    }
    let part = frames_of(&all[..9_600], 100);
    assert!(part.len() == 58 * 24 && part[..] == whole[..part.len()], "what follows changes no frame before");
    assert!(whole.iter().all(|&value| value >= (1.5 - 8.0 + 4.0) / 4.0));
    assert!(whole.contains(&((1.5 - 8.0 + 4.0) / 4.0)));
}

/// A row of the first convolution, and the rows of it that each row of the second reads, of all pieces.
fn rows_of(samples: &[f32], piece: usize, most: usize) -> (Vec<Vec<f32>>, usize) {
    let (bins, merge) = (24, 3);
    let mut sound = Arriving::new(bins, merge);
    let (mut rows, mut convolved) = (Vec::new(), 0);
    for piece in samples.chunks(piece) {
        sound.push(piece);
        while sound.outputs() > 0 {
            let Piece { rows: count, outputs, patches, folds, groups, .. } = sound.take(most);
            assert_eq!((count, groups.indices.len()), (outputs * merge, count));
            let of: Vec<&[f32]> = patches.chunks(bins * 3).collect();
            assert_eq!((folds[0].rows, folds[0].taps.len()), (of.len(), 3 * count));
            let taps = |taps: &[u32]| {
                let zeros = vec![0.0; bins * 3];
                taps.iter()
                    .flat_map(|&tap| if tap == NOTHING { zeros.clone() } else { of[tap as usize].to_vec() })
                    .collect()
            };
            rows.extend(folds[0].taps.chunks(3).map(taps));
            convolved += of.len();
        }
    }
    (rows, convolved)
}

#[test]
fn rows_of_a_sound_that_arrives_read_the_same_frames() {
    let all = samples(20_000);
    let (whole, convolved) = rows_of(&all, 20_000, 1_000);
    assert_eq!((whole.len(), convolved), (60, 120));
    let mel = Mel { bins: 24, values: frames_of(&all, 20_000), silence: 0.0 };
    for (row, bin) in [(0_usize, 0), (0, 7), (1, 5), (2, 23), (59, 7)] {
        let values = |frame: usize| [2, 1, 0].map(|back| if back > frame { 0.0 } else { mel.at(frame - back, bin) });
        for tap in 0..3 {
            let expected = (2 * row + tap).checked_sub(1).map_or([0.0; 3], values);
            assert_eq!(whole[row][tap * 72 + bin * 3..][..3], expected, "row {row}, bin {bin}, tap {tap}");
        }
    }
    for (piece, most) in [(1, 1), (161, 2), (1_280, 7), (7_001, 3)] {
        let (rows, convolved) = rows_of(&all, piece, most);
        assert!(rows == whole, "pieces of {piece}");
        assert!(convolved <= 120 + 20, "pieces of {piece}: one row of the first convolution comes again");
    }
}
