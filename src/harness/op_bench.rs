//! A bench for cases of tensor operations: inputs, the operation on a tape, and the case that they make.

use super::{Case, Expected};
use crate::gguf::f16_from_f32;
use crate::kernels::caps::Caps;
use crate::kernels::pass::Pass;
use crate::kernels::spec::{BufferId, Dispatch};
use crate::tensor::{DType, DUMMY, Made, PASS, Tape, Tensor};

/// Inputs with their contents, and the tape that an operation writes.
pub struct OpBench {
    /// To be passed to the operation.
    pub tape: Tape,
    inputs: Vec<(BufferId, Vec<u8>)>,
    made: Vec<Made>,
    dispatches: Vec<Dispatch>,
}

impl OpBench {
    /// An empty bench for a device with these capabilities.
    pub fn new(caps: &Caps) -> Self {
        let (tape, inputs) = (Tape::new(caps.clone()), vec![(DUMMY, vec![0; 16]), (PASS, Pass::constant().bytes())]);
        Self { tape, inputs, made: Vec::new(), dispatches: Vec::new() }
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
        self.take();
        let made = self.made.pop().expect("the tape made the tensor");
        assert!(bytes.len() as u64 <= made.bytes, "{} bytes for {}", bytes.len(), tensor.describe());
        let mut bytes = bytes.to_vec();
        bytes.resize(made.bytes as usize, 0);
        self.inputs.push((tensor.buffer, bytes));
        tensor
    }

    /// The case that the operations so far make; `kernel` names the one of their kernels that is tested. Buffers that
    /// are not inputs start as NaN.
    pub fn case(
        mut self,
        kernel_name: &'static str,
        name: impl Into<String>,
        output: &Tensor,
        expected: Expected,
    ) -> Case {
        self.take();
        let dispatches = self.dispatches;
        let about = dispatches.iter().find(|dispatch| dispatch.kernel.spec.kernel_name == kernel_name);
        let variant = about.unwrap_or_else(|| panic!("no dispatch of {kernel_name}")).kernel.id.clone();
        let mut buffers = self.inputs;
        buffers.extend(self.made.into_iter().map(|made| {
            let mut bytes = made.contents.unwrap_or_else(|| vec![0xff; made.bytes as usize]);
            bytes.resize(made.bytes as usize, 0);
            (made.buffer, bytes)
        }));
        let pass = Pass::chunk(0, 0, &[0]);
        let (output, name) = (output.buffer, name.into());
        Case { kernel_name, variant, name, dispatches, buffers, output, expected, pass, needs: None, flops: 0 }
    }

    /// Moves what the tape asked for and its dispatches here.
    fn take(&mut self) {
        let (made, dispatches) = self.tape.take();
        self.made.extend(made);
        self.dispatches.extend(dispatches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Tolerance;
    use crate::tensor::elementwise::scale;

    #[test]
    fn an_input_between_two_operations_keeps_the_first() {
        let mut bench = OpBench::new(&Caps::baseline());
        let x = bench.floats(&[2], &[1.0, 2.0]);
        let half = scale(&mut bench.tape, &x, 0.5).expect("f32");
        let y = bench.floats(&[2], &[3.0, 4.0]);
        let double = scale(&mut bench.tape, &y, 2.0).expect("f32");
        let case = bench.case("elementwise", "twice", &double, Expected::Close(vec![6.0, 8.0], Tolerance::PLAIN));
        let writes: Vec<_> = case.dispatches.iter().filter_map(|dispatch| dispatch.buffers.last().copied()).collect();
        assert_eq!(writes, [half.slice(), double.slice()]);
        let bytes = |tensor: &Tensor| &case.buffers.iter().find(|(id, _)| *id == tensor.buffer).expect("a buffer").1;
        assert_eq!(bytes(&y)[..8], *bytemuck::cast_slice::<f32, u8>(&[3.0, 4.0]));
        assert!(bytes(&half)[..8].iter().all(|&byte| byte == 0xff), "not an input: starts as NaN");
    }
}
