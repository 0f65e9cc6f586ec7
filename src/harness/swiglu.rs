//! Widths around the workgroup, gates so large that exp would overflow, more rows than one axis of a grid has; and
//! products with gate and up on both of their paths.

use super::data::Tensor as Blocks;
use super::{Bench, Case, Expected, OpBench, Random, Tolerance};
use crate::gguf::{GgmlType, f16_from_f32, f16_to_f32};
use crate::kernels::caps::Caps;
use crate::kernels::layout::PackedLayout;
use crate::kernels::swiglu::{Gate, swiglu};
use crate::reference;
use crate::tensor::gate_up::{GateUpOptions, Path, choose, gate_up_by, gated_linear_unit};
use crate::tensor::{DType, Tensor};

pub fn cases(caps: &Caps, random: &mut Random) -> Vec<Case> {
    let mut cases: Vec<Case> = [1, 31, 33, 257, 1000].into_iter().map(|width| case(random, width)).collect();
    let sizes = [(Gate::SwiGlu, 2, 5), (Gate::GeGlu, 3, 257), (Gate::GeGlu, 1, 1), (Gate::GeGlu, 65_537, 1)];
    cases.extend(sizes.map(|(gate, rows, width)| unit_case(caps, random, gate, [rows, width])));
    let blocks = DType::Quantised;
    for (gate, w, rows) in [
        (Gate::SwiGlu, blocks(GgmlType::Q4_0), 1),
        (Gate::SwiGlu, blocks(GgmlType::Q8_0), 3),
        (Gate::SwiGlu, blocks(GgmlType::Q8_0), 33),
        (Gate::GeGlu, blocks(GgmlType::Q4_0), 2),
        (Gate::SwiGlu, DType::F16, 5),
        (Gate::GeGlu, DType::F32, 31),
    ] {
        let chosen = choose(gate, w != DType::F16 && w != DType::F32, rows);
        cases.push(product_case(caps, random, (gate, chosen), w, rows));
        if chosen == Path::Fused {
            cases.push(product_case(caps, random, (gate, Path::Steps), w, rows));
        }
    }
    cases
}

fn case(random: &mut Random, width: u32) -> Case {
    let mut bench = Bench::new(3);
    let x = gates_and_ups(random, 3, width as usize);
    // One row more than the pass has tokens: it stays as it is.
    let mut expected = random.floats((width * 4) as usize);
    let y = bench.floats(&expected);
    let dispatch = swiglu(width, bench.floats(&x).into(), y.into());
    let values = activated(Gate::SwiGlu, &x, width as usize);
    expected[..values.len()].copy_from_slice(&values);
    bench.case(format!("3×{width}"), vec![dispatch], y, Expected::Close(expected, Tolerance::PLAIN))
}

/// Rows of gate, then up; some gates are large.
fn gates_and_ups(random: &mut Random, rows: usize, width: usize) -> Vec<f32> {
    let mut x = random.floats(2 * width * rows);
    for row in x.chunks_exact_mut(2 * width) {
        row[..width].iter_mut().for_each(|gate| *gate *= 10.0);
    }
    x[0] = -200.0;
    if rows > 1 {
        x[2 * width] = 200.0;
    }
    x
}

fn activated(gate: Gate, x: &[f32], width: usize) -> Vec<f32> {
    let mut y = Vec::with_capacity(x.len() / 2);
    for row in x.chunks_exact(2 * width) {
        let (first, up) = row.split_at(width);
        let mut first = first.to_vec();
        match gate {
            Gate::SwiGlu => reference::swiglu(&mut first, up),
            Gate::GeGlu => reference::geglu(&mut first, up),
        }
        y.extend(first);
    }
    y
}

fn unit_case(caps: &Caps, random: &mut Random, gate: Gate, [rows, width]: [u32; 2]) -> Case {
    let mut bench = OpBench::new(caps);
    let values = gates_and_ups(random, rows as usize, width as usize);
    let x = bench.floats(&[rows, 2 * width], &values);
    let y = gated_linear_unit(&mut bench.tape, &x, &GateUpOptions { activation: gate }).expect("the shape fits");
    let expected = activated(gate, &values, width as usize);
    bench.case("swiglu", format!("tensor {rows}×{width} {gate:?}"), &y, Expected::Close(expected, Tolerance::PLAIN))
}

/// A matrix for gate and up, and its product with rows of x.
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
    let packed = reference::repack::packed(&PackedLayout::new(ty, rows, cols), &blocks.raw);
    (bench.bytes(w, &[rows, cols], &packed), values)
}

fn product_case(caps: &Caps, random: &mut Random, (gate, path): (Gate, Path), w: DType, rows: u32) -> Case {
    const WIDTH: u32 = 33;
    const COLS: u32 = 96;
    let mut bench = OpBench::new(caps);
    let (tensor, weights) = matrix(&mut bench, random, w, [2 * WIDTH, COLS]);
    let values = random.floats((rows * COLS) as usize);
    let x = bench.floats(&[rows, COLS], &values);
    let options = GateUpOptions { activation: gate };
    let y = gate_up_by(path, &mut bench.tape, &x, &tensor, &options).expect("shapes fit");
    let (x, w_at) =
        (|i: usize, c: usize| values[i * COLS as usize + c], |c: usize, j: usize| weights[j * COLS as usize + c]);
    let sums = reference::mat_mul_dense([rows, 2 * WIDTH, COLS].map(|size| size as usize), x, w_at);
    let sums: Vec<f32> = sums.into_iter().map(|sum| sum as f32).collect();
    let expected = Expected::Close(activated(gate, &sums, WIDTH as usize), Tolerance::dot(GgmlType::Q5_0));
    let stem = match path {
        // Few rows of W are shared by whole workgroups, under a stem of its own.
        Path::Fused => "mat_vec_split",
        Path::Steps => "swiglu",
    };
    let name = format!("gate and up of {WIDTH} rows in {}, {rows} rows of x, {gate:?}, {path:?}", w.name());
    let case = bench.case(stem, name, &y, expected);
    Case { stem: if path == Path::Fused { "mat_vec" } else { stem }, ..case }
}
