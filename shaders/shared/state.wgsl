// The words that change with every token are kept on the GPU; kernels/state.rs says who writes which.
struct State {
    position: u32, // tokens in the cache before this pass
    count: u32,    // tokens of this pass
    token: u32,    // the last sampled token
    done: u32,     // 1 once an end-of-generation token was sampled
    steps: u32,    // tokens sampled so far
    pad0: u32,
    pad1: u32,
    pad2: u32,
}
