// Below every score and logit that counts: where a running maximum starts, and the score of a masked key. It is finite,
// since WGSL promises nothing about infinities, and far enough from the end of f32 that differences do not overflow.
// mutant (argmax, argmax_merge, penalties, sample, sample_candidates): -3.0e38 => 0.0
const LOWEST: f32 = -3.0e38;
