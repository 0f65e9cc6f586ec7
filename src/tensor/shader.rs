//! Shaders that come as text: those of `webgguf/compute` and a page's own.
//!
//! | operation | inputs | options |
//! |---|---|---|
//! | `shader` | the tensors that it reads | [`ShaderOptions`] |
//!
//! The text follows the rules of this crate's kernels: `main` is the entry point, binding 0 of group 0 is the uniform
//! `params` of 32-bit words, then come the inputs (`var<storage, read>`), outputs (`read_write`) last.

use std::cell::RefCell;

use serde::Deserialize;

use super::{DType, Tape, Tensor};
use crate::kernels::spec::{
    Binding, Dispatch, Extent, Kernel, KernelSpec, MAX_WORKGROUPS, PARAMS, ParamsLayout, read, write,
};
use crate::{Error, Result};

/// Storage buffers of a shader on every device.
const MAX_STORAGE: usize = 8;

/// Words of parameters: what the uniform buffer of a tape's batch has for each dispatch.
const MAX_PARAMS: usize = 64;

/// A shader, what it writes and how it is run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShaderOptions {
    /// Names the shader in messages.
    pub label: String,
    /// WGSL.
    pub code: String,
    /// Type and shape of each tensor that it makes.
    pub outputs: Vec<(String, Vec<u32>)>,
    /// The words of `params`; without any, one that is 0.
    pub params: Vec<u32>,
    /// Values of its `override` constants.
    pub constants: Vec<(String, f64)>,
    /// Workgroups along each axis.
    pub workgroups: [u32; 3],
}

/// Runs a shader; the tensors it makes.
///
/// # Errors
/// `invalid_argument` for counts that WebGPU does not take, `limit_exceeded` for outputs that the device does not bind.
/// What a compiler has against the text comes out of the device later.
pub fn shader(tape: &mut Tape, inputs: &[&Tensor], options: &ShaderOptions) -> Result<Vec<Tensor>> {
    check(inputs.len(), options)?;
    let spec = spec_of(inputs.len(), options);
    let mut outputs = Vec::with_capacity(options.outputs.len());
    for (dtype, shape) in &options.outputs {
        let dtype = DType::named(dtype).ok_or_else(|| wrong(options, format!("there is no dtype '{dtype}'")))?;
        outputs.push(tape.output(dtype, shape)?);
    }
    let mut kernel = Kernel::new(spec, &[]);
    kernel.constants = spec.overrides.iter().copied().zip(options.constants.iter().map(|(_, value)| *value)).collect();
    // The address tells shaders of one label apart in the device's table of pipelines; `Kernel::is_text` knows the @.
    kernel.id = format!("{}@{:x}", options.label, spec.source.as_ptr() as usize);
    let params = if options.params.is_empty() { &[0] } else { options.params.as_slice() };
    tape.push(Dispatch {
        kernel,
        params: bytemuck::cast_slice(params).to_vec(),
        buffers: inputs.iter().copied().chain(&outputs).map(Tensor::slice).collect(),
        grid: options.workgroups.map(Extent::Fixed),
    });
    Ok(outputs)
}

fn wrong(options: &ShaderOptions, why: String) -> Error {
    Error::invalid_argument(format!("shader '{}': {why}", options.label))
}

fn check(inputs: usize, options: &ShaderOptions) -> Result<()> {
    let storage = inputs + options.outputs.len();
    let why = if options.outputs.is_empty() || storage > MAX_STORAGE {
        format!("{inputs} inputs and {} outputs, at most {MAX_STORAGE} in all", options.outputs.len())
    } else if options.params.len() > MAX_PARAMS {
        format!("{} words of params, at most {MAX_PARAMS}", options.params.len())
    } else if options.workgroups.iter().any(|n| !(1..=MAX_WORKGROUPS).contains(n)) {
        format!("workgroups are {:?}, each axis takes 1 to {MAX_WORKGROUPS}", options.workgroups)
    } else if options.code.contains("#import ") {
        "the code has an #import, which WGSL has not".into()
    } else {
        return Ok(());
    };
    Err(wrong(options, why))
}

thread_local! {
    /// Every shader so far. They are never freed, as little as a device's pipelines: numbers that change belong into
    /// `params`, not into the text.
    static SPECS: RefCell<Vec<&'static KernelSpec>> = const { RefCell::new(Vec::new()) };
}

