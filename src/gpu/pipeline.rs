//! (variant, constants) → compiled pipeline, made once per device.

use std::cell::Cell;
use std::rc::Rc;

use super::device::Device;
use super::platform;
use crate::kernels::spec::{Access, Kernel, KernelSpec};
use crate::kernels::unpack_f16::in_integers;
use crate::{Error, ErrorCode, Result};

/// A compiled kernel and the layout of its bind groups.
pub struct Pipeline {
    /// The pipeline.
    pub pipeline: wgpu::ComputePipeline,
    /// Group 0.
    pub layout: wgpu::BindGroupLayout,
    module: wgpu::ShaderModule,
    kernel: Kernel,
    /// The compiler had nothing against it.
    checked: Cell<bool>,
}

impl Device {
    /// The pipeline of `kernel`, compiled at the first call. The browser compiles in the background: an error comes
    /// out of [`Device::check_pipelines`].
    pub(super) fn pipeline(&self, kernel: &Kernel) -> Rc<Pipeline> {
        let key = kernel.key();
        if let Some(found) = self.pipelines.borrow().get(&key) {
            return found.clone();
        }
        let made = Rc::new(self.compile(kernel));
        self.pipelines.borrow_mut().insert(key, made.clone());
        made
    }

    /// The shader of `kernel` for this device.
    pub(super) fn wgsl(&self, kernel: &Kernel) -> String {
        let text = platform::accepted(kernel.wgsl());
        if self.f16_in_integers { in_integers(&text) } else { text }
    }

    fn compile(&self, kernel: &Kernel) -> Pipeline {
        let layout = self.raw.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(&kernel.id),
            entries: &layout_entries(kernel.spec),
        });
        let pipeline_layout = self.raw.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&kernel.id),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        // What is wrong with a shader that came as text is the page's mistake.
        let scope = kernel.text.is_some().then(|| self.raw.push_error_scope(wgpu::ErrorFilter::Validation));
        self.compiled.answer(&self.raw, kernel);
        let shader = wgpu::ShaderModuleDescriptor {
            label: Some(&kernel.id),
            source: wgpu::ShaderSource::Wgsl(self.wgsl(kernel).into()),
        };
        let module = platform::shader_module(&self.raw, shader, kernel.text.is_none());
        let pipeline = self.raw.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
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
        if let Some(scope) = scope {
            self.blame_page(scope.pop(), kernel);
        }
        Pipeline { pipeline, layout, module, kernel: kernel.clone(), checked: Cell::new(false) }
    }

    /// Waits until the browser has looked at every shader that is in use, and fails with the variant's id, the
    /// compiler's lines and the source around the first of them.
    ///
    /// # Errors
    /// `internal` naming the variant: a shader that a browser refuses is a bug of webgguf or of the driver.
    pub async fn check_pipelines(&self) -> Result<()> {
        let pipelines: Vec<Rc<Pipeline>> = self.pipelines.borrow().values().cloned().collect();
        for pipeline in pipelines {
            pipeline.check(self).await?;
        }
        self.check()
    }

    /// Drops the pipelines that no list has.
    pub fn forget_pipelines(&self) {
        self.pipelines.borrow_mut().retain(|_, pipeline| Rc::strong_count(pipeline) > 1);
    }

    /// As [`Device::check_pipelines`], for these kernels alone.
    pub async fn check_kernels(&self, kernels: impl Iterator<Item = &Kernel>) -> Result<()> {
        for kernel in kernels {
            self.pipeline(kernel).check(self).await?;
        }
        Ok(())
    }
}

impl Pipeline {
    /// The id of the kernel's variant.
    pub fn id(&self) -> &str {
        &self.kernel.id
    }

    /// Fails with what the browser's compiler found.
    async fn check(&self, device: &Device) -> Result<()> {
        if self.checked.get() {
            return Ok(());
        }
        let info = self.module.get_compilation_info();
        // Chromium may keep the question to itself until there is something to submit.
        device.queue.submit([]);
        let info = info.await;
        let error = info.messages.iter().find(|m| m.message_type == wgpu::CompilationMessageType::Error);
        let Some(message) = error else {
            self.checked.set(true);
            return Ok(());
        };
        let line = message.location.map_or(0, |at| at.line_number as usize);
        let text = format!("{}: {}\n{}", self.kernel.key(), message.message, around(&device.wgsl(&self.kernel), line));
        Err(Error::new(ErrorCode::Internal, text))
    }
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
fn around(wgsl: &str, line: usize) -> String {
    let from = line.saturating_sub(4);
    let mark = |i: usize| if i + 1 == line { '>' } else { ' ' };
    let numbered =
        wgsl.lines().enumerate().skip(from).take(7).map(|(i, text)| format!("{}{:>4} {text}", mark(i), i + 1));
    numbered.collect::<Vec<_>>().join("\n")
}
