//! The command lists of a session, and where plans find lists.

use crate::Result;
use crate::forward;
use crate::gpu::{BufferTable, CommandList, Device};
use crate::runtime::plan::{List, Set};
use crate::time_slice::TimeSlice;

/// Where plans find recorded lists.
pub(in crate::runtime) trait FindList {
    /// A list of a set; `None` where it is not recorded.
    fn find(&self, set: Set, list: List) -> Option<&CommandList>;
}

/// The lists of [`forward::Lists`], ready to run.
pub(in crate::runtime) struct Lists {
    pub prefill: CommandList,
    pub kept: usize,
    pub head: CommandList,
    pub decode: CommandList,
    pub bias: CommandList,
    pub greedy: CommandList,
    pub sample: CommandList,
    pub replay: CommandList,
    pub follow: CommandList,
    pub step: CommandList,
    pub source: CommandList,
    pub keys: CommandList,
}

impl Lists {
    /// Records all lists, and yields to the page in between.
    pub async fn record(device: &Device, lists: &forward::Lists, table: &BufferTable) -> Result<Self> {
        let mut time_slice = TimeSlice::new();
        let mut recorded = Vec::new();
        for dispatches in lists.each() {
            time_slice.yield_if_over().await;
            recorded.push(CommandList::record(device, dispatches, table)?);
        }
        let recorded = <[CommandList; 11]>::try_from(recorded);
        let Ok([prefill, head, decode, bias, greedy, sample, replay, follow, step, source, keys]) = recorded else {
            unreachable!("as many lists as before")
        };
        let kept = lists.kept;
        Ok(Self { prefill, kept, head, decode, bias, greedy, sample, replay, follow, step, source, keys })
    }

    /// Compiles all pipelines in parallel, then records the lists like [`Lists::record`].
    pub async fn compile(device: &Device, lists: &forward::Lists, table: &BufferTable) -> Result<Self> {
        let pipelines = device.compile_ahead(lists.all().map(|dispatch| &dispatch.kernel));
        device.finish_ahead(pipelines).await;
        Self::record(device, lists, table).await
    }

    pub fn all(&self) -> [&CommandList; 11] {
        let Self { prefill, head, decode, bias, greedy, sample, replay, follow, step, source, keys, .. } = self;
        [prefill, head, decode, bias, greedy, sample, replay, follow, step, source, keys]
    }

    /// A list; `None` for those that are recorded apart.
    pub fn get(&self, list: List) -> Option<&CommandList> {
        Some(match list {
            List::Prefill => &self.prefill,
            List::Follow => &self.follow,
            List::Head => &self.head,
            List::Decode => &self.decode,
            List::Bias => &self.bias,
            List::Greedy => &self.greedy,
            List::Sample => &self.sample,
            List::Replay => &self.replay,
            List::Step => &self.step,
            List::Source => &self.source,
            List::Keys => &self.keys,
            List::ExactPrefill | List::HeadOfAll | List::Stage(_) | List::Batch | List::Inputs => return None,
        })
    }
}
