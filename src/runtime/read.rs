//! Reads a text pass by pass: makes room, fetches rows, and executes the plans of `passes/prefill.rs`.

use std::cell::{Cell, RefCell};

use super::gpu::queue::Queue;
use super::gpu::session::GpuSession;
use super::gpu::source::check_source;
use super::pass::{Chunk, Chunks, Reading, Sizes, Until};
use super::passes::decode::{Decode, decode};
use super::passes::prefill::{Ends, Prefill, few, keep_hidden, prefill, see_image, single};
use super::passes::request::{Rows, write_rows};
use super::passes::{block, states};
use super::plan::{Form, Place, Plan, Set};
use super::schedule::Schedule;
use super::session::FEW;
use super::text::Text;
use crate::Result;
use crate::forward::EVALUATE_CHUNK;
use crate::gpu::Buffer;
use crate::kernels::accept_drafts::DRAFT_ROWS;
use crate::model::{InputRun, Item};

/// Maximum number of tokens that are read in passes of a few rows: up to here these take less time than one pass of
/// many, whose products have too few workgroups for so few rows.
const SHORT: usize = 3 * DRAFT_ROWS;

/// What a text is read for.
pub(in crate::runtime) enum Wants<'a> {
    /// Nothing but the cache.
    Nothing,
    /// The token that follows, read back by [`Session::next`](super::session::Session::next).
    Token,
    /// The layers of the last token; the next [`Session::step`](super::session::Session::step) chooses the token that
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

/// Reads a text of a session, whose turn it is.
pub(in crate::runtime) struct Reader<'a> {
    pub session: &'a mut GpuSession,
    pub schedule: &'a RefCell<Schedule>,
    /// Number of the text.
    pub number: usize,
}

