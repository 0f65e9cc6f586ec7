//! Largest and mean of windows: `maxPool1d` to `avgPool3d`.

use super::{Numbers, Run, grid_of};
use crate::harness::{Case, OpBench, Random};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, bool_override, params, read, write};
use crate::kernels::wgsl::wgsl;

params! {
    /// Per-dispatch numbers: lengths of up to three spatial axes.
    pub struct Params {
        /// Elements of y.
        pub len: u32,
        /// Of x, the outermost axis.
        pub in_0: u32,
        /// Of x.
        pub in_1: u32,
        /// Of x.
        pub in_2: u32,
        /// Of y.
        pub out_0: u32,
        /// Of y.
        pub out_1: u32,
        /// Of y.
        pub out_2: u32,
        /// Of the window.
        pub kernel_0: u32,
        /// Of the window.
        pub kernel_1: u32,
        /// Of the window.
        pub kernel_2: u32,
        /// From window to window.
        pub stride_0: u32,
        /// From window to window.
        pub stride_1: u32,
        /// From window to window.
        pub stride_2: u32,
        /// Places before x.
        pub pad_0: u32,
        /// Places before x.
        pub pad_1: u32,
        /// Places before x.
        pub pad_2: u32,
    }
}

/// The contract with `shaders/compute/pool.wgsl`.
pub static SPEC: KernelSpec = KernelSpec {
    kernel_name: "compute/pool",
    source: wgsl!("compute/pool"),
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["KIND", "MEAN", "COUNT_PAD"],
};

/// Windows over `[rows, size]`.
#[derive(Debug, Clone, Copy)]
struct Windows {
    rows: u32,
    size: [u32; 3],
    kernel: [u32; 3],
    stride: [u32; 3],
    pad: [u32; 3],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    Largest,
    Mean,
    MeanInside,
}

pub fn cases(caps: &Caps, random: &mut Random) -> Vec<Case> {
    let line = Windows { rows: 3, size: [1, 1, 31], kernel: [1, 1, 3], stride: [1, 1, 2], pad: [0, 0, 1] };
    let image = Windows { rows: 5, size: [1, 9, 7], kernel: [1, 3, 2], stride: [1, 2, 1], pad: [0, 1, 0] };
    let volume = Windows { rows: 2, size: [5, 6, 7], kernel: [2, 3, 5], stride: [2, 1, 3], pad: [1, 0, 2] };
    let many = Windows { rows: 5, size: [1, 16, 16], kernel: [1, 1, 1], stride: [1, 1, 1], pad: [0, 0, 0] };
    let all = |windows| [(windows, Of::Largest), (windows, Of::Mean), (windows, Of::MeanInside)];
    let cases =
        [line, image, volume].into_iter().flat_map(all).zip([Stored::F32, Stored::F16, Stored::BF16].iter().cycle());
    let mut cases: Vec<Case> = cases.map(|((windows, of), &stored)| case(caps, random, &windows, of, stored)).collect();
    cases.push(case(caps, random, &many, Of::Largest, Stored::F32));
    cases
}

fn case(caps: &Caps, random: &mut Random, windows: &Windows, of: Of, stored: Stored) -> Case {
    let &Windows { rows, size, kernel, stride, pad } = windows;
    let mut bench = OpBench::new(caps);
    let x = Numbers::new(&mut bench, random, stored, &[rows, size[0], size[1], size[2]]);
    let out: [u32; 3] = std::array::from_fn(|axis| (size[axis] + 2 * pad[axis] - kernel[axis]) / stride[axis] + 1);
    let shape = [rows, out[0], out[1], out[2]];
    let run = Run {
        spec: &SPEC,
        variant: stored.id(),
        constants: &[
            ("KIND", stored.kind().into()),
            ("MEAN", bool_override(of != Of::Largest)),
            ("COUNT_PAD", bool_override(of == Of::Mean)),
        ],
        inputs: &[&x.tensor],
        shape: &shape,
        grid: grid_of(shape.iter().product()),
    };
    let params = Params {
        len: shape.iter().product(),
        in_0: size[0],
        in_1: size[1],
        in_2: size[2],
        out_0: out[0],
        out_1: out[1],
        out_2: out[2],
        kernel_0: kernel[0],
        kernel_1: kernel[1],
        kernel_2: kernel[2],
        stride_0: stride[0],
        stride_1: stride[1],
        stride_2: stride[2],
        pad_0: pad[0],
        pad_1: pad[1],
        pad_2: pad[2],
    };
    let expected = reference(&x.values, windows, out, of);
    run.case(
        bench,
        format!("{of:?} {rows} × {size:?}, window {kernel:?}, stride {stride:?}, padding {pad:?}"),
        &params,
        &expected,
    )
}

fn reference(x: &[f64], windows: &Windows, out: [u32; 3], of: Of) -> Vec<f64> {
    let &Windows { rows, size, kernel, stride, pad } = windows;
    let places = |axis: usize, at: u32| {
        let first = i64::from(at * stride[axis]) - i64::from(pad[axis]);
        (first..first + i64::from(kernel[axis])).filter(move |&i| (0..i64::from(size[axis])).contains(&i))
    };
    let mut y = Vec::new();
    for i in 0..rows * out.iter().product::<u32>() {
        let at = [i / (out[1] * out[2]) % out[0], i / out[2] % out[1], i % out[2]];
        let row = i64::from(i / out.iter().product::<u32>() * size[0]);
        let mut window = Vec::new();
        for a in places(0, at[0]) {
            for b in places(1, at[1]) {
                let line = ((row + a) * i64::from(size[1]) + b) * i64::from(size[2]);
                window.extend(places(2, at[2]).map(|c| x[(line + c) as usize]));
            }
        }
        let sum: f64 = window.iter().sum();
        y.push(match of {
            Of::Largest => window.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Of::Mean => sum / f64::from(kernel.iter().product::<u32>()),
            Of::MeanInside => sum / window.len() as f64,
        });
    }
    y
}
