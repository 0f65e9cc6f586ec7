//! Norm, product and activation on both paths: in one dispatch, and one after the other.

use super::data::Tensor as Blocks;
use super::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::gguf::{GgmlType, f16_from_f32, f16_to_f32};
use crate::kernels::caps::Caps;
use crate::kernels::layout::PackedLayout;
use crate::kernels::reference;
use crate::kernels::repack::reference::packed;
use crate::kernels::swiglu::Gate;
use crate::kernels::swiglu::cases::activated;
use crate::tensor::fused::{Path, Steps};
use crate::tensor::{DType, Tensor};

const EPS: f32 = 1e-5;

/// Rows of W, and of x.
const ROWS: u32 = 66;
const COLS: u32 = 96;

/// One sequence of steps.
#[derive(Debug, Clone, Copy)]
struct Kind {
    norm: bool,
    bias: bool,
    gate: Option<Gate>,
    w: DType,
    /// Rows of x.
    rows: u32,
}

const fn kind(norm: bool, bias: bool, gate: Option<Gate>, w: DType, rows: u32) -> Kind {
    Kind { norm, bias, gate, w, rows }
}

const Q4_0: DType = DType::Quantised(GgmlType::Q4_0);
const Q8_0: DType = DType::Quantised(GgmlType::Q8_0);

const KINDS: &[Kind] = &[
    kind(false, false, Some(Gate::SwiGlu), Q4_0, 1),
    kind(true, false, Some(Gate::SwiGlu), Q8_0, 3),
    kind(false, false, Some(Gate::SwiGlu), Q8_0, 33),
    kind(true, false, Some(Gate::GeGlu), Q4_0, 2),
    kind(true, true, None, Q4_0, 1),
    kind(true, false, None, Q8_0, 8),
    kind(true, true, None, Q8_0, 31),
    kind(true, true, None, DType::F16, 9),
    kind(false, false, Some(Gate::SwiGlu), DType::F16, 5),
    kind(true, false, Some(Gate::GeGlu), DType::F32, 31),
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("fused"));
    let both = KINDS.iter().flat_map(|kind| {
        let chosen = case(caps, random, kind, None);
        let steps = chosen.name.contains("Fused").then(|| case(caps, random, kind, Some(Path::Steps)));
        [Some(chosen), steps]
    });
    both.flatten().collect()
}

/// A matrix, and the numbers it holds.
fn matrix(bench: &mut OpBench, random: &mut Random, w: DType, [rows, cols]: [u32; 2]) -> (Tensor, Vec<f32>) {
    let size = 2.0 / (cols as f32).sqrt();
    let DType::Quantised(ty) = w else {
        let values: Vec<f32> = random.floats((rows * cols) as usize).iter().map(|value| value * size).collect();
        let rounded = values.iter().map(|&value| f16_to_f32(f16_from_f32(value))).collect();
        return match w {
            DType::F16 => (bench.halves(&[rows, cols], &values), rounded),
            _ => (bench.floats(&[rows, cols], &values), values),
        };
    };
    let blocks = Blocks::new(random, ty, [rows, cols], size);
    let mut values = vec![0.0; (rows * cols) as usize];
    crate::gguf::dequantize(ty, &blocks.raw, &mut values).expect("whole blocks");
    let packed = packed(&PackedLayout::new(ty, rows, cols), &blocks.raw);
    (bench.bytes(w, &[rows, cols], &packed), values)
}

/// The steps on a path, or on the one that the table chooses.
fn case(caps: &Caps, random: &mut Random, kind: &Kind, path: Option<Path>) -> Case {
    let &Kind { norm, bias, gate, w, rows } = kind;
    let mut bench = OpBench::new(caps);
    let (matrix, weights) = matrix(&mut bench, random, w, [ROWS, COLS]);
    let mut values = random.floats((rows * COLS) as usize);
    let x = bench.floats(&[rows, COLS], &values);
    let [norm_values, bias_values] = [COLS, ROWS].map(|len| random.floats(len as usize));
    let norm = norm.then(|| bench.floats(&[COLS], &norm_values));
    let bias = bias.then(|| bench.floats(&[ROWS], &bias_values));
    let steps = Steps::new("case", (&x, &matrix), (norm.as_ref(), Some(EPS)), bias.as_ref(), gate).expect("shapes fit");
    let path = path.unwrap_or(steps.choose());
    let y = steps.record(&mut bench.tape, path).expect("tensors fit");
    if norm.is_some() {
        values.chunks_exact_mut(COLS as usize).for_each(|row| reference::rms_norm(row, &norm_values, EPS));
    }
    let x_at = |i: usize, c: usize| values[i * COLS as usize + c];
    let w_at = |c: usize, j: usize| weights[j * COLS as usize + c];
    let sums = reference::mat_mul_dense([rows, ROWS, COLS].map(|size| size as usize), x_at, w_at);
    let of = |i: usize| if bias.is_some() { bias_values[i % ROWS as usize] } else { 0.0 };
    let sums: Vec<f32> = sums.into_iter().enumerate().map(|(i, sum)| sum as f32 + of(i)).collect();
    let expected = gate.map_or(sums.clone(), |gate| activated(gate, &sums, ROWS as usize / 2));
    // Few rows of W are split over whole workgroups, which is another kernel, and so are several columns.
    let vectors = if rows == 1 { "mat_vec_split" } else { "mat_vec_columns" };
    let (kernel_name, about) = match (path, gate, w) {
        (Path::Fused, _, _) => ("mat_vec", vectors),
        (Path::Steps, Some(_), _) => ("swiglu", "swiglu"),
        (Path::Steps, None, DType::Quantised(_)) if rows > crate::tensor::quantised::MAX_VECTORS => {
            ("mat_mul", "mat_mul")
        }
        (Path::Steps, None, DType::Quantised(_)) => ("mat_vec", vectors),
        // And few of them are products without tiles.
        (Path::Steps, None, _) => ("mat_mul_dense", "mat_mul_dense_few"),
    };
    let (normed, biased) = (norm.is_some(), bias.is_some());
    let name = format!(
        "fused steps: norm {normed}, {ROWS}x{COLS} {}, bias {biased}, {gate:?}, {rows} rows, {path:?}",
        w.name()
    );
    let case = bench.case(about, name, &y, Expected::Close(expected, Tolerance::dot(GgmlType::Q5_0)));
    Case { kernel_name, ..case }
}
