//! What the loop in `generate` asks of a session: a KV cache and a sampler on the GPU or on the CPU.

use std::cell::Cell;

use super::adapters::AdapterUse;
use super::cpu::CpuSession;
use super::gpu::drafts::Drafting;
#[cfg(target_arch = "wasm32")]
use super::gpu::lane::GpuLane;
#[cfg(target_arch = "wasm32")]
use super::gpu::session::GpuSession;
use super::saved::snapshot::Head;
use crate::kernels::kv_type::KvType;
use crate::model::{Adapter, ModelConfig};
use crate::sampler::SamplingOptions;
use crate::{Error, Result};

/// A sampled token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its id, or [`NO_TOKEN`].
    pub id: u32,
    /// Whether it ends the run.
    pub end: bool,
}

/// Ids with a meaning of their own in a run.
#[derive(Debug, Default, Clone, Copy)]
pub struct RunIds<'a> {
    /// They end it.
    pub ends: &'a [u32],
    /// They are never chosen.
    pub suppressed: &'a [u32],
    /// (id, bias): added to the logits of the id.
    pub biases: &'a [(u32, f32)],
    /// Whether [`Session::take_logits`] is to have the logits of each token.
    pub logits: bool,
    /// Where drafts of its tokens come from ...
    pub drafting: Drafting,
    /// ... besides the text: from these ids.
    pub prediction: &'a [u32],
}

/// What choosing the tokens of a pass takes.
#[cfg(any(target_arch = "wasm32", test))]
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choosing {
    /// The largest logits, whatever came before.
    pub greedy: bool,
    /// There are biases.
    pub biased: bool,
    /// The logits are wanted, too.
    pub logits: bool,
}

#[cfg(target_arch = "wasm32")]
impl Choosing {
    /// For the tokens of a run.
    pub fn of_run(options: &SamplingOptions, ids: &RunIds) -> Self {
        // The kernels of sampling alone know suppressed tokens, also with a temperature of 0.
        let greedy = options.is_plain_greedy() && ids.suppressed.is_empty();
        Self { greedy, biased: !ids.biases.is_empty(), logits: ids.logits }
    }
}

/// The id that sampling returns where every logit is NaN. The shaders write the same.
pub const NO_TOKEN: u32 = u32::MAX;

/// Tokens that [`Session::read`] takes one by one, by the path of decode: as fast as prefill, for so few.
pub(super) const FEW: usize = 4;

/// A KV cache and a sampler over a model.
#[allow(async_fn_in_trait, reason = "the page has one thread: no future has to be Send")]
pub trait Session {
    /// The model's numbers.
    fn config(&self) -> &ModelConfig;

    /// Positions of the KV cache.
    fn context_length(&self) -> usize;

    /// What keys and values are in it.
    fn kv_type(&self) -> KvType;

    /// Whether an id of a prompt is that of a row that is here.
    fn holds_row(&self, _id: u32) -> bool {
        false
    }

    /// Sets how the tokens of the next run are chosen, any of them at first. `prompt` counts for penalties.
    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]);

    /// Makes an adapter of the model known by this number.
    ///
    /// # Errors
    /// `limit_exceeded`, `unsupported_architecture`, `out_of_memory`, `device_lost`.
    async fn add_adapter(&mut self, _id: u32, _adapter: Adapter) -> Result<()> {
        Err(Error::invalid_argument("the session takes no adapters"))
    }

    /// Forgets an adapter: texts that are on go on with it. False where there is none of this number.
    fn remove_adapter(&mut self, _id: u32) -> bool {
        false
    }

    /// The tokens from which on the adapter of this number is at work, none for one that always is; `None` where there
    /// is no such adapter.
    fn invocation(&self, _id: u32) -> Option<Vec<u32>> {
        None
    }

    /// What is read and written from now on has these adapters.
    fn set_adapters(&mut self, _adapters: &[AdapterUse]) {}

    /// Drops the cache from `position` on, which must not be past its end. Returns the position at which
    /// [`Session::feed`] continues: before `position` where the cache cannot be cut there.
    fn rewind(&mut self, position: usize) -> usize;

    /// Runs `ids` as the tokens at `position` and after; the next token then comes out of [`Session::next`]. Tokens in
    /// flight before are dropped: they belong to an earlier run. Returns how many of the ids are in the cache: fewer
    /// where `stop` was set in the meantime, and then there is no next token.
    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize>;

    /// As [`Session::feed`] without choosing a token: that is what the next [`Session::step`] does.
    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize>;

    /// Takes note of the answer so far, where not every token of it was chosen by a pass before: the next is number
    /// `answer.len()` for the random generator. With `recount` its tokens are counted anew for penalties.
    fn resume(&mut self, answer: &[u32], recount: bool);

    /// Only ids of this mask, a bit for each and 32 to a word, may be chosen by passes submitted from now on; `None`
    /// allows all.
    fn allow(&mut self, mask: Option<&[u32]>);

    /// Whether tokens in flight can be dropped and others put in their place at no cost.
    fn draws_ahead(&self) -> bool;

    /// Whether many tokens at once are read with more rounding than one after the other.
    fn rounds(&self) -> bool;

    /// The model's logits for the token that came out last, where the run wants them.
    fn take_logits(&mut self) -> Option<Vec<f32>>;

    /// Submits the pass of the next token, ahead of reading the last; false where no more may be in flight.
    fn step(&mut self) -> Result<bool>;

    /// Tokens submitted and not yet read.
    fn in_flight(&self) -> usize;

    /// The oldest token in flight, once it is there; `None` where none is in flight.
    async fn next(&mut self) -> Result<Option<Token>>;

    /// The oldest token in flight, if it is there.
    fn next_if_ready(&mut self) -> Result<Option<Token>>;

    /// Tokens of the run that were drafted, and those of them that were right.
    fn drafts(&self) -> [usize; 2] {
        [0; 2]
    }

    /// A run is over: its tokens in flight are of no use. Returns how many tokens its cache holds, at most.
    fn rest(&mut self) -> usize {
        usize::MAX
    }

    /// Makes room for so many tokens before they are there. The caches of the CPU grow by themselves.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    async fn make_room(&mut self, _tokens: usize) -> Result<()> {
        Ok(())
    }

    /// The head of a saved session with what is to be known of the caches, where these can be saved.
    ///
    /// # Errors
    /// `device_lost`.
    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        Ok(head)
    }

    /// Takes on the state of the session that was saved, but for what is in its caches; false where these are none of
    /// this session's.
    ///
    /// # Errors
    /// `bad_file`, `device_lost`.
    async fn restore(&mut self, _head: &Head) -> Result<bool> {
        Ok(false)
    }

    /// The bytes of a part of the caches, which hold so many tokens; `None` after the last.
    ///
    /// # Errors
    /// `out_of_memory`, `device_lost`.
    async fn read_part(&self, _tokens: usize, _number: u32) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Writes a part with its digest into the caches.
    ///
    /// # Errors
    /// `bad_file`, `integrity_failed`, `device_lost`.
    async fn write_part(&self, _tokens: usize, _number: u32, _file: &[u8]) -> Result<()> {
        Ok(())
    }

    /// Logits `[rows, vocab]` of `ids` at `position` and after, handed to `each` a few rows at a time: (index of the
    /// first row's id, rows). Activations are not rounded. Returns how many of the ids are in the cache: fewer where
    /// `stop` was set meanwhile.
    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize>;
}

