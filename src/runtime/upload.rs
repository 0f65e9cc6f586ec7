//! Tensors to the GPU: slices of raw rows go to a staging buffer, and a repack kernel lays them out.

use std::rc::Rc;

use super::gpu_session::{GpuSession, make_buffers};
use crate::config::ModelConfig;
use crate::forward::{Buffers, Forward, Lists, Placement, Plan, Target, place};
use crate::gguf::{TensorInfo, dequantize, row_bytes};
use crate::gpu::{Ahead, BufferTable, CommandList, Gpu};
use crate::kernels::layout::{Matrix, PackedLayout};
use crate::kernels::repack::repack;
use crate::kernels::rope_kv::frequency_table;
use crate::kernels::spec::{BufferId, Slice};
use crate::model::WeightSpec;
use crate::{Error, Result};

/// Bytes of a slice of a tensor, at least one row.
const SLICE: u64 = 8 << 20;

/// Takes the tensors of a model in file order.
pub struct Uploader<'a> {
    gpu: Rc<Gpu>,
    config: ModelConfig,
    tensors: &'a [TensorInfo],
    placement: Placement,
    buffers: Buffers,
    table: BufferTable,
    staging: BufferId,
    /// Row of the tensor at hand that comes next.
    next_row: u32,
    rope_factors: Option<Vec<f32>>,
    /// What the model will run, whose pipelines compile while tensors arrive.
    lists: Lists,
    pipelines: Ahead,
}

impl<'a> Uploader<'a> {
    /// Plans and makes every buffer of a model with `context` positions.
    pub fn new(
        gpu: Rc<Gpu>,
        config: ModelConfig,
        context: usize,
        tensors: &'a [TensorInfo],
        matched: Vec<(usize, WeightSpec)>,
    ) -> Result<Self> {
        let mut plan = Plan::default();
        let placement = place(&config, &gpu.caps, tensors, matched, &mut plan)?;
        let buffers = Buffers::alloc(&config, context, &mut plan);
        let longest_row = tensors.iter().map(|tensor| tensor_row_bytes(tensor).unwrap_or(0)).max().unwrap_or(0);
        let mut table = make_buffers(&gpu, &plan.buffers)?;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let staging = gpu.buffer("staging", SLICE.max(longest_row) + 16, usage)?;
        let staging = table.add(staging);
        let weights = &placement.weights;
        let lists = Forward { config: &config, caps: &gpu.caps, weights, buffers: &buffers }.lists();
        let pipelines = gpu.compile_ahead(lists.all().map(|dispatch| &dispatch.kernel));
        Ok(Self {
            gpu,
            config,
            tensors,
            placement,
            buffers,
            table,
            staging,
            next_row: 0,
            rope_factors: None,
            lists,
            pipelines,
        })
    }

    /// The bytes of each slice in which tensor `index` is to be put; none for a tensor that the model does not use.
    pub fn slices(&mut self, index: usize) -> Vec<u64> {
        self.next_row = 0;
        let tensor = &self.tensors[index];
        match &self.placement.targets[index] {
            None => Vec::new(),
            Some(Target::Vector { .. } | Target::RopeFactors) => vec![tensor.bytes],
            Some(Target::Rows { matrix, row }) => {
                let bytes = tensor_row_bytes(tensor).unwrap_or(1).max(1);
                let rows = tensor.bytes / bytes;
                row_slices(matrix, *row, rows as u32, bytes).into_iter().map(|rows| u64::from(rows) * bytes).collect()
            }
        }
    }

