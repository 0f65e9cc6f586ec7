//! The sources that the texts of a session attend to.

use std::cell::Cell;

use super::queue::Queue;
use super::session::{GpuSession, Grown};
use crate::runtime::passes::source::{read, write_spans};
use crate::runtime::plan::{List, Plan, Set};
use crate::{Error, Result};

/// Reads the source of a text. Nothing may be in flight. False where `stop` was set meanwhile: the text has no source
/// then.
///
/// # Errors
/// `out_of_memory`, `limit_exceeded`, `device_lost`.
pub(in crate::runtime) async fn read_source(
    session: &mut GpuSession,
    number: usize,
    ids: &[u32],
    stop: &Cell<bool>,
) -> Result<bool> {
    session.grow_by(ids.len(), Grown::Source).await?;
    session.sources[number] = 0;
    let len = |list| session.gpu.lists.get(Set::Rows(1), list).map_or(0, |list| list.len());
    let [len, keys] = [List::Source, List::Keys].map(len);
    let found = read(session.layout(), (number, session.sources.len()), ids, keys);
    let Some(pass) = found else { return Ok(false) };
    let mut queue = Queue::new(&session.model);
    let gpu = &mut session.gpu;
    if !queue.run((pass, len), stop, |part| gpu.execute(part)).await? || stop.get() {
        return Ok(false);
    }
    session.sources[number] = ids.len();
    let mut plan = Plan::default();
    write_spans(&mut plan, session.layout(), &session.sources);
    session.gpu.execute(&plan)?;
    queue.finish().await;
    session.model.device.check()?;
    Ok(true)
}

/// Checks that a text has a source where the model attends to one.
///
/// # Errors
/// `invalid_argument` where it has none.
pub(in crate::runtime) fn check_source(session: &GpuSession, number: usize) -> Result<()> {
    match (&session.buffers.source, session.sources[number]) {
        (Some(_), 0) => Err(Error::invalid_argument("the model attends to a source, and has read none")),
        _ => Ok(()),
    }
}