impl Reader<'_> {
    fn text<T>(&self, change: impl FnOnce(&mut Text) -> T) -> T {
        change(self.schedule.borrow_mut().text(self.number))
    }

    /// Reads `reading` until it is done or `until` ends it. Drops tokens in flight, which belong to an earlier run. The
    /// caller resumes where `reading` stops.
    ///
    /// # Errors
    /// `out_of_memory` where there is no room for all of it, before anything runs; errors of the device.
    pub async fn read(&mut self, reading: &mut Reading<'_>, mut wants: Wants<'_>, until: Until<'_>) -> Result<()> {
        let is_short = self.begin(reading, &wants).await?;
        let by_few = is_short && self.session.gpu.lists.has_drafts_compiled();
        if by_few {
            self.session.record_form(Form::Draft(DRAFT_ROWS)).await?;
        }
        let sizes = match by_few {
            true => Sizes { most: DRAFT_ROWS, single: usize::from(wants.runs_last()) },
            false => self.sizes(reading.ids, &wants),
        };
        let model = self.session.model.clone();
        let images = model.input_rows.whole_images(&model.config, reading.ids);
        let mut queue = Queue::new(&model);
        let chunks = Chunks::new(reading, sizes, until);
        for chunk in chunks.with_whole(images.clone()) {
            let (ids, position) = (&reading.ids[chunk.rows.clone()], reading.next());
            let runs = model.input_rows.runs(ids)?;
            // The last few ids, which have a pass each, are fetched together.
            let fetched = if chunk.is_single { &reading.ids[chunk.rows.start..] } else { ids };
            model.ensure_rows(&Item::tokens(fetched)).await?;
            let mut plan = self.write_pass(&chunk, (ids, position), &wants, by_few);
            see_image(&mut plan, self.session.layout(), &chunk.rows, &images);
            let is_whole = match chunk.is_single || by_few {
                true => self.run_few(plan, &chunk, &runs, &wants)?,
                false => self.run_many(plan, (&chunk, &runs), &wants, (&mut queue, until.stop)).await?,
            };
            self.text(|text| text.positions.moved_states(is_whole.then_some(position + ids.len())));
            if !is_whole {
                break;
            }
            // The last submit may be under way.
            (until.tell)(position);
            reading.done = chunk.rows.end;
            self.finish_pass(&chunk, &mut wants).await?;
        }
        model.device.check()?;
        if is_short {
            self.session.compile_drafts_ahead(false);
        }
        if !reading.is_done() && !until.stop.get() {
            queue.finish().await;
        }
        Ok(())
    }

    /// Makes room for all of it. Returns whether it is [short](Self::is_short).
    async fn begin(&mut self, reading: &Reading<'_>, wants: &Wants<'_>) -> Result<bool> {
        check_source(self.session, self.number)?;
        self.session.gpu.reads.discard();
        self.schedule.borrow_mut().started = false;
        let written = self.schedule.borrow().written();
        self.session.grow_to(reading.end(), written).await?;
        match wants {
            Wants::Logits(_) => self.session.prepare_evaluation()?,
            Wants::TokenLater if self.text(|text| text.choosing.is_some_and(|of| of.logits)) => {
                self.session.prepare_logits()?;
            }
            _ => {}
        }
        let mut plan = Plan::default();
        let layout = self.session.layout();
        let slot = self.text(|text| text.positions.start_at(reading.next()));
        states::restore(&mut plan, layout, self.number, slot);
        block::begin(&mut plan, layout, (self.number, reading.next()));
        self.session.gpu.execute(&plan)?;
        Ok(self.is_short(reading, wants))
    }

    /// Whether the rest of a text has few tokens and no rows of images or sounds, and nothing is wanted but its caches
    /// and the token that follows. The first such text is read like longer ones, since the kernels for passes of a few
    /// rows are compiled behind it.
    fn is_short(&self, reading: &Reading<'_>, wants: &Wants<'_>) -> bool {
        let rows = (reading.ids.len() - reading.done).saturating_sub(usize::from(wants.runs_last()));
        let is_plain = !matches!(wants, Wants::Hidden(_) | Wants::Logits(_));
        let model = &self.session.model;
        let has_rows = || model.program.beside().is_some() || reading.ids.iter().any(|&id| model.input_rows.holds(id));
        let buffers = &self.session.buffers;
        buffers.room.drafts && buffers.next.is_none() && is_plain && (1..=SHORT).contains(&rows) && !has_rows()
    }

    /// The sizes of the passes over `ids`.
    ///
    /// Where prefill rounds, the last id runs in a decode pass, so that its own logits are exact. With recurrent states
    /// it does so, too, so that there is a checkpoint before it, from which the same prompt can start again.
    fn sizes(&self, ids: &[u32], wants: &Wants<'_>) -> Sizes {
        let (most, count) = (self.session.model.chunk(), ids.len());
        match wants {
            Wants::Nothing => Sizes { most, single: 0 },
            // Speech reads row after row.
            Wants::Hidden(_) => Sizes { most, single: self.decodable(ids, usize::from(count == 1)) },
            Wants::Logits(_) => Sizes { most: most.min(EVALUATE_CHUNK), single: 0 },
            Wants::Token => {
                let rounds = self.session.model.rounds();
                let single = usize::from(rounds || count == 1 || self.text(|text| text.positions.has_states()));
                Sizes { most, single: self.decodable(ids, single) }
            }
            Wants::TokenLater => Sizes { most, single: self.decodable(ids, if count <= FEW { count } else { 1 }) },
        }
    }

    /// How many of the last `most` ids decode passes can read: these leave out what a row brings for deeper layers.
    fn decodable(&self, ids: &[u32], most: usize) -> usize {
        let model = &self.session.model;
        if model.program.inputs().is_empty() {
            return most;
        }
        ids.iter().rev().take(most).take_while(|&&id| !model.input_rows.holds(id)).count()
    }

    /// Writes a pass, and keeps the states before a last token that has a pass of its own.
    fn write_pass<'p>(
        &self,
        chunk: &Chunk,
        (ids, position): (&[u32], usize),
        wants: &Wants<'_>,
        by_few: bool,
    ) -> Plan<'p> {
        let (layout, mut plan) = (self.session.layout(), Plan::default());
        let keeps = chunk.is_single && matches!(wants, Wants::Token);
        let rows = Rows { ids, position, keeps, least: if by_few && !chunk.is_single { DRAFT_ROWS } else { 1 } };
        let held = &self.session.model.input_rows;
        self.text(|text| write_rows(&mut plan, layout, (self.number, text), rows, held));
        plan
    }

    /// Runs a pass of one row by the decode list, or of a few rows by the list of drafts.
    fn run_few<'p, 'w: 'p>(
        &mut self,
        mut plan: Plan<'p>,
        chunk: &Chunk,
        runs: &'p [InputRun<Buffer>],
        wants: &Wants<'w>,
    ) -> Result<bool> {
        let layout = self.session.layout();
        if !chunk.is_single {
            few(&mut plan, self.session.gpu.lists.kept(Set::Draft(DRAFT_ROWS)));
        } else {
            let chooses = matches!(wants, Wants::Token);
            let mut started = false;
            if !chooses || !runs.is_empty() {
                single(&mut plan, layout, runs, self.session.lengths());
                started = chunk.is_last && !matches!(wants, Wants::Hidden(_));
            }
            if let Wants::Hidden(target) = wants {
                let at = chunk.rows.start as u64 * layout.row_bytes();
                keep_hidden(&mut plan, layout, Place::from(*target).after(at), 1);
            }
            if chooses {
                let choosing = self.text(|text| text.choosing.unwrap_or_default());
                decode(&mut plan, layout, Decode { form: Form::Rows(1), choosing, started });
                started = false;
            }
            self.schedule.borrow_mut().started = started;
        }
        self.session.gpu.execute(&plan)?;
        Ok(true)
    }

    /// Runs a pass of many rows by the prefill list, in several submits where it takes long. False where `stop` was set
    /// before all of it was submitted.
    async fn run_many<'p, 'w: 'p>(
        &mut self,
        mut plan: Plan<'p>,
        (chunk, runs): (&Chunk, &'p [InputRun<Buffer>]),
        wants: &Wants<'w>,
        (queue, stop): (&mut Queue, &Cell<bool>),
    ) -> Result<bool> {
        let (ends, layout, lengths) = (self.ends(chunk, wants), self.session.layout(), self.session.lengths());
        let Prefill { mut pass, always } = prefill(layout, (self.number, chunk), runs, (ends, lengths));
        plan.append(pass.before);
        pass.before = plan;
        let gpu = &mut self.session.gpu;
        let len = gpu.lists.get(pass.layers.set, pass.layers.list).map_or(0, |list| list.len());
        let is_whole = queue.run((pass, len), stop, |part| gpu.execute(part)).await?;
        self.session.gpu.execute(&always)?;
        Ok(is_whole)
    }

    /// What a pass leaves.
    fn ends<'p>(&self, chunk: &Chunk, wants: &Wants<'p>) -> Ends<'p> {
        match wants {
            Wants::Token if chunk.is_last => Ends::Token(self.text(|text| text.choosing.unwrap_or_default())),
            Wants::TokenLater if chunk.is_last => Ends::Layers,
            Wants::Nothing | Wants::Token | Wants::TokenLater => Ends::Caches,
            Wants::Hidden(target) => Ends::Hidden(target, chunk.rows.start as u64 * self.session.layout().row_bytes()),
            Wants::Logits(_) => Ends::Logits,
        }
    }

    /// Keeps a checkpoint after a pass of a prompt, or hands out the logits of the pass.
    async fn finish_pass(&mut self, chunk: &Chunk, wants: &mut Wants<'_>) -> Result<()> {
        match wants {
            Wants::Logits(each) => each(chunk.rows.start, &self.session.read_all_logits(chunk.rows.len()).await?),
            Wants::Nothing | Wants::Token | Wants::TokenLater if !chunk.is_single => {
                let mut plan = Plan::default();
                let layout = self.session.layout();
                self.text(|text| states::keep(&mut plan, layout, self.number, &mut text.positions));
                self.session.gpu.execute(&plan)?;
            }
            _ => {}
        }
        Ok(())
    }
}
