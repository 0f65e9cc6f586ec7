//! A model on the GPU, which its sessions share.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::adapters::GpuAdapters;
use super::pace::Pace;
use super::row_cache::{Rows, Slotted};
use crate::Result;
use crate::forward::{CHUNK, Export, Plan, RowCache, Weights};
use crate::gpu::{Buffer, BufferTable, CommandList, Device};
use crate::kernels::caps::{ActivationFormat, Caps};
use crate::kernels::spec::BufferId;
use crate::model::program::Program;
use crate::model::{Adapter, InputRows, ModelConfig};
use crate::runtime::load::verdict::SelfCheck;
use crate::runtime::prefixes::store::Prefixes;

/// Weights on a device, and what is known of the model. Once built, nothing changes but its adapters, its prompt rows,
/// the prefixes that it keeps and the slots of a cached table. Any number of
/// [sessions](crate::runtime::GpuSession) run it; the weights are freed with the last of them.
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
    /// What was read of texts and is kept, by default nothing.
    pub(in crate::runtime) prefixes: Prefixes<Rc<Buffer>>,
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

    /// Puts an adapter on the GPU, under a number that no other adapter has or had.
    ///
    /// # Errors
    /// The errors of [`GpuAdapters::add`].
    pub(in crate::runtime) async fn add_adapter(&self, id: u32, adapter: Adapter) -> Result<()> {
        self.adapters.add(&self.device, &self.program, (id, adapter)).await
    }

    /// Whether prefill rounds activations.
    pub(in crate::runtime) fn rounds(&self) -> bool {
        self.caps.activation_format != ActivationFormat::F32
    }

    /// Maximum number of tokens of a pass: as many as [`GpuModel::ensure_rows`] can have in slots at once.
    pub(in crate::runtime) fn chunk(&self) -> usize {
        self.weights.row_cache.as_ref().map_or(CHUNK, RowCache::chunk)
    }

    /// Makes sure that the next pass finds the rows of these tokens, at most [`GpuModel::chunk`]. The pass is to be
    /// submitted before anything else is awaited. Passes submitted before see the slots as they were.
    ///
    /// # Errors
    /// The errors of [`Rows::ensure`].
    pub(in crate::runtime) async fn ensure_rows(&self, tokens: &[u32]) -> Result<()> {
        let Some((rows, cache)) = self.rows.as_ref().zip(self.weights.row_cache.as_ref()) else { return Ok(()) };
        rows.ensure(tokens, Slotted { device: &self.device, table: &self.table, cache }).await
    }

    /// Puts the rows of tokens that texts are likely to use into slots, as many as fit.
    ///
    /// # Errors
    /// The errors of the source.
    pub async fn expect(&self, tokens: &[u32]) -> Result<()> {
        self.ensure_rows(&tokens[..tokens.len().min(self.chunk())]).await
    }

    /// Marks the row of a token as used.
    pub(in crate::runtime) fn touch_row(&self, token: u32) {
        self.rows.iter().for_each(|rows| rows.touch(token));
    }
}
