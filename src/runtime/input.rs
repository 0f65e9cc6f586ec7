//! Rows of embeddings in prompts, such as an encoder's output: adding them to a model, and copying them into a pass.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use super::gpu::lane::GpuLane;
use super::gpu::model::GpuModel;
use super::gpu::session::GpuSession;
use super::run::generate::Engine;
use super::session::{AnySession, Session};
use crate::forward::Forward;
use crate::gpu::{Buffer, CommandList, Copy, Part};
use crate::kernels::{rope_kv::Axes, spec::Slice};
use crate::model::{InputRun, RopeSections, program::Op};
use crate::model::{InputSource, Item, Places, RowIds};
use crate::{Error, Result};

/// Rows that prompts may hold, as long as this lives.
pub struct HeldRows {
    /// Of the rows.
    pub ids: Range<u32>,
    _rows: Rc<dyn Any>,
}

impl fmt::Debug for HeldRows {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("HeldRows").field("ids", &self.ids).finish_non_exhaustive()
    }
}

impl Engine {
    /// The sources of the rows that the prompt of the run still has to enter and that nobody holds.
    pub fn missing_rows(&self) -> Vec<InputSource> {
        let left = self.run.as_ref().and_then(|run| run.prompt.get(self.cached.len()..)).unwrap_or_default();
        let sources = self.session.sources(left).into_iter().map(|(source, _)| source);
        sources.filter(|&source| !self.session.holds(source)).collect()
    }

    /// Holds rows until the prompt of the run is read, or the run ends.
    ///
    /// # Errors
    /// The errors of [`AnySession::add_rows`].
    pub fn hold_rows(&mut self, source: InputSource, rows: &[f32]) -> Result<()> {
        let held = self.session.add_rows(source, rows)?;
        self.rows.push(held);
        Ok(())
    }
}

impl AnySession {
    /// Adds the rows `[rows, hidden]` of a source. The same source always has the same ids. Where deeper layers take
    /// rows, too, as many rows follow for each of these layers.
    ///
    /// # Errors
    /// `invalid_argument` where the number of values does not match the source, for a source without rows, and where no
    /// ids are left; errors of the device.
    pub fn add_rows(&self, source: InputSource, rows: &[f32]) -> Result<HeldRows> {
        check_values(source, rows.len() as u64, self.config().row_width())?;
        let ids = self.know(source)?;
        match self {
            Self::Gpu(lane) => GpuLane::model(lane).add_rows(source, rows),
            Self::Cpu(session) => {
                let all = session.model().input_rows();
                let held = all.held(source).unwrap_or_else(|| all.add(source, rows.to_vec()));
                Ok(HeldRows { ids, _rows: held })
            }
        }
    }

    /// Whether anyone holds the rows of a source.
    pub fn holds(&self, source: InputSource) -> bool {
        match self {
            Self::Gpu(lane) => GpuLane::model(lane).input_rows.held(source).is_some(),
            Self::Cpu(session) => session.model().input_rows().held(source).is_some(),
        }
    }

    /// The ids of all rows that prompts of the model may hold.
    pub fn row_ids(&self) -> Rc<RowIds> {
        match self {
            Self::Gpu(lane) => GpuLane::model(lane).input_rows.ids(),
            Self::Cpu(session) => session.model().input_rows().ids(),
        }
    }

    /// Goes on with the ids that the model gave to rows before it was loaded again.
    pub fn share_row_ids(&self, ids: Rc<RowIds>) {
        match self {
            Self::Gpu(lane) => GpuLane::model(lane).input_rows.share(ids),
            Self::Cpu(session) => session.model().input_rows().share(ids),
        }
    }

    /// The position of a token that follows these ids. It may be less than their number where positions have several
    /// axes, since the rows of an image share positions.
    pub fn count_positions(&self, ids: &[u32]) -> u32 {
        if self.config().rope_sections.is_none() {
            return ids.len() as u32;
        }
        let mut places = Places::default();
        match self {
            Self::Gpu(lane) => places.extend(0, ids, &GpuLane::model(lane).input_rows),
            Self::Cpu(session) => places.extend(0, ids, session.model().input_rows()),
        }
        places.next()
    }

