//! (variant, constants) → compiled pipeline, made once per device.

use std::collections::HashSet;
use std::rc::Rc;

use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::device::Gpu;
use super::shim;
use crate::kernels::spec::{Access, Kernel, KernelSpec};
use crate::{Error, ErrorCode, Result};

/// A compiled kernel and the layout of its bind groups.
pub struct Pipeline {
    /// The pipeline.
    pub pipeline: wgpu::ComputePipeline,
    /// Group 0.
    pub layout: wgpu::BindGroupLayout,
    module: wgpu::ShaderModule,
    kernel: Kernel,
}

impl Gpu {
    /// The pipeline of `kernel`, compiled at the first call. The browser compiles in the background: an error comes
    /// out of [`Gpu::check_pipelines`].
    pub(super) fn pipeline(&self, kernel: &Kernel) -> Rc<Pipeline> {
        let key = kernel.key();
        if let Some(found) = self.pipelines.borrow().get(&key) {
            return found.clone();
        }
        let made = Rc::new(self.compile(kernel));
        self.pipelines.borrow_mut().insert(key, made.clone());
        made
    }

    /// Starts compiling the pipelines of these kernels, all at once; see `compile_pipelines.js`.
    pub fn compile_ahead<'k>(&self, kernels: impl Iterator<Item = &'k Kernel>) -> Ahead {
        let mut seen = HashSet::new();
        let known = self.pipelines.borrow();
        let new = kernels.filter(|kernel| seen.insert(kernel.key()) && !known.contains_key(&kernel.key()));
        let described = new.map(describe).collect();
        let device: &JsValue = match self.device.as_webgpu() {
            Some(device) => device.as_ref(),
            None => return Ahead(js_sys::Promise::resolve(&JsValue::NULL)),
        };
        Ahead(shim::compile_pipelines(device, described))
    }

    fn compile(&self, kernel: &Kernel) -> Pipeline {
        let layout = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(&kernel.id),
            entries: &layout_entries(kernel.spec),
        });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&kernel.id),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(&kernel.id),
            source: wgpu::ShaderSource::Wgsl(kernel.wgsl().into()),
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&kernel.id),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &kernel.constants,
                ..Default::default()
            },
            cache: None,
        });
        Pipeline { pipeline, layout, module, kernel: kernel.clone() }
    }

    /// Waits until the browser has looked at every shader, and fails with the variant's id, the compiler's lines
    /// and the source around the first of them.
    ///
    /// # Errors
    /// `device_lost` naming the variant: a shader that a browser refuses is a bug of webgguf or of the driver.
    pub async fn check_pipelines(&self) -> Result<()> {
        let pipelines: Vec<Rc<Pipeline>> = self.pipelines.borrow().values().cloned().collect();
        for pipeline in pipelines {
            pipeline.check(self).await?;
        }
        self.check()
    }

    /// As [`Gpu::check_pipelines`], for these kernels alone.
    pub async fn check_kernels(&self, kernels: impl Iterator<Item = &Kernel>) -> Result<()> {
        for kernel in kernels {
            self.pipeline(kernel).check(self).await?;
        }
        Ok(())
    }

    /// Ids of the variants compiled so far, sorted.
    pub fn variants(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.pipelines.borrow().values().map(|p| p.kernel.id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }
}

impl Pipeline {
    /// Fails with what the browser's compiler found.
    async fn check(&self, gpu: &Gpu) -> Result<()> {
        let info = self.module.get_compilation_info();
        // Chromium may keep the question to itself until there is something to submit.
        gpu.queue.submit([]);
        let info = info.await;
        let error = info.messages.iter().find(|m| m.message_type == wgpu::CompilationMessageType::Error);
        let Some(message) = error else { return Ok(()) };
        let line = message.location.map_or(0, |at| at.line_number as usize);
        let text = format!("{}: {}\n{}", self.kernel.key(), message.message, around(&self.kernel, line));
        Err(Error::new(ErrorCode::DeviceLost, text))
    }
}

/// Pipelines that the browser compiles in the background.
pub struct Ahead(js_sys::Promise);

impl Ahead {
    /// Waits for all of them. What it returns keeps them: drop it once wgpu has asked for each.
    pub async fn finish(self) -> JsValue {
        JsFuture::from(self.0).await.unwrap_or(JsValue::NULL)
    }
}

/// A kernel as `compile_pipelines.js` takes it.
fn describe(kernel: &Kernel) -> js_sys::Object {
    let binding = |binding: &crate::kernels::spec::Binding| match binding.access {
        Access::Uniform => JsValue::from("uniform"),
        Access::Read => "read-only-storage".into(),
        Access::ReadWrite => "storage".into(),
    };
    let constants: Vec<(&str, JsValue)> =
        kernel.constants.iter().map(|(name, value)| (*name, (*value).into())).collect();
    shim::object(&[
        ("label", kernel.id.as_str().into()),
        ("code", kernel.wgsl().into()),
        ("bindings", kernel.spec.bindings.iter().map(binding).collect::<js_sys::Array>().into()),
        ("constants", shim::object(&constants).into()),
    ])
}

fn layout_entries(spec: &KernelSpec) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |(index, binding): (usize, &crate::kernels::spec::Binding)| wgpu::BindGroupLayoutEntry {
        binding: index as u32,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: match binding.access {
                Access::Uniform => wgpu::BufferBindingType::Uniform,
                Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
                Access::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
            },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    };
    spec.bindings.iter().enumerate().map(entry).collect()
}

/// The source around a line, which is marked.
fn around(kernel: &Kernel, line: usize) -> String {
    let wgsl = kernel.wgsl();
    let from = line.saturating_sub(4);
    let mark = |i: usize| if i + 1 == line { '>' } else { ' ' };
    let numbered =
        wgsl.lines().enumerate().skip(from).take(7).map(|(i, text)| format!("{}{:>4} {text}", mark(i), i + 1));
    numbered.collect::<Vec<_>>().join("\n")
}
