//! Asks a device how it converts f16: see `kernels/unpack_f16.rs`.

use super::{BufferTable, CommandList, Device};
use crate::Result;
use crate::kernels::spec::BufferId;
use crate::kernels::unpack_f16::{question, unpack_f16};

/// Whether the device's own conversion from f16 is right for subnormal numbers.
///
/// # Errors
/// What the GPU reported.
pub(super) async fn keeps_subnormals(device: &Device) -> Result<bool> {
    let (words, expected) = question();
    let [x, y] = [BufferId(0), BufferId(1)];
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let mut table = BufferTable::default();
    for (id, bytes) in [(x, size_of_val(&words)), (y, size_of_val(&expected))] {
        table.insert(id, device.buffer("f16", bytes as u64, usage)?);
    }
    device.queue.write_buffer(table.get(x), 0, bytemuck::cast_slice(&words));
    let list = CommandList::record(device, &[unpack_f16(false, words.len() as u32, x.into(), y.into())], &table)?;
    let mut encoder = device.raw.create_command_encoder(&Default::default());
    list.replay(&mut encoder.begin_compute_pass(&Default::default()), 1);
    device.queue.submit([encoder.finish()]);
    let found = device.read(table.get(y), 0, size_of_val(&expected) as u64).await?;
    Ok(found == bytemuck::cast_slice::<u32, u8>(&expected))
}
