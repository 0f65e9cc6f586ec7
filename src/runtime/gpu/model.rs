//! A model on the GPU, which its sessions share, and the plans of sessions and embedders.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::adapters::GpuAdapters;
use super::embedder::{SMALL_BATCH, batch_rows, image_rows};
use super::pace::Pace;
use super::row_cache::Rows;
use crate::forward::{
    BatchLists, BufferSpec, Buffers, Export, Forward, Lists, Plan, Room, Weights, takes_drafts, widest_row,
};
use crate::gpu::{Buffer, BufferTable, CommandList, Device};
use crate::kernels::caps::Caps;
use crate::kernels::spec::{BufferId, Dispatch, Slice};
use crate::model::program::{Output, Program};
use crate::model::{InputRows, ModelConfig};
use crate::runtime::load::self_check::SelfCheck;
use crate::{Error, ErrorCode, Result};

/// Weights on a device, and what is known of the model. Once built, nothing changes but its adapters, its prompt rows
/// and the slots of a cached table. Any number of [sessions](crate::runtime::GpuSession) run it; the weights are freed
/// with the last of them.
pub struct GpuModel {
    pub(in crate::runtime) device: Rc<Device>,
    /// Capabilities of the device, with the precision that the model runs in.
    pub(in crate::runtime) caps: Caps,
    pub(in crate::runtime) config: ModelConfig,
    pub(in crate::runtime) program: Program,
    pub(in crate::runtime) weights: Weights,
    /// Plan of the weights' buffers. Buffers of sessions are numbered after them.
    pub(in crate::runtime) plan: Plan,
    pub(in crate::runtime) table: BufferTable,
    /// RoPE frequencies for each of the program's tables, see [`crate::kernels::rope_kv::frequency_table`].
    pub(in crate::runtime) frequencies: Vec<Vec<[u32; 2]>>,
    /// Ids of the kernels that repacked the weights.
    pub(in crate::runtime) repacks: BTreeSet<String>,
    pub(in crate::runtime) pace: Pace,
    pub(in crate::runtime) self_check: SelfCheck,
    /// Slots of a table that is not entirely on the GPU, and the source of its rows.
    pub(in crate::runtime) rows: Option<Rows>,
    /// Rows that prompts may hold beside tokens.
    pub(in crate::runtime) input_rows: InputRows<Buffer>,
    /// Adapters that passes may apply.
    pub(in crate::runtime) adapters: GpuAdapters,
}

impl GpuModel {
    /// The device that the model is on.
    pub fn device(&self) -> &Rc<Device> {
        &self.device
    }

    /// Sorted ids of all kernel variants that ran to load the model, or run in these lists.
    pub(in crate::runtime) fn variants_with<'l>(&self, lists: impl Iterator<Item = &'l CommandList>) -> Vec<String> {
        let mut all = self.repacks.clone();
        all.extend(lists.flat_map(CommandList::variants).map(str::to_owned));
        all.into_iter().collect()
    }

    /// The model's configuration.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The result of the check whether its kernels compute what they should.
    pub fn self_check(&self) -> &SelfCheck {
        &self.self_check
    }

    /// What it computes, as numbers.
    pub fn export(&self) -> Export {
        crate::forward::export(&self.program, &self.weights, &self.frequencies)
    }

    /// The buffer of a weight.
    pub fn buffer(&self, id: BufferId) -> &Rc<Buffer> {
        self.table.get(id)
    }

    /// Bytes of the weights on the GPU.
    pub fn bytes(&self) -> u64 {
        self.table.bytes()
    }
}

/// Everything that a session is made from, before its buffers exist.
pub(in crate::runtime) struct SessionPlan {
    pub buffers: Buffers,
    /// Specifications of the session's own buffers.
    pub specs: Vec<BufferSpec>,
    pub lists: Lists,
}

impl SessionPlan {
    /// Plans a session with this room.
    ///
    /// # Errors
    /// `limit_exceeded` where a cache of the whole context is too large for the device.
    pub fn new(model: &GpuModel, room: Room) -> Result<Self> {
        let weights = &model.plan.buffers;
        let mut plan = Plan { buffers: weights.clone() };
        let room = room.with_drafts(room.drafts && takes_drafts(&model.weights));
        let buffers = Buffers::alloc(&model.program, model.config.vocab, room, &mut plan);
        buffers.check_caches(model.device.largest_binding())?;
        let lists = Forward::new(&model.program, &model.caps, &model.weights, &buffers).lists();
        let specs = plan.buffers.split_off(weights.len());
        Ok(Self { buffers, specs, lists })
    }
}

/// Everything that an embedder is made from, before its buffers exist.
pub(in crate::runtime) struct BatchPlan {
    /// Maximum number of tokens of an input.
    pub context: usize,
    pub buffers: Buffers,
    /// Specifications of the embedder's own buffers.
    pub specs: Vec<BufferSpec>,
    /// Command lists for small batches and for large ones, since some kernels run over all rows that their list has
    /// room for.
    pub lists: Vec<BatchLists>,
    /// Slice with the results of a batch.
    pub pooled: Slice,
}

impl BatchPlan {
    /// Plans an embedder for inputs of up to `context` tokens.
    pub fn new(model: &GpuModel, context: usize) -> Result<Self> {
        let weights = &model.plan.buffers;
        let mut plan = Plan { buffers: weights.clone() };
        let (widest, most) = (widest_row(&model.program), model.caps.max_binding);
        let (context, rows) = match model.program.output {
            Output::Rows => {
                let rows = image_rows(widest, most, context);
                (rows, rows)
            }
            _ => (context, batch_rows(widest, most, context)?),
        };
        let buffers = Buffers::for_batches(&model.program, rows, &mut plan);
        check_stages(&plan.buffers[weights.len()..], &model.program, most)?;
        let forward = Forward::new(&model.program, &model.caps, &model.weights, &buffers);
        let lists = [SMALL_BATCH.min(rows), rows].map(|most| forward.batch_lists(most)).into();
        let pooled = forward.pooled();
        let specs = plan.buffers.split_off(weights.len());
        Ok(Self { context, buffers, specs, lists, pooled })
    }
}

/// Rows of the first stages of an encoder are not made fewer where they do not fit.
fn check_stages(specs: &[BufferSpec], program: &Program, most: u64) -> Result<()> {
    let too_large = specs.iter().find(|spec| spec.bytes > most && !program.stage_rows.is_empty());
    too_large.map_or(Ok(()), |BufferSpec { label, bytes, .. }| {
        let message = format!("{label} of the encoder: {bytes} bytes, a binding here has at most {most}");
        Err(Error::new(ErrorCode::LimitExceeded, message))
    })
}

/// The plan for what a model is loaded for.
pub(in crate::runtime) enum RunPlan {
    /// Writes text.
    Session(SessionPlan),
    /// Gives vectors or scores.
    Batches(BatchPlan),
}

impl RunPlan {
    /// Specifications of the buffers beside the model's.
    pub fn specs(&self) -> &[BufferSpec] {
        match self {
            Self::Session(plan) => &plan.specs,
            Self::Batches(plan) => &plan.specs,
        }
    }

    /// All dispatches.
    pub fn dispatches(&self) -> Vec<&Dispatch> {
        match self {
            Self::Session(plan) => plan.lists.all().collect(),
            Self::Batches(plan) => plan.lists.iter().flat_map(BatchLists::all).collect(),
        }
    }
}
