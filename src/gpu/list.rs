//! A command list: dispatches recorded once (pipelines, bind groups, parameters) and replayed in one compute pass.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::buffer::{Buffer, BufferTable};
use super::device::Device;
use super::pipeline::Pipeline;
use crate::Result;
use crate::kernels::spec::{Dispatch, Grid, Slice};

/// WebGPU's `minUniformBufferOffsetAlignment` on every device.
pub(super) const UNIFORM_ALIGN: u64 = 256;

/// A dispatch that is ready to run.
pub(super) struct Step {
    pipeline: Rc<Pipeline>,
    bind_group: wgpu::BindGroup,
    grid: Grid,
}

impl Step {
    /// `dispatch` with its parameters at `offset` of `uniform`.
    pub(super) fn new(
        device: &Device,
        dispatch: &Dispatch,
        uniform: (&wgpu::Buffer, u64),
        buffers: &BufferTable,
    ) -> Self {
        let pipeline = device.pipeline(&dispatch.kernel);
        let bind_group = bind_group(device, dispatch, &pipeline, uniform, buffers);
        Self { pipeline, bind_group, grid: dispatch.grid }
    }

    /// Encodes the dispatch for a pass of `tokens` tokens.
    pub(super) fn encode(&self, pass: &mut wgpu::ComputePass<'_>, tokens: u32) {
        let [x, y, z] = self.grid.map(|extent| extent.resolve(tokens));
        pass.set_pipeline(&self.pipeline.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

/// Dispatches that are ready to run, in order.
pub struct CommandList {
    steps: Vec<Step>,
    /// The parameters, which the bind groups point into.
    uniform: Buffer,
}

impl CommandList {
    /// Makes pipelines, bind groups and one uniform buffer for `dispatches`.
    pub fn record(device: &Device, dispatches: &[Dispatch], buffers: &BufferTable) -> Result<Self> {
        let (params, offsets) = pack_params(dispatches);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let uniform = device.buffer("params", params.len() as u64, usage)?;
        device.queue.write_buffer(&uniform, 0, &params);
        let step = |(dispatch, &offset): (&Dispatch, &u64)| Step::new(device, dispatch, (&uniform, offset), buffers);
        let steps = dispatches.iter().zip(&offsets).map(step).collect();
        Ok(Self { steps, uniform })
    }

    /// Encodes some of the dispatches for a pass of `tokens` tokens. Nothing is made here.
    pub(super) fn replay_part(&self, part: Range<usize>, pass: &mut wgpu::ComputePass<'_>, tokens: u32) {
        self.steps[part].iter().for_each(|step| step.encode(pass, tokens));
    }

    /// Ids of the kernels' variants, in the order of the dispatches.
    pub fn variants(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.pipeline.id())
    }

    /// Bytes of the parameters.
    pub fn bytes(&self) -> u64 {
        self.uniform.size()
    }

    /// Dispatches in the list.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// All parameters in one buffer, equal ones once; returns the bytes and each dispatch's offset.
fn pack_params(dispatches: &[Dispatch]) -> (Vec<u8>, Vec<u64>) {
    let mut bytes = Vec::new();
    let mut known: HashMap<&[u8], u64> = HashMap::new();
    let offsets = dispatches.iter().map(|dispatch| {
        *known.entry(&dispatch.params).or_insert_with(|| {
            let offset = (bytes.len() as u64).next_multiple_of(UNIFORM_ALIGN);
            bytes.resize(offset as usize, 0);
            bytes.extend_from_slice(&dispatch.params);
            // WebGPU rounds the size of a uniform struct up to 16 bytes.
            bytes.resize(bytes.len().next_multiple_of(16), 0);
            offset
        })
    });
    let offsets = offsets.collect();
    (bytes, offsets)
}

fn bind_group(
    device: &Device,
    dispatch: &Dispatch,
    pipeline: &Pipeline,
    (uniform, offset): (&wgpu::Buffer, u64),
    buffers: &BufferTable,
) -> wgpu::BindGroup {
    let size = (dispatch.params.len() as u64).next_multiple_of(16);
    let params = binding(0, uniform, offset, Some(size));
    let storage = dispatch
        .buffers
        .iter()
        .zip(1..)
        .map(|(slice, index): (&Slice, u32)| binding(index, buffers.get(slice.buffer), slice.offset, slice.size));
    let entries: Vec<_> = std::iter::once(params).chain(storage).collect();
    device.raw.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(&dispatch.kernel.id),
        layout: &pipeline.layout,
        entries: &entries,
    })
}

fn binding(index: u32, buffer: &wgpu::Buffer, offset: u64, size: Option<u64>) -> wgpu::BindGroupEntry<'_> {
    let size = size.and_then(wgpu::BufferSize::new);
    wgpu::BindGroupEntry {
        binding: index,
        resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size }),
    }
}
