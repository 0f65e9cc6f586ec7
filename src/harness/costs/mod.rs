//! The cost model: what a dispatch moves and computes (bytes, operations, workgroups), from the dispatch alone, and how
//! long a device takes for it, from a few numbers of the device ([`Device`]). `docs/design/costs.md` has the formula.
//!
//! Every kernel that models run has a row in [`ROWS`], a function of the dispatch's constants, parameters, buffers and
//! grid. A name that a shader no longer has is an error, and so is a kernel without a row. `tests/costs.rs` computes
//! the work of the dispatches of all families.

mod attention;
mod device;
mod passes;
mod products;
mod recurrent;
mod unpack;
mod vectors;
mod view;

pub use device::{Device, Time};
pub use passes::{Costed, Costs};
pub use view::Scene;

use crate::forward::Plan;
use crate::kernels::spec::Dispatch;
use view::View;

/// The work of a dispatch: bytes, operations, workgroups.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Bytes of packed weights, counted once.
    pub weights: u64,
    /// All other bytes, each buffer counted once: activations, caches, states, vectors.
    pub memory: u64,
    /// Bytes that another workgroup has already read: they come from a cache.
    pub again: u64,
    /// Operations in f32, a multiplication and an addition being two.
    pub flops: u64,
    /// Operations of packed dot products, counted in the same way.
    pub int8: u64,
    /// Operations of subgroup matrices in f16, counted in the same way.
    pub matrix: u64,
    /// Other instructions, each as long as a fused multiply-add: unpacking, staging, rotation.
    pub instructions: u64,
    /// Workgroups.
    pub workgroups: u64,
    /// Threads of a workgroup.
    pub threads: u64,
    /// Workgroups that do the arithmetic; 0: all of them.
    pub busy: u64,
    /// How often all threads of a workgroup wait for memory together, at least once: loads between barriers.
    pub trips: u64,
    /// How often a thread waits for memory in a loop without barriers, hidden by the loads of other threads.
    pub steps: u64,
    /// Percentage of the peak that a loop over sums in registers reaches on a fully occupied device; 0 without such a
    /// loop.
    pub percent: u64,
}

impl Work {
    /// Bytes from and to memory.
    pub fn bytes(&self) -> u64 {
        self.weights + self.memory
    }
}

/// Computes the work of a kernel's dispatch.
type Row = fn(&View) -> Work;

/// A row for every kernel that models run.
static ROWS: &[&[(&str, Row)]] = &[products::ROWS, attention::ROWS, recurrent::ROWS, vectors::ROWS];

/// Kernels that run only while a model is loaded.
pub const LOADING_KERNELS: &[&str] = &["repack", "unpack_f16"];

/// The kernels that have a row.
pub fn kernels() -> impl Iterator<Item = &'static str> {
    ROWS.iter().copied().flatten().map(|(name, _)| *name)
}

/// The work of `dispatch` in the pass `scene`; `plan` has its buffers.
///
/// # Errors
/// A message that names the kernel without a row, or the constant, parameter or buffer that does not exist.
pub fn work(dispatch: &Dispatch, plan: &Plan, scene: Scene) -> Result<Work, String> {
    let name = dispatch.kernel.spec.kernel_name;
    let row = ROWS.iter().copied().flatten().find(|(kernel, _)| *kernel == name);
    let Some((_, row)) = row else { return Err(format!("{name} has no row among the costs")) };
    let view = View::new(dispatch, plan, scene);
    let work = Work { workgroups: view.workgroups(), threads: view.threads(), ..row(&view) };
    match view.missing() {
        Some(missing) => Err(format!("{}: no {missing}", dispatch.kernel.id)),
        None => Ok(Work { trips: work.trips.max(1), ..work }),
    }
}
