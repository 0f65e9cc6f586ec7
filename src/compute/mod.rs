//! The kernels of `webgguf/compute`: operations of `Gpu` that no model uses, so that neither they nor their shaders are
//! in the WebAssembly that pages load.
//!
//! Their shaders (`shaders/compute/`) go into the package as text, and TypeScript (`js/compute/`) checks shapes and
//! runs them through [`shader`](crate::tensor::shader). What is here exists in tests alone: one file per kernel with
//! its contract, its reference in plain Rust and its cases, by which it is tested as every other kernel is.

use crate::gguf::{f16_from_f32, f16_to_f32};
use crate::harness::{Case, Expected, OpBench, Random, Suite, Tolerance};
use crate::kernels::mat_mul_dense::Stored;
use crate::kernels::spec::{Dispatch, Grid, Kernel, KernelSpec, grid_1d};
use crate::tensor::{DType, Tensor};

/// The one list of these kernels, as [`for_each_kernel`](crate::for_each_kernel): rows `file [specifications];`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_compute_kernel {
    ($then:ident) => {
        $then! {
            attention [FORWARD, GRAD, WEIGHTS];
            conv [DIRECT, SPEC];
            fft [SPEC];
            group_norm [SPEC];
            knn [SPEC];
            pad [SPEC];
            peaks [SPEC];
            pool [SPEC];
            pool_grad [SPEC];
            upsample [SPEC];
            welch [POWER, SEGMENTS];
        }
    };
}

macro_rules! modules {
    ($($name:ident [$($spec:ident),*];)*) => {
        $(pub mod $name;)*

        /// Every kernel of `webgguf/compute`.
        pub static CATALOGUE: &[&KernelSpec] = &[$($(&$name::$spec,)*)*];

        /// The cases of all of them.
        pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
            let cases: &[fn(&Suite) -> Vec<Case>] = &[$($name::cases,)*];
            cases.iter().flat_map(|cases| cases(suite)).collect()
        }
    };
}

for_each_compute_kernel!(modules);

/// Threads of a workgroup of the kernels in which each computes one element.
pub const WG_SIZE: u32 = 256;

/// Workgroups of such a kernel.
pub fn grid_of(len: u32) -> Grid {
    grid_1d(len.div_ceil(WG_SIZE))
}

/// Random numbers as a tensor stores them.
pub struct Numbers {
    /// The tensor on a bench.
    pub tensor: Tensor,
    /// The values, rounded to the type.
    pub values: Vec<f64>,
}

impl Numbers {
    /// Numbers between -1 and 1.
    pub fn new(bench: &mut OpBench, random: &mut Random, stored: Stored, shape: &[u32]) -> Self {
        let values = random.floats(shape.iter().product::<u32>() as usize);
        Self::of(bench, stored, shape, &values)
    }

    /// These numbers.
    pub fn of(bench: &mut OpBench, stored: Stored, shape: &[u32], values: &[f32]) -> Self {
        let brain = |value: f32| (value.to_bits() >> 16) as u16;
        let (tensor, rounded): (Tensor, Vec<f32>) = match stored {
            Stored::F32 => (bench.floats(shape, values), values.to_vec()),
            Stored::F16 => {
                let rounded = values.iter().map(|&value| f16_to_f32(f16_from_f32(value))).collect();
                (bench.halves(shape, values), rounded)
            }
            Stored::BF16 => {
                let halves: Vec<u16> = values.iter().map(|&value| brain(value)).collect();
                let rounded = halves.iter().map(|&half| f32::from_bits(u32::from(half) << 16)).collect();
                (bench.bytes(DType::BF16, shape, bytemuck::cast_slice(&halves)), rounded)
            }
        };
        Self { tensor, values: rounded.into_iter().map(f64::from).collect() }
    }
}

/// A dispatch in the making.
pub struct Run<'a> {
    /// The contract.
    pub spec: &'static KernelSpec,
    /// Variant and sizes, for the case's id.
    pub variant: &'a str,
    /// Values of the `override` constants.
    pub constants: &'a [(&'static str, f64)],
    /// Storage that it reads.
    pub inputs: &'a [&'a Tensor],
    /// Shape of its result, f32.
    pub shape: &'a [u32],
    /// Workgroups.
    pub grid: Grid,
}

impl Run<'_> {
    /// Puts the dispatch on the bench's tape; its result.
    pub fn push<P: bytemuck::Pod>(&self, bench: &mut OpBench, params: &P) -> Tensor {
        let y = bench.tape.output(DType::F32, self.shape).expect("a case's shape fits");
        let mut kernel = Kernel::new(self.spec, self.constants);
        if !self.variant.is_empty() {
            kernel = kernel.named(self.variant);
        }
        let buffers: Vec<_> = self.inputs.iter().map(|tensor| tensor.slice()).chain([y.slice()]).collect();
        bench.tape.push(Dispatch::new(kernel, params, &buffers, self.grid));
        y
    }

    /// The case that this dispatch alone makes.
    pub fn case<P: bytemuck::Pod>(&self, mut bench: OpBench, name: String, params: &P, expected: &[f64]) -> Case {
        let y = self.push(&mut bench, params);
        bench.case(self.spec.kernel_name, name, &y, close(expected))
    }
}

/// Values as close as f32 arithmetic without long sums gives.
pub fn close(expected: &[f64]) -> Expected {
    Expected::Close(expected.iter().map(|&value| value as f32).collect(), Tolerance::PLAIN)
}
