//! A session on the CPU: one token at a time, computed when it is asked for.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::checkpoints::Checkpoints;
use super::kept_states::Kept;
use super::pass::{Chunk, Chunks, Reading, Sizes, Until};
use super::prefixes::store::{PrefixCache, Prefixes};
use super::saved::head::Head;
use super::session::{AdapterUse, Listener, NO_TOKEN, RunIds, Session, Token};
use crate::Result;
use crate::cpu::{ActiveAdapter, CpuModel, Logits};
use crate::forward::{CHUNK, EVALUATE_CHUNK, checkpoint_slots};
use crate::kernels::kv_type::KvType;
use crate::model::{Adapter, ModelConfig};
use crate::sampler::{Counts, SamplingOptions, add_biases, count_answer, counts_of_prompt, sample_allowed};
use crate::time_slice::TimeSlice;

/// An adapter with its number.
type Numbered = (u32, Rc<Adapter>);

/// A model on the CPU with its cache and sampler. A clone shares the weights.
#[derive(Clone)]
pub struct CpuSession {
    pub(super) model: CpuModel,
    /// What was read of texts and is kept, shared by all clones; by default nothing.
    pub(super) prefixes: Rc<Prefixes<Rc<Vec<u8>>>>,
    /// Adapters that are loaded, shared by all clones.
    adapters: Rc<RefCell<Vec<Numbered>>>,
    options: SamplingOptions,
    ends: Vec<u32>,
    /// Token counts at the start of the answer, from the prompt and the suppressed ids.
    prompt_counts: Counts,
    counts: Counts,
    biases: Vec<(u32, f32)>,
    /// Whether the run wants logits, and the logits of the token that came out last.
    logits: (bool, Option<Vec<f32>>),
    mask: Option<Vec<u32>>,
    /// Logits after the last token that was read, from which no token was chosen yet.
    pending: Option<Vec<f32>>,
    steps: u32,
    /// The token that is sampled and not handed out yet.
    sampled: Option<Token>,
    /// Id of the token that was sampled last.
    last: u32,
    /// Positions of the checkpoints, and the copied states by slot; `None` where the model has no recurrent states.
    pub(super) checkpoints: Option<(Checkpoints, Vec<Vec<Vec<f32>>>)>,
    /// Spans many tokens: one token of a small model takes less than a slice, so the page would never get to run.
    time_slice: TimeSlice,
    /// Hears how much of a text is read.
    listener: Option<Listener>,
    /// What was read since somebody first asked for hidden states.
    kept: Option<Kept>,
}

impl CpuSession {
    /// Makes a session of `model` with nothing cached.
    pub fn new(model: CpuModel) -> Self {
        let options = SamplingOptions::default();
        let time_slice = TimeSlice::new();
        let state_bytes: usize = model.states().iter().map(|state| state.len() * 4).sum();
        let slots = checkpoint_slots(state_bytes as u64);
        let checkpoints = (slots > 0).then(|| (Checkpoints::new(slots), vec![Vec::new(); slots]));
        Self {
            model,
            prefixes: Rc::default(),
            adapters: Rc::default(),
            checkpoints,
            options,
            ends: Vec::new(),
            prompt_counts: Counts::new(),
            counts: Counts::new(),
            biases: Vec::new(),
            logits: (false, None),
            mask: None,
            pending: None,
            steps: 0,
            sampled: None,
            last: 0,
            time_slice,
            listener: None,
            kept: None,
        }
    }

    fn adapter(&self, id: u32) -> Option<Rc<Adapter>> {
        self.adapters.borrow().iter().find(|(other, _)| *other == id).map(|(_, adapter)| adapter.clone())
    }

    /// The model that the session runs.
    pub(super) fn model(&self) -> &CpuModel {
        &self.model
    }

    /// Runs tokens and returns the logits asked for; `None` where `stop` was set meanwhile. `listener` hears how many
    /// tokens are cached.
    async fn run(
        &mut self,
        ids: &[u32],
        position: usize,
        logits: Logits,
        (stop, listener): (&Cell<bool>, Option<&Listener>),
    ) -> Result<Option<Vec<f32>>> {
        self.make_room((position + ids.len()).min(self.context_length())).await?;
        let mut pass = self.model.begin(ids, position, logits)?;
        let mut told = 0;
        loop {
            let goes_on = pass.step_yielding(self.time_slice.turns()).await?;
            let read = pass.read();
            let is_new = read > told;
            if let Some(kept) = self.kept.as_mut().filter(|_| is_new) {
                kept.push(position + told, &ids[told..read], pass.residual());
            }
            told = read;
            if !goes_on {
                return Ok(Some(pass.into_logits()));
            }
            if stop.get() {
                return Ok(None);
            }
            if let Some(listener) = listener.filter(|_| is_new) {
                listener(position + read);
            }
        }
    }

