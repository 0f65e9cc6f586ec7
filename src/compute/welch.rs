//! Power spectra by Welch's method: what stands before and behind the transforms of `welch`.

use super::{Numbers, Run};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers of `welch_segments`.
    pub struct SegmentParams {
        /// Segments of all rows.
        pub segments: u32,
        /// Segments of a row.
        pub per_row: u32,
        /// Elements of a row.
        pub of_x: u32,
        /// From segment to segment.
        pub step: u32,
        /// Elements of a segment.
        pub length: u32,
        /// Σ (i − middle)² over a segment.
        pub squares: f32,
    }
}

params! {
    /// Per-dispatch numbers of `welch_power`.
    pub struct PowerParams {
        /// Workgroups.
        pub tiles: u32,
        /// Segments of a row.
        pub segments: u32,
        /// Chunks of a row.
        pub chunks: u32,
        /// Bins of a segment's spectrum.
        pub bins: u32,
        /// The bin that stands for one frequency, besides the first.
        pub single: u32,
        /// Factor of the first and the single bin; twice as large for other bins.
        pub factor: f32,
    }
}

/// The contract with `shaders/compute/welch_segments.wgsl`.
pub static SEGMENTS: KernelSpec = KernelSpec {
    kernel_name: "compute/welch_segments",
    bindings: &[PARAMS, read("x"), read("window"), write("y")],
    params: SegmentParams::LAYOUT,
    overrides: &["KIND", "DETREND"],
};

/// The contract with `shaders/compute/welch_power.wgsl`.
pub static POWER: KernelSpec = KernelSpec {
    kernel_name: "compute/welch_power",
    bindings: &[PARAMS, read("z"), write("y")],
    params: PowerParams::LAYOUT,
    overrides: &[],
};

/// Bins of a workgroup of `welch_power.wgsl`.
const BINS: u32 = 64;

/// Segments of a workgroup of `welch_power.wgsl`.
const CHUNK: u32 = 64;

/// The trend that is removed from a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Detrend {
    Nothing,
    Mean,
    Line,
}

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/welch"));
    let mut cases = Vec::new();
    for (detrend, stored) in
        [(Detrend::Nothing, Stored::F16), (Detrend::Mean, Stored::F32), (Detrend::Line, Stored::BF16)]
    {
        cases.push(segments(caps, random, detrend, stored, [3, 100, 31, 7]));
        cases.push(segments(caps, random, detrend, Stored::F32, [1, 1000, 600, 400]));
        cases.push(segments(caps, random, detrend, stored, [2, 1, 1, 1]));
    }
    cases.push(power(caps, random, [1, 1, 1]));
    cases.push(power(caps, random, [2, 5, 129]));
    cases.push(power(caps, random, [3, 150, 17]));
    cases.push(power(caps, random, [2, 65, 64]));
    cases
}

/// Rows, elements of a row, of a segment, and from segment to segment.
fn segments(
    caps: &Caps,
    random: &mut Random,
    detrend: Detrend,
    stored: Stored,
    [rows, of_x, length, step]: [u32; 4],
) -> Case {
    let mut bench = OpBench::new(caps);
    let x = Numbers::new(&mut bench, random, stored, &[rows, of_x]);
    let window = Numbers::new(&mut bench, random, Stored::F32, &[length]);
    let per_row = (of_x - length) / step + 1;
    let middle = f64::from(length - 1) / 2.0;
    let squares: f64 = (0..length).map(|i| (f64::from(i) - middle).powi(2)).sum();
    // A segment of one element has no slope, and none is asked for.
    let params =
        SegmentParams { segments: rows * per_row, per_row, of_x, step, length, squares: squares.max(1.0) as f32 };
    let run = Run {
        spec: &SEGMENTS,
        variant: stored.id(),
        constants: &[("KIND", stored.kind().into()), ("DETREND", f64::from(detrend as u32))],
        inputs: &[&x.tensor, &window.tensor],
        shape: &[rows * per_row, length],
        grid: grid_1d(rows * per_row),
    };
    let mut expected = Vec::new();
    for row in x.values.chunks_exact(of_x as usize) {
        for segment in 0..per_row {
            let start = (segment * step) as usize;
            let values = &row[start..start + length as usize];
            let mean = values.iter().sum::<f64>() / f64::from(length);
            let places = (0..length).map(|i| f64::from(i) - middle);
            let along: f64 = places.clone().zip(values).map(|(place, value)| place * (value - mean)).sum();
            let slope = along / squares.max(1.0);
            expected.extend(places.zip(values).zip(&window.values).map(|((place, value), factor)| {
                factor
                    * match detrend {
                        Detrend::Nothing => *value,
                        Detrend::Mean => value - mean,
                        Detrend::Line => value - mean - slope * place,
                    }
            }));
        }
    }
    run.case(bench, format!("{detrend:?}, {rows} × {of_x}, {length} every {step}"), &params, &expected)
}

/// Rows, segments of a row, bins.
fn power(caps: &Caps, random: &mut Random, [rows, segments, bins]: [u32; 3]) -> Case {
    let mut bench = OpBench::new(caps);
    let z = Numbers::new(&mut bench, random, Stored::F32, &[rows, segments, bins, 2]);
    let (chunks, factor) = (segments.div_ceil(CHUNK), 0.01);
    let tiles = rows * chunks * bins.div_ceil(BINS);
    let params = PowerParams { tiles, segments, chunks, bins, single: bins - 1, factor };
    let run = Run {
        spec: &POWER,
        variant: "",
        constants: &[],
        inputs: &[&z.tensor],
        shape: &[rows, chunks, bins],
        grid: grid_1d(tiles),
    };
    let mut expected = Vec::new();
    for row in z.values.chunks_exact((segments * bins * 2) as usize) {
        for chunk in row.chunks((CHUNK * bins * 2) as usize) {
            expected.extend((0..bins as usize).map(|bin| {
                let pairs = chunk.chunks_exact(2).skip(bin).step_by(bins as usize);
                let sum: f64 = pairs.map(|pair| pair[0] * pair[0] + pair[1] * pair[1]).sum();
                let is_single = bin == 0 || bin as u32 == bins - 1;
                sum * f64::from(factor) * if is_single { 1.0 } else { 2.0 }
            }));
        }
    }
    run.case(bench, format!("{rows} rows, {segments} segments, {bins} bins"), &params, &expected)
}
