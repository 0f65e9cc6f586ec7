//! Runs texts and batches through passes on the GPU: makes room, fetches rows, writes and submits passes, and reads
//! them back. The decode passes of lanes are written and handed out in `lane_passes.rs`.

use std::cell::Cell;

use super::embedder::GpuEmbedder;
use super::lane_drafts::Form;
use super::queue::{Queue, Work};
use super::session::{GpuSession, no_read_back, read_copy};
use crate::Result;
use crate::forward::EVALUATE_CHUNK;
use crate::gpu::{Buffer, CommandList, Copy, Part, ReadBack, Ring};
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::kernels::pass::Pass;
use crate::model::{EncoderInput, InputRun, Item, WholeImages, whole_images};
use crate::runtime::pass::{Chunk, Chunks, Reading, Sizes, Until, batches};
use crate::runtime::session::{Choosing, FEW};

/// Maximum number of tokens that are read in passes of a few rows: up to here these take less time than one pass of
/// many, whose products have too few workgroups for so few rows.
const SHORT: usize = 3 * DRAFT_ROWS;

/// What a text is read for.
pub(in crate::runtime) enum Wants<'a> {
    /// Nothing but the cache.
    Nothing,
    /// The token that follows, read back by [`Session::next`](crate::runtime::Session::next).
    Token,
    /// The layers of the last token; the next [`Session::step`](crate::runtime::Session::step) chooses the token that
    /// follows.
    TokenLater,
    /// The hidden states of each token, `[ids, hidden]`.
    Hidden(&'a Buffer),
    /// The logits of each token, handed out after each pass: (index of the pass's first row, logits `[rows, vocab]`).
    Logits(&'a mut dyn FnMut(usize, &[f32])),
}

impl Wants<'_> {
    /// Whether a token is chosen after the last one.
    pub fn runs_last(&self) -> bool {
        matches!(self, Self::Token | Self::TokenLater)
    }

    /// Borrows the wish for the passes after a pause.
    pub fn again(&mut self) -> Wants<'_> {
        match self {
            Self::Nothing => Wants::Nothing,
            Self::Token => Wants::Token,
            Self::TokenLater => Wants::TokenLater,
            Self::Hidden(target) => Wants::Hidden(target),
            Self::Logits(each) => Wants::Logits(&mut **each),
        }
    }
}

impl GpuSession {
    /// Runs `reading` pass by pass, until it is done or `until` ends it. Drops tokens in flight, which belong to an
    /// earlier run. The caller resumes where `reading` stops.
    ///
    /// # Errors
    /// `out_of_memory` where there is no room for all of it, before anything runs; errors of the device.
    pub(in crate::runtime) async fn run(
        &mut self,
        reading: &mut Reading<'_>,
        mut wants: Wants<'_>,
        until: Until<'_>,
    ) -> Result<()> {
        self.discard();
        self.grow_to(reading.end()).await?;
        self.prepare(&wants)?;
        self.start_states(reading.next());
        let mut queue = Queue::new(&self.model);
        let images = self.model.input_rows.whole_images(&self.model.config, reading.ids);
        let is_short = self.is_short(reading, &wants);
        let by_few = is_short && self.has_drafts_compiled();
        if by_few {
            self.record_form(Form::Draft).await?;
        }
        let sizes = match by_few {
            true => Sizes { most: DRAFT_ROWS, single: usize::from(wants.runs_last()) },
            false => self.sizes(reading.ids, &wants),
        };
        self.begin_next(reading.next());
        let chunks = Chunks::new(reading, sizes, until);
        for chunk in chunks.with_whole(images.clone()) {
            let (ids, position) = (&reading.ids[chunk.rows.clone()], reading.next());
            if chunk.is_single && matches!(wants, Wants::Token) {
                self.keep_states();
            }
            let rows = self.model.input_rows.runs(ids)?;
            if chunk.is_single {
                // The last few ids, which have a pass each, are fetched together.
                self.model.ensure_rows(&Item::tokens(&reading.ids[chunk.rows.start..])).await?;
            }
            self.write_places(ids, position);
            let least = if by_few && !chunk.is_single { DRAFT_ROWS } else { 1 };
            self.begin_pass(&Item::tokens(ids), position, least).await?;
            if let Some(image) =
                images.iter().find(|image| image.start < chunk.rows.end && image.end > chunk.rows.start)
            {
                let row = |at: usize| at.clamp(chunk.rows.start, chunk.rows.end) - chunk.rows.start;
                let [first, end] = [row(image.start), row(image.end)].map(|row| row as u32);
                let is_everywhere = whole_images(&self.model.config) == WholeImages::Always;
                let seen = [first, if is_everywhere { end } else { end | Pass::SEEN_IN_WINDOWS }];
                self.write(self.buffers.pass.after(Pass::SEEN), bytemuck::cast_slice(&seen));
            }
            let is_whole = match chunk.is_single {
                true => self.submit_single(&chunk, &rows, &wants)?,
                false if by_few => {
                    self.submit_few();
                    true
                }
                false => self.submit_many((&chunk, &rows), &wants, &mut queue, until.stop).await?,
            };
            self.moved(is_whole.then_some(position + ids.len()));
            if !is_whole {
                break;
            }
            // The last submit may be under way.
            (until.tell)(position);
            reading.done = chunk.rows.end;
            self.finish_pass(&chunk, &mut wants).await?;
        }
        self.model.device.check()?;
        if is_short {
            self.compile_drafts_ahead();
        }
        if !reading.is_done() && !until.stop.get() {
            queue.finish().await;
        }
        Ok(())
    }

