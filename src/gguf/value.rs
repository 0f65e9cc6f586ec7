//! The values of GGUF metadata.

/// One metadata value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    /// Bytes that are not UTF-8 have been replaced by U+FFFD.
    String(String),
    Array(Array),
}

impl Value {
    /// The name of the type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::U8(_) => "u8",
            Self::I8(_) => "i8",
            Self::U16(_) => "u16",
            Self::I16(_) => "i16",
            Self::U32(_) => "u32",
            Self::I32(_) => "i32",
            Self::U64(_) => "u64",
            Self::I64(_) => "i64",
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
            Self::Bool(_) => "bool",
            Self::String(_) => "string",
            Self::Array(array) => array.type_name(),
        }
    }
}

/// A metadata array; all elements have one type.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    Strings(Strings),
    Arrays(Vec<Array>),
}

impl Array {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::I8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::I16(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::I32(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::Strings(v) => v.len(),
            Self::Arrays(v) => v.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::U8(_) => "array of u8",
            Self::I8(_) => "array of i8",
            Self::U16(_) => "array of u16",
            Self::I16(_) => "array of i16",
            Self::U32(_) => "array of u32",
            Self::I32(_) => "array of i32",
            Self::U64(_) => "array of u64",
            Self::I64(_) => "array of i64",
            Self::F32(_) => "array of f32",
            Self::F64(_) => "array of f64",
            Self::Bool(_) => "array of bool",
            Self::Strings(_) => "array of strings",
            Self::Arrays(_) => "array of arrays",
        }
    }
}

/// Many strings in one buffer: a vocabulary of 150,000 tokens takes two allocations.
///
/// The bytes are those of the file; they need not be UTF-8.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    /// Where each string ends in `bytes`. 32 bits are enough below the cap on headers.
    ends: Vec<u32>,
}

impl Strings {
    /// No strings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a string at the end.
    ///
    /// # Panics
    /// When all strings together take 4 GiB or more; the header reader stops long before.
    pub fn push(&mut self, string: &[u8]) {
        let end = u32::try_from(self.bytes.len() + string.len()).expect("strings of a header stay below 4 GiB");
        self.bytes.extend_from_slice(string);
        self.ends.push(end);
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of string `index`, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.bytes.get(start..end)
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + '_ {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let string = &self.bytes[start..end as usize];
            start = end as usize;
            string
        })
    }

    /// Releases memory reserved for growing.
    pub(super) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(iter: I) -> Self {
        let mut strings = Self::new();
        iter.into_iter().for_each(|string| strings.push(string.as_ref()));
        strings
    }
}

/// A value type as the file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    pub fn from_id(id: u32) -> Option<Self> {
        const IN_ORDER: [ValueType; 13] = {
            use ValueType::*;
            [U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64]
        };
        IN_ORDER.get(usize::try_from(id).ok()?).copied()
    }

    /// The fewest bytes that one value takes in the file.
    pub fn min_bytes(self) -> u64 {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            // A length; an element type and a count.
            Self::String => 8,
            Self::Array => 12,
        }
    }

    /// An array of this type with nothing in it.
    pub fn empty_array(self) -> Array {
        match self {
            Self::U8 => Array::U8(Vec::new()),
            Self::I8 => Array::I8(Vec::new()),
            Self::U16 => Array::U16(Vec::new()),
            Self::I16 => Array::I16(Vec::new()),
            Self::U32 => Array::U32(Vec::new()),
            Self::I32 => Array::I32(Vec::new()),
            Self::F32 => Array::F32(Vec::new()),
            Self::Bool => Array::Bool(Vec::new()),
            Self::String => Array::Strings(Strings::new()),
            Self::Array => Array::Arrays(Vec::new()),
            Self::U64 => Array::U64(Vec::new()),
            Self::I64 => Array::I64(Vec::new()),
            Self::F64 => Array::F64(Vec::new()),
        }
    }
}
