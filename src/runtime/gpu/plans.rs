//! What sessions and embedders are made from, before their buffers exist.

use super::model::GpuModel;
use crate::forward::{BatchLists, BufferSpec, Buffers, Forward, Lists, Plan, Room, takes_drafts, widest_row};
use crate::kernels::mat_vec::MAX_COLUMNS;
use crate::kernels::spec::{Dispatch, MAX_WORKGROUPS, Slice};
use crate::model::program::{Output, Program};
use crate::runtime::passes::rows::embeddings;
use crate::{Error, ErrorCode, Result};

/// Maximum number of rows of a batch, unless one input has more.
const BATCH_ROWS: usize = 4096;

/// Maximum number of rows of a small batch, such as a few short texts.
pub(in crate::runtime) const SMALL_BATCH: usize = 256;

/// The same for an encoder of sounds that arrive: a tenth of a second.
const SMALL_PIECE: usize = MAX_COLUMNS as usize;

/// Number of rows of the batches of a model whose inputs have up to `context` tokens. `widest`: values of its widest
/// row.
///
/// # Errors
/// `limit_exceeded` where the activations of one input do not fit a binding.
pub(in crate::runtime) fn batch_rows(widest: usize, max_binding: u64, context: usize) -> Result<usize> {
    let most = usize::try_from(max_binding / (widest.max(1) as u64 * 4)).unwrap_or(usize::MAX);
    let most = most.min(MAX_WORKGROUPS as usize);
    if context > most {
        let message = format!("activations of {context} tokens do not fit a binding here, those of {most} would");
        return Err(Error::new(ErrorCode::LimitExceeded, message));
    }
    Ok(BATCH_ROWS.max(context).min(most))
}

/// Maximum number of patches of an image for an encoder that could take `context`: their activations must fit a
/// binding.
pub(in crate::runtime) fn image_rows(widest: usize, max_binding: u64, context: usize) -> usize {
    let most = usize::try_from(max_binding / (widest.max(1) as u64 * 4)).unwrap_or(usize::MAX);
    context.min(most).min(MAX_WORKGROUPS as usize).max(1)
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
    /// Dispatches at the start of the lists over rows that write embeddings.
    pub embeddings: usize,
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
        let small = if model.program.hears_on() { SMALL_PIECE } else { SMALL_BATCH };
        let lists = [small.min(rows), rows].map(|most| forward.batch_lists(most)).into();
        let (pooled, embeddings) = (forward.pooled(), embeddings(&forward));
        let specs = plan.buffers.split_off(weights.len());
        Ok(Self { context, buffers, specs, lists, pooled, embeddings })
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
    Session(Box<SessionPlan>),
    /// Gives vectors or scores.
    Batches(Box<BatchPlan>),
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
