//! Asks a device how it converts f16: see `kernels/unpack_f16/mod.rs`.

use super::{BufferTable, CommandList, Device, Part};
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
    let mut table = BufferTable::default();
    for (id, bytes) in [(x, size_of_val(&words)), (y, size_of_val(&expected))] {
        table.insert(id, device.storage_buffer("f16", bytes as u64)?);
    }
    device.write(table.get(x), 0, bytemuck::cast_slice(&words));
    let list = CommandList::record(device, &[unpack_f16(false, words.len() as u32, x.into(), y.into())], &table)?;
    device.submit([Part::from(&list)], 1, None);
    let found = device.read(table.get(y), 0, size_of_val(&expected) as u64).await?;
    Ok(found == bytemuck::cast_slice::<u32, u8>(&expected))
}
