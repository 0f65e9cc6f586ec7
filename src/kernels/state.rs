//! The GPU-side state of a run: the few words that change with every token.
//!
//! The host writes it before a prefill chunk; the last sampling kernel advances it after every token, so that the
//! command list of one token is constant. It is what the host reads back: 32 bytes per token.

/// Mirrors `State` in `shaders/shared/state.wgsl`; `tests/contract.rs` compares them.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct State {
    /// Tokens in the cache before this pass.
    pub position: u32,
    /// Tokens of this pass: 1 in decode.
    pub count: u32,
    /// The last sampled token.
    pub token: u32,
    /// 1 once an end-of-generation token was sampled; later steps then leave everything as it is.
    pub done: u32,
    /// Tokens sampled so far: the random generator's counter.
    pub steps: u32,
    /// Padding to 32 bytes.
    pub pad: [u32; 3],
}
