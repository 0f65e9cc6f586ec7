//! Adapters on the GPU: their matrices, and the lists for passes that use some.
//!
//! Passes without adapters run the lists of the model alone. For others, a session records lists with the adapters of
//! all sequences in the pass, at the first such pass. A buffer says how much of each adapter a sequence has.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::evaluation::Evaluation;
use super::lists::Lists;
use super::model::GpuModel;
use super::session::GpuSession;
use crate::forward::{
    AdapterGroup, AdapterPlaces, Adapters, Buffers, Forward, GroupPlace, adapted, adapter_groups, bytes_of_experts,
};
use crate::gpu::{Buffer, BufferTable, CommandList, Device};
use crate::kernels::caps::Caps;
use crate::kernels::lora::{SEQUENCE_BYTES, SLOTS, Terms, scale_words};
use crate::kernels::spec::{BufferId, Slice};
use crate::model::program::Program;
use crate::model::{Adapter, WeightKey};
use crate::{Error, ErrorCode, Result};

/// Number of sets of lists that are kept beside the one in use.
const SET_ASIDE: usize = 3;

/// Alignment in bytes of the parts of a group's buffer.
const ALIGN: usize = 256;

/// An adapter of a model, on the GPU.
pub(in crate::runtime) struct GpuAdapter {
    /// Number of the adapter, which no other adapter of the model has or had.
    pub id: u32,
    /// Index of its scale among those of a sequence.
    pub slot: usize,
    /// Tokens from which on the adapter is at work; empty for one that always is.
    pub invocation: Vec<u32>,
    groups: Vec<Group>,
}

/// The matrices and the segments of a group.
struct Group {
    /// A.
    a: Rc<Buffer>,
    /// Room for `A · x` of one row, then B and the segments: products read all of it, and the kernel that reads A
    /// writes the first.
    rest: Rc<Buffer>,
    /// Offset and size in bytes of B and of the segments.
    parts: [(usize, usize); 2],
    of: WeightKey,
    /// Values of a row of A.
    cols: usize,
    place: GroupPlace,
}

impl Group {
    fn new(device: &Device, group: AdapterGroup) -> Result<Self> {
        let AdapterGroup { of, a, b, plan, ranks } = group;
        let mut bytes = vec![0; ranks as usize * size_of::<f32>()];
        let parts = [bytemuck::cast_slice(&b), bytemuck::cast_slice(&plan)].map(|part: &[u8]| {
            bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
            bytes.extend_from_slice(part);
            (bytes.len() - part.len(), part.len())
        });
        let made = |name, bytes: &[u8]| {
            let buffer = device.bound_buffer(name, bytes.len() as u64)?;
            device.write(&buffer, 0, bytes);
            Result::Ok(Rc::new(buffer))
        };
        let cols = a.len() / ranks.max(1) as usize;
        let [a, rest] = [made("A of an adapter", bytemuck::cast_slice(&a))?, made("B of an adapter", &bytes)?];
        let nowhere = Slice::from(BufferId(0));
        let place = GroupPlace { a: nowhere, b: nowhere, segments: nowhere, plan, ranks, terms: None };
        Ok(Self { a, rest, parts, of, cols, place })
    }

    /// The group's place in a session, whose table has its buffers under these numbers.
    fn place(&self, [a, rest]: [BufferId; 2]) -> GroupPlace {
        let [b, segments] =
            self.parts.map(|(offset, size)| Slice { buffer: rest, offset: offset as u64, size: Some(size as u64) });
        let b_at = (self.parts[0].0 / size_of::<f32>()) as u32;
        let terms = Terms::new(rest.into(), &self.place.plan, b_at);
        let terms = terms.filter(|_| self.place.ranks > 0 && self.cols.is_multiple_of(4));
        GroupPlace { a: a.into(), b, segments, terms, ..self.place.clone() }
    }
}

/// The adapters of a model.
#[derive(Default)]
pub(in crate::runtime) struct GpuAdapters {
    loaded: RefCell<Vec<Rc<GpuAdapter>>>,
    /// The adapter in each slot, including removed ones that are still in use.
    slots: RefCell<[Weak<GpuAdapter>; SLOTS]>,
}

impl GpuAdapters {
    /// The adapter with this number.
    pub fn get(&self, id: u32) -> Option<Rc<GpuAdapter>> {
        self.loaded.borrow().iter().find(|adapter| adapter.id == id).cloned()
    }

    /// Removes an adapter from those that requests can name; false where none has this number.
    pub fn remove(&self, id: u32) -> bool {
        let mut loaded = self.loaded.borrow_mut();
        let count = loaded.len();
        loaded.retain(|adapter| adapter.id != id);
        loaded.len() < count
    }
}

