//! Metadata: keys and values, with typed access.

use std::collections::BTreeMap;

use super::value::{Array, Strings, Value};
use crate::error::{Error, Result};

/// The key-value pairs of a GGUF file.
///
/// The typed getters give `Ok(None)` for a missing key, and `bad_file` naming the key and both types for a wrong one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    pairs: BTreeMap<String, Value>,
}

impl Metadata {
    /// No pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `key`, and gives back the value it had.
    pub fn insert(&mut self, key: impl Into<String>, value: Value) -> Option<Value> {
        self.pairs.insert(key.into(), value)
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The keys in alphabetical order.
    pub fn keys(&self) -> impl Iterator<Item = &str> + '_ {
        self.pairs.keys().map(String::as_str)
    }

    /// The value of `key`, of whatever type.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.pairs.get(key)
    }

    /// An integer of any width that is not negative.
    pub fn u64(&self, key: &str) -> Result<Option<u64>> {
        self.typed(key, "an unsigned integer", |value| match *value {
            Value::U8(v) => Some(v.into()),
            Value::U16(v) => Some(v.into()),
            Value::U32(v) => Some(v.into()),
            Value::U64(v) => Some(v),
            Value::I8(v) => v.try_into().ok(),
            Value::I16(v) => v.try_into().ok(),
            Value::I32(v) => v.try_into().ok(),
            Value::I64(v) => v.try_into().ok(),
            _ => None,
        })
    }

    /// A floating-point number; a double is rounded.
    pub fn f32(&self, key: &str) -> Result<Option<f32>> {
        self.typed(key, "f32", |value| match *value {
            Value::F32(v) => Some(v),
            Value::F64(v) => Some(v as f32),
            _ => None,
        })
    }

    /// A truth value.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "bool", |value| match *value {
            Value::Bool(v) => Some(v),
            _ => None,
        })
    }

    /// A string.
    pub fn str(&self, key: &str) -> Result<Option<&str>> {
        self.typed(key, "string", |value| match value {
            Value::String(v) => Some(v.as_str()),
            _ => None,
        })
    }

    /// An array of strings.
    pub fn strings(&self, key: &str) -> Result<Option<&Strings>> {
        self.typed(key, "array of strings", |value| match value {
            Value::Array(Array::Strings(v)) => Some(v),
            _ => None,
        })
    }

    /// An array of floating-point numbers; doubles are rounded.
    pub fn f32s(&self, key: &str) -> Result<Option<Vec<f32>>> {
        self.typed(key, "array of f32", |value| match value {
            Value::Array(Array::F32(v)) => Some(v.clone()),
            Value::Array(Array::F64(v)) => Some(v.iter().map(|&x| x as f32).collect()),
            _ => None,
        })
    }

    /// An array of integers of any width whose values all fit 32 bits with a sign.
    pub fn i32s(&self, key: &str) -> Result<Option<Vec<i32>>> {
        fn fit<T: Copy + TryInto<i32>>(numbers: &[T]) -> Option<Vec<i32>> {
            numbers.iter().map(|&n| n.try_into().ok()).collect()
        }
        self.typed(key, "array of i32", |value| match value {
            Value::Array(Array::I32(v)) => Some(v.clone()),
            Value::Array(Array::U8(v)) => fit(v),
            Value::Array(Array::I8(v)) => fit(v),
            Value::Array(Array::U16(v)) => fit(v),
            Value::Array(Array::I16(v)) => fit(v),
            Value::Array(Array::U32(v)) => fit(v),
            Value::Array(Array::U64(v)) => fit(v),
            Value::Array(Array::I64(v)) => fit(v),
            _ => None,
        })
    }

    /// An array of bytes, with or without a sign.
    pub fn bytes(&self, key: &str) -> Result<Option<&[u8]>> {
        self.typed(key, "array of u8", |value| match value {
            Value::Array(Array::U8(v)) => Some(v.as_slice()),
            Value::Array(Array::I8(v)) => Some(bytemuck::cast_slice(v)),
            _ => None,
        })
    }

    fn typed<'a, T>(&'a self, key: &str, expected: &str, pick: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        pick(value)
            .map(Some)
            .ok_or_else(|| Error::bad_file(format!("metadata `{key}`: expected {expected}, found {}", describe(value))))
    }
}

impl<K: Into<String>> FromIterator<(K, Value)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(iter: I) -> Self {
        Self { pairs: iter.into_iter().map(|(key, value)| (key.into(), value)).collect() }
    }
}

/// The type, and for a single integer the number, since its sign may be what is wrong.
fn describe(value: &Value) -> String {
    let number = match *value {
        Value::I8(v) => i64::from(v),
        Value::I16(v) => i64::from(v),
        Value::I32(v) => i64::from(v),
        Value::I64(v) => v,
        _ => return value.type_name().to_owned(),
    };
    format!("{} {number}", value.type_name())
}