    /// The sources of the rows among `ids`, and the id of the first row of each.
    pub(super) fn sources(&self, ids: &[u32]) -> Vec<(InputSource, u32)> {
        match self {
            Self::Gpu(lane) => GpuLane::model(lane).input_rows.sources(ids),
            Self::Cpu(session) => session.model().input_rows().sources(ids),
        }
    }

    /// Translates the row ids of a saved session to the ids that the same rows have in this model.
    ///
    /// # Errors
    /// `invalid_argument` where no ids are left.
    pub(super) fn ids_of(&self, mut saved: Vec<u32>, sources: &[(InputSource, u32)]) -> Result<Vec<u32>> {
        let here: Result<Vec<u32>> = sources.iter().map(|(source, _)| Ok(self.know(*source)?.start)).collect();
        let here = here?;
        for id in saved.iter_mut().filter(|id| matches!(Item::from(**id), Item::Row(_))) {
            let is_of = |&(source, first): &(InputSource, u32)| *id >= first && *id - first < source.count;
            if let Some(at) = sources.iter().position(is_of) {
                *id = *id - sources[at].1 + here[at];
            }
        }
        Ok(saved)
    }

    /// Returns the ids of the rows of a source, without needing the rows themselves.
    pub(super) fn know(&self, source: InputSource) -> Result<Range<u32>> {
        self.row_ids().know(source)
    }
}

fn check_values(source: InputSource, found: u64, hidden: usize) -> Result<()> {
    let expected = u64::from(source.count) * hidden as u64;
    if found == expected {
        return Ok(());
    }
    let message = format!("{} rows of {hidden} values: expected {expected} values, found {found}", source.count);
    Err(Error::invalid_argument(message))
}

impl GpuModel {
    /// Does what [`AnySession::add_rows`] describes.
    pub(super) fn add_rows(&self, source: InputSource, rows: &[f32]) -> Result<HeldRows> {
        self.hold(source, |target| {
            self.device.write(target, 0, bytemuck::cast_slice(rows));
            Ok(())
        })
    }

    /// Does the same with rows that are on the GPU already, at the start of a buffer of the model's device.
    ///
    /// # Errors
    /// `invalid_argument` where the buffer is too small; otherwise as for [`AnySession::add_rows`].
    pub fn add_rows_of(&self, source: InputSource, rows: &Buffer) -> Result<HeldRows> {
        self.hold(source, |target| {
            let bytes = self.config.row_width() as u64 * 4 * u64::from(source.count);
            if rows.size() < bytes {
                check_values(source, rows.size() / 4, self.config.row_width())?;
            }
            self.device.copy([Copy { source: rows, source_offset: 0, target, offset: 0, bytes }]);
            Ok(())
        })
    }

    /// The rows of a source, in a buffer that `fill` fills where nobody holds one.
    fn hold(&self, source: InputSource, fill: impl FnOnce(&Buffer) -> Result<()>) -> Result<HeldRows> {
        let ids = self.input_rows.ids().know(source)?;
        let held = match self.input_rows.held(source) {
            Some(held) => held,
            None => {
                let target = self.row_buffer(source)?;
                fill(&target)?;
                self.input_rows.add(source, target)
            }
        };
        Ok(HeldRows { ids, _rows: held })
    }

    fn row_buffer(&self, source: InputSource) -> Result<Buffer> {
        let bytes = self.config.row_width() as u64 * 4 * u64::from(source.count);
        self.device.storage_buffer("rows of a prompt", bytes.max(16))
    }

    /// Bytes of one row of the residual stream.
    fn row_bytes(&self) -> u64 {
        self.config.hidden as u64 * 4
    }
}