impl GpuModel {
    /// Puts an adapter on the GPU.
    ///
    /// # Errors
    /// `limit_exceeded` where all [`SLOTS`] scales of a sequence are taken, and for matrices that are too large for the
    /// device; `out_of_memory`, `device_lost`.
    pub(in crate::runtime) async fn add_adapter(&self, id: u32, adapter: Adapter) -> Result<()> {
        let groups = adapter_groups(&self.program, &adapter);
        let free = self.adapters.slots.borrow().iter().position(|slot| slot.strong_count() == 0);
        let Some(slot) = free else {
            return Err(Error::new(ErrorCode::LimitExceeded, format!("a model has at most {SLOTS} adapters")));
        };
        let device = &self.device;
        let make = || groups.into_iter().map(|group| Group::new(device, group)).collect::<Result<Vec<_>>>();
        let Some(groups) = device.try_make(make).await? else {
            return Err(Error::new(ErrorCode::OutOfMemory, "the GPU has no room for the adapter"));
        };
        let made = Rc::new(GpuAdapter { id, slot, invocation: adapter.invocation, groups });
        self.adapters.slots.borrow_mut()[slot] = Rc::downgrade(&made);
        self.adapters.loaded.borrow_mut().push(made);
        device.check()
    }
}

/// An adapter at work in a sequence, its scale, and the first position at which it works.
pub(in crate::runtime) type ActiveAdapter = (Rc<GpuAdapter>, f32, usize);

/// What lists with adapters have beside the model's own.
pub(in crate::runtime) struct Adapted {
    all: Vec<Rc<GpuAdapter>>,
    program: Program,
    places: Vec<AdapterPlaces>,
    t: Slice,
    /// Numbers of the adapters' buffers in the session's table.
    buffers: Vec<BufferId>,
}

impl Adapted {
    fn new(model: &GpuModel, all: Vec<Rc<GpuAdapter>>, (table, buffers): (&mut BufferTable, &Buffers)) -> Result<Self> {
        let groups = || all.iter().flat_map(|adapter| &adapter.groups);
        let touched: Vec<WeightKey> = groups().map(|group| group.of).collect();
        let ranks = groups().map(|group| group.place.ranks as usize).max().unwrap_or(1);
        let bytes = bytes_of_experts(&model.program, buffers.chunk, &touched).max(buffers.chunk * ranks * 4);
        let t = table.add(model.device.bound_buffer("ranks of adapters", bytes as u64)?);
        let mut numbers = vec![t];
        let places = all.iter().map(|adapter| {
            let groups = adapter.groups.iter().map(|group| {
                let own = [&group.a, &group.rest].map(|buffer| table.add(buffer.clone()));
                numbers.extend(own);
                (group.of, group.place(own))
            });
            AdapterPlaces { slot: adapter.slot, groups: groups.collect() }
        });
        let places = places.collect();
        let program = adapted(&model.program, &touched);
        Ok(Self { all, program, places, t: t.into(), buffers: numbers })
    }
}

/// The lists of passes with the same adapters.
pub(in crate::runtime) struct ListSet {
    adapted: Option<Adapted>,
    pub lists: Lists,
    pub few_rows: Vec<Option<Lists>>,
    pub drafts: Option<Lists>,
    drafts_ahead: Option<Rc<Cell<bool>>>,
    pub evaluation: Option<Evaluation>,
}

impl ListSet {
    pub fn all(&self) -> impl Iterator<Item = &CommandList> {
        all_of(&self.lists, &self.few_rows, &self.drafts, &self.evaluation)
    }
}

/// The lists of these kinds, one after the other.
pub(in crate::runtime) fn all_of<'a>(
    lists: &'a Lists,
    few_rows: &'a [Option<Lists>],
    drafts: &'a Option<Lists>,
    evaluation: &'a Option<Evaluation>,
) -> impl Iterator<Item = &'a CommandList> {
    let evaluation = evaluation.iter().flat_map(|it| it.exact.iter().chain([&it.head]));
    let all = [lists].into_iter().chain(few_rows.iter().flatten()).chain(drafts);
    all.flat_map(Lists::all).chain(evaluation)
}

fn numbers(adapted: Option<&Adapted>) -> Vec<u32> {
    adapted.iter().flat_map(|adapted| &adapted.all).map(|adapter| adapter.id).collect()
}

