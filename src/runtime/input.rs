//! Rows of embeddings in prompts, such as an encoder's output: adding them to a model.

use std::ops::Range;
use std::rc::Rc;

use super::any::AnySession;
use super::embed::{AnyEmbedder, EmbedEngine};
use super::gpu::input_rows::check_values;
use super::gpu::lane::GpuLane;
use super::held_rows::HeldRows;
use super::run::engine::Engine;
use super::session::Session;
use crate::model::program::{Op, Program};
use crate::model::{InputRows, InputSource, Item, Places, RowIds};
use crate::{Error, Result};

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

/// What the embeddings of tokens are multiplied with.
fn embedding_scale(program: &Program) -> f32 {
    let scale = |op: &Op| if let Op::Embed { scale, .. } = op { Some(*scale) } else { None };
    program.embed.iter().find_map(scale).unwrap_or(1.0)
}

impl AnySession {
    /// Adds the rows `[rows, hidden]` of a source. The same source always has the same ids. Where deeper layers take
    /// rows, too, as many rows follow for each of these layers. They are scaled as embeddings are, where
    /// [`ModelConfig::scales_rows`](crate::model::ModelConfig::scales_rows) says so.
    ///
    /// # Errors
    /// `invalid_argument` where the number of values does not match the source, for a source without rows, and where no
    /// ids are left; errors of the device.
    pub fn add_rows(&self, source: InputSource, rows: &[f32]) -> Result<HeldRows> {
        check_values(source, rows.len() as u64, self.config().row_width())?;
        let scale = match self {
            _ if !self.config().scales_rows() => 1.0,
            Self::Gpu(lane) => embedding_scale(&GpuLane::model(lane).program),
            Self::Cpu(session) => embedding_scale(session.model().program()),
        };
        let scaled: Vec<f32>;
        let rows = if scale == 1.0 {
            rows
        } else {
            scaled = rows.iter().map(|value| value * scale).collect();
            &scaled
        };
        match self {
            Self::Gpu(lane) => GpuLane::model(lane).add_rows(source, rows),
            Self::Cpu(session) => hold(session.model().input_rows(), source, rows),
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

impl EmbedEngine {
    /// Number of values of a row of an image or a sound among the tokens of an input.
    ///
    /// # Errors
    /// `invalid_argument` for a model that embeds texts alone.
    pub fn row_width(&self) -> Result<usize> {
        let config = self.embedder.config();
        if config.architecture == "gemma-embedding2" {
            return Ok(config.row_width());
        }
        let message = format!("option 'mmproj': models of architecture {} embed texts alone here", config.architecture);
        Err(Error::invalid_argument(message))
    }

    /// Holds rows until the next call of [`Self::embed`] is over.
    ///
    /// # Errors
    /// The errors of [`AnySession::add_rows`], and of [`Self::row_width`].
    pub fn hold_rows(&mut self, source: InputSource, rows: &[f32]) -> Result<()> {
        check_values(source, rows.len() as u64, self.row_width()?)?;
        self.rows.push(match &self.embedder {
            AnyEmbedder::Gpu(embedder) => embedder.model().add_rows(source, rows)?,
            AnyEmbedder::Cpu(embedder) => hold(embedder.model().input_rows(), source, rows)?,
        });
        Ok(())
    }
}

impl AnyEmbedder {
    /// The ids of all rows that inputs may hold.
    pub fn row_ids(&self) -> Rc<RowIds> {
        match self {
            Self::Gpu(embedder) => embedder.model().input_rows.ids(),
            Self::Cpu(embedder) => embedder.model().input_rows().ids(),
        }
    }

    /// Goes on with the ids that the model gave to rows before it was loaded again.
    pub fn share_row_ids(&self, ids: Rc<RowIds>) {
        match self {
            Self::Gpu(embedder) => embedder.model().input_rows.share(ids),
            Self::Cpu(embedder) => embedder.model().input_rows().share(ids),
        }
    }

    /// Whether a row with this id is known.
    pub(super) fn knows_row(&self, id: u32) -> bool {
        match self {
            Self::Gpu(embedder) => embedder.model().input_rows.knows(id),
            Self::Cpu(embedder) => embedder.model().input_rows().knows(id),
        }
    }
}

/// The rows of a source on the CPU, which are added where nobody holds them.
fn hold(all: &InputRows<Vec<f32>>, source: InputSource, rows: &[f32]) -> Result<HeldRows> {
    let ids = all.ids().know(source)?;
    Ok(HeldRows::new(ids, all.held(source).unwrap_or_else(|| all.add(source, rows.to_vec()))))
}
