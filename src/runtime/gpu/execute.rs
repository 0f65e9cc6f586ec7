//! Executes plans on a device: the only place of the runtime where steps become commands.

use std::rc::Rc;

use super::list_sets::ListSets;
use super::lists::FindList;
use super::reads::{Answer, Reads};
use crate::Result;
use crate::gpu::{Buffer, BufferTable, CommandList, Commands, Copy, Device, Part, ReadBack};
use crate::runtime::plan::{Of, Place, Plan, Read, Run, Set, Step};

/// What the names in a plan mean to their owner.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Names<'a> {
    pub table: &'a BufferTable,
    pub lists: &'a dyn FindList,
}

/// Executes a plan that reads nothing back. Steps up to the next write go to the device in one submit.
pub(in crate::runtime) fn execute(device: &Device, own: Names<'_>, plan: &Plan<'_>) {
    let found = Found { own, draft_model: None };
    for steps in groups(plan) {
        match steps[0].is_write() {
            true => found.write(device, steps),
            false => device.submit_all(|commands| found.encode(commands, steps, &[])),
        }
    }
}

/// The writes of a plan, and what goes to the device between two of them.
fn groups<'p, 'a>(plan: &'p Plan<'a>) -> impl Iterator<Item = &'p [Step<'a>]> {
    plan.steps.chunk_by(|a, b| a.is_write() == b.is_write())
}

/// Buffers, lists and read-backs of a session.
pub(in crate::runtime) struct Executor {
    device: Rc<Device>,
    /// The model's buffers and the session's own.
    pub table: BufferTable,
    pub lists: ListSets,
    pub reads: Reads,
}

impl Executor {
    pub fn new(device: Rc<Device>, table: BufferTable, lists: ListSets, reads: Reads) -> Self {
        Self { device, table, lists, reads }
    }

    /// Executes a plan that needs no other session.
    ///
    /// # Errors
    /// The errors of [`Executor::execute_with`].
    pub fn execute(&mut self, plan: &Plan<'_>) -> Result<()> {
        self.execute_with(plan, None)
    }

    /// Executes a plan. Steps up to the next write go to the device in one submit. Steps of the draft model's session
    /// are left out where that is not given.
    ///
    /// # Errors
    /// `limit_exceeded` where more answers are in flight than there are buffers for.
    pub fn execute_with(&mut self, plan: &Plan<'_>, draft_model: Option<&Self>) -> Result<()> {
        for steps in groups(plan) {
            let reads = self.reserve(steps)?;
            let found = Found { own: self.names(), draft_model: draft_model.map(Self::names) };
            if steps[0].is_write() {
                found.write(&self.device, steps);
                continue;
            }
            self.device.submit_all(|commands| found.encode(commands, steps, &reads));
            for (what, read) in reads {
                self.reads.submitted(&self.device, what, read);
            }
        }
        Ok(())
    }

    fn names(&self) -> Names<'_> {
        Names { table: &self.table, lists: &self.lists }
    }

    fn reserve(&mut self, steps: &[Step<'_>]) -> Result<Vec<(Read, ReadBack)>> {
        let mut reserved = Vec::new();
        for step in steps {
            if let Step::Read { what, .. } = step {
                reserved.push((*what, self.reads.reserve(&self.device, *what)?));
            }
        }
        Ok(reserved)
    }

    /// The answer of the oldest pass in flight; `None` where none is in flight.
    ///
    /// # Errors
    /// `device_lost`.
    pub async fn answer(&mut self) -> Result<Option<Answer>> {
        self.reads.next(&self.device).await
    }

    /// The same if it is there already. Passes whose logits are read back have to be waited for.
    ///
    /// # Errors
    /// `device_lost`.
    pub fn answer_if_ready(&mut self) -> Result<Option<Answer>> {
        self.reads.next_if_ready(&self.device)
    }

    /// Bytes of its buffers and lists.
    pub fn bytes(&self) -> u64 {
        self.table.bytes() + self.lists.all().map(CommandList::bytes).sum::<u64>() + self.reads.bytes()
    }
}

/// What the names in a plan mean.
struct Found<'a> {
    own: Names<'a>,
    draft_model: Option<Names<'a>>,
}

impl<'a> Found<'a> {
    fn write(&self, device: &Device, steps: &'a [Step<'a>]) {
        for step in steps {
            if let Step::Write { to, bytes } = step {
                self.buffer(*to).into_iter().for_each(|buffer| device.write(buffer, to.offset, bytes));
            }
        }
    }

    fn encode(&self, commands: &mut Commands, steps: &'a [Step<'a>], reads: &'a [(Read, ReadBack)]) {
        let mut reads = reads.iter();
        for group in steps.chunk_by(|a, b| matches!((a, b), (Step::Run(_), Step::Run(_)))) {
            match &group[0] {
                Step::Run(_) => commands.run_each(group.iter().filter_map(|step| self.part(step))),
                Step::Copy { from, to, bytes } => {
                    let (Some(source), Some(target)) = (self.buffer(*from), self.buffer(*to)) else { continue };
                    let (source_offset, offset) = (from.offset, to.offset);
                    commands.copy(&Copy { source, source_offset, target, offset, bytes: *bytes });
                }
                Step::Read { from, bytes, .. } => {
                    let Some((_, read)) = reads.next() else { continue };
                    let (source, target) = (self.own.table.get(from.buffer), read.buffer());
                    let bytes = bytes.unwrap_or(target.size());
                    commands.copy(&Copy { source, source_offset: from.offset, target, offset: 0, bytes });
                }
                Step::Write { .. } => {}
            }
        }
    }

    fn part(&self, step: &Step<'_>) -> Option<(Part<'a>, u32)> {
        let Step::Run(Run { set, list, range, rows }) = step else { return None };
        let (owner, set) = match set {
            Set::DraftModel(rows) => (self.draft_model?, Set::Rows(*rows)),
            set => (self.own, *set),
        };
        let list = owner.lists.find(set, *list)?;
        Some((Part { list, range: range.start.min(list.len())..range.end.min(list.len()) }, *rows as u32))
    }

    fn buffer(&self, place: Place<'a>) -> Option<&'a Buffer> {
        match place.of {
            Of::Session(buffer) => Some(self.own.table.get(buffer)),
            Of::DraftModel(buffer) => Some(self.draft_model?.table.get(buffer)),
            Of::Other(buffer) => Some(buffer),
        }
    }
}
