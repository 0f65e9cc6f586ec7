//! Shaders that come as text: those of `webgguf/compute` and a page's own.
//!
//! The text follows the rules of this crate's kernels: `main` is the entry point, binding 0 of group 0 is the uniform
//! `params` of 32-bit words, then come the inputs (`var<storage, read>`), outputs (`read_write`) last. What a page gets
//! wrong is refused in `js/compute/dispatch.ts`, so that what every page loads stays small.

use std::cell::RefCell;

use super::{DType, Tape, Tensor};
use crate::kernels::spec::{Binding, Dispatch, Extent, Kernel, KernelSpec, PARAMS, ParamsLayout, read, write};
use crate::{Error, Result};

/// Words of parameters: what the uniform buffer of a tape's batch has for each dispatch.
const MAX_PARAMS: usize = 64;

/// A shader as text.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// Names the shader in messages.
    pub label: &'a str,
    /// WGSL.
    pub code: &'a str,
    /// Names of its `override` constants, with commas between.
    pub names: &'a str,
    /// Tensors that it reads.
    pub inputs: u32,
    /// Tensors that it makes.
    pub outputs: u32,
}

/// How a shader is run.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The number that [`number_of`] returned for the text.
    pub shader: u32,
    /// Values of its `override` constants.
    pub constants: &'a [f64],
    /// Workgroups along three axes, then at least one word of `params`.
    pub words: &'a [u32],
}

fn wrong() -> Error {
    Error::invalid_argument("shader: these numbers make no dispatch")
}

/// Runs a shader; the tensors it makes. `outputs` are a type by its place among the plain ones, the number of axes and
/// their lengths, one after the other.
///
/// # Errors
/// `invalid_argument` for numbers that make no dispatch, `limit_exceeded` for outputs that the device does not bind.
/// Errors of the compiler are reported by the device later.
pub fn run(tape: &mut Tape, run: &Run, inputs: &[Tensor], mut outputs: &[u32]) -> Result<Vec<Tensor>> {
    const TYPES: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::U32, DType::I32];
    let &[x, y, z, ref params @ ..] = run.words else { return Err(wrong()) };
    if params.is_empty() || params.len() > MAX_PARAMS {
        return Err(wrong());
    }
    let (spec, code) = SPECS.with_borrow(|specs| specs.get(run.shader as usize).copied()).ok_or_else(wrong)?;
    let mut made = Vec::new();
    while let &[dtype, rank, ref rest @ ..] = outputs {
        let (dtype, shape) =
            (TYPES.get(dtype as usize).ok_or_else(wrong)?, rest.get(..rank as usize).ok_or_else(wrong)?);
        made.push(tape.output(*dtype, shape)?);
        outputs = &rest[rank as usize..];
    }
    if spec.bindings.len() != 1 + inputs.len() + made.len() {
        return Err(wrong());
    }
    let mut kernel = Kernel { text: Some(code), ..Kernel::new(spec, &[]) };
    kernel.constants = spec.overrides.iter().copied().zip(run.constants.iter().copied()).collect();
    // The number tells shaders of one label apart in the device's table of pipelines.
    kernel.id = format!("{}@{}", spec.kernel_name, run.shader);
    tape.push(Dispatch {
        kernel,
        params: bytemuck::cast_slice(params).to_vec(),
        buffers: inputs.iter().chain(&made).map(Tensor::slice).collect(),
        grid: [x, y, z].map(Extent::Fixed),
    });
    Ok(made)
}

thread_local! {
    /// Every shader so far. They are never freed, as little as a device's pipelines: numbers that change belong into
    /// `params`, not into the text.
    static SPECS: RefCell<Vec<(&'static KernelSpec, &'static str)>> = const { RefCell::new(Vec::new()) };
}