    /// Whether the rest of a text has few tokens and no rows of images, and nothing is wanted but its caches and the
    /// token that follows. The first such text is read like longer ones, since the kernels for passes of a few rows are
    /// compiled behind it.
    fn is_short(&self, reading: &Reading, wants: &Wants) -> bool {
        let rows = (reading.ids.len() - reading.done).saturating_sub(usize::from(wants.runs_last()));
        let is_plain = !matches!(wants, Wants::Hidden(_) | Wants::Logits(_));
        let has_rows = || reading.ids.iter().any(|&id| self.model.input_rows.holds(id));
        self.buffers.room.drafts
            && self.buffers.next.is_none()
            && is_plain
            && (1..=SHORT).contains(&rows)
            && !has_rows()
    }

    /// Fetches the table rows of `ids` and writes a pass over them, of `least` rows at least. The pass is to be
    /// submitted before anything else is awaited.
    ///
    /// # Errors
    /// The errors of the rows' source.
    pub(in crate::runtime) async fn begin_pass(&self, ids: &[u32], position: usize, least: usize) -> Result<()> {
        self.model.ensure_rows(ids).await?;
        self.sequence.advance_to(position + ids.len());
        self.write(self.buffers.pass, &self.choice.pass(ids, position).padded_to(least).bytes());
        Ok(())
    }

    /// Makes what the passes need and is not made yet.
    fn prepare(&mut self, wants: &Wants) -> Result<()> {
        match wants {
            Wants::Logits(_) => self.prepare_evaluation(),
            Wants::TokenLater if self.choice.choosing.logits => {
                self.choice.prepare_logits(&self.model, self.buffers.room.sequences)
            }
            _ => Ok(()),
        }
    }

    /// The sizes of the passes over `ids`.
    ///
    /// Where prefill rounds, the last id runs in a decode pass, so that its own logits are exact. With recurrent states
    /// it does so, too, so that there is a checkpoint before it, from which the same prompt can start again.
    fn sizes(&self, ids: &[u32], wants: &Wants) -> Sizes {
        let (most, count) = (self.model.chunk(), ids.len());
        match wants {
            Wants::Nothing | Wants::Hidden(_) => Sizes { most, single: 0 },
            Wants::Logits(_) => Sizes { most: most.min(EVALUATE_CHUNK), single: 0 },
            Wants::Token => {
                let single = usize::from(self.rounds() || count == 1 || self.sequence.has_states());
                Sizes { most, single: self.decodable(ids, single) }
            }
            Wants::TokenLater => Sizes { most, single: self.decodable(ids, if count <= FEW { count } else { 1 }) },
        }
    }

