//! A device as a few numbers, and the time that it takes for some work.

use serde::Deserialize;

use super::Work;
use crate::kernels::caps::{Caps, MatrixShape, Precision};

/// What a device can do; `tools/costs/devices.json` says where each number of a device is from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Bytes that a kernel reads which only reads, in GB/s.
    pub read_gbps: f64,
    /// The same of bytes that all workgroups read, from the caches.
    pub cache_gbps: f64,
    /// f32 multiplications and additions in registers, in TFLOP/s.
    pub tflops: f64,
    /// The same of packed dot products of bytes; those of f32 where it is missing.
    pub int8_tops: Option<f64>,
    /// The same of subgroup matrices in f16.
    pub matrix_tflops: Option<f64>,
    /// A dispatch of one workgroup that reads a word and writes it, and waits for the one before, in µs.
    pub dispatch_us: f64,
    /// What starting one workgroup more adds, in ns.
    pub workgroup_ns: f64,
    /// A load that waits for the load before, in µs.
    pub latency_us: f64,
    /// Threads that run at once.
    pub threads: f64,
    /// What a page waits at the end of a prompt besides, in ms.
    pub wait_ms: f64,
    /// What tables ask for.
    pub caps: DeviceCaps,
}

/// What of [`Caps`] decides which variants run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceCaps {
    /// `GPUAdapterInfo.vendor`
    pub vendor: String,
    /// Threads of a subgroup, smallest and largest; 0 where the device has none.
    pub subgroup_size: (u32, u32),
    /// `shader-f16`
    pub f16: bool,
    /// WGSL has packed dot products.
    pub dot4: bool,
    /// It has subgroup matrices of 16 × 16 × 16.
    pub matrices: bool,
}

impl Default for DeviceCaps {
    fn default() -> Self {
        Self { vendor: String::new(), subgroup_size: (32, 32), f16: false, dot4: true, matrices: false }
    }
}

/// The time of a dispatch by its causes, in µs. They add up: see `docs/design/costs.md`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Time {
    /// Starting a dispatch that waits for the one before, and its workgroups.
    pub dispatch: f64,
    /// Waiting for loads that wait for loads.
    pub latency: f64,
    /// Bytes from and to memory.
    pub bytes: f64,
    /// Bytes that workgroups read again.
    pub again: f64,
    /// Arithmetic.
    pub arithmetic: f64,
}

impl Time {
    /// All of it, in µs.
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
    /// The device as tables see it.
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
            ..Caps::baseline()
        };
        caps.with_precision(precision)
    }

    /// How long it takes for some work.
    pub fn time(&self, work: &Work) -> Time {
        let us = |bytes: u64, gbps: f64| bytes as f64 / gbps / 1e3;
        let bytes = us(work.bytes(), self.read_gbps);
        let (again, arithmetic) = (us(work.again, self.cache_gbps), self.arithmetic(work));
        // Workgroups that run at once start together; others follow as these end.
        let waves = ((work.workgroups * work.threads) as f64 / self.threads).max(1.0);
        let starts = work.workgroups.saturating_sub(1) as f64 * self.workgroup_ns / 1e3 / waves;
        let [trips, steps] = [work.trips, work.steps].map(|loads| loads as f64 * self.latency_us);
        // The loads of a loop wait behind the bytes of other threads, later workgroups behind all that others do.
        let in_loop = (steps - bytes / waves).max(0.0);
        let late = (starts + trips + steps - (bytes + again + arithmetic) / waves).max(0.0) * (waves - 1.0);
        // A dispatch has a load already.
        let latency = trips - self.latency_us + in_loop + late;
        Time { dispatch: self.dispatch_us + starts, latency, bytes, again, arithmetic }
    }

    /// µs of the operations. An instruction takes its time whoever else is there: with two threads for each lane half
    /// of the peak is left, in loops over sums in registers with half a thread.
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