impl Forward<'_> {
    /// Number of dispatches at the start of a command list that write the embeddings of tokens.
    pub(super) fn embeddings(&self) -> usize {
        let Some(Op::Embed { table, .. }) = self.program.embed.first() else { return 0 };
        let adapters = self.adapters.iter().flat_map(|of| of.all).filter(|adapter| adapter.group(*table).is_some());
        let gathered = match &self.weights.row_cache {
            Some(cache) if cache.key == *table => 1 + cache.slots.shards.len(),
            _ => self.weights.tables[table].shards.len(),
        };
        gathered + 2 * adapters.count()
    }
}

impl GpuSession {
    /// The RoPE tables whose pairs rotate by several axes of a position: layout, buffer slice and sections of each.
    fn axes(&self) -> Vec<(Axes, Slice, RopeSections)> {
        let tables = self.model.program.rope_tables.iter().zip(&self.buffers.frequencies);
        let tables = tables.filter(|_| self.buffers.room.axes);
        tables.filter_map(|(of, slice)| Some((Axes { pairs: of.dims / 2 }, *slice, of.sections?))).collect()
    }

    /// Initialises the RoPE tables with several axes, before any position is known.
    pub(super) fn start_places(&self) {
        for (axes, slice, sections) in self.axes() {
            self.write_at(slice, axes.offset(), bytemuck::cast_slice(&axes.start(&sections)));
        }
    }

    /// Writes where the ids of the next pass lie on each axis, if positions have several.
    pub(super) fn write_places(&self, ids: &[u32], position: usize) {
        let tables = self.axes();
        if tables.is_empty() {
            return;
        }
        let mut places = self.sequence.places.borrow_mut();
        let from = position.min(places.len());
        places.extend(position, ids, &self.model.input_rows);
        for (axes, slice, _) in tables {
            let ((offset, found), (at, known)) = (axes.places(&places, from), axes.known(&places));
            self.write_at(slice, offset, bytemuck::cast_slice(&found));
            self.write_at(slice, at, bytemuck::cast_slice(&known));
        }
    }

    fn write_at(&self, slice: Slice, offset: u64, bytes: &[u8]) {
        self.write(Slice { offset: slice.offset + offset, ..slice }, bytes);
    }

    /// Copies the rows for deeper layers to where these layers read them.
    pub(super) fn enter_deep_rows(&self, runs: &[InputRun<Buffer>]) {
        let row = self.model.row_bytes();
        for (deep, x) in self.model.program.inputs().into_iter().enumerate() {
            let to = self.buffers.places.embed.of(x).slice;
            self.model.device.copy(runs.iter().map(|run| Copy {
                source: &run.data,
                source_offset: ((1 + deep) * run.of + run.row) as u64 * row,
                target: self.table.get(to.buffer),
                offset: to.offset + run.at as u64 * row,
                bytes: run.count as u64 * row,
            }));
        }
    }

    /// Overwrites the rows for deeper layers with zeros again, for decode passes.
    pub(super) fn clear_deep_rows(&self, runs: &[InputRun<Buffer>]) {
        let row = self.model.row_bytes();
        for x in self.model.program.inputs() {
            let to = self.buffers.places.embed.of(x).slice;
            for run in runs {
                let zeros = vec![0; run.count * row as usize];
                self.write_at(to, run.at as u64 * row, &zeros);
            }
        }
    }

    /// Runs the dispatches of a list that write embeddings, over a pass of `tokens` rows, and copies prompt rows over
    /// those of their placeholders. Returns how many dispatches ran: 0 where the pass has no prompt rows.
    pub(super) fn enter_rows(&self, runs: &[InputRun<Buffer>], list: &CommandList, tokens: usize) -> usize {
        if runs.is_empty() {
            return 0;
        }
        let model = &self.model;
        let forward = self.forward(&model.caps, &self.buffers);
        let range = 0..forward.embeddings();
        model.device.submit([Part { list, range: range.clone() }], tokens as u32, None);
        let (row, to) = (model.row_bytes(), self.buffers.places.embed.of(model.program.residual()).slice);
        model.device.copy(runs.iter().map(|run| Copy {
            source: &run.data,
            source_offset: run.row as u64 * row,
            target: self.table.get(to.buffer),
            offset: to.offset + run.at as u64 * row,
            bytes: run.count as u64 * row,
        }));
        range.end
    }
}