    /// How many of the last `most` ids decode passes can read: these leave out what a row brings for deeper layers.
    fn decodable(&self, ids: &[u32], most: usize) -> usize {
        if self.model.program.inputs().is_empty() {
            return most;
        }
        ids.iter().rev().take(most).take_while(|&&id| !self.model.input_rows.holds(id)).count()
    }

    /// Submits a pass of one row by the decode list. Its row must be written.
    fn submit_single(&mut self, chunk: &Chunk, rows: &[InputRun<Buffer>], wants: &Wants) -> Result<bool> {
        let chooses = matches!(wants, Wants::Token);
        if !chooses || !rows.is_empty() {
            let list = &self.lists.decode;
            let from = self.enter_rows(rows, list, 1);
            self.model.device.submit([Part { list, range: from..list.len() }], 1, None);
            self.choice.started = chunk.is_last;
        }
        if chooses && !self.submit_decode(Form::Rows(1), self.choice.choosing) {
            return Err(no_read_back());
        }
        Ok(true)
    }

    /// Submits the layers of a pass of a few rows, as far as the caches need them. Its rows must be written.
    fn submit_few(&self) {
        let layers = self.drafts.iter().map(|lists| Part { list: &lists.decode, range: 0..lists.kept });
        self.model.device.submit(layers, DRAFT_ROWS as u32, None);
    }

    /// Submits a pass of many rows by the prefill list. Its rows must be written. False where `stop` was set before all
    /// of it was submitted.
    async fn submit_many(
        &mut self,
        (chunk, rows): (&Chunk, &[InputRun<Buffer>]),
        wants: &Wants<'_>,
        queue: &mut Queue,
        stop: &Cell<bool>,
    ) -> Result<bool> {
        let chooses = chunk.is_last && matches!(wants, Wants::Token);
        let read = if chooses { Some(self.ring.reserve().ok_or_else(no_read_back)?) } else { None };
        let Self { lists, table, buffers, choice, evaluation, .. } = &*self;
        let (mut layers, mut then, mut copy) = (&lists.prefill, Vec::new(), None);
        match wants {
            Wants::Token if chooses => {
                then = std::iter::once(&lists.head).chain(lists.choosing(choice.choosing)).collect();
                copy = read.as_ref().map(|read| read_copy(table.get(buffers.pass.buffer), read));
            }
            Wants::Hidden(target) => copy = Some(self.copy_of_hidden(chunk, target)),
            Wants::Logits(_) => {
                layers = evaluation.as_ref().and_then(|it| it.exact.as_ref()).unwrap_or(layers);
                then = evaluation.iter().map(|it| &it.head).collect::<Vec<&CommandList>>();
            }
            _ => {}
        }
        then.insert(0, &lists.follow);
        let tokens = chunk.rows.len();
        self.carry_next(tokens);
        let from = self.enter_rows(rows, layers, tokens);
        self.enter_deep_rows(rows);
        // A chunk in the middle of a prompt leaves nothing but what the caches and states have of it.
        let wants_layers = match wants {
            Wants::Nothing => false,
            Wants::Token | Wants::TokenLater => chunk.is_last,
            Wants::Hidden(_) | Wants::Logits(_) => true,
        };
        let end = if wants_layers { layers.len() } else { lists.kept };
        let layers = Part { list: layers, range: from..end };
        let is_whole = queue.run(Work { layers, then: &then, tokens, copy }, stop).await;
        self.clear_deep_rows(rows);
        match read {
            Some(read) if is_whole => self.ring.submitted(&self.model.device, read),
            Some(read) => self.ring.release(read),
            None => {}
        }
        Ok(is_whole)
    }

    /// The copy of the residual stream's rows to the buffer that is to have the hidden states.
    fn copy_of_hidden<'a>(&'a self, chunk: &Chunk, target: &'a Buffer) -> Copy<'a> {
        let row = self.model.config.hidden as u64 * 4;
        let source = self.buffers.places.head.of(self.model.program.residual()).slice;
        Copy {
            source: self.table.get(source.buffer),
            source_offset: source.offset,
            target,
            offset: chunk.rows.start as u64 * row,
            bytes: chunk.rows.len() as u64 * row,
        }
    }