    /// Runs `ids` from position 0 on. Gives their hidden states before the output norm, `[ids, hidden]`; fewer rows
    /// where `stop` was set meanwhile. From now on the states of what is read are kept for [`Self::kept_states`].
    pub(super) async fn hidden_states(&mut self, ids: &[u32], stop: &Cell<bool>) -> Result<Vec<f32>> {
        self.kept = Some(Kept::default());
        self.run(ids, 0, Logits::None, (stop, None)).await?;
        Ok(self.kept.as_ref().map_or(Vec::new(), |kept| kept.states.clone()))
    }

    /// Whether the states of what is read are kept.
    pub(super) fn keeps_states(&self) -> bool {
        self.kept.is_some()
    }

    /// Runs `ids` from this position on. Gives the hidden state of the last one that was read, before the output norm,
    /// and how many were: fewer where `stop` was set meanwhile. The states of all before them are kept.
    pub(super) async fn next_state(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
    ) -> Result<(Vec<f32>, usize)> {
        self.kept.get_or_insert_default();
        self.run(ids, position, Logits::None, (stop, None)).await?;
        let kept = self.kept.as_ref().filter(|kept| kept.ids.len() > position);
        let Some(kept) = kept else { return Ok((Vec::new(), 0)) };
        let hidden = kept.states.len() / kept.ids.len();
        Ok((kept.states[kept.states.len() - hidden..].to_vec(), kept.ids.len() - position))
    }

    /// The same of a text that is cached, where its states were kept when it was read or written.
    pub(super) fn kept_states(&self, ids: &[u32]) -> Option<Vec<f32>> {
        let kept = self.kept.as_ref().filter(|kept| kept.ids.starts_with(ids))?;
        Some(kept.states[..kept.states.len() / kept.ids.len().max(1) * ids.len()].to_vec())
    }

    /// Copies the recurrent states into a slot, if there is no such copy yet.
    pub(super) fn keep_states(&mut self) {
        let Some((checkpoints, copies)) = &mut self.checkpoints else { return };
        checkpoints.set_live(self.model.states_at());
        if let Some(slot) = checkpoints.keep() {
            copies[slot] = self.model.states().to_vec();
        }
    }

    /// Forgets what belongs to the text so far, beside its cache.
    pub(super) fn forget_pass(&mut self) {
        (self.sampled, self.pending, self.kept) = (None, None, None);
    }

    fn keep_states_if_due(&mut self) {
        let Some((checkpoints, _)) = &mut self.checkpoints else { return };
        checkpoints.set_live(self.model.states_at());
        if checkpoints.is_due() {
            self.keep_states();
        }
    }

    fn choose(&mut self, mut logits: Vec<f32>) {
        self.logits.1 = self.logits.0.then(|| logits.clone());
        add_biases(&mut logits, &self.biases);
        let mask = self.mask.as_deref();
        let id = sample_allowed(&logits, &self.counts, mask, &self.options, self.steps).unwrap_or(NO_TOKEN);
        if let Some(count) = self.counts.get_mut(id as usize) {
            *count += 1;
        }
        self.steps += 1;
        self.last = id;
        self.sampled = Some(Token { id, end: self.ends.contains(&id) });
    }
}

impl Session for CpuSession {
    fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    fn context_length(&self) -> usize {
        self.model.context_length()
    }

    fn kv_type(&self) -> KvType {
        self.model.kv_type()
    }

    fn knows_row(&self, id: u32) -> bool {
        self.model.input_rows().knows(id)
    }

    fn set_listener(&mut self, listener: Option<Listener>) {
        self.listener = listener;
    }

    fn configure(&mut self, options: &SamplingOptions, ids: &RunIds, prompt: &[u32]) {
        self.options = *options;
        self.ends = ids.ends.to_vec();
        self.prompt_counts = counts_of_prompt(self.model.config().vocab, prompt, ids.suppressed);
        self.biases = ids.biases.to_vec();
        self.logits = (ids.logits, None);
        self.mask = None;
        self.sampled = None;
        self.resume(&[], true);
    }

    async fn add_adapter(&mut self, id: u32, adapter: Adapter) -> Result<()> {
        self.adapters.borrow_mut().push((id, adapter.into()));
        Ok(())
    }

    fn remove_adapter(&mut self, id: u32) -> bool {
        let mut adapters = self.adapters.borrow_mut();
        let count = adapters.len();
        adapters.retain(|(other, _)| *other != id);
        self.prefixes.forget_adapter(id);
        adapters.len() < count
    }

    fn invocation(&self, id: u32) -> Option<Vec<u32>> {
        self.adapter(id).map(|adapter| adapter.invocation.clone())
    }

