//! RIFF WAVE files with uncompressed samples.

/// How a sample is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Integers of this number of bytes; unsigned for one byte.
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

/// The sample format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    format: Format,
    channels: usize,
    /// Samples a second.
    pub rate: u32,
}

impl Header {
    /// Reads the chunk `fmt `; `None` where it is damaged or samples are compressed.
    pub fn of(body: &[u8]) -> Option<Self> {
        let short = |at: usize| Some(u16::from_le_bytes(body.get(at..at + 2)?.try_into().ok()?));
        let rate = u32::from_le_bytes(body.get(4..8)?.try_into().ok()?);
        // The extensible form has its tag at a later offset.
        let tag = if short(0)? == 0xfffe { short(24)? } else { short(0)? };
        let (channels, format) = (usize::from(short(2)?), Format::of(tag, short(14)?)?);
        (channels > 0).then_some(Self { format, channels, rate })
    }

    /// Bytes of a sample frame: one sample of each channel.
    pub fn moment(&self) -> usize {
        self.format.bytes() * self.channels
    }

    /// Decodes whole sample frames and mixes the channels.
    pub fn read(&self, bytes: &[u8]) -> Vec<f32> {
        let moment = |bytes: &[u8]| {
            let samples = bytes.chunks_exact(self.format.bytes()).map(|bytes| self.format.read(bytes));
            samples.sum::<f32>() / self.channels as f32
        };
        bytes.chunks_exact(self.moment()).map(moment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(tag: u16, channels: u16, bits: u16) -> Vec<u8> {
        let rate = 8000u32.to_le_bytes();
        [&tag.to_le_bytes(), &channels.to_le_bytes(), &rate[..], &[0; 6], &bits.to_le_bytes()].concat()
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
            let found = Header::of(&header(tag, 1, bits)).expect("a sound");
            assert_eq!((found.rate, found.moment()), (8000, usize::from(bits / 8)));
            assert_eq!(found.read(&data), [0.5, -0.5], "{tag}, {bits} bits");
        }
    }

    #[test]
    fn channels_are_mixed() {
        let data = [0.5_f32, 0.25, -1.0, 0.0].map(f32::to_le_bytes).concat();
        assert_eq!(Header::of(&header(3, 2, 32)).expect("a sound").read(&data), [0.375, -0.5]);
    }

    #[test]
    fn what_is_no_such_file_is_not_read() {
        assert_eq!(Header::of(&header(85, 1, 16)), None, "packed samples");
        assert_eq!(Header::of(&header(1, 0, 16)), None, "no channel");
        for end in 0..16 {
            assert_eq!(Header::of(&header(1, 1, 16)[..end]), None);
        }
        assert_eq!(Header::of(&header(0xfffe, 1, 16)), None, "the extended form without its end");
    }
}
