//! Convolutions of up to three spatial axes and their transposes: `conv1d` to `convTranspose3d`.

use super::{Numbers, Run, WG_SIZE};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::caps::Caps;
use crate::kernels::mat_mul_dense::{Activation, Stored};
use crate::kernels::spec::{Binding, KernelSpec, PARAMS, bool_override, grid_1d, params, read, write};

params! {
    /// Per-dispatch numbers: lengths of up to three spatial axes.
    pub struct Params {
        /// Channels of y in a group.
        pub rows: u32,
        /// Samples · places of y.
        pub columns: u32,
        /// Channels of x in a group.
        pub channels: u32,
        /// Groups of channels.
        pub groups: u32,
        /// Places of the kernel.
        pub taps: u32,
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
        /// Length of the kernel along the outermost axis.
        pub kernel_0: u32,
        /// Length of the kernel along the middle axis.
        pub kernel_1: u32,
        /// Length of the kernel along the innermost axis.
        pub kernel_2: u32,
        /// From place to place.
        pub stride_0: u32,
        /// From place to place.
        pub stride_1: u32,
        /// From place to place.
        pub stride_2: u32,
        /// Places before x.
        pub pad_0: u32,
        /// Places before x.
        pub pad_1: u32,
        /// Places before x.
        pub pad_2: u32,
        /// From tap to tap.
        pub dilation_0: u32,
        /// From tap to tap.
        pub dilation_1: u32,
        /// From tap to tap.
        pub dilation_2: u32,
    }
}

const BINDINGS: &[Binding] = &[PARAMS, read("x"), read("w"), read("bias"), write("y")];
const OVERRIDES: &[&str] = &["X_KIND", "TRANSPOSED", "BIAS", "ACTIVATION"];

/// The contract with `shaders/compute/conv.wgsl`.
pub static SPEC: KernelSpec =
    KernelSpec { kernel_name: "compute/conv", bindings: BINDINGS, params: Params::LAYOUT, overrides: OVERRIDES };

/// The contract with `shaders/compute/conv_direct.wgsl`.
pub static DIRECT: KernelSpec = KernelSpec {
    kernel_name: "compute/conv_direct",
    bindings: BINDINGS,
    params: Params::LAYOUT,
    overrides: &["X_KIND", "W_KIND", "TRANSPOSED", "BIAS", "ACTIVATION"],
};

/// Rows and columns of a tile of `conv.wgsl`.
const TILE: u32 = 64;

/// A convolution; x is `[samples, groups · channels, size]`, the kernel `[taps, channels, groups · rows]`, whose rows
/// tiles take in whole quads and as f32.
#[derive(Debug, Clone, Copy)]
struct Shape {
    samples: u32,
    groups: u32,
    channels: u32,
    rows: u32,
    size: [u32; 3],
    kernel: [u32; 3],
    stride: [u32; 3],
    pad: [u32; 3],
    dilation: [u32; 3],
    transposed: bool,
}

impl Shape {
    /// Spatial lengths of y.
    fn out(&self) -> [u32; 3] {
        std::array::from_fn(|axis| {
            let reach = self.dilation[axis] * (self.kernel[axis] - 1) + 1;
            if self.transposed {
                return (self.size[axis] - 1) * self.stride[axis] + reach - 2 * self.pad[axis];
            }
            (self.size[axis] + 2 * self.pad[axis] - reach) / self.stride[axis] + 1
        })
    }
}

const ONE: Shape = Shape {
    samples: 1,
    groups: 1,
    channels: 1,
    rows: 1,
    size: [1; 3],
    kernel: [1; 3],
    stride: [1; 3],
    pad: [0; 3],
    dilation: [1; 3],
    transposed: false,
};

