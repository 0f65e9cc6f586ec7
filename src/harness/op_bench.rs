//! A bench for cases of tensor operations: inputs, the operation on a tape, and the case that comes of it.

use super::{Case, Expected};
use crate::gguf::f16_from_f32;
use crate::kernels::caps::Caps;
use crate::kernels::spec::BufferId;
use crate::kernels::state::State;
use crate::tensor::{DUMMY, DType, Made, Tape, Tensor};

/// Inputs with their contents, and the tape that an operation writes.
pub struct OpBench {
    /// Give it to the operation.
    pub tape: Tape,
    inputs: Vec<(BufferId, Vec<u8>)>,
    made: Vec<Made>,
}

impl OpBench {
    /// An empty bench for a device with these capabilities.
    pub fn new(caps: &Caps) -> Self {
        Self { tape: Tape::new(caps.clone()), inputs: vec![(DUMMY, vec![0; 16])], made: Vec::new() }
    }

    /// An f32 tensor.
    pub fn floats(&mut self, shape: &[u32], values: &[f32]) -> Tensor {
        self.bytes(DType::F32, shape, bytemuck::cast_slice(values))
    }

    /// An f16 tensor of these numbers, rounded.
    pub fn halves(&mut self, shape: &[u32], values: &[f32]) -> Tensor {
        let halves: Vec<u16> = values.iter().map(|&value| f16_from_f32(value)).collect();
        self.bytes(DType::F16, shape, bytemuck::cast_slice(&halves))
    }

    /// A tensor of whole words.
    pub fn words(&mut self, dtype: DType, shape: &[u32], words: &[u32]) -> Tensor {
        self.bytes(dtype, shape, bytemuck::cast_slice(words))
    }

    /// A tensor of these bytes.
    pub fn bytes(&mut self, dtype: DType, shape: &[u32], bytes: &[u8]) -> Tensor {
        let tensor = self.tape.output(dtype, shape).expect("the shape fits");
        self.keep_made();
        let made = self.made.pop().expect("the tape made the tensor");
        assert!(bytes.len() as u64 <= made.bytes, "{} bytes for {}", bytes.len(), tensor.describe());
        let mut bytes = bytes.to_vec();
        bytes.resize(made.bytes as usize, 0);
        self.inputs.push((tensor.buffer, bytes));
        tensor
    }

    /// The case that the operations so far make; `stem` names the kernel among theirs that it is about. Buffers that
    /// are not inputs start as NaN.
    pub fn case(mut self, stem: &'static str, name: impl Into<String>, output: &Tensor, expected: Expected) -> Case {
        let dispatches = self.keep_made();
        let about = dispatches.iter().find(|dispatch| dispatch.kernel.spec.stem == stem);
        let variant = about.unwrap_or_else(|| panic!("no dispatch of {stem}")).kernel.id.clone();
        let mut buffers = self.inputs;
        buffers.extend(self.made.into_iter().map(|made| {
            let mut bytes = made.contents.unwrap_or_else(|| vec![0xff; made.bytes as usize]);
            bytes.resize(made.bytes as usize, 0);
            (made.buffer, bytes)
        }));
        let state = State { count: 1, ..State::default() };
        let (output, name) = (output.buffer, name.into());
        Case { stem, variant, name, dispatches, buffers, output, expected, state, needs: None, flops: 0 }
    }

    /// Moves what the tape asked for here; the dispatches since the last call.
    fn keep_made(&mut self) -> Vec<crate::kernels::spec::Dispatch> {
        let (made, dispatches) = self.tape.take();
        self.made.extend(made);
        dispatches
    }
}
