//! The recorded command lists of a session.
//!
//! Lists for prompts and for decode passes of one row are recorded when a session is made, others at their first pass.
//! Passes without adapters run the lists of the model alone. For others, a session records lists with the adapters of
//! all sequences in the pass, at the first such pass, and keeps a few sets.

use std::cell::Cell;
use std::rc::Rc;

use super::adapters::{Adapted, GpuAdapter};
use super::lists::{FindList, Lists};
use super::model::GpuModel;
use crate::Result;
use crate::forward::{self, Adapters, Buffers, Forward};
use crate::gpu::{BufferTable, CommandList, in_background};
use crate::kernels::accept_drafts::{DRAFT_ROWS, FEW_DRAFT_ROWS};
use crate::kernels::caps::{Caps, Precision};
use crate::kernels::spec::BufferId;
use crate::runtime::plan::{Form, List, Set};

/// Number of sets of lists that are kept beside the one in use.
const SET_ASIDE: usize = 3;

/// The lists for logits of every token, made at the first evaluation.
struct Evaluation {
    /// Prefill without rounding, where the model's own prefill rounds.
    exact: Option<CommandList>,
    head: CommandList,
}

/// The lists of passes with the same adapters.
struct ListSet {
    /// The adapters in the lists; `None` without adapters.
    adapted: Option<Adapted>,
    lists: Lists,
    /// Lists for passes of several rows, indexed by the number of rows.
    rows: Vec<Option<Lists>>,
    /// Lists for passes with drafts, indexed by the number of rows.
    drafts: Vec<Option<Lists>>,
    /// Lists for the steps of the model's own block, indexed by the number of sequences.
    steps: Vec<Option<Lists>>,
    /// Whether the pipelines of passes with drafts are compiled; `None` before that has begun.
    drafts_ahead: Option<Rc<Cell<bool>>>,
    evaluation: Option<Evaluation>,
}

impl ListSet {
    fn new(adapted: Option<Adapted>, lists: Lists) -> Self {
        let [rows, drafts, steps] = [(); 3].map(|()| Vec::new());
        Self { adapted, lists, rows, drafts, steps, drafts_ahead: None, evaluation: None }
    }

    fn all(&self) -> impl Iterator<Item = &CommandList> {
        let evaluation = self.evaluation.iter().flat_map(|it| it.exact.iter().chain([&it.head]));
        let several = self.rows.iter().chain(&self.drafts).chain(&self.steps).flatten();
        let all = [&self.lists].into_iter().chain(several);
        all.flat_map(Lists::all).chain(evaluation)
    }

    /// Numbers of the adapters.
    fn adapters(&self) -> Vec<u32> {
        self.adapted.iter().flat_map(|adapted| &adapted.all).map(|adapter| adapter.id).collect()
    }
}

/// What lists are recorded from.
#[derive(Clone, Copy)]
pub(in crate::runtime) struct Recorded<'a> {
    pub model: &'a Rc<GpuModel>,
    pub buffers: &'a Buffers,
}

/// The lists in use, and those for passes with other adapters.
pub(in crate::runtime) struct ListSets {
    current: ListSet,
    aside: Vec<ListSet>,
}

/// What lists with these adapters are made from, for a device with these capabilities.
fn forward<'a>(of: Recorded<'a>, caps: &'a Caps, adapted: Option<&'a Adapted>) -> Forward<'a> {
    let model = of.model;
    match adapted {
        None => Forward::new(&model.program, caps, &model.weights, of.buffers),
        Some(Adapted { program, places, t, .. }) => Forward {
            adapters: Some(Adapters { all: places, t: *t, base: &model.program }),
            ..Forward::new(program, caps, &model.weights, of.buffers)
        },
    }
}

impl ListSets {
    /// Records a session's first lists.
    ///
    /// # Errors
    /// `limit_exceeded` where the parameters do not fit a buffer.
    pub async fn record(model: &GpuModel, lists: &forward::Lists, table: &BufferTable) -> Result<Self> {
        let lists = Lists::record(&model.device, lists, table).await?;
        Ok(Self { current: ListSet::new(None, lists), aside: Vec::new() })
    }

    /// A list of a set; `None` where it is not recorded.
    pub fn get(&self, set: Set, list: List) -> Option<&CommandList> {
        let of = &self.current;
        match list {
            List::ExactPrefill => return of.evaluation.as_ref()?.exact.as_ref(),
            List::HeadOfAll => return Some(&of.evaluation.as_ref()?.head),
            _ => {}
        }
        self.set(set)?.get(list)
    }

