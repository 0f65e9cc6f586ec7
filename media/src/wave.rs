//! Files of sound that need no decoder: RIFF WAVE with plain samples.

/// A sound as a file has it, all channels mixed.
#[derive(Debug, Clone, PartialEq)]
pub struct Wave {
    /// Samples a second.
    pub rate: u32,
    /// One for each moment.
    pub samples: Vec<f32>,
}

/// How a sample is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Whole numbers of so many bytes; of one byte without a sign.
    Whole(usize),
    Float32,
    Float64,
}

impl Format {
    fn of(tag: u16, bits: u16) -> Option<Self> {
        match (tag, bits) {
            (1, 8 | 16 | 24 | 32) => Some(Self::Whole(usize::from(bits / 8))),
            (3, 32) => Some(Self::Float32),
            (3, 64) => Some(Self::Float64),
            _ => None,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::Whole(bytes) => bytes,
            Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }

    fn read(self, bytes: &[u8]) -> f32 {
        match self {
            Self::Whole(1) => (f32::from(bytes[0]) - 128.0) / 128.0,
            Self::Whole(count) => {
                let mut value = [0; 4];
                value[4 - count..].copy_from_slice(bytes);
                i32::from_le_bytes(value) as f32 / 2_147_483_648.0
            }
            Self::Float32 => f32::from_le_bytes(bytes.try_into().unwrap_or_default()),
            Self::Float64 => f64::from_le_bytes(bytes.try_into().unwrap_or_default()) as f32,
        }
    }
}

/// Whether a file begins as one of these.
pub fn is_wave(bytes: &[u8]) -> bool {
    bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE")
}

/// Reads such a file; `None` where it is another, or damaged, or has samples that are packed.
pub fn read(bytes: &[u8]) -> Option<Wave> {
    if !is_wave(bytes) {
        return None;
    }
    let mut left = &bytes[12..];
    let mut format = None;
    loop {
        let (head, rest) = left.split_at_checked(8)?;
        let length = u32::from_le_bytes(head[4..].try_into().ok()?) as usize;
        let body = &rest[..length.min(rest.len())];
        match &head[..4] {
            b"fmt " => format = Some(Header::of(body)?),
            // A file that was being written says 0 or too much.
            b"data" => {
                let body = if length == 0 { rest } else { body };
                return format.map(|header: Header| header.read(body));
            }
            _ => {}
        }
        left = rest.get(length + length % 2..)?;
    }
}

struct Header {
    format: Format,
    channels: usize,
    rate: u32,
}

impl Header {
    fn of(body: &[u8]) -> Option<Self> {
        let short = |at: usize| Some(u16::from_le_bytes(body.get(at..at + 2)?.try_into().ok()?));
        let rate = u32::from_le_bytes(body.get(4..8)?.try_into().ok()?);
        // The extended form has its tag further back.
        let tag = if short(0)? == 0xfffe { short(24)? } else { short(0)? };
        let (channels, format) = (usize::from(short(2)?), Format::of(tag, short(14)?)?);
        (channels > 0).then_some(Self { format, channels, rate })
    }

    fn read(&self, body: &[u8]) -> Wave {
        let moment = |bytes: &[u8]| {
            let samples = bytes.chunks_exact(self.format.bytes()).map(|bytes| self.format.read(bytes));
            samples.sum::<f32>() / self.channels as f32
        };
        let moments = body.chunks_exact(self.format.bytes() * self.channels);
        Wave { rate: self.rate, samples: moments.map(moment).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tag: u16, channels: u16, bits: u16, data: &[u8]) -> Vec<u8> {
        let mut bytes = [b"RIFF".as_slice(), &[0; 4], b"WAVE", b"LIST", &3u32.to_le_bytes(), &[1, 2, 3, 0]].concat();
        bytes.extend([b"fmt ".as_slice(), &16u32.to_le_bytes()].concat());
        bytes.extend([tag.to_le_bytes(), channels.to_le_bytes()].concat());
        bytes.extend([8000u32.to_le_bytes(), [0; 4]].concat());
        bytes.extend([[0; 2], bits.to_le_bytes()].concat());
        bytes.extend([b"data".as_slice(), &(data.len() as u32).to_le_bytes(), data].concat());
        bytes
    }

    #[test]
    fn samples_of_all_kinds_are_read() {
        let cases: [(u16, u16, Vec<u8>); 6] = [
            (1, 8, vec![192, 64]),
            (1, 16, [16_384_i16, -16_384].map(i16::to_le_bytes).concat()),
            (1, 24, vec![0, 0, 64, 0, 0, 192]),
            (1, 32, [1 << 30, -(1 << 30)].map(i32::to_le_bytes).concat()),
            (3, 32, [0.5_f32, -0.5].map(f32::to_le_bytes).concat()),
            (3, 64, [0.5_f64, -0.5].map(f64::to_le_bytes).concat()),
        ];
        for (tag, bits, data) in cases {
            let found = read(&file(tag, 1, bits, &data)).expect("a sound");
            assert_eq!(found, Wave { rate: 8000, samples: vec![0.5, -0.5] }, "{tag}, {bits} bits");
        }
    }

    #[test]
    fn channels_are_mixed() {
        let data = [0.5_f32, 0.25, -1.0, 0.0].map(f32::to_le_bytes).concat();
        assert_eq!(read(&file(3, 2, 32, &data)).expect("a sound").samples, [0.375, -0.5]);
    }

    #[test]
    fn what_is_no_such_file_is_not_read() {
        let whole = file(1, 1, 16, &[0, 64]);
        for wrong in [&whole[..30], b"RIFF", b"", &[b"RIFX".as_slice(), &whole[4..]].concat()] {
            assert_eq!(read(wrong), None);
        }
        assert_eq!(read(&file(85, 1, 16, &[0, 64])), None, "packed samples");
        assert_eq!(read(&file(1, 0, 16, &[0, 64])), None, "no channel");
        for end in 0..whole.len() {
            read(&whole[..end]);
        }
    }
}
