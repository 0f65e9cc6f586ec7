//! Mamba's recurrence (Gu and Dao 2023, <https://arxiv.org/abs/2312.00752>).

/// The inputs of a scan.
#[derive(Debug, Clone, Copy)]
pub struct ScanInputs<'a> {
    /// `[batch, length, channels]`
    pub x: &'a [f32],
    /// `[batch, length, channels]`
    pub delta: &'a [f32],
    /// `[channels, n]`
    pub a: &'a [f32],
    /// `[batch, length, n]`
    pub b: &'a [f32],
    /// `[batch, length, n]`
    pub c: &'a [f32],
    /// `[channels]`, or empty for none
    pub d: &'a [f32],
}

/// `h = exp(Δ A) h + Δ B x`, `y = C h + D x` at every step, from `state` `[batch, channels, n]` on, which becomes the
/// state after the last: y `[batch, length, channels]`.
pub fn selective_scan(inputs: &ScanInputs, shape: [usize; 3], n: usize, state: &mut [f64]) -> Vec<f32> {
    let [batch, length, channels] = shape;
    let mut y = vec![0.0; batch * length * channels];
    for line in 0..batch * channels {
        let (sequence, channel) = (line / channels, line % channels);
        let h = &mut state[line * n..][..n];
        let rates = &inputs.a[channel * n..][..n];
        for row in sequence * length..(sequence + 1) * length {
            let at = row * channels + channel;
            let (x, delta) = (f64::from(inputs.x[at]), f64::from(inputs.delta[at]));
            let mut sum = inputs.d.get(channel).map_or(0.0, |&d| f64::from(d) * x);
            for (j, (h, &rate)) in h.iter_mut().zip(rates).enumerate() {
                *h = (delta * f64::from(rate)).exp() * *h + delta * f64::from(inputs.b[row * n + j]) * x;
                sum += f64::from(inputs.c[row * n + j]) * *h;
            }
            y[at] = sum as f32;
        }
    }
    y
}
