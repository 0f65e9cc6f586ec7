// The logistic function of numbers that may be far from 0.
fn logistic(x: vec4<f32>) -> vec4<f32> {
    return 1.0 / (1.0 + exp(-max(x, vec4<f32>(-80.0))));
}

// RWKV-7's replacement key: as much smaller as the in-context learning rate is, where `share` says so.
fn replacement_key(key: vec4<f32>, rate: vec4<f32>, share: vec4<f32>) -> vec4<f32> {
    // mutant (wkv): (rate - 1.0) * share => rate * share
    return key * (1.0 + (rate - 1.0) * share);
}
