//! Spectrograms as the formulas in float64 give them; `tools/make_sound_fixtures.py` writes what is expected.

use webgguf_media::mel::Mel;
use webgguf_media::sound::{Listener, NOTHING};

/// A wave with noise, which is a hundred thousandth as loud after two thirds.
fn samples(count: u64) -> Vec<f32> {
    let sample = |at: u64| {
        let noise = (((at * 2_654_435_761 + 12_345) % (1 << 32)) >> 16) as f64 / 65_536.0 - 0.5;
        let wave = (at % 50) as f64 / 50.0 - 0.5;
        ((noise / 8.0 + wave / 2.0) * if at * 3 < count * 2 { 1.0 } else { 1e-5 }) as f32
    };
    (0..count).map(sample).collect()
}

#[test]
fn spectrograms_are_those_of_the_formulas() {
    let mut rest: &[u8] = include_bytes!("fixtures/mel.bin");
    let mut count = 0;
    while !rest.is_empty() {
        let short = |at: usize| u16::from_le_bytes([rest[at], rest[at + 1]]);
        let long = |at: usize| [rest[at], rest[at + 1], rest[at + 2], rest[at + 3]];
        let bins = usize::from(short(0));
        let length = u64::from(u32::from_le_bytes(long(2)));
        let frames = u32::from_le_bytes(long(6)) as usize;
        let silence = f32::from_le_bytes(long(10));
        let (expected, others) = rest[14..].split_at(frames * bins * 4);
        let mel = Mel::of(&samples(length), bins);
        assert_eq!(mel.frames(), frames, "{length} samples");
        assert!((mel.silence - silence).abs() < 1e-6, "{length} samples: {}", mel.silence);
        for (at, (found, expected)) in mel.values.iter().zip(expected.chunks_exact(4)).enumerate() {
            let expected = f32::from_le_bytes([expected[0], expected[1], expected[2], expected[3]]);
            assert!((found - expected).abs() < 1e-5, "{length} samples, value {at}: {found}, expected {expected}");
        }
        (rest, count) = (others, count + 1);
    }
    assert_eq!(count, 4);
}

#[test]
fn pieces_have_neighbours_of_zeros_and_silence_behind_the_end() {
    let listener = Listener { projector: "ultravox".to_owned(), bins: 40, merge: 8 };
    let mel = listener.mel(&samples(8219)).expect("a known encoder");
    assert_eq!([1, 480_000, 480_001].map(|count| listener.pieces(count)), [1, 1, 2]);
    let piece = listener.piece(&mel, 0);
    assert_eq!((piece.frames, piece.rows, piece.outputs), (3000, 1500, 187));
    assert_eq!(piece.patches.len(), 3000 * 40 * 3);
    assert_eq!(piece.patches[0], 0.0, "before the first frame");
    assert!((piece.patches[1] - mel.values[0]).abs() < 1e-3 && piece.patches[1] != 0.0);
    assert_eq!(piece.patches[3], 0.0, "the next bin");
    assert_eq!(piece.patches[2], piece.patches[121], "a frame is the neighbour of the one before");
    assert!((piece.patches[2999 * 120 + 1] - mel.silence).abs() < 1e-3);
    assert_eq!(piece.patches[2999 * 120 + 2], 0.0, "behind the last frame");
    assert_eq!(piece.fold[..6], [NOTHING, 0, 1, 1, 2, 3]);
    assert_eq!(piece.fold[4497..], [2997, 2998, 2999]);
    assert_eq!(piece.groups.indices.len(), 187 * 8);
    let pooled = Listener { projector: "qwen2a".to_owned(), bins: 40, merge: 2 }.piece(&mel, 0);
    assert_eq!((pooled.outputs, pooled.groups.weights[0]), (750, 0.5));
    assert!(Listener { projector: "other".to_owned(), bins: 40, merge: 2 }.mel(&[0.0]).is_err());
}
