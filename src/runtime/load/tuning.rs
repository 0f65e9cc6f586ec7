//! Times lists of a model's own dispatches. With them, `js/tuning/` finds out which rows of the kernels' tables are
//! fastest on a device.

use std::cell::RefCell;
use std::rc::Rc;

use crate::Result;
use crate::forward::{Buffers, Forward};
use crate::gpu::{BufferTable, CommandList, Device, Part};
use crate::kernels::caps::{ACTIVATIONS, Caps};
use crate::kernels::pass::Pass;
use crate::kernels::spec::Dispatch;
use crate::kernels::tuned::Tuned;
use crate::runtime::gpu::model::GpuModel;

/// A model whose lists can be made under other verdicts. They compute in the buffers of a session, before any run uses
/// these.
pub struct Tuning {
    model: Rc<GpuModel>,
    table: BufferTable,
    buffers: Buffers,
    /// Bytes and number of tokens of a decode pass and of a pass over a chunk of prefill.
    passes: [(Vec<u8>, usize); 2],
    lists: RefCell<Vec<(CommandList, bool)>>,
}

impl Tuning {
    /// Prepares tuning of a model in the buffers of its first session, which is not made yet. Row 0 of the embeddings
    /// must be in a slot.
    pub fn new(model: &Rc<GpuModel>, table: &BufferTable, buffers: &Buffers) -> Self {
        let passes = [1, model.chunk().min(buffers.room.allocated)]
            .map(|tokens| (Pass::chunk(0, 0, &vec![0; tokens]).bytes(), tokens));
        let (model, table, buffers) = (model.clone(), table.clone(), buffers.clone());
        Self { model, table, buffers, passes, lists: RefCell::default() }
    }

    /// The problems that tables are asked for decode, or for a chunk of prefill (`many`): see [`Tuned::heard`]. With
    /// `as_measured` as the tables answer on GPUs that they were measured on. One problem of prefill is whether
    /// activations are rounded as there: [`ACTIVATIONS`].
    pub fn problems(&self, many: bool, as_measured: bool) -> String {
        let here = &self.model.caps;
        let there = here.as_measured();
        let tuned = Tuned::default();
        tuned.listen();
        self.dispatches(&Caps { tuned: tuned.clone(), ..if as_measured { &there } else { here }.clone() }, many);
        let mut heard = tuned.heard();
        if many && here.activation_format != there.activation_format {
            heard += &format!("{ACTIVATIONS}={},3\n", u8::from(as_measured));
        }
        heard
    }

    /// Number of the model's layers, of which each has its dispatches in a list.
    pub fn layers(&self) -> usize {
        self.model.program.layers.len()
    }

    fn under(&self, lines: &str, many: bool) -> Vec<Dispatch> {
        self.dispatches(&self.model.caps.under(Tuned::of(lines)), many)
    }

    fn dispatches(&self, caps: &Caps, many: bool) -> Vec<Dispatch> {
        let Self { model, buffers, .. } = self;
        let forward = Forward::new(&model.program, caps, &model.weights, buffers);
        if many { forward.prefill() } else { forward.decode(1) }
    }

    /// Records the list of decode, or of a chunk of prefill (`many`), under the verdicts `lines`: all of it, or only
    /// what differs from the list under the verdicts `but`. Returns the list's number and its number of dispatches,
    /// which is 0 where the browser refuses a shader. Lists that are made at the same time compile at the same time.
    pub async fn make(&self, lines: &str, but: Option<&str>, many: bool) -> Result<[u32; 2]> {
        let mut list = self.under(lines, many);
        if let Some(but) = but {
            let mut others = self.under(but, many);
            // A product may need a norm before it in one shape and not in another, so lists may differ in length, too.
            list.retain(|Dispatch { kernel, .. }| {
                let is_same =
                    |other: &Dispatch| kernel.id == other.kernel.id && kernel.constants == other.kernel.constants;
                others.iter().position(is_same).map(|at| others.swap_remove(at)).is_none()
            });
        }
        let device = &self.model.device;
        let pipelines = device.compile_ahead(list.iter().map(|dispatch| &dispatch.kernel));
        if !device.finish_ahead(pipelines).await {
            return Ok([0; 2]);
        }
        let ready = CommandList::record(device, &list, &self.table)?;
        let mut lists = self.lists.borrow_mut();
        lists.push((ready, many));
        Ok([lists.len() - 1, list.len()].map(|number| number as u32))
    }

    /// Submits `count` dispatches of a list, beginning with number `first` and starting over at its end.
    pub fn submit(&self, list: usize, first: usize, count: usize) {
        let lists = self.lists.borrow();
        let Some((list, many)) = lists.get(list).filter(|(list, _)| !list.is_empty()) else { return };
        let (pass, tokens) = &self.passes[usize::from(*many)];
        let (device, slice) = (&self.model.device, self.buffers.pass);
        device.write(self.table.get(slice.buffer), slice.offset, pass);
        let parts = (first..first + count).map(|at| at % list.len()).map(|at| Part { list, range: at..at + 1 });
        device.submit(parts, *tokens as u32, None);
    }

    /// The device that the model is on.
    pub fn device(&self) -> Rc<Device> {
        self.model.device.clone()
    }
}

impl Drop for Tuning {
    /// Drops pipelines that nothing runs any more along with the lists.
    fn drop(&mut self) {
        self.lists.borrow_mut().clear();
        self.model.device.forget_pipelines();
    }
}
