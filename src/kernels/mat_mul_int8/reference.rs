//! Activations rounded to 8 bits in blocks of 32.

/// A block of 32 activations as small integers: value ≈ `scale` · quant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantBlock {
    /// The largest magnitude over 127.
    pub scale: f32,
    /// In [-127, 127].
    pub quants: [i8; 32],
}

/// Rounds `x`, whole blocks of 32, to the nearest quants.
pub fn quantise(x: &[f32]) -> Vec<QuantBlock> {
    assert!(x.len().is_multiple_of(32), "{} values are not whole blocks of 32", x.len());
    x.chunks_exact(32).map(block).collect()
}

fn block(x: &[f32]) -> QuantBlock {
    let largest = x.iter().fold(0f32, |max, x| max.max(x.abs()));
    let inverse = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    let mut quants = [0; 32];
    quants.iter_mut().zip(x).for_each(|(quant, x)| *quant = (x * inverse).round_ties_even() as i8);
    QuantBlock { scale: largest / 127.0, quants }
}

impl QuantBlock {
    /// The rounded values.
    pub fn values(&self) -> impl Iterator<Item = f32> + '_ {
        self.quants.iter().map(|&quant| self.scale * f32::from(quant))
    }

    /// Scale times the sums of the two halves.
    pub fn sums(&self) -> [f32; 2] {
        [0, 16].map(|from| self.scale * self.quants[from..from + 16].iter().map(|&q| i32::from(q)).sum::<i32>() as f32)
    }
}