const SHAPES: &[Shape] = &[
    Shape { samples: 2, channels: 3, rows: 5, size: [1, 1, 31], kernel: [1, 1, 4], stride: [1, 1, 3], ..ONE },
    Shape { channels: 33, rows: 65, size: [1, 9, 11], kernel: [1, 3, 3], pad: [0, 1, 1], ..ONE },
    Shape {
        samples: 3,
        groups: 2,
        channels: 17,
        rows: 9,
        size: [1, 7, 6],
        kernel: [1, 3, 2],
        stride: [1, 2, 1],
        pad: [0, 2, 0],
        dilation: [1, 1, 2],
        ..ONE
    },
    Shape { channels: 2, rows: 3, size: [4, 5, 6], kernel: [2, 3, 2], stride: [1, 2, 3], pad: [1, 0, 1], ..ONE },
    Shape {
        samples: 2,
        groups: 3,
        channels: 2,
        rows: 4,
        size: [1, 5, 4],
        kernel: [1, 3, 4],
        stride: [1, 2, 3],
        pad: [0, 1, 0],
        transposed: true,
        ..ONE
    },
    Shape {
        channels: 18,
        rows: 7,
        size: [1, 1, 23],
        kernel: [1, 1, 3],
        stride: [1, 1, 2],
        pad: [0, 0, 1],
        dilation: [1, 1, 3],
        transposed: true,
        ..ONE
    },
    Shape { samples: 2, groups: 31, size: [1, 8, 9], kernel: [1, 3, 3], pad: [0, 1, 1], ..ONE },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let (caps, random) = (suite.caps, &mut suite.random("compute/conv"));
    use Activation::{Gelu, None, Relu, Silu};
    let kinds = [Stored::F32, Stored::F16, Stored::BF16, Stored::F32].into_iter().cycle();
    let weights = [Stored::F32, Stored::F32, Stored::F16].into_iter().cycle();
    let mut cases = Vec::new();
    for ((shape, x), (w, activation)) in
        SHAPES.iter().zip(kinds).zip(weights.zip([None, Silu, Relu, Gelu].into_iter().cycle()))
    {
        for spec in [&SPEC, &DIRECT] {
            cases.push(case(caps, random, spec, shape, ([x, w], activation)));
        }
    }
    cases
}

fn case(
    caps: &Caps,
    random: &mut Random,
    spec: &'static KernelSpec,
    shape: &Shape,
    ([x_stored, w_stored], activation): ([Stored; 2], Activation),
) -> Case {
    let &Shape { samples, groups, channels, rows, size, kernel, .. } = shape;
    let (out, taps) = (shape.out(), kernel.iter().product::<u32>());
    let mut bench = OpBench::new(caps);
    let x = Numbers::new(&mut bench, random, x_stored, &[samples, groups * channels, size[0], size[1], size[2]]);
    let w = Numbers::new(&mut bench, random, w_stored, &[taps, channels, groups * rows]);
    let quads = bench.floats(&[taps, channels, groups, rows.next_multiple_of(4)], &in_quads(&w.values, rows));
    let bias = Numbers::new(&mut bench, random, Stored::F32, &[groups * rows]);
    let has_bias = activation != Activation::None;
    let columns = samples * out.iter().product::<u32>();
    let tiles = groups * rows.div_ceil(TILE) * columns.div_ceil(TILE);
    let w_kind = ("W_KIND", w_stored.kind().into());
    let (packed, w_kind, workgroups) = match spec.kernel_name {
        "compute/conv_direct" => (&w.tensor, Some(w_kind), (columns * groups * rows).div_ceil(WG_SIZE)),
        _ => (&quads, None, tiles),
    };
    let constants = [
        ("X_KIND", x_stored.kind().into()),
        ("TRANSPOSED", bool_override(shape.transposed)),
        ("BIAS", bool_override(has_bias)),
        ("ACTIVATION", (activation as u32).into()),
    ];
    let run = Run {
        spec,
        variant: &format!("{}.{}", x_stored.id(), w_stored.id()),
        constants: &constants.into_iter().chain(w_kind).collect::<Vec<_>>(),
        inputs: &[&x.tensor, packed, &bias.tensor],
        shape: &[samples, groups * rows, out[0], out[1], out[2]],
        grid: grid_1d(workgroups),
    };
    let bias = if has_bias { bias.values } else { vec![0.0; bias.values.len()] };
    let expected = reference(shape, &x.values, &w.values, &bias);
    let expected: Vec<f32> = expected.into_iter().map(|sum| activated(activation, sum) as f32).collect();
    let (name, params) = (format!("{shape:?}, {activation:?}"), params_of(shape, columns, taps));
    let y = run.push(&mut bench, &params);
    let mut case =
        bench.case(spec.kernel_name, name, &y, Expected::Close(expected, Tolerance { abs: 2e-5, rel: 2e-5 }));
    case.flops = 2 * u64::from(columns * groups * rows) * u64::from(taps * channels);
    case
}