    fn set(&self, set: Set) -> Option<&Lists> {
        let of = &self.current;
        match set {
            Set::Draft(rows) => of.drafts.get(rows)?.as_ref(),
            Set::Rows(rows) => {
                let recorded = of.rows.get(rows).and_then(Option::as_ref);
                recorded.or_else(|| (rows <= 1).then_some(&of.lists))
            }
            Set::Steps(rows) => of.steps.get(rows)?.as_ref(),
            Set::DraftModel(_) | Set::SmallBatch | Set::LargeBatch => None,
        }
    }

    /// Number of dispatches at the start of a set's layers that bring all that caches and states need.
    pub fn kept(&self, set: Set) -> usize {
        self.set(set).map_or(0, |lists| lists.kept)
    }

    /// Whether logits of all rows come from a list without rounding.
    pub fn is_exact(&self) -> bool {
        self.current.evaluation.as_ref().is_some_and(|it| it.exact.is_some())
    }

    /// Every recorded list.
    pub fn all(&self) -> impl Iterator<Item = &CommandList> {
        self.current.all().chain(self.aside.iter().flat_map(ListSet::all))
    }

    /// What the lists in use are made from.
    pub fn forward<'a>(&'a self, of: Recorded<'a>) -> Forward<'a> {
        self.forward_with(of, &of.model.caps)
    }

    fn forward_with<'a>(&'a self, of: Recorded<'a>, caps: &'a Caps) -> Forward<'a> {
        forward(of, caps, self.current.adapted.as_ref())
    }

    /// Whether the lists for passes of this form are recorded.
    pub fn has(&self, form: Form) -> bool {
        self.set(form.set()).is_some() && form.steps().is_none_or(|set| self.set(set).is_some())
    }

    /// Records the lists for passes of this form, if they are not recorded yet.
    ///
    /// # Errors
    /// `device_lost`, and what compiling the kernels gives.
    pub async fn record_form(&mut self, of: Recorded<'_>, form: Form, table: &BufferTable) -> Result<()> {
        for set in [form.set()].into_iter().chain(form.steps()) {
            if self.set(set).is_none() {
                self.record_set(of, set, table).await?;
            }
        }
        Ok(())
    }

    async fn record_set(&mut self, of: Recorded<'_>, set: Set, table: &BufferTable) -> Result<()> {
        let forward = self.forward(of);
        let lists = match set {
            Set::Rows(rows) => forward.lists_of_rows(rows as u32),
            Set::Steps(rows) => forward.lists_of_steps(rows as u32),
            Set::Draft(rows) => forward.lists_of_draft(rows as u32),
            _ => unreachable!("no set of a session's own"),
        };
        let lists = Some(Lists::compile(&of.model.device, &lists, table).await?);
        let current = &mut self.current;
        match set {
            Set::Rows(rows) => put(&mut current.rows, rows, lists),
            Set::Steps(rows) => put(&mut current.steps, rows, lists),
            Set::Draft(rows) => put(&mut current.drafts, rows, lists),
            _ => {}
        }
        Ok(())
    }

    /// Records the lists for logits of every token, if they are not recorded yet.
    ///
    /// # Errors
    /// `limit_exceeded` where the parameters do not fit a buffer.
    pub fn record_evaluation(&mut self, of: Recorded<'_>, logits: BufferId, table: &BufferTable) -> Result<()> {
        if self.current.evaluation.is_some() {
            return Ok(());
        }
        let caps = of.model.caps.clone().with_precision(Precision::Exact);
        let forward = self.forward_with(of, &caps);
        let record = |dispatches: Vec<_>| CommandList::record(&of.model.device, &dispatches, table);
        let head = record(forward.head_of_all(logits.into()))?;
        let exact = of.model.rounds().then(|| record(forward.prefill())).transpose()?;
        self.current.evaluation = Some(Evaluation { exact, head });
        Ok(())
    }

    /// Whether the pipelines of passes with drafts are compiled.
    pub fn has_drafts_compiled(&self) -> bool {
        let of = &self.current;
        self.set(Set::Draft(DRAFT_ROWS)).is_some() || of.drafts_ahead.as_ref().is_some_and(|is_done| is_done.get())
    }

    /// Whether that has begun.
    pub fn compiles_drafts(&self) -> bool {
        self.current.drafts_ahead.is_some()
    }

    /// Begins to compile the pipelines of passes with drafts, where that has not begun; with a drafter also for four
    /// rows.
    pub fn compile_drafts_ahead(&mut self, of: Recorded<'_>, has_drafter: bool) {
        if self.has_drafts_compiled() || self.compiles_drafts() {
            return;
        }
        let (forward, device) = (self.forward(of), &of.model.device);
        let mut lists = vec![forward.lists_of_draft(DRAFT_ROWS as u32)];
        if has_drafter {
            lists.extend([forward.lists_of_draft(FEW_DRAFT_ROWS as u32), forward.lists_of_steps(1)]);
        }
        let dispatches = lists.iter().flat_map(|lists| lists.all());
        let pipelines = device.compile_ahead(dispatches.map(|dispatch| &dispatch.kernel));
        let is_done = self.current.drafts_ahead.insert(Rc::default()).clone();
        // A model that is freed meanwhile takes its device along.
        let device = Rc::downgrade(device);
        in_background(async move {
            pipelines.done().await;
            if let Some(device) = device.upgrade() {
                device.finish_ahead(pipelines).await;
                is_done.set(true);
            }
        });
    }

    /// Prepares the lists for passes with these adapters, in any of their sequences.
    ///
    /// # Errors
    /// `limit_exceeded` where a buffer is too large for the device; `device_lost`.
    pub async fn use_adapters(
        &mut self,
        of: Recorded<'_>,
        wanted: Vec<Rc<GpuAdapter>>,
        table: &mut BufferTable,
    ) -> Result<()> {
        let all = sorted(wanted);
        let wanted: Vec<u32> = all.iter().map(|adapter| adapter.id).collect();
        if self.current.adapters() == wanted {
            return Ok(());
        }
        let known = self.aside.iter().position(|set| set.adapters() == wanted);
        let set = match known {
            Some(at) => self.aside.remove(at),
            None => record_with(of, all, table).await?,
        };
        let before = std::mem::replace(&mut self.current, set);
        self.aside.push(before);
        self.forget_removed(of.model, table);
        if self.aside.len() > SET_ASIDE {
            let oldest = self.aside.iter().position(|set| set.adapted.is_some());
            let dropped = oldest.map(|at| self.aside.remove(at));
            forget(dropped.and_then(|set| set.adapted), table);
        }
        Ok(())
    }

    /// Drops lists with adapters that the model no longer has, except for the lists in use.
    pub fn forget_removed(&mut self, model: &GpuModel, table: &mut BufferTable) {
        let is_removed = |id: &u32| model.adapters.get(*id).is_none();
        let (removed, kept) = std::mem::take(&mut self.aside)
            .into_iter()
            .partition::<Vec<_>, _>(|set| set.adapters().iter().any(is_removed));
        self.aside = kept;
        removed.into_iter().for_each(|set| forget(set.adapted, table));
    }

    /// Goes on with other lists, since the buffers have changed; drops those that are made on demand.
    pub fn replace(&mut self, lists: Lists, table: &mut BufferTable) {
        for set in std::mem::take(&mut self.aside) {
            forget(set.adapted, table);
        }
        let adapted = self.current.adapted.take();
        self.current = ListSet::new(adapted, lists);
    }
}

