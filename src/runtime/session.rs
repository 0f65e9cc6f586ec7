//! The interface between the loop in `generate` and a session: a KV cache and a sampler, on the GPU or on the CPU.

use std::cell::Cell;
use std::rc::Rc;

pub use super::adapter_use::AdapterUse;
use super::draft::drafting::Drafting;
use super::saved::head::Head;
use crate::kernels::kv_type::KvType;
use crate::model::{Adapter, ModelConfig};
use crate::sampler::SamplingOptions;
use crate::{Error, Result};

/// A sampled token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Id of the token, or [`NO_TOKEN`].
    pub id: u32,
    /// Whether the token ends the run.
    pub end: bool,
}

/// What a run says about the choice of its tokens, beside the sampling options.
#[derive(Debug, Default, Clone, Copy)]
pub struct RunIds<'a> {
    /// Ids that end the run.
    pub ends: &'a [u32],
    /// Ids that are never chosen.
    pub suppressed: &'a [u32],
    /// Pairs of an id and the bias that is added to its logit.
    pub biases: &'a [(u32, f32)],
    /// Whether [`Session::take_logits`] should give the logits of each token.
    pub logits: bool,
    /// Whether and when drafts of the next tokens are taken from the text.
    pub drafting: Drafting,
    /// Ids of a predicted text, from which drafts may come, too.
    pub prediction: &'a [u32],
}

/// The kernels that choosing the tokens of a pass needs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choosing {
    /// Whether the token with the largest logit is chosen, whatever came before.
    pub greedy: bool,
    /// Whether there are biases.
    pub biased: bool,
    /// Whether the logits are read back, too.
    pub logits: bool,
}

impl Choosing {
    /// What choosing the tokens of a run needs.
    pub fn of_run(options: &SamplingOptions, ids: &RunIds) -> Self {
        // Only the sampling kernels leave out suppressed tokens, so they run at temperature 0, too.
        let greedy = options.is_plain_greedy() && ids.suppressed.is_empty();
        Self { greedy, biased: !ids.biases.is_empty(), logits: ids.logits }
    }
}

/// The id that sampling returns where every logit is NaN. The shaders use the same value.
pub const NO_TOKEN: u32 = u32::MAX;

/// Up to this many tokens, [`Session::read`] on the GPU runs one decode pass for each, which takes no longer than
/// prefill.
pub(super) const FEW: usize = 4;

/// Hears how many tokens of a text are read.
pub type Listener = Rc<dyn Fn(usize)>;

/// A KV cache and a sampler over a model.
#[allow(async_fn_in_trait, reason = "the page has one thread: no future has to be Send")]
pub trait Session {
    /// The model's configuration.
    fn config(&self) -> &ModelConfig;

    /// Number of positions of the KV cache.
    fn context_length(&self) -> usize;

    /// The type in which the cache stores keys and values.
    fn kv_type(&self) -> KvType;

    /// Whether an id is that of a prompt row which the model knows.
    fn knows_row(&self, _id: u32) -> bool {
        false
    }

    /// Sets who hears, after each pass over a text that is read, how many tokens the cache holds.
    fn set_listener(&mut self, _listener: Option<Listener>) {}

