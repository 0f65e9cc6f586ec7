//! A model on the GPU: what its sessions share.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::pace::Pace;
use crate::forward::{BufferSpec, Buffers, Forward, Lists, Plan, Room, Weights};
use crate::gpu::{BufferTable, Device};
use crate::kernels::caps::Caps;
use crate::model::ModelConfig;
use crate::model::program::Program;

/// Weights on a device, and what is known of the model. It never changes once it is built, and any number of
/// [sessions](super::GpuSession) run it. The weights go when the last of them does.
pub struct GpuModel {
    pub(super) device: Rc<Device>,
    /// The device's, with the precision that the model is run in.
    pub(super) caps: Caps,
    pub(super) config: ModelConfig,
    pub(super) program: Program,
    pub(super) weights: Weights,
    /// The weights' buffers: those of sessions get the numbers after them.
    pub(super) plan: Plan,
    pub(super) table: BufferTable,
    /// RoPE frequencies of each of the program's tables, see [`crate::kernels::rope_kv::frequency_table`].
    pub(super) frequencies: Vec<Vec<[u32; 2]>>,
    /// Ids of the kernels that took the weights apart.
    pub(super) repacks: BTreeSet<String>,
    pub(super) pace: Pace,
}

impl GpuModel {
    /// The device that it is on.
    pub fn device(&self) -> &Rc<Device> {
        &self.device
    }

    /// The model's numbers.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Bytes of the weights on the GPU.
    pub fn bytes(&self) -> u64 {
        self.table.bytes()
    }
}

/// What a session is made of, before any of it exists.
pub(super) struct SessionPlan {
    pub buffers: Buffers,
    /// Of the buffers that are the session's own.
    pub specs: Vec<BufferSpec>,
    pub lists: Lists,
}

impl SessionPlan {
    /// A session with room for so much.
    pub fn new(model: &GpuModel, room: Room) -> Self {
        let weights = &model.plan.buffers;
        let mut plan = Plan { buffers: weights.clone() };
        let buffers = Buffers::alloc(&model.program, model.config.vocab, room, &mut plan);
        let lists = Forward::new(&model.program, &model.caps, &model.weights, &buffers).lists();
        let specs = plan.buffers.split_off(weights.len());
        Self { buffers, specs, lists }
    }
}
