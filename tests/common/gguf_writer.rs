//! Writes GGUF files, right ones and, on request, wrong ones. Use with `#[path = "common/gguf_writer.rs"] mod
//! gguf_writer;`.
#![allow(dead_code, reason = "every test file uses another part")]

use webgguf::gguf::{Array, GgmlType, Value};

/// A GGUF file in the making. The fields that stay `None` are computed; set them to make the file lie.
#[derive(Clone)]
pub struct GgufWriter {
    pub magic: [u8; 4],
    pub version: u32,
    pub pair_count: Option<u64>,
    pub tensor_count: Option<u64>,
    pub alignment: u64,
    /// Whole pairs as bytes.
    pub pairs: Vec<Vec<u8>>,
    pub tensors: Vec<TensorEntry>,
}

/// A row of the tensor table, with the tensor's data.
#[derive(Clone)]
pub struct TensorEntry {
    pub name: String,
    pub dims: Vec<u64>,
    pub type_id: u32,
    /// From the start of the tensor data.
    pub offset: Option<u64>,
    pub data: Vec<u8>,
}

impl Default for GgufWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl GgufWriter {
    pub fn new() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            pair_count: None,
            tensor_count: None,
            alignment: 32,
            pairs: Vec::new(),
            tensors: Vec::new(),
        }
    }

    /// Adds a pair.
    pub fn pair(mut self, key: &str, value: Value) -> Self {
        let mut bytes = string(key.as_bytes());
        bytes.extend(type_id(&value).to_le_bytes());
        bytes.extend(value_bytes(&value));
        self.pairs.push(bytes);
        self
    }

    /// Adds a pair whose value type and value are the given bytes.
    pub fn raw_pair(mut self, key: &str, type_id: u32, value: &[u8]) -> Self {
        self.pairs.push([&string(key.as_bytes())[..], &type_id.to_le_bytes(), value].concat());
        self
    }

    /// Sets `general.alignment`, and aligns accordingly.
    pub fn aligned(mut self, alignment: u32) -> Self {
        self.alignment = alignment.into();
        self.pair("general.alignment", Value::U32(alignment))
    }

    /// Adds a tensor with this data, at the next aligned offset.
    pub fn tensor(mut self, name: &str, ty: GgmlType, dims: &[u64], data: Vec<u8>) -> Self {
        self.tensors.push(TensorEntry { name: name.into(), dims: dims.into(), type_id: ty.id(), offset: None, data });
        self
    }

    /// Adds a tensor of zeros, of the right size.
    pub fn zeros(self, name: &str, ty: GgmlType, dims: &[u64]) -> Self {
        let blocks = dims.iter().product::<u64>() as usize / ty.block_len();
        self.tensor(name, ty, dims, vec![0; blocks * ty.block_bytes()])
    }

    /// Everything before the tensor data, without the padding.
    pub fn header(&self) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensor_count.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        bytes.extend(self.pair_count.unwrap_or(self.pairs.len() as u64).to_le_bytes());
        bytes.extend(self.pairs.concat());
        let mut next = 0u64;
        for tensor in &self.tensors {
            bytes.extend(string(tensor.name.as_bytes()));
            bytes.extend((tensor.dims.len() as u32).to_le_bytes());
            tensor.dims.iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
            bytes.extend(tensor.type_id.to_le_bytes());
            bytes.extend(tensor.offset.unwrap_or(next).to_le_bytes());
            next = (next + tensor.data.len() as u64).next_multiple_of(self.alignment);
        }
        bytes
    }

    /// The whole file.
    pub fn build(&self) -> Vec<u8> {
        let mut bytes = self.header();
        for tensor in &self.tensors {
            bytes.resize(bytes.len().next_multiple_of(self.alignment as usize), 0);
            bytes.extend(&tensor.data);
        }
        bytes
    }
}

/// A string as the format writes it.
pub fn string(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat()
}

/// The id of a value's type.
pub fn type_id(value: &Value) -> u32 {
    match value {
        Value::U8(_) => 0,
        Value::I8(_) => 1,
        Value::U16(_) => 2,
        Value::I16(_) => 3,
        Value::U32(_) => 4,
        Value::I32(_) => 5,
        Value::F32(_) => 6,
        Value::Bool(_) => 7,
        Value::String(_) => 8,
        Value::Array(_) => 9,
        Value::U64(_) => 10,
        Value::I64(_) => 11,
        Value::F64(_) => 12,
    }
}

/// A value, without its type.
pub fn value_bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::U8(v) => vec![*v],
        Value::I8(v) => v.to_le_bytes().into(),
        Value::U16(v) => v.to_le_bytes().into(),
        Value::I16(v) => v.to_le_bytes().into(),
        Value::U32(v) => v.to_le_bytes().into(),
        Value::I32(v) => v.to_le_bytes().into(),
        Value::F32(v) => v.to_le_bytes().into(),
        Value::Bool(v) => vec![u8::from(*v)],
        Value::String(v) => string(v.as_bytes()),
        Value::Array(v) => array_bytes(v),
        Value::U64(v) => v.to_le_bytes().into(),
        Value::I64(v) => v.to_le_bytes().into(),
        Value::F64(v) => v.to_le_bytes().into(),
    }
}

/// An array: element type, count, elements.
pub fn array_bytes(array: &Array) -> Vec<u8> {
    fn numbers<T: Copy, const N: usize>(v: &[T], bytes: fn(T) -> [u8; N]) -> Vec<u8> {
        v.iter().flat_map(|&x| bytes(x)).collect()
    }
    let (id, elements): (u32, Vec<u8>) = match array {
        Array::U8(v) => (0, v.clone()),
        Array::I8(v) => (1, numbers(v, i8::to_le_bytes)),
        Array::U16(v) => (2, numbers(v, u16::to_le_bytes)),
        Array::I16(v) => (3, numbers(v, i16::to_le_bytes)),
        Array::U32(v) => (4, numbers(v, u32::to_le_bytes)),
        Array::I32(v) => (5, numbers(v, i32::to_le_bytes)),
        Array::F32(v) => (6, numbers(v, f32::to_le_bytes)),
        Array::Bool(v) => (7, v.iter().map(|&x| u8::from(x)).collect()),
        Array::Strings(v) => (8, v.iter().flat_map(string).collect()),
        Array::Arrays(v) => (9, v.iter().flat_map(array_bytes).collect()),
        Array::U64(v) => (10, numbers(v, u64::to_le_bytes)),
        Array::I64(v) => (11, numbers(v, i64::to_le_bytes)),
        Array::F64(v) => (12, numbers(v, f64::to_le_bytes)),
    };
    [&id.to_le_bytes()[..], &(array.len() as u64).to_le_bytes(), &elements].concat()
}