impl GpuSession {
    /// What lists are recorded from, for a device with these capabilities.
    pub(in crate::runtime) fn forward<'a>(&'a self, caps: &'a Caps, buffers: &'a Buffers) -> Forward<'a> {
        let model = &self.model;
        match &self.adapted {
            None => Forward::new(&model.program, caps, &model.weights, buffers),
            Some(Adapted { program, places, t, .. }) => Forward {
                adapters: Some(Adapters { all: places, t: *t, base: &model.program }),
                ..Forward::new(program, caps, &model.weights, buffers)
            },
        }
    }

    /// Prepares the lists for passes with these adapters, in any of their sequences.
    pub(in crate::runtime) async fn use_adapters(&mut self, wanted: Vec<Rc<GpuAdapter>>) -> Result<()> {
        let mut all: Vec<Rc<GpuAdapter>> = Vec::new();
        for adapter in wanted {
            let at = all.partition_point(|other| other.id < adapter.id);
            if all.get(at).is_none_or(|other| other.id != adapter.id) {
                all.insert(at, adapter);
            }
        }
        let wanted: Vec<u32> = all.iter().map(|adapter| adapter.id).collect();
        if numbers(self.adapted.as_ref()) == wanted {
            return Ok(());
        }
        let known = self.set_aside.iter().position(|set| numbers(set.adapted.as_ref()) == wanted);
        let set = match known {
            Some(at) => self.set_aside.remove(at),
            None => self.record_with(all).await?,
        };
        let before = self.exchange(set);
        self.set_aside.push(before);
        self.forget_removed();
        if self.set_aside.len() > SET_ASIDE {
            let oldest = self.set_aside.iter().position(|set| set.adapted.is_some());
            let dropped = oldest.map(|at| self.set_aside.remove(at));
            self.forget(dropped.and_then(|set| set.adapted));
        }
        Ok(())
    }

    async fn record_with(&mut self, all: Vec<Rc<GpuAdapter>>) -> Result<ListSet> {
        let model = self.model.clone();
        let adapted = match all.is_empty() {
            true => None,
            false => Some(Adapted::new(&model, all, (&mut self.table, &self.buffers))?),
        };
        let before = std::mem::replace(&mut self.adapted, adapted);
        let lists = self.forward(&model.caps, &self.buffers).lists();
        let adapted = std::mem::replace(&mut self.adapted, before);
        match Lists::compile(&model.device, &lists, &self.table).await {
            Ok(lists) => {
                let few_rows = Vec::new();
                Ok(ListSet { adapted, lists, few_rows, drafts: None, drafts_ahead: None, evaluation: None })
            }
            Err(error) => {
                self.forget(adapted);
                Err(error)
            }
        }
    }

    /// Drops lists with adapters that the model no longer has, except for the lists in use.
    pub(in crate::runtime) fn forget_removed(&mut self) {
        let is_removed = |id: &u32| self.model.adapters.get(*id).is_none();
        let (removed, kept) = std::mem::take(&mut self.set_aside)
            .into_iter()
            .partition::<Vec<_>, _>(|set| numbers(set.adapted.as_ref()).iter().any(is_removed));
        self.set_aside = kept;
        removed.into_iter().for_each(|set| self.forget(set.adapted));
    }

    fn exchange(&mut self, set: ListSet) -> ListSet {
        ListSet {
            adapted: std::mem::replace(&mut self.adapted, set.adapted),
            lists: std::mem::replace(&mut self.lists, set.lists),
            few_rows: std::mem::replace(&mut self.few_rows, set.few_rows),
            drafts: std::mem::replace(&mut self.drafts, set.drafts),
            drafts_ahead: std::mem::replace(&mut self.drafts_ahead, set.drafts_ahead),
            evaluation: std::mem::replace(&mut self.evaluation, set.evaluation),
        }
    }

    fn forget(&mut self, adapted: Option<Adapted>) {
        for number in adapted.into_iter().flat_map(|adapted| adapted.buffers) {
            self.table.remove(number);
        }
    }

    /// Drops all lists but those in use, since the buffers have changed.
    pub(in crate::runtime) fn forget_set_aside(&mut self) {
        for set in std::mem::take(&mut self.set_aside) {
            self.forget(set.adapted);
        }
    }

    /// Writes how much of each adapter a sequence has from the next pass on.
    pub(in crate::runtime) fn write_scales(&self, sequence: usize, adapters: &[ActiveAdapter]) {
        let words = scale_words(adapters.iter().map(|(adapter, scale, from)| (adapter.slot, *scale, *from)));
        let part = self.buffers.scales;
        let part = Slice { offset: part.offset + (sequence * SEQUENCE_BYTES) as u64, ..part };
        self.write(part, bytemuck::cast_slice(&words));
    }
}