/// Rows of each group, of which `rows` are next to each other, padded to whole quads.
fn in_quads(w: &[f64], rows: u32) -> Vec<f32> {
    let padding = (rows.next_multiple_of(4) - rows) as usize;
    let padded = |row: &[f64]| row.iter().map(|&value| value as f32).chain(vec![0.0; padding]).collect::<Vec<_>>();
    w.chunks(rows as usize).flat_map(padded).collect()
}

fn params_of(shape: &Shape, columns: u32, taps: u32) -> Params {
    let &Shape { groups, channels, rows, size, kernel, stride, pad, dilation, .. } = shape;
    let out = shape.out();
    Params {
        rows,
        columns,
        channels,
        groups,
        taps,
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
        dilation_0: dilation[0],
        dilation_1: dilation[1],
        dilation_2: dilation[2],
    }
}

fn activated(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => {
            let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
            x / 2.0 * (1.0 + inner.tanh())
        }
    }
}

/// Each product of an element of x and a weight, added where it belongs: the definition, which scatters where the
/// transposed one does.
fn reference(shape: &Shape, x: &[f64], w: &[f64], bias: &[f64]) -> Vec<f64> {
    let &Shape { samples, groups, channels, rows, size, kernel, transposed, .. } = shape;
    let out = shape.out();
    let places = |size: [u32; 3]| {
        (0..size.iter().product::<u32>()).map(move |i| [i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]])
    };
    let index = |size: [u32; 3], at: [u32; 3]| ((at[0] * size[1] + at[1]) * size[2] + at[2]) as usize;
    let (of_x, of_y) = (size.iter().product::<u32>() as usize, out.iter().product::<u32>() as usize);
    let all_rows = (groups * rows) as usize;
    let mut y: Vec<f64> = (0..samples as usize * all_rows * of_y).map(|i| bias[i / of_y % all_rows]).collect();
    // The strided side is y where the convolution is transposed, else x.
    let (near, far) = if transposed { (size, out) } else { (out, size) };
    for at in places(near) {
        for (tap, of_kernel) in places(kernel).enumerate() {
            let other: [i64; 3] = std::array::from_fn(|axis| {
                let from_first = of_kernel[axis] * shape.dilation[axis];
                i64::from(at[axis] * shape.stride[axis] + from_first) - i64::from(shape.pad[axis])
            });
            if (0..3).any(|axis| !(0..i64::from(far[axis])).contains(&other[axis])) {
                continue;
            }
            let (near_index, far_index) = (index(near, at), index(far, other.map(|i| i as u32)));
            let (x_place, y_place) = if transposed { (near_index, far_index) } else { (far_index, near_index) };
            for sample in 0..samples as usize {
                for row in 0..all_rows {
                    let group = row / rows as usize;
                    let sum: f64 = (0..channels as usize)
                        .map(|channel| {
                            let of_channel = (sample * groups as usize + group) * channels as usize + channel;
                            x[of_channel * of_x + x_place] * w[(tap * channels as usize + channel) * all_rows + row]
                        })
                        .sum();
                    y[(sample * all_rows + row) * of_y + y_place] += sum;
                }
            }
        }
    }
    y
}
