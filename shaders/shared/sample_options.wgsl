// How the next token is chosen; mirrors kernels/sample.rs, which documents each word.
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
    pad0: u32,
    pad1: u32,
    pad2: u32,
}