    /// Puts the next slice of tensor `index`.
    pub fn put(&mut self, index: usize, bytes: &[u8]) -> Result<()> {
        let tensor = &self.tensors[index];
        match &self.placement.targets[index] {
            None => Ok(()),
            Some(Target::RopeFactors) => {
                self.rope_factors = Some(values(tensor, bytes)?);
                Ok(())
            }
            Some(Target::Vector { buffer, offset }) => {
                let values = values(tensor, bytes)?;
                self.gpu.queue.write_buffer(self.table.get(*buffer), *offset, bytemuck::cast_slice(&values));
                Ok(())
            }
            Some(Target::Rows { matrix, row }) => {
                let rows = (bytes.len() as u64 / tensor_row_bytes(tensor)?.max(1)) as u32;
                self.put_rows(matrix, row + self.next_row, rows, bytes)?;
                self.next_row += rows;
                Ok(())
            }
        }
    }

    /// Rows that lie in one shard: [`Uploader::slices`] cuts so.
    fn put_rows(&self, matrix: &Matrix, row: u32, rows: u32, bytes: &[u8]) -> Result<()> {
        let shard = matrix.shards.iter().rfind(|shard| shard.first_row <= row);
        let shard = shard.ok_or_else(|| Error::bad_file("a matrix without rows"))?;
        self.write_staging(bytes);
        let layout = PackedLayout::new(matrix.ty, shard.rows, matrix.cols);
        let staging = Slice::from(self.staging);
        let dispatch = repack(&layout, row - shard.first_row, rows, 0, staging, shard.buffer.into());
        let list = CommandList::record(&self.gpu, &[dispatch], &self.table)?;
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        list.replay(&mut encoder.begin_compute_pass(&Default::default()), 1);
        self.gpu.queue.submit([encoder.finish()]);
        list.destroy(&self.gpu);
        Ok(())
    }

    /// `writeBuffer` takes whole words: the bytes after the last one are the slice's, and what follows is not read.
    fn write_staging(&self, bytes: &[u8]) {
        let staging = self.table.get(self.staging);
        let (words, rest) = bytes.split_at(bytes.len() & !3);
        self.gpu.queue.write_buffer(staging, 0, words);
        if !rest.is_empty() {
            let mut last = [0; 4];
            last[..rest.len()].copy_from_slice(rest);
            self.gpu.queue.write_buffer(staging, words.len() as u64, &last);
        }
    }

    /// Writes what depends on the whole file, waits for the pipelines and records the command lists.
    pub async fn finish(self) -> Result<GpuSession> {
        let Self { gpu, config, placement, buffers, table, staging, rope_factors, lists, pipelines, .. } = self;
        let compiled = pipelines.finish().await;
        gpu.destroy_buffer(table.get(staging));
        let (theta, scale) = (f64::from(config.rope_theta), f64::from(config.rope_scale));
        let frequencies = frequency_table(config.rope_dims as u32, theta, scale, rope_factors.as_deref());
        gpu.queue.write_buffer(table.get(buffers.frequencies.buffer), 0, bytemuck::cast_slice(&frequencies));
        let model = GpuSession::new(gpu, config, placement.weights, buffers, table, lists).await;
        drop(compiled);
        model
    }
}

fn tensor_row_bytes(tensor: &TensorInfo) -> Result<u64> {
    row_bytes(tensor.ty, tensor.dims.first().copied().unwrap_or(1))
}

fn values(tensor: &TensorInfo, bytes: &[u8]) -> Result<Vec<f32>> {
    let mut values = vec![0.0; tensor.elements() as usize];
    dequantize(tensor.ty, bytes, &mut values)?;
    Ok(values)
}

/// Rows per slice: within [`SLICE`] bytes, and never across two shards.
fn row_slices(matrix: &Matrix, first: u32, rows: u32, row_bytes: u64) -> Vec<u32> {
    let most = (SLICE / row_bytes).max(1) as u32;
    let mut slices = Vec::new();
    let (mut row, end) = (first, first + rows);
    while row < end {
        let shard = matrix.shards.iter().rfind(|shard| shard.first_row <= row);
        let shard_end = shard.map_or(end, |shard| shard.first_row + shard.rows);
        let count = most.min(end - row).min(shard_end.max(row + 1) - row);
        slices.push(count);
        row += count;
    }
    slices
}
