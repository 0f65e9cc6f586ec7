//! Adapters on the GPU: their matrices, and what lists with adapters need beside the model's own.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::forward::{AdapterGroup, AdapterPlaces, Buffers, GroupPlace, adapted, adapter_groups, bytes_of_experts};
use crate::gpu::{Buffer, BufferTable, Device};
use crate::kernels::lora::{SLOTS, Terms};
use crate::kernels::spec::{BufferId, Slice};
use crate::model::program::Program;
use crate::model::{Adapter, WeightKey};
use crate::{Error, ErrorCode, Result};

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

#[cfg(test)]
impl GpuAdapter {
    /// An adapter without matrices.
    pub fn empty(id: u32, slot: usize) -> Self {
        Self { id, slot, invocation: Vec::new(), groups: Vec::new() }
    }
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

    /// Puts an adapter of a program's weights on a device.
    ///
    /// # Errors
    /// `limit_exceeded` where all [`SLOTS`] scales of a sequence are taken, and for matrices that are too large for the
    /// device; `out_of_memory`, `device_lost`.
    pub async fn add(&self, device: &Device, program: &Program, (id, adapter): (u32, Adapter)) -> Result<()> {
        let groups = adapter_groups(program, &adapter);
        let free = self.slots.borrow().iter().position(|slot| slot.strong_count() == 0);
        let Some(slot) = free else {
            return Err(Error::new(ErrorCode::LimitExceeded, format!("a model has at most {SLOTS} adapters")));
        };
        let make = || groups.into_iter().map(|group| Group::new(device, group)).collect::<Result<Vec<_>>>();
        let Some(groups) = device.try_make(make).await? else {
            return Err(Error::new(ErrorCode::OutOfMemory, "the GPU has no room for the adapter"));
        };
        let made = Rc::new(GpuAdapter { id, slot, invocation: adapter.invocation, groups });
        self.slots.borrow_mut()[slot] = Rc::downgrade(&made);
        self.loaded.borrow_mut().push(made);
        device.check()
    }
}

/// An adapter at work in a sequence, its scale, and the first position at which it works.
pub(in crate::runtime) type ActiveAdapter = (Rc<GpuAdapter>, f32, usize);

/// What lists with adapters have beside the model's own.
pub(in crate::runtime) struct Adapted {
    pub all: Vec<Rc<GpuAdapter>>,
    pub program: Program,
    pub places: Vec<AdapterPlaces>,
    pub t: Slice,
    /// Numbers of the adapters' buffers in the session's table.
    pub buffers: Vec<BufferId>,
}

impl Adapted {
    /// Enters the buffers of these adapters into a session's table.
    ///
    /// # Errors
    /// `limit_exceeded` where a buffer is too large for the device.
    pub fn new(
        (device, program): (&Device, &Program),
        all: Vec<Rc<GpuAdapter>>,
        (table, buffers): (&mut BufferTable, &Buffers),
    ) -> Result<Self> {
        let groups = || all.iter().flat_map(|adapter| &adapter.groups);
        let touched: Vec<WeightKey> = groups().map(|group| group.of).collect();
        let ranks = groups().map(|group| group.place.ranks as usize).max().unwrap_or(1);
        let bytes = bytes_of_experts(program, buffers.chunk, &touched).max(buffers.chunk * ranks * 4);
        let t = table.add(device.bound_buffer("ranks of adapters", bytes as u64)?);
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
        let program = adapted(program, &touched);
        Ok(Self { all, program, places, t: t.into(), buffers: numbers })
    }
}
