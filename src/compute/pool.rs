//! Largest and mean of windows: `maxPool1d` to `avgPool3d`.

use super::{Numbers, Run, grid_of};
use crate::harness::{Case, OpBench, Random, Suite};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{KernelSpec, PARAMS, bool_override, params, read, write};

params! {
    /// Per-dispatch numbers: lengths of up to three spatial axes.
    pub struct Params {
        /// Elements of y.
        pub len: u32,
        /// Length of x along the outermost axis.
        pub in_0: u32,
        /// Length of x along the middle axis.
        pub in_1: u32,
        /// Length of x along the innermost axis.
        pub in_2: u32,
        /// Length of y along the outermost axis.
        pub out_0: u32,
        /// Length of y along the middle axis.
        pub out_1: u32,
        /// Length of y along the innermost axis.
        pub out_2: u32,
        /// Length of the window along the outermost axis.
        pub kernel_0: u32,
        /// Length of the window along the middle axis.
        pub kernel_1: u32,
        /// Length of the window along the innermost axis.
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
    bindings: &[PARAMS, read("x"), write("y")],
    params: Params::LAYOUT,
    overrides: &["KIND", "MEAN", "COUNT_PAD"],
};

/// Windows over `[rows, size]`.
#[derive(Debug, Clone, Copy)]
pub struct Windows {
    pub rows: u32,
    pub size: [u32; 3],
    pub kernel: [u32; 3],
    pub stride: [u32; 3],
    pub pad: [u32; 3],
}

/// The kinds of pooling; a mean counts places outside of x, or only places inside.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Of {
    Largest,
    Mean,
    MeanInside,
}

/// One, two and three axes.
pub const WINDOWS: &[Windows] = &[
    Windows { rows: 3, size: [1, 1, 31], kernel: [1, 1, 3], stride: [1, 1, 2], pad: [0, 0, 1] },
    Windows { rows: 5, size: [1, 9, 7], kernel: [1, 3, 2], stride: [1, 2, 1], pad: [0, 1, 0] },
    Windows { rows: 2, size: [5, 6, 7], kernel: [2, 3, 5], stride: [2, 1, 3], pad: [1, 0, 2] },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/pool"));
    let many = Windows { rows: 5, size: [1, 16, 16], kernel: [1, 1, 1], stride: [1, 1, 1], pad: [0, 0, 0] };
    let all = WINDOWS.iter().flat_map(|windows| [Of::Largest, Of::Mean, Of::MeanInside].map(|of| (windows, of)));
    let stored = [Stored::F32, Stored::F16, Stored::BF16].into_iter().cycle();
    let mut cases: Vec<Case> =
        all.zip(stored).map(|((windows, of), stored)| case(caps, random, windows, of, stored)).collect();
    cases.push(case(caps, random, &many, Of::Largest, Stored::F32));
    cases
}

impl Windows {
    /// Spatial lengths of y.
    fn out(&self) -> [u32; 3] {
        std::array::from_fn(|axis| (self.size[axis] + 2 * self.pad[axis] - self.kernel[axis]) / self.stride[axis] + 1)
    }

    pub fn of_y(&self) -> [u32; 4] {
        let out = self.out();
        [self.rows, out[0], out[1], out[2]]
    }

    pub fn params(&self) -> Params {
        let &Self { size, kernel, stride, pad, .. } = self;
        let out = self.out();
        Params {
            len: self.of_y().iter().product(),
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
        }
    }

    /// Elements of x in the window of element `i` of y.
    pub fn elements(&self, i: u32) -> Vec<usize> {
        let out = self.out();
        let at = [i / (out[1] * out[2]) % out[0], i / out[2] % out[1], i % out[2]];
        let places = |axis: usize| {
            let first = i64::from(at[axis] * self.stride[axis]) - i64::from(self.pad[axis]);
            let inside = 0..i64::from(self.size[axis]);
            (first..first + i64::from(self.kernel[axis])).filter(move |place| inside.contains(place))
        };
        let row = i64::from(i / out.iter().product::<u32>() * self.size[0]);
        let mut window = Vec::new();
        for a in places(0) {
            for b in places(1) {
                let line = ((row + a) * i64::from(self.size[1]) + b) * i64::from(self.size[2]);
                window.extend(places(2).map(|c| (line + c) as usize));
            }
        }
        window
    }

    /// y by its definition.
    pub fn values(&self, x: &[f64], of: Of) -> Vec<f64> {
        let value = |i: u32| {
            let window: Vec<f64> = self.elements(i).into_iter().map(|at| x[at]).collect();
            let sum: f64 = window.iter().sum();
            match of {
                Of::Largest => window.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                Of::Mean => sum / f64::from(self.kernel.iter().product::<u32>()),
                Of::MeanInside => sum / window.len() as f64,
            }
        };
        (0..self.of_y().iter().product()).map(value).collect()
    }
}

fn case(caps: &Caps, random: &mut Random, windows: &Windows, of: Of, stored: Stored) -> Case {
    let &Windows { rows, size, kernel, stride, pad } = windows;
    let mut bench = OpBench::new(caps);
    let x = Numbers::new(&mut bench, random, stored, &[rows, size[0], size[1], size[2]]);
    let shape = windows.of_y();
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
    let expected = windows.values(&x.values, of);
    let name = format!("{of:?} {rows} × {size:?}, window {kernel:?}, stride {stride:?}, padding {pad:?}");
    run.case(bench, name, &windows.params(), &expected)
}
