//! A device as a few numbers, and the time that it takes for a dispatch.

use serde::Deserialize;

use super::Work;
use crate::kernels::caps::{Caps, MatrixShape, Precision};

/// The numbers of a device; `tools/costs/devices.json` says where each of them comes from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Read bandwidth of a kernel that only reads, in GB/s.
    pub read_gbps: f64,
    /// Read bandwidth of the caches, for bytes that all workgroups read, in GB/s.
    pub cache_gbps: f64,
    /// Peak of f32 multiplications and additions in registers, in TFLOP/s.
    pub tflops: f64,
    /// Peak of packed dot products of bytes, in TOP/s; `tflops` where it is missing.
    pub int8_tops: Option<f64>,
    /// Peak of subgroup matrices in f16, in TFLOP/s; `tflops` where it is missing.
    pub matrix_tflops: Option<f64>,
    /// Time of a dispatch of one workgroup that waits for the dispatch before, reads a word and writes it, in µs.
    pub dispatch_us: f64,
    /// Time to start one more workgroup, in ns.
    pub workgroup_ns: f64,
    /// Latency of a load that depends on the load before, in µs.
    pub latency_us: f64,
    /// Threads that run at once.
    pub threads: f64,
    /// Time that a page waits for the result of a prompt in addition, in ms.
    pub wait_ms: f64,
    /// The capabilities that choose kernel variants.
    pub caps: DeviceCaps,
}

/// The part of [`Caps`] that decides which kernel variants run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceCaps {
    /// `GPUAdapterInfo.vendor`
    pub vendor: String,
    /// Threads of a subgroup, smallest and largest; 0 where the device has none.
    pub subgroup_size: (u32, u32),
    /// `shader-f16`
    pub f16: bool,
    /// Whether WGSL has packed dot products.
    pub dot4: bool,
    /// Whether there are subgroup matrices of 16 × 16 × 16.
    pub matrices: bool,
}

impl Default for DeviceCaps {
    fn default() -> Self {
        Self { vendor: String::new(), subgroup_size: (32, 32), f16: false, dot4: true, matrices: false }
    }
}

/// The time of a dispatch by its causes, in µs, whose sum is the total: see `docs/design/costs.md`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Time {
    /// Starting a dispatch that waits for the one before, and its workgroups.
    pub dispatch: f64,
    /// Loads that depend on loads.
    pub latency: f64,
    /// Bytes from and to memory.
    pub bytes: f64,
    /// Bytes that come from the caches.
    pub again: f64,
    /// Arithmetic.
    pub arithmetic: f64,
}

impl Time {
    /// The whole time, in µs.
    pub fn total(&self) -> f64 {
        self.dispatch + self.latency + self.bytes + self.again + self.arithmetic
    }

    /// The names of the causes, and the share of each.
    pub fn causes(&self) -> [(&'static str, f64); 5] {
        let Self { dispatch, latency, bytes, again, arithmetic } = *self;
        [
            ("dispatch", dispatch),
            ("latency", latency),
            ("bytes", bytes),
            ("bytes again", again),
            ("arithmetic", arithmetic),
        ]
    }

    /// The cause that takes longest.
    pub fn bound(&self) -> &'static str {
        let longest = self.causes().into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        longest.map_or("", |(name, _)| name)
    }
}

impl std::ops::AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        self.dispatch += other.dispatch;
        self.latency += other.latency;
        self.bytes += other.bytes;
        self.again += other.again;
        self.arithmetic += other.arithmetic;
    }
}

impl Device {
    /// The capabilities that the tables of variants read.
    pub fn caps(&self, precision: Precision) -> Caps {
        let DeviceCaps { vendor, subgroup_size, f16, dot4, matrices } = self.caps.clone();
        let caps = Caps {
            vendor,
            subgroups: subgroup_size.1 > 0,
            subgroup_size,
            f16,
            dot4,
            subgroup_matrix: matrices.then_some(MatrixShape::ALL[0]),
            max_binding: 2 << 30,
            max_buffer: 4 << 30,
            workgroup_memory: 48 << 10,
            workgroup_threads: 1024,
            ..Caps::baseline()
        };
        caps.with_precision(precision)
    }

    /// The time of a dispatch with this work.
    pub fn time(&self, work: &Work) -> Time {
        let us = |bytes: u64, gbps: f64| bytes as f64 / gbps / 1e3;
        let bytes = us(work.bytes(), self.read_gbps);
        let (again, arithmetic) = (us(work.again, self.cache_gbps), self.arithmetic(work));
        // Workgroups of a wave start together; the next wave follows as these end.
        let waves = ((work.workgroups * work.threads) as f64 / self.threads).max(1.0);
        let starts = work.workgroups.saturating_sub(1) as f64 * self.workgroup_ns / 1e3 / waves;
        let [trips, steps] = [work.trips, work.steps].map(|loads| loads as f64 * self.latency_us);
        // Latency in a loop is hidden by the loads of other threads, that of later waves by all work of earlier ones.
        let in_loop = (steps - bytes / waves).max(0.0);
        let late = (starts + trips + steps - (bytes + again + arithmetic) / waves).max(0.0) * (waves - 1.0);
        // `dispatch_us` already includes one load.
        let latency = trips - self.latency_us + in_loop + late;
        Time { dispatch: self.dispatch_us + starts, latency, bytes, again, arithmetic }
    }

    /// The time of the operations in µs. Occupancy decides the share of the peak: half of it is reached with two
    /// threads for each lane, in loops over sums in registers with half a thread.
    fn arithmetic(&self, work: &Work) -> f64 {
        let busy = if work.busy == 0 { work.workgroups } else { work.busy };
        let (threads, lanes) = ((busy * work.threads) as f64, self.threads / THREADS_OF_LANE);
        let share = |of_lane: f64| threads / (threads + of_lane * lanes);
        let of_loop = match work.percent {
            0 => share(2.0),
            percent => share(0.5) * percent as f64 / 100.0,
        };
        let us = |operations: u64, tera: f64| operations as f64 / tera / 1e6;
        us(work.flops, self.tflops * of_loop)
            + us(work.int8, self.int8_tops.unwrap_or(self.tflops) * of_loop)
            + us(work.matrix, self.matrix_tflops.unwrap_or(self.tflops) * of_loop)
            + us(2 * work.instructions, self.tflops * share(2.0))
    }
}

/// Threads that a GPU holds for each lane of its f32 units.
const THREADS_OF_LANE: f64 = 16.0;
