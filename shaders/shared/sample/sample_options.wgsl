// How the next token is chosen, and what follows for the filters. Mirrors kernels/sample.rs, which documents each word;
// keys are those of sample_scratch.
struct Options {
    temperature: f32,
    top_p: f32,
    min_p: f32,
    repetition_penalty: f32,
    frequency_penalty: f32,
    presence_penalty: f32,
    top_k: u32,
    seed_low: u32,
    seed_high: u32,
    typical_p: f32,
    pad0: u32,
    pad1: u32,
}

// The largest key that min-p keeps, and that can be drawn at all, where the largest logit that other filters keep has
// the depth `above`.
fn least_key(sequence: u32, above: f32) -> u32 {
    if options[sequence].min_p > 0.0 {
        // mutant (sample, sample_candidates): above - log(options[sequence].min_p) => options[sequence].min_p
        return min(DEEPEST - 1u, depth_key(above - log(options[sequence].min_p)));
    }
    return DEEPEST - 1u;
}

// Whether candidates are needed: without these filters a logit is kept or not whatever the others are.
fn has_filters(sequence: u32) -> bool {
    // mutant (sample, sample_candidates, sample_histogram): 0u || options[sequence].top_p < 1.0 => 0u
    return options[sequence].top_k > 0u || options[sequence].top_p < 1.0 || options[sequence].typical_p < 1.0;
}
