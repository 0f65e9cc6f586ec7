//! The tensor table: its entries, and whether they are consistent.

use std::collections::HashSet;

use super::cursor::{Cursor, Step};
use super::{GgmlType, Metadata, TensorInfo, block, shown};
use crate::error::{Error, ErrorCode, Result};
use crate::sort::sorted_indices;

/// Name length, dimension count, one dimension, type and offset.
pub(super) const LEAST_ENTRY_BYTES: u64 = 32;

const LONGEST_NAME: u64 = 64;
/// The type of 64-bit integers.
const I64: u32 = 27;
const MAX_DIMS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;
/// The format asks for a multiple of this.
const LEAST_ALIGNMENT: u64 = 8;

/// Reads one entry. Its offset still counts from the start of the tensor data. `place` is its number from 1, and the
/// count.
pub(super) fn read_entry(cursor: &mut Cursor, (number, count): (u64, u64)) -> Step<TensorInfo> {
    let len = cursor.u64()?;
    if len > LONGEST_NAME {
        return Err(Error::bad_file(format!(
            "tensor table entry {number} of {count}: name has {len} bytes, expected at most {LONGEST_NAME}"
        ))
        .into());
    }
    let name = str::from_utf8(cursor.take(len)?)
        .map_err(|_| Error::bad_file(format!("tensor table entry {number} of {count}: name is not UTF-8")))?;
    let rank = cursor.u32()?;
    if rank == 0 || rank > MAX_DIMS {
        let name = shown(name);
        return Err(Error::bad_file(format!("tensor `{name}` has {rank} dimensions, expected 1 to {MAX_DIMS}")).into());
    }
    let mut dims = Vec::with_capacity(rank as usize);
    for _ in 0..rank {
        dims.push(cursor.u64()?);
    }
    let id = cursor.u32()?;
    let offset = cursor.u64()?;
    let ty = match (id, name) {
        // A drafter's list of ids, of 64 bits: two words each.
        (I64, "d2t") if rank == 1 => {
            dims[0] = dims[0].saturating_mul(2);
            GgmlType::F32
        }
        _ => GgmlType::from_id(id).ok_or_else(|| unsupported(name, id))?,
    };
    let bytes = data_bytes(name, ty, &dims)?;
    Ok(TensorInfo { name: name.to_owned(), ty, dims, offset, bytes, part: 0 })
}

fn unsupported(name: &str, id: u32) -> Error {
    let known_as = block::unsupported_name(id).map_or(String::new(), |name| format!(" ({name})"));
    let supported = GgmlType::ALL.map(GgmlType::name).join(", ");
    Error::new(
        ErrorCode::UnsupportedQuant,
        format!("tensor `{}` has type {id}{known_as}, expected one of {supported}", shown(name)),
    )
}

/// The bytes of all rows, with every product checked.
fn data_bytes(name: &str, ty: GgmlType, dims: &[u64]) -> Result<u64> {
    let wrong = |what: String| Error::bad_file(format!("tensor `{}` of shape {dims:?}: {what}", shown(name)));
    if dims.contains(&0) {
        return Err(wrong("a dimension is 0, expected at least 1".to_owned()));
    }
    let row = block::row_bytes(ty, dims[0]).map_err(|error| wrong(error.message().to_owned()))?;
    let product = |start: u64, dims: &[u64]| dims.iter().try_fold(start, |product, &dim| product.checked_mul(dim));
    product(1, dims)
        .and_then(|_| product(row, &dims[1..]))
        .ok_or_else(|| wrong(format!("the number of weights or bytes is not below {}", u64::MAX)))
}

/// `general.alignment`, checked, or the default.
pub(super) fn alignment(metadata: &Metadata) -> Result<u64> {
    let alignment = metadata.u64("general.alignment")?.unwrap_or(DEFAULT_ALIGNMENT);
    if alignment < LEAST_ALIGNMENT || !alignment.is_power_of_two() {
        return Err(Error::bad_file(format!(
            "metadata `general.alignment` is {alignment}, expected a power of two of at least {LEAST_ALIGNMENT}"
        )));
    }
    Ok(alignment)
}

/// Sorts the tensors by offset, makes the offsets absolute, and checks that the data lies in the file, aligned and
/// without overlap. `table_end` is where the table ends; gives where the data starts.
pub(super) fn lay_out(
    tensors: &mut [TensorInfo],
    table_end: u64,
    alignment: u64,
    file_size: Option<u64>,
) -> Result<u64> {
    let start = table_end
        .checked_next_multiple_of(alignment)
        .ok_or_else(|| Error::bad_file(format!("no multiple of the alignment {alignment} after byte {table_end}")))?;
    for tensor in tensors.iter_mut() {
        place(tensor, start, alignment, file_size)?;
    }
    let order = sorted_indices(tensors.len(), &mut |a, b| tensors[a].offset < tensors[b].offset);
    let sorted: Vec<TensorInfo> = order.into_iter().map(|index| tensors[index].clone()).collect();
    tensors.clone_from_slice(&sorted);
    for pair in tensors.windows(2) {
        let [a, b] = pair else { continue };
        if a.end() > b.offset {
            let (first, second) = (shown(&a.name), shown(&b.name));
            return Err(Error::bad_file(format!(
                "tensors overlap: `{first}` ends at byte {}, `{second}` starts at byte {}",
                a.end(),
                b.offset
            )));
        }
    }
    check_names(tensors)?;
    Ok(start)
}

fn place(tensor: &mut TensorInfo, start: u64, alignment: u64, file_size: Option<u64>) -> Result<()> {
    let name = shown(&tensor.name);
    if !tensor.offset.is_multiple_of(alignment) {
        return Err(Error::bad_file(format!(
            "tensor `{name}` is misaligned: offset {} is not a multiple of {alignment}",
            tensor.offset
        )));
    }
    let offset = start.checked_add(tensor.offset);
    let end = offset.and_then(|offset| offset.checked_add(tensor.bytes));
    let (Some(offset), Some(end)) = (offset, end) else {
        return Err(Error::bad_file(format!(
            "tensor `{name}` of {} bytes at offset {} ends past byte {}",
            tensor.bytes,
            tensor.offset,
            u64::MAX
        )));
    };
    if let Some(size) = file_size.filter(|&size| end > size) {
        return Err(Error::bad_file(format!("tensor `{name}` ends at byte {end}, but the file has {size} bytes")));
    }
    tensor.offset = offset;
    Ok(())
}

/// Checks that no two tensors share a name.
pub(super) fn check_names(tensors: &[TensorInfo]) -> Result<()> {
    let mut names = HashSet::new();
    match tensors.iter().find(|tensor| !names.insert(tensor.name.as_str())) {
        Some(tensor) => Err(Error::bad_file(format!("tensor `{}` is there a second time", shown(&tensor.name)))),
        None => Ok(()),
    }
}