impl FindList for ListSets {
    fn find(&self, set: Set, list: List) -> Option<&CommandList> {
        self.get(set, list)
    }
}

/// Puts lists at an index, which may lie past the end.
fn put(all: &mut Vec<Option<Lists>>, at: usize, lists: Option<Lists>) {
    all.resize_with(all.len().max(at + 1), || None);
    all[at] = lists;
}

/// Adapters in the order of their numbers, each once.
fn sorted(wanted: Vec<Rc<GpuAdapter>>) -> Vec<Rc<GpuAdapter>> {
    let mut all: Vec<Rc<GpuAdapter>> = Vec::new();
    for adapter in wanted {
        let at = all.partition_point(|other| other.id < adapter.id);
        if all.get(at).is_none_or(|other| other.id != adapter.id) {
            all.insert(at, adapter);
        }
    }
    all
}

async fn record_with(of: Recorded<'_>, all: Vec<Rc<GpuAdapter>>, table: &mut BufferTable) -> Result<ListSet> {
    let model = of.model;
    let adapted = match all.is_empty() {
        true => None,
        false => Some(Adapted::new((&model.device, &model.program), all, (table, of.buffers))?),
    };
    let lists = forward(of, &model.caps, adapted.as_ref()).lists();
    match Lists::compile(&model.device, &lists, table).await {
        Ok(lists) => Ok(ListSet::new(adapted, lists)),
        Err(error) => {
            forget(adapted, table);
            Err(error)
        }
    }
}

fn forget(adapted: Option<Adapted>, table: &mut BufferTable) {
    for number in adapted.into_iter().flat_map(|adapted| adapted.buffers) {
        table.remove(number);
    }
}