    /// Keeps a checkpoint after a pass of a prompt, or hands out the logits of the pass.
    async fn finish_pass(&mut self, chunk: &Chunk, wants: &mut Wants<'_>) -> Result<()> {
        match wants {
            Wants::Logits(each) => each(chunk.rows.start, &self.read_all_logits(chunk.rows.len()).await?),
            Wants::Nothing | Wants::Token | Wants::TokenLater if !chunk.is_single => self.keep_states(),
            _ => {}
        }
        Ok(())
    }
}

/// The result of a decode pass.
pub(in crate::runtime) struct Received {
    /// Bytes from the start of the pass, with how it left its sequences; the report, for a pass with a draft.
    pub header: Vec<u8>,
    /// Logits `[rows, vocab]`, if read back. Rows past the pass's own are left over from a larger pass.
    pub logits: Option<Vec<f32>>,
}

/// Decode: passes follow each other without the host, up to [`MAX_DEPTH`](super::session::MAX_DEPTH) at once.
impl GpuSession {
    /// Submits one decode pass of this form, and the read-back of its tokens. Its rows must be written; skips the
    /// layers if they already ran. False where no more passes may be in flight.
    pub(in crate::runtime) fn submit_decode(&mut self, form: Form, choosing: Choosing) -> bool {
        let Some((read, logits)) = self.reserve(choosing.logits) else { return false };
        let Self { model, table, buffers, choice, .. } = &*self;
        let (rows, of_form) = match form {
            Form::Rows(rows) => (rows, self.few_rows.get(rows).and_then(Option::as_ref)),
            _ => (DRAFT_ROWS, self.drafts.as_ref()),
        };
        let lists = of_form.unwrap_or(&self.lists);
        let layers = (!choice.started).then_some(&lists.decode).into_iter().map(Part::from);
        let chosen = lists.choosing(choosing).map(Part::from);
        let source = if form.is_draft() { buffers.sample.drafts.report } else { buffers.pass };
        let copy = read_copy(table.get(source.buffer), &read);
        let (device, count) = (&model.device, rows as u32);
        match &logits {
            Some(logits) => {
                // The logits are copied before bias and penalties change them in place.
                let (source, source_offset) = (table.get(buffers.logits.buffer), buffers.logits.offset);
                let bytes = (rows * model.config.vocab * 4) as u64;
                let raw = Copy { source, source_offset, target: logits.buffer(), offset: 0, bytes };
                device.submit(layers, count, Some(&raw));
                device.submit(chosen, count, Some(&copy));
            }
            None => device.submit(layers.chain(chosen), count, Some(&copy)),
        }
        self.ring.submitted(&self.model.device, read);
        if let Some((ring, logits)) = self.choice.logits.as_mut().zip(logits) {
            ring.submitted(&self.model.device, logits);
        }
        self.choice.started = false;
        true
    }

    /// Reserves the buffers that a pass is read back to: for its header and, if wanted, its logits. `None` where no
    /// more passes may be in flight.
    fn reserve(&mut self, wants_logits: bool) -> Option<(ReadBack, Option<ReadBack>)> {
        let read = self.ring.reserve()?;
        let Some(ring) = self.choice.logits.as_mut().filter(|_| wants_logits) else { return Some((read, None)) };
        let logits = ring.reserve();
        if logits.is_none() {
            self.ring.release(read);
            return None;
        }
        Some((read, logits))
    }

    /// The result of the oldest pass in flight, once it is read back; `None` where none is in flight.
    pub(in crate::runtime) async fn receive(&mut self) -> Result<Option<Received>> {
        let device = &self.model.device;
        let logits = match &mut self.choice.logits {
            Some(ring) => ring.next(device).await?,
            None => None,
        };
        let logits = logits.map(|bytes| bytemuck::pod_collect_to_vec(&bytes));
        Ok(self.ring.next(device).await?.map(|header| Received { header, logits }))
    }