/// A session on either device: chosen when the model is loaded.
pub enum AnySession {
    /// On WebGPU, alone or with others in one session.
    #[cfg(target_arch = "wasm32")]
    Gpu(Box<GpuLane>),
    /// On the CPU.
    Cpu(Box<CpuSession>),
}

#[cfg(target_arch = "wasm32")]
impl AnySession {
    /// The first lane of a session on the GPU.
    pub fn of_gpu(session: GpuSession) -> Self {
        Self::Gpu(GpuLane::first(session).into())
    }
}

/// Calls the same method of whichever session it is.
macro_rules! either {
    ($self:ident, $session:ident => $call:expr) => {
        match $self {
            #[cfg(target_arch = "wasm32")]
            Self::Gpu($session) => $call,
            Self::Cpu($session) => $call,
        }
    };
}

impl Session for AnySession {
    fn config(&self) -> &ModelConfig {
        either!(self, session => session.config())
    }

    fn context_length(&self) -> usize {
        either!(self, session => session.context_length())
    }

    fn kv_type(&self) -> KvType {
        either!(self, session => session.kv_type())
    }

    fn holds_row(&self, id: u32) -> bool {
        either!(self, session => session.holds_row(id))
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        either!(self, session => session.configure(options, ids, prompt));
    }

    async fn add_adapter(&mut self, id: u32, adapter: Adapter) -> Result<()> {
        either!(self, session => session.add_adapter(id, adapter).await)
    }

    fn remove_adapter(&mut self, id: u32) -> bool {
        either!(self, session => session.remove_adapter(id))
    }

    fn invocation(&self, id: u32) -> Option<Vec<u32>> {
        either!(self, session => session.invocation(id))
    }

    fn set_adapters(&mut self, adapters: &[AdapterUse]) {
        either!(self, session => session.set_adapters(adapters));
    }

    fn rewind(&mut self, position: usize) -> usize {
        either!(self, session => session.rewind(position))
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        either!(self, session => session.feed(ids, position, stop).await)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        either!(self, session => session.read(ids, position, stop).await)
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        either!(self, session => session.resume(answer, recount));
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        either!(self, session => session.allow(mask));
    }

    fn draws_ahead(&self) -> bool {
        either!(self, session => session.draws_ahead())
    }

    fn rounds(&self) -> bool {
        either!(self, session => session.rounds())
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        either!(self, session => session.take_logits())
    }

    fn step(&mut self) -> Result<bool> {
        either!(self, session => session.step())
    }

    fn in_flight(&self) -> usize {
        either!(self, session => session.in_flight())
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        either!(self, session => session.next().await)
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        either!(self, session => session.next_if_ready())
    }

    fn drafts(&self) -> [usize; 2] {
        either!(self, session => session.drafts())
    }

    fn rest(&mut self) -> usize {
        either!(self, session => session.rest())
    }

    async fn make_room(&mut self, tokens: usize) -> Result<()> {
        either!(self, session => Session::make_room(&mut **session, tokens).await)
    }

    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        either!(self, session => session.with_caches(head).await)
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        either!(self, session => session.restore(head).await)
    }

    async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        either!(self, session => session.read_part(tokens, number).await)
    }

    async fn write_part(&self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        either!(self, session => session.write_part(tokens, number, file).await)
    }

    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        either!(self, session => session.evaluate(ids, position, stop, each).await)
    }
}
