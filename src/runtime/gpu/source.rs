//! The sources that the texts of a session attend to.

use std::cell::Cell;

use super::queue::Queue;
use super::session::{GpuSession, Grown};
use crate::gpu::Part;
use crate::kernels::pass::Pass;
use crate::runtime::plan::{List, Set};
use crate::{Error, Result};

impl GpuSession {
    /// Reads the source of a sequence: its rows through the encoder, and the keys and values of each layer. Nothing may
    /// be in flight. False where `stop` was set meanwhile: the sequence has no source then.
    ///
    /// # Errors
    /// `out_of_memory`, `limit_exceeded`, `device_lost`.
    pub(in crate::runtime) async fn read_source(
        &mut self,
        sequence: usize,
        ids: &[u32],
        stop: &Cell<bool>,
    ) -> Result<bool> {
        self.grow_by(ids.len(), Grown::Source).await?;
        self.sources[sequence] = 0;
        let Some(source) = &self.buffers.source else { return Ok(false) };
        let (pass, spans) = (source.encoder.pass, source.encoder.inputs.spans);
        self.write(pass, &Pass::batch(&[ids]).bytes());
        self.write(spans, bytemuck::cast_slice(&Pass::spans(&[ids])));
        let lists = [List::Source, List::Keys].map(|list| self.gpu.lists.get(Set::Rows(1), list));
        let [Some(encoder), Some(keys)] = lists else { return Ok(false) };
        let mut queue = Queue::new(&self.model);
        if !queue.run_list((encoder, 0), ids.len(), stop).await || stop.get() {
            return Ok(false);
        }
        let count = keys.len() / self.sources.len();
        let own = Part { list: keys, range: sequence * count..(sequence + 1) * count };
        self.model.device.submit([own], ids.len() as u32, None);
        self.sources[sequence] = ids.len();
        self.write_sources();
        queue.finish().await;
        self.model.device.check()?;
        Ok(true)
    }

    /// Writes where the keys and values of each sequence lie. What has none attends to a row of zeros.
    pub(in crate::runtime) fn write_sources(&self) {
        let Some(source) = &self.buffers.source else { return };
        let span =
            |(of, &rows): (usize, &usize)| [of * source.rows, of * source.rows + rows.max(1)].map(|row| row as u32);
        let spans: Vec<[u32; 2]> = self.sources.iter().enumerate().map(span).collect();
        self.write(source.spans, bytemuck::cast_slice(&spans));
    }

    /// Checks that a sequence has a source where the model attends to one.
    pub(in crate::runtime) fn check_source(&self, sequence: usize) -> Result<()> {
        match (&self.buffers.source, self.sources[sequence]) {
            (Some(_), 0) => Err(Error::invalid_argument("the model attends to a source, and has read none")),
            _ => Ok(()),
        }
    }
}