/// The contract of a shader, made the first time that it is seen.
fn spec_of(inputs: usize, options: &ShaderOptions) -> &'static KernelSpec {
    let count = 1 + inputs + options.outputs.len();
    let names = || options.constants.iter().map(|(name, _)| name.as_str());
    let is_it = |spec: &&&'static KernelSpec| {
        let same_inputs = spec.bindings.len() == count && spec.bindings[inputs] != WRITTEN;
        let fits = same_inputs && (spec.bindings[inputs + 1] == WRITTEN) && spec.source == options.code;
        fits && spec.kernel_name == options.label && spec.overrides.iter().copied().eq(names())
    };
    SPECS.with_borrow_mut(|specs| {
        if let Some(found) = specs.iter().find(is_it) {
            return *found;
        }
        let mut bindings = vec![WRITTEN; count];
        bindings[0] = PARAMS;
        bindings[1..=inputs].fill(READ);
        let made = KernelSpec {
            kernel_name: kept(&options.label),
            source: kept(&options.code),
            bindings: bindings.leak(),
            params: ParamsLayout { size: 4 * options.params.len().max(1), fields: &[] },
            overrides: names().map(kept).collect::<Vec<_>>().leak(),
        };
        specs.push(Box::leak(Box::new(made)));
        specs[specs.len() - 1]
    })
}

const READ: Binding = read("input");
const WRITTEN: Binding = write("output");

fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;
    use crate::kernels::spec::Access;

    fn options(code: &str) -> ShaderOptions {
        ShaderOptions {
            label: "mine".into(),
            code: code.into(),
            outputs: vec![("f32".into(), vec![2, 3])],
            params: vec![7, 8],
            constants: vec![("SIZE".into(), 4.0)],
            workgroups: [5, 1, 1],
        }
    }

    #[test]
    fn a_shader_is_one_dispatch() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[6]).unwrap();
        let made = shader(&mut tape, &[&x], &options("fn main() {}")).unwrap();
        assert_eq!((made.len(), made[0].describe().as_str()), (1, "[2, 3] f32"));
        shader(&mut tape, &[&x], &options("fn main() {}")).unwrap();
        shader(&mut tape, &[&x], &options("fn main() { }")).unwrap();
        shader(&mut tape, &[&x, &x], &options("fn main() {}")).unwrap();
        let (_, dispatches) = tape.take();
        let access: Vec<_> = dispatches[0].kernel.spec.bindings.iter().map(|binding| binding.access).collect();
        assert_eq!(access, [Access::Uniform, Access::Read, Access::ReadWrite]);
        assert_eq!(dispatches[0].params, [7, 0, 0, 0, 8, 0, 0, 0]);
        let keys: Vec<String> = dispatches.iter().map(|dispatch| dispatch.kernel.key()).collect();
        assert_eq!(keys[0], keys[1], "the same text is the same pipeline");
        assert_ne!(keys[0], keys[2]);
        assert_ne!(keys[0], keys[3]);
    }

    #[test]
    fn what_webgpu_does_not_take_is_refused() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[6]).unwrap();
        let message = |inputs: &[&Tensor], options: &ShaderOptions| {
            shader(&mut Tape::new(Caps::baseline()), inputs, options).unwrap_err().message().to_owned()
        };
        let good = options("fn main() {}");
        assert!(message(&[&x; 8], &good).contains("8 inputs and 1 outputs, at most 8 in all"));
        assert!(message(&[], &ShaderOptions { outputs: vec![], ..good.clone() }).contains("0 outputs"));
        assert!(message(&[], &ShaderOptions { params: vec![0; 65], ..good.clone() }).contains("65 words"));
        assert!(message(&[], &ShaderOptions { workgroups: [1, 0, 1], ..good.clone() }).contains("[1, 0, 1]"));
        assert!(message(&[], &ShaderOptions { workgroups: [65_536, 1, 1], ..good.clone() }).contains("65535"));
        assert!(message(&[], &ShaderOptions { outputs: vec![("f64".into(), vec![1])], ..good }).contains("'f64'"));
        assert!(message(&[], &options("#import math\n")).contains("#import"));
    }
}