    /// Sets how the tokens of the next run are chosen, and allows all ids. `prompt` counts for penalties.
    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]);

    /// Registers an adapter of the model under this number.
    ///
    /// # Errors
    /// `limit_exceeded` for one adapter too many, `unsupported_architecture` for one that changes experts;
    /// `out_of_memory`, `device_lost`.
    async fn add_adapter(&mut self, _id: u32, _adapter: Adapter) -> Result<()> {
        Err(Error::invalid_argument("the session takes no adapters"))
    }

    /// Removes an adapter; texts that are being written with it go on. False where none has this number.
    fn remove_adapter(&mut self, _id: u32) -> bool {
        false
    }

    /// The tokens from which on the adapter with this number works, empty for one that always does; `None` where there
    /// is no such adapter.
    fn invocation(&self, _id: u32) -> Option<Vec<u32>> {
        None
    }

    /// Sets the adapters with which tokens are read and written from now on.
    fn set_adapters(&mut self, _adapters: &[AdapterUse]) {}

    /// Reads the source that a decoder attends to, and empties its cache. False where `stop` was set meanwhile: there
    /// is no source then.
    ///
    /// # Errors
    /// `invalid_argument` for a model without an encoder; `out_of_memory`, `device_lost`.
    async fn read_source(&mut self, _ids: &[u32], _stop: &Cell<bool>) -> Result<bool> {
        Err(Error::invalid_argument("the session reads no source"))
    }

    /// Drops the cache from `position` on, which must not be past its end. Returns the position from which
    /// [`Session::feed`] must continue: less than `position` where the cache cannot be cut there.
    fn rewind(&mut self, position: usize) -> usize;

    /// Runs `ids` as the tokens at `position` and after; [`Session::next`] then gives the token that follows. Drops
    /// tokens in flight, which belong to an earlier run. Returns how many of the ids are in the cache: fewer where
    /// `stop` was set meanwhile, and then no token follows.
    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize>;

    /// Does what [`Session::feed`] does, but leaves choosing a token to the next [`Session::step`].
    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize>;

    /// Sets the answer so far, where some of its tokens were not chosen by passes. The next token is number
    /// `answer.len()` for the random generator. With `recount`, the answer's tokens are counted anew for penalties.
    fn resume(&mut self, answer: &[u32], recount: bool);

    /// Lets passes submitted from now on choose only ids of this mask, which has one bit for each id, 32 to a word;
    /// `None` allows all.
    fn allow(&mut self, mask: Option<&[u32]>);

    /// Whether tokens in flight can be dropped and replaced by others at no cost.
    fn draws_ahead(&self) -> bool;

    /// Number of tokens that a pass with a draft may give; 0 while passes have none.
    fn drafts_ahead(&self) -> usize {
        0
    }

    /// Whether many tokens read at once are rounded more than tokens read one by one.
    fn rounds(&self) -> bool;

    /// Takes the model's logits for the token that came out last, if the run wants them.
    fn take_logits(&mut self) -> Option<Vec<f32>>;

    /// Submits the pass of the next token before the last one is read; false where no more passes may be in flight.
    fn step(&mut self) -> Result<bool>;

    /// Number of tokens submitted and not read yet.
    fn in_flight(&self) -> usize;

    /// Waits for the oldest token in flight; `None` where none is in flight.
    async fn next(&mut self) -> Result<Option<Token>>;

    /// The oldest token in flight, if it can be had without waiting.
    fn next_if_ready(&mut self) -> Result<Option<Token>>;

    /// Number of draft tokens of the run, and how many of them were right.
    fn drafts(&self) -> [usize; 2] {
        [0; 2]
    }

    /// Ends a run and drops its tokens in flight. Returns the maximum number of tokens that its cache holds.
    fn rest(&mut self) -> usize {
        usize::MAX
    }

    /// Makes room for this many tokens in advance.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    async fn make_room(&mut self, _tokens: usize) -> Result<()> {
        Ok(())
    }

    /// Adds to the head of a saved session what must be known of the caches, if these can be saved.
    ///
    /// # Errors
    /// `device_lost`.
    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        Ok(head)
    }

    /// Takes on the state of a saved session, except for the contents of its caches, which follow in parts. False where
    /// the saved caches do not fit this session.
    ///
    /// # Errors
    /// `bad_file` where the saved caches have another size than this session's; `device_lost`.
    async fn restore(&mut self, _head: &Head) -> Result<bool> {
        Ok(false)
    }

    /// The bytes of a part of the caches, which hold `tokens` tokens; `None` after the last part.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    async fn read_part(&self, _tokens: usize, _number: u32) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Writes a part, followed by its digest in `file`, into the caches.
    ///
    /// # Errors
    /// `bad_file` for a part of another length, `integrity_failed` for one that has changed; `device_lost`.
    async fn write_part(&mut self, _tokens: usize, _number: u32, _file: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Computes the logits of `ids` at `position` and after, without rounding activations, and hands them to `each` a
    /// few rows at a time: (index of the first row's id, logits `[rows, vocab]`). Returns how many of the ids are in
    /// the cache: fewer where `stop` was set meanwhile.
    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize>;
}