    /// Drops what is in flight.
    pub(in crate::runtime) fn discard(&mut self) {
        self.ring.discard();
        self.choice.logits.iter_mut().for_each(Ring::discard);
        self.choice.started = false;
    }
}

/// Batches of an embedder.
impl GpuEmbedder {
    /// Runs `inputs` batch by batch, and leaves the results in `results`, `[inputs, width]`. False where `stop` was set
    /// before all was submitted.
    pub(in crate::runtime) async fn run(&self, inputs: &[&[u32]], results: &Buffer, stop: &Cell<bool>) -> bool {
        let (row, source) = (self.width() as u64 * 4, self.plan.pooled);
        let mut queue = Queue::new(&self.model);
        let mut offset = 0;
        for batch in batches(inputs, self.plan.buffers.chunk) {
            let tokens = self.begin_batch(batch);
            let lists = self.lists_for(tokens);
            let work = Work { layers: (&lists.rows).into(), then: &[], tokens, copy: None };
            if !queue.run(work, stop).await || stop.get() {
                return false;
            }
            let bytes = batch.len() as u64 * row;
            let (source, source_offset) = (self.table.get(source.buffer), source.offset);
            let copy = Copy { source, source_offset, target: results, offset, bytes };
            self.model.device.submit([Part::from(&lists.inputs)], batch.len() as u32, Some(&copy));
            offset += bytes;
        }
        true
    }

    /// Encodes an image or a tile, and leaves its rows in `results`: `[outputs, width]`, then as many for each deeper
    /// layer that takes rows. False where `stop` was set before all was submitted.
    pub(in crate::runtime) async fn run_image(
        &self,
        input: &EncoderInput,
        results: &Buffer,
        stop: &Cell<bool>,
    ) -> bool {
        let (tokens, outputs) = (input.rows, input.outputs);
        self.begin_image(input);
        let lists = self.lists_for(tokens.max(outputs));
        for (stage, rows) in lists.stages.iter().zip(input.rows_of_stages()) {
            self.model.device.submit([Part::from(stage)], rows as u32, None);
        }
        let mut queue = Queue::new(&self.model);
        let work = Work { layers: (&lists.rows).into(), then: &[], tokens, copy: None };
        if !queue.run(work, stop).await || stop.get() {
            return false;
        }
        let source = self.plan.pooled;
        let bytes = outputs as u64 * self.width() as u64 * 4;
        let (source, source_offset) = (self.table.get(source.buffer), source.offset);
        let copy = Copy { source, source_offset, target: results, offset: 0, bytes };
        self.model.device.submit([Part::from(&lists.inputs)], outputs as u32, Some(&copy));
        let sides = self.model.program.sides.iter().map(|&side| self.plan.buffers.places.head.of(side).slice);
        self.model.device.copy(sides.zip(1..).map(|(side, part)| Copy {
            source: self.table.get(side.buffer),
            source_offset: side.offset,
            target: results,
            offset: part * bytes,
            bytes,
        }));
        true
    }

    /// Writes a pass over what an encoder reads.
    pub(in crate::runtime) fn begin_image(&self, input: &EncoderInput) {
        self.begin_batch(&[&vec![0; input.rows]]);
        self.write(self.plan.buffers.inputs.pass, &Pass::chunk(0, 0, &vec![0; input.outputs]).bytes());
        self.write_image(input);
    }

    /// Writes a pass over a batch; returns its number of rows.
    pub(in crate::runtime) fn begin_batch(&self, batch: &[&[u32]]) -> usize {
        let pass = Pass::batch(batch);
        self.write(self.plan.buffers.pass, &pass.bytes());
        self.write(self.plan.buffers.inputs.spans, bytemuck::cast_slice(&Pass::spans(batch)));
        let of_inputs = Pass::chunk(0, 0, &vec![0; batch.len()]);
        self.write(self.plan.buffers.inputs.pass, &of_inputs.bytes());
        pass.rows.len()
    }
}
