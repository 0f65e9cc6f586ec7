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

/// A shader and how it is run.
#[derive(Debug, Clone, Copy)]
pub struct Shader<'a> {
    /// Names the shader in messages.
    pub label: &'a str,
    /// WGSL.
    pub code: &'a str,
    /// Names of its `override` constants, with commas between.
    pub names: &'a str,
    /// Their values.
    pub constants: &'a [f64],
    /// Workgroups along three axes, then at least one word of `params`.
    pub words: &'a [u32],
}

/// Runs a shader; the tensors it makes. `outputs` are a type by its place among the plain ones, the number of axes and
/// their lengths, one after the other.
///
/// # Errors
/// `invalid_argument` for numbers that make no dispatch, `limit_exceeded` for outputs that the device does not bind.
/// What a compiler has against the text comes out of the device later.
pub fn shader(tape: &mut Tape, shader: &Shader, inputs: &[Tensor], mut outputs: &[u32]) -> Result<Vec<Tensor>> {
    const TYPES: [DType; 5] = [DType::F32, DType::F16, DType::BF16, DType::U32, DType::I32];
    let wrong = || Error::invalid_argument("shader: these numbers make no dispatch");
    let &[x, y, z, ref params @ ..] = shader.words else { return Err(wrong()) };
    if params.is_empty() || params.len() > MAX_PARAMS || shader.code.contains("#import ") {
        return Err(wrong());
    }
    let mut made = Vec::new();
    while let &[dtype, rank, ref rest @ ..] = outputs {
        let (dtype, shape) =
            (TYPES.get(dtype as usize).ok_or_else(wrong)?, rest.get(..rank as usize).ok_or_else(wrong)?);
        made.push(tape.output(*dtype, shape)?);
        outputs = &rest[rank as usize..];
    }
    let spec = spec_of(shader, inputs.len(), made.len());
    let mut kernel = Kernel::new(spec, &[]);
    kernel.constants = spec.overrides.iter().copied().zip(shader.constants.iter().copied()).collect();
    // The address tells shaders of one label apart in the device's table of pipelines; `Kernel::is_text` knows the @.
    kernel.id = format!("{}@{}", shader.label, spec.source.as_ptr() as usize);
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
    static SPECS: RefCell<Vec<&'static KernelSpec>> = const { RefCell::new(Vec::new()) };
}

/// The contract of a shader, made the first time that it is seen.
fn spec_of(shader: &Shader, inputs: usize, outputs: usize) -> &'static KernelSpec {
    let mut bindings = vec![write("output"); 1 + inputs + outputs];
    bindings[0] = PARAMS;
    bindings[1..=inputs].fill(read("input"));
    let names = shader.names.split_terminator(',');
    SPECS.with_borrow_mut(|specs| {
        let found = specs.iter().copied().find(|spec| {
            let same_text = spec.source == shader.code && spec.kernel_name == shader.label;
            same_text && spec.bindings == bindings && spec.overrides.iter().copied().eq(names.clone())
        });
        if let Some(found) = found {
            return found;
        }
        let kept = |text: &str| -> &'static str { text.to_owned().leak() };
        let made: &'static KernelSpec = Box::leak(Box::new(KernelSpec {
            kernel_name: kept(shader.label),
            source: kept(shader.code),
            bindings: Vec::<Binding>::leak(bindings),
            params: ParamsLayout { size: 0, fields: &[] },
            overrides: names.map(kept).collect::<Vec<_>>().leak(),
        }));
        specs.push(made);
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorCode;
    use crate::kernels::caps::Caps;
    use crate::kernels::spec::Access;

    const MINE: Shader =
        Shader { label: "mine", code: "fn main() {}", names: "SIZE", constants: &[4.0], words: &[5, 1, 1, 7, 8] };

    #[test]
    fn a_shader_is_one_dispatch() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[6]).unwrap();
        let one = [x.clone()];
        let made = shader(&mut tape, &MINE, &one, &[0, 2, 2, 3, 4, 1, 9]).unwrap();
        assert_eq!(made.iter().map(Tensor::describe).collect::<Vec<_>>(), ["[2, 3] f32", "[9] i32"]);
        shader(&mut tape, &MINE, &one, &[0, 2, 2, 3, 4, 1, 9]).unwrap();
        shader(&mut tape, &Shader { code: "fn main() { }", ..MINE }, &one, &[0, 0, 0, 0]).unwrap();
        shader(&mut tape, &MINE, &[x.clone(), x], &[0, 1, 1]).unwrap();
        shader(&mut tape, &Shader { names: "", constants: &[], ..MINE }, &one, &[0, 0, 0, 0]).unwrap();
        let (_, dispatches) = tape.take();
        let access: Vec<_> = dispatches[0].kernel.spec.bindings.iter().map(|binding| binding.access).collect();
        assert_eq!(access, [Access::Uniform, Access::Read, Access::ReadWrite, Access::ReadWrite]);
        assert_eq!(dispatches[0].params, [7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(dispatches[0].kernel.constants, [("SIZE", 4.0)]);
        let keys: Vec<String> = dispatches.iter().map(|dispatch| dispatch.kernel.key()).collect();
        assert_eq!(keys[0], keys[1], "the same text is the same pipeline");
        for (i, key) in keys.iter().enumerate().skip(1) {
            assert!(!keys[i + 1..].contains(key), "{key} is two shaders");
        }
    }

    #[test]
    fn numbers_that_make_no_dispatch_are_refused() {
        let mut tape = Tape::new(Caps::baseline());
        let mut code = |given: &Shader, outputs: &[u32]| shader(&mut tape, given, &[], outputs).unwrap_err().code();
        let invalid = ErrorCode::InvalidArgument;
        assert_eq!(code(&Shader { words: &[1, 1, 1], ..MINE }, &[0, 0]), invalid);
        assert_eq!(code(&Shader { words: &[1; 68], ..MINE }, &[0, 0]), invalid);
        assert_eq!(code(&Shader { code: "#import math\n", ..MINE }, &[0, 0]), invalid);
        assert_eq!(code(&MINE, &[5, 0]), invalid);
        assert_eq!(code(&MINE, &[0, 2, 3]), invalid);
        assert_eq!(code(&MINE, &[0, 1, 1 << 30]), ErrorCode::LimitExceeded);
    }
}
