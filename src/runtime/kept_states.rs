//! Hidden states of what a session on the CPU has read.

/// Hidden states before the output norm, of tokens from position 0 on.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    pub ids: Vec<u32>,
    /// `[ids, hidden]`
    pub states: Vec<f32>,
}

impl Kept {
    /// Adds `states` of tokens that were read at `position`, where all before them are here.
    pub fn push(&mut self, position: usize, ids: &[u32], states: &[f32]) {
        if position > self.ids.len() {
            return;
        }
        let hidden = states.len() / ids.len();
        self.ids.truncate(position);
        self.states.truncate(position * hidden);
        self.ids.extend_from_slice(ids);
        self.states.extend_from_slice(states);
    }
}