/// The number of a shader, by which it is run: the same for the same text. The text is looked at here alone, so that a
/// dispatch costs the same however long it is.
///
/// # Errors
/// `invalid_argument` for a text with an `#import` line, which is none of WGSL.
pub fn number_of(text: &Text) -> Result<u32> {
    if text.code.contains("#import ") {
        return Err(wrong());
    }
    let (inputs, outputs) = (text.inputs as usize, text.outputs as usize);
    let mut bindings = vec![write("output"); 1 + inputs + outputs];
    bindings[0] = PARAMS;
    bindings[1..=inputs].fill(read("input"));
    let names = text.names.split_terminator(',');
    SPECS.with_borrow_mut(|specs| {
        let found = specs.iter().position(|(spec, code)| {
            let same_text = *code == text.code && spec.kernel_name == text.label;
            same_text && spec.bindings == bindings && spec.overrides.iter().copied().eq(names.clone())
        });
        if let Some(found) = found {
            return Ok(found as u32);
        }
        let kept = |text: &str| -> &'static str { text.to_owned().leak() };
        let spec = Box::leak(Box::new(KernelSpec {
            kernel_name: kept(text.label),
            bindings: Vec::<Binding>::leak(bindings),
            params: ParamsLayout { size: 0, fields: &[] },
            overrides: names.map(kept).collect::<Vec<_>>().leak(),
        }));
        specs.push((spec, kept(text.code)));
        Ok(specs.len() as u32 - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;
    use crate::kernels::caps::Caps;
    use crate::kernels::spec::Access;

    const MINE: Text = Text { label: "mine", code: "fn main() {}", names: "SIZE", inputs: 1, outputs: 1 };
    const RUN: Run = Run { shader: 0, constants: &[4.0], words: &[5, 1, 1, 7, 8] };

    #[test]
    fn a_shader_is_one_dispatch() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[6]).unwrap();
        let shader = number_of(&Text { outputs: 2, ..MINE }).unwrap();
        let made = run(&mut tape, &Run { shader, ..RUN }, &[x], &[0, 2, 2, 3, 4, 1, 9]).unwrap();
        assert_eq!(made.iter().map(Tensor::describe).collect::<Vec<_>>(), ["[2, 3] f32", "[9] i32"]);
        let (_, dispatches) = tape.take();
        let access: Vec<_> = dispatches[0].kernel.spec.bindings.iter().map(|binding| binding.access).collect();
        assert_eq!(access, [Access::Uniform, Access::Read, Access::ReadWrite, Access::ReadWrite]);
        assert_eq!(dispatches[0].params, [7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(dispatches[0].kernel.constants, [("SIZE", 4.0)]);
    }

    #[test]
    fn the_same_text_has_the_same_number_and_pipeline() {
        let texts = [
            MINE,
            Text { code: "fn main() { }", ..MINE },
            Text { inputs: 2, ..MINE },
            Text { inputs: 0, outputs: 2, ..MINE },
            Text { names: "", ..MINE },
            Text { label: "other", ..MINE },
        ];
        let numbers = texts.each_ref().map(|text| number_of(text).unwrap());
        assert_eq!(numbers, texts.each_ref().map(|text| number_of(text).unwrap()));
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[6]).unwrap();
        for (text, shader) in texts.iter().zip(numbers) {
            let inputs = vec![x.clone(); text.inputs as usize];
            let outputs = [0, 0].repeat(text.outputs as usize);
            run(&mut tape, &Run { shader, ..RUN }, &inputs, &outputs).unwrap();
        }
        let keys: Vec<String> = tape.take().1.iter().map(|dispatch| dispatch.kernel.key()).collect();
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[i + 1..].contains(key), "{key} is two shaders");
        }
    }

    #[test]
    fn numbers_that_make_no_dispatch_are_refused() {
        let mut tape = Tape::new(Caps::baseline());
        let shader = number_of(&Text { inputs: 0, ..MINE }).unwrap();
        let given = Run { shader, ..RUN };
        let mut code = |given: &Run, outputs: &[u32]| run(&mut tape, given, &[], outputs).unwrap_err().code();
        let invalid = ErrorCode::InvalidArgument;
        assert_eq!(code(&Run { words: &[1, 1, 1], ..given }, &[0, 0]), invalid);
        assert_eq!(code(&Run { words: &[1; 68], ..given }, &[0, 0]), invalid);
        assert_eq!(code(&Run { shader: 1 << 20, ..given }, &[0, 0]), invalid);
        assert_eq!(code(&given, &[]), invalid, "an output too few");
        assert_eq!(code(&given, &[5, 0]), invalid);
        assert_eq!(code(&given, &[0, 2, 3]), invalid);
        assert_eq!(code(&given, &[0, 1, 1 << 30]), ErrorCode::LimitExceeded);
        assert_eq!(number_of(&Text { code: "#import math\n", ..MINE }).unwrap_err().code(), invalid);
    }
}
