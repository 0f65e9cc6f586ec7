//! A causal depthwise convolution along the tokens of a sequence: Mamba's `conv1d` (Gu and Dao 2023,
//! <https://arxiv.org/abs/2312.00752>) and LFM2's short convolution (<https://arxiv.org/abs/2511.23404>).

/// `y[t] = bias + sum_j weight[j] · x[t − kernel + 1 + j]` for each channel by itself: x `[tokens, channels]`, `weight`
/// `[channels, kernel]`, `bias` `[channels]` or empty for none. `state` `[kernel − 1, channels]` holds the inputs
/// before the first token, the oldest first, and then those before the next.
///
/// # Panics
/// If a length does not fit the others.
pub fn conv_causal(x: &[f32], weight: &[f32], bias: &[f32], state: &mut Vec<f32>, channels: usize) -> Vec<f32> {
    let kernel = weight.len() / channels;
    assert_eq!(state.len(), (kernel - 1) * channels, "{kernel} taps of {channels} channels");
    state.extend_from_slice(x);
    let mut y = vec![0.0; x.len()];
    for (t, row) in y.chunks_exact_mut(channels).enumerate() {
        for (channel, y) in row.iter_mut().enumerate() {
            let taps = weight[channel * kernel..][..kernel].iter().enumerate();
            let product = |(j, &weight): (usize, &f32)| weight * state[(t + j) * channels + channel];
            *y = bias.get(channel).copied().unwrap_or(0.0) + taps.map(product).sum::<f32>();
        }
    }
    state.drain(..x.len());
    y
}
