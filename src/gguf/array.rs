//! Metadata arrays, read in whatever pieces they arrive.

use super::cursor::{Cursor, Step};
use super::value::{Array, Value, ValueType};
use crate::error::Error;

/// Arrays within arrays deeper than this are refused. No known model nests any.
const DEEPEST: usize = 4;

/// An array whose elements are still arriving, with the arrays that it is nested in.
#[derive(Debug)]
pub(super) struct ArrayReader {
    /// The outermost array first.
    open: Vec<OpenArray>,
}

/// The part of one array that has arrived. It grows with the received bytes only, whatever count the file claims.
#[derive(Debug)]
struct OpenArray {
    array: Array,
    count: u64,
    left: u64,
}

impl ArrayReader {
    /// Reads the element type and the count, the start of every array.
    pub fn start(cursor: &mut Cursor) -> Step<Self> {
        Ok(Self { open: vec![OpenArray::start(cursor)?] })
    }

    /// Continues reading. Returns the array once it is complete.
    pub fn read(&mut self, cursor: &mut Cursor) -> Step<Array> {
        loop {
            let depth = self.open.len();
            let Some(innermost) = self.open.last_mut() else { return Ok(Array::Arrays(Vec::new())) };
            if innermost.left > 0 && matches!(innermost.array, Array::Arrays(_)) {
                if depth == DEEPEST {
                    return Err(Error::bad_file(format!("arrays are nested deeper than {DEEPEST} levels")).into());
                }
                self.open.push(OpenArray::start(cursor)?);
                cursor.commit();
                continue;
            }
            innermost.fill(cursor)?;
            let Some(whole) = self.open.pop() else { continue };
            match self.open.last_mut() {
                None => return Ok(whole.into_array()),
                Some(outer) => outer.adopt(whole.into_array()),
            }
        }
    }

    /// The position for a message: number of the current element, from 1, and the count, outermost first.
    pub fn place(&self) -> String {
        let places = self.open.iter().map(|open| format!("element {} of {}", open.count - open.left + 1, open.count));
        places.collect::<Vec<_>>().join(", ")
    }
}

impl OpenArray {
    fn start(cursor: &mut Cursor) -> Step<Self> {
        let id = cursor.u32()?;
        let kind = ValueType::from_id(id)
            .ok_or_else(|| Error::bad_file(format!("array element type {id} is unknown, the last known one is 12")))?;
        let count = cursor.u64()?;
        let min = count.saturating_mul(kind.min_bytes());
        if min > cursor.left() {
            let left = cursor.left();
            return Err(Error::bad_file(format!(
                "array claims {count} elements, which take at least {min} bytes, but at most {left} bytes are left"
            ))
            .into());
        }
        Ok(Self { array: kind.empty_array(), count, left: count })
    }

    fn adopt(&mut self, inner: Array) {
        if let Array::Arrays(arrays) = &mut self.array {
            arrays.push(inner);
            self.left -= 1;
        }
    }

    fn into_array(mut self) -> Array {
        if let Array::Strings(strings) = &mut self.array {
            strings.shrink();
        }
        self.array
    }

    fn fill(&mut self, cursor: &mut Cursor) -> Step<()> {
        let left = &mut self.left;
        match &mut self.array {
            Array::U8(v) => fill_numbers(v, left, cursor, u8::from_le_bytes),
            Array::I8(v) => fill_numbers(v, left, cursor, i8::from_le_bytes),
            Array::U16(v) => fill_numbers(v, left, cursor, u16::from_le_bytes),
            Array::I16(v) => fill_numbers(v, left, cursor, i16::from_le_bytes),
            Array::U32(v) => fill_numbers(v, left, cursor, u32::from_le_bytes),
            Array::I32(v) => fill_numbers(v, left, cursor, i32::from_le_bytes),
            Array::U64(v) => fill_numbers(v, left, cursor, u64::from_le_bytes),
            Array::I64(v) => fill_numbers(v, left, cursor, i64::from_le_bytes),
            Array::F32(v) => fill_numbers(v, left, cursor, f32::from_le_bytes),
            Array::F64(v) => fill_numbers(v, left, cursor, f64::from_le_bytes),
            Array::Bool(v) => fill_one_by_one(left, cursor, |cursor| read_bool(cursor).map(|b| v.push(b))),
            Array::Strings(v) => fill_one_by_one(left, cursor, |cursor| cursor.string().map(|s| v.push(s))),
            // `ArrayReader::read` fills these.
            Array::Arrays(_) => Ok(()),
        }
    }
}

/// Moves all whole numbers that have arrived, at once.
fn fill_numbers<T, const N: usize>(
    out: &mut Vec<T>,
    left: &mut u64,
    cursor: &mut Cursor,
    from: fn([u8; N]) -> T,
) -> Step<()> {
    while *left > 0 {
        let ready = (*left).min((cursor.available() / N) as u64).max(1);
        let bytes = cursor.take(ready * N as u64)?;
        out.extend(bytes.as_chunks().0.iter().copied().map(from));
        *left -= ready;
        cursor.commit();
    }
    Ok(())
}

fn fill_one_by_one(left: &mut u64, cursor: &mut Cursor, mut read: impl FnMut(&mut Cursor) -> Step<()>) -> Step<()> {
    while *left > 0 {
        read(cursor)?;
        *left -= 1;
        cursor.commit();
    }
    Ok(())
}

fn read_bool(cursor: &mut Cursor) -> Step<bool> {
    match cursor.array::<1>()?[0] {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::bad_file(format!("bool is {other}, expected 0 or 1")).into()),
    }
}

/// Reads a value that is not an array.
pub(super) fn read_scalar(kind: ValueType, cursor: &mut Cursor) -> Step<Value> {
    Ok(match kind {
        ValueType::U8 => Value::U8(u8::from_le_bytes(cursor.array()?)),
        ValueType::I8 => Value::I8(i8::from_le_bytes(cursor.array()?)),
        ValueType::U16 => Value::U16(u16::from_le_bytes(cursor.array()?)),
        ValueType::I16 => Value::I16(i16::from_le_bytes(cursor.array()?)),
        ValueType::U32 => Value::U32(cursor.u32()?),
        ValueType::I32 => Value::I32(i32::from_le_bytes(cursor.array()?)),
        ValueType::U64 => Value::U64(cursor.u64()?),
        ValueType::I64 => Value::I64(i64::from_le_bytes(cursor.array()?)),
        ValueType::F32 => Value::F32(f32::from_le_bytes(cursor.array()?)),
        ValueType::F64 => Value::F64(f64::from_le_bytes(cursor.array()?)),
        ValueType::Bool => Value::Bool(read_bool(cursor)?),
        ValueType::String => Value::String(String::from_utf8_lossy(cursor.string()?).into_owned()),
        // The header reader starts an `ArrayReader` instead.
        ValueType::Array => Value::Array(Array::Arrays(Vec::new())),
    })
}
