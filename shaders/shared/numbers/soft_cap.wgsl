// cap · tanh(x / cap)                                                (Gemma 2, arXiv 2408.00118)
// WGSL allows tanh an error of 2^-5 but exp only a few units in the last place: so exp is used, and the Taylor series
// near 0, where the numerator cancels.
fn soft_cap(x: f32, cap: f32) -> f32 {
    // mutant (softmax, attention, attention_decode, attention_strided): 10.0, 10 => 1.0, 1
    let t = clamp(x / cap, -10.0, 10.0);
    let square = t * t;
    let series = t * (1.0 + square * (-1.0 / 3.0 + square * (2.0 / 15.0 + square * (-17.0 / 315.0))));
    let e = exp(-2.0 * abs(t));
    // mutant (softmax, attention, attention_decode, attention_strided): square < 0.03 => square < 3.0
    // mutant (softmax, attention, attention_decode, attention_strided): return cap * => return
    return cap * select(sign(t) * (1.0 - e) / (1.0 + e), series, square < 0.03);
}
