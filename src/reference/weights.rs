//! The weights of a CPU model: tensors in the file's own format, added one at a time.

use std::collections::HashMap;
use std::ops::Range;

use super::CpuModel;
use super::cache::CacheFormat;
use super::mat_mul::mat_mul_rows;
use super::mat_vec::{Matrix, mat_vec};
use crate::error::{Error, Result};
use crate::gguf::{GgmlType, dequantize};
use crate::model::{ModelConfig, WeightKey, WeightSpec, weight_specs};

/// Multiply-adds between two yields: a millisecond or two, ten on a slow phone.
const STEP: usize = 4 << 20;

/// A tensor in its block format; the shape fits the bytes.
#[derive(Debug)]
pub(super) struct Tensor {
    ty: GgmlType,
    rows: usize,
    cols: usize,
    bytes: Vec<u8>,
}

impl Tensor {
    /// Rows of all experts together.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn matrix(&self) -> Matrix<'_> {
        Matrix { ty: self.ty, rows: self.rows, cols: self.cols, bytes: &self.bytes }
    }

    /// `out[t] = self · x[t]`, some rows at a time.
    pub async fn apply(&self, x: &[f32], out: &mut [f32], yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        self.apply_rows(0..self.rows, x, out, yield_now).await
    }

    /// The same with some rows of it: the matrix of an expert.
    pub async fn apply_rows(
        &self,
        rows: Range<usize>,
        x: &[f32],
        out: &mut [f32],
        yield_now: &mut impl AsyncFnMut(),
    ) -> Result<()> {
        let matrix = self.matrix().rows(rows);
        let at_a_time = (STEP / x.len()).max(1);
        for start in (0..matrix.rows).step_by(at_a_time) {
            let rows = start..matrix.rows.min(start + at_a_time);
            if x.len() == self.cols {
                mat_vec(&matrix.rows(rows.clone()), x, &mut out[rows])?;
            } else {
                mat_mul_rows(&matrix, rows, x, out)?;
            }
            yield_now().await;
        }
        Ok(())
    }

    /// All of it as f32: for norms, biases and the like.
    fn vector(&self) -> Result<Vec<f32>> {
        let mut out = vec![0.0; self.rows * self.cols];
        dequantize(self.ty, &self.bytes, &mut out)?;
        Ok(out)
    }
}

/// All of a model, by the names of its program.
#[derive(Debug)]
pub(super) struct Weights {
    /// Matrices.
    tensors: HashMap<WeightKey, Tensor>,
    /// Norms, biases, RoPE factors, as f32.
    vectors: HashMap<WeightKey, Vec<f32>>,
}

impl Weights {
    /// A matrix; the builder has seen that it is there.
    pub fn tensor(&self, key: WeightKey) -> &Tensor {
        &self.tensors[&key]
    }

    /// The weight of a norm, which is always there.
    pub fn norm(&self, key: WeightKey) -> &[f32] {
        &self.vectors[&key]
    }

    /// A vector that the file may lack.
    pub fn vector(&self, key: WeightKey) -> Option<&[f32]> {
        self.vectors.get(&key).map(Vec::as_slice)
    }
}

/// Takes the tensors of a model as they arrive, in any order. Made by [`CpuModel::builder`].
#[derive(Debug)]
pub struct CpuModelBuilder {
    config: ModelConfig,
    tensors: HashMap<WeightKey, Tensor>,
}

impl CpuModelBuilder {
    pub(super) fn new(config: ModelConfig) -> Self {
        Self { config, tensors: HashMap::new() }
    }

    /// Puts a weight in place: `spec` from [`match_tensors`](crate::model::match_tensors), with the type and the bytes
    /// of its tensor in the file. The bytes stay as they are; of a tensor of several weights, its own are copied.
    ///
    /// # Errors
    /// `bad_file` if the number of bytes does not fit the shape; the message names the tensor and both numbers.
    pub fn put(&mut self, spec: &WeightSpec, ty: GgmlType, bytes: Vec<u8>) -> Result<()> {
        let (rows, cols) = (spec.rows(), spec.cols());
        let dims = spec.tensor_dims();
        let (tensor_cols, tensor_rows) = (dims[0] as usize, dims[1..].iter().map(|&rows| rows as usize).product());
        Matrix::new(ty, tensor_rows, tensor_cols, &bytes)
            .map_err(|error| Error::new(error.code(), format!("tensor {}: {}", spec.name, error.message())))?;
        let bytes = if spec.part.is_some() { own_rows(spec, tensor_rows, &bytes) } else { bytes };
        self.tensors.insert(spec.key(), Tensor { ty, rows, cols, bytes });
        Ok(())
    }

    /// The model, with room for at most `context_length` tokens. The cache takes memory as it fills.
    ///
    /// # Errors
    /// `bad_file` naming a tensor that was not put; `invalid_argument` for a context of no tokens.
    pub fn build(mut self, context_length: usize, cache: CacheFormat) -> Result<CpuModel> {
        if context_length == 0 {
            return Err(Error::invalid_argument("context length: expected at least 1 token, found 0"));
        }
        let mut weights = Weights { tensors: HashMap::new(), vectors: HashMap::new() };
        for spec in weight_specs(&self.config) {
            let key = spec.key();
            match self.tensors.remove(&key) {
                Some(tensor) if spec.values => drop(weights.vectors.insert(key, tensor.vector()?)),
                Some(tensor) => drop(weights.tensors.insert(key, tensor)),
                None if spec.optional => {}
                None => return Err(Error::bad_file(format!("tensor {} was not loaded", spec.name))),
            }
        }
        Ok(CpuModel::new(self.config, weights, context_length, cache))
    }
}

/// The bytes of the rows of a weight that is part of a tensor; of a vector, a row is a value.
fn own_rows(spec: &WeightSpec, tensor_rows: usize, bytes: &[u8]) -> Vec<u8> {
    let rows = if spec.dims.len() == 1 { spec.tensor_dims()[0] as usize } else { tensor_rows };
    let row_bytes = bytes.len() / rows.max(1);
    let runs = spec.runs().into_iter();
    runs.flat_map(|(first, rows)| &bytes[first * row_bytes..(first + rows) * row_bytes]).copied().collect()
}