    fn set_adapters(&mut self, adapters: &[AdapterUse]) {
        let active = |&AdapterUse { id, scale, from }: &AdapterUse| {
            Some(ActiveAdapter { adapter: self.adapter(id)?, scale, from })
        };
        let active = adapters.iter().filter_map(active).collect();
        self.model.set_adapters(active);
    }

    async fn read_source(&mut self, ids: &[u32], stop: &Cell<bool>) -> Result<bool> {
        self.model.read_source(ids, self.time_slice.turns(), &|| stop.get()).await
    }

    fn rewind(&mut self, position: usize) -> usize {
        let position = position.min(self.model.cached());
        let Some((checkpoints, copies)) = &mut self.checkpoints else { return position };
        checkpoints.set_live(self.model.states_at());
        let (reached, slot) = checkpoints.rewind(position);
        if let Some(slot) = slot {
            self.model.restore(&copies[slot], reached);
        }
        reached
    }

    async fn feed(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        let read = self.read(ids, position, stop).await?;
        self.step()?;
        Ok(read)
    }

    async fn read(&mut self, ids: &[u32], position: usize, stop: &Cell<bool>) -> Result<usize> {
        (self.sampled, self.pending) = (None, None);
        // There is a checkpoint before the last id, from which the same prompt can start again.
        let sizes = Sizes { most: CHUNK, single: usize::from(self.checkpoints.is_some()) };
        let reading = Reading::new(ids, position);
        let images = self.model.input_rows().whole_images(self.model.config(), ids);
        let listener = self.listener.clone();
        for Chunk { rows, is_last, .. } in Chunks::new(&reading, sizes, Until::stopped(stop)).with_whole(images) {
            let (at, wants) = (position + rows.start, if is_last { Logits::Last } else { Logits::None });
            let Some(logits) = self.run(&ids[rows], at, wants, (stop, listener.as_ref())).await? else { break };
            if is_last {
                self.pending = Some(logits);
            } else {
                self.keep_states();
            }
        }
        Ok(self.model.cached() - position)
    }

    fn resume(&mut self, answer: &[u32], recount: bool) {
        self.steps = answer.len() as u32;
        if recount {
            self.counts.clone_from(&self.prompt_counts);
            count_answer(&mut self.counts, answer);
        }
    }

    fn allow(&mut self, mask: Option<&[u32]>) {
        self.mask = mask.map(<[u32]>::to_vec);
    }

    fn draws_ahead(&self) -> bool {
        false
    }

    fn rounds(&self) -> bool {
        false
    }

    fn take_logits(&mut self) -> Option<Vec<f32>> {
        self.logits.1.take()
    }

    /// Chooses a token if its logits are there. Nothing runs ahead on the CPU.
    fn step(&mut self) -> Result<bool> {
        let pending = self.pending.take();
        let chosen = pending.is_some();
        if let Some(logits) = pending {
            self.choose(logits);
        }
        Ok(chosen)
    }

    fn in_flight(&self) -> usize {
        usize::from(self.sampled.is_some())
    }

    async fn next(&mut self) -> Result<Option<Token>> {
        if self.sampled.is_none() {
            let logits = self.run(&[self.last], self.model.cached(), Logits::Last, (&Cell::new(false), None)).await?;
            self.choose(logits.unwrap_or_default());
            self.keep_states_if_due();
        }
        Ok(self.sampled.take())
    }

    fn next_if_ready(&mut self) -> Result<Option<Token>> {
        Ok(None)
    }

    /// Where there is no memory for them, what is kept of other texts goes.
    async fn make_room(&mut self, tokens: usize) -> Result<()> {
        match self.model.reserve(tokens) {
            Err(_) if self.prefixes.give_way() => self.model.reserve(tokens),
            made => made,
        }
    }

    async fn with_caches(&mut self, head: Head) -> Result<Head> {
        Ok(self.saved_in(head))
    }

    async fn restore(&mut self, head: &Head) -> Result<bool> {
        self.begin_saved(head)
    }

    async fn read_part(&self, tokens: usize, number: u32) -> Result<Option<Vec<u8>>> {
        self.saved_part(tokens, number)
    }

    async fn write_part(&mut self, tokens: usize, number: u32, file: &[u8]) -> Result<()> {
        self.take_part(tokens, number, file)
    }

    async fn evaluate(
        &mut self,
        ids: &[u32],
        position: usize,
        stop: &Cell<bool>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<usize> {
        let sizes = Sizes { most: EVALUATE_CHUNK, single: 0 };
        let reading = Reading::new(ids, position);
        for Chunk { rows, .. } in Chunks::new(&reading, sizes, Until::stopped(stop)) {
            let first = rows.start;
            let Some(logits) = self.run(&ids[rows], position + first, Logits::All, (stop, None)).await? else { break };
            each(first, &logits);
        }
        Ok(self.model.cached() - position)
    }
}
