//! The weights of a CPU model: tensors as the file holds them, put in place one at a time.

use std::collections::HashMap;

use super::CpuModel;
use super::cache::CacheFormat;
use super::mat_mul::mat_mul_rows;
use super::mat_vec::{Matrix, mat_vec};
use crate::config::ModelConfig;
use crate::error::{Error, Result};
use crate::gguf::{GgmlType, dequantize};
use crate::model::{Role, WeightSpec, weight_specs};

/// Multiply-adds between two turns: a millisecond or two, ten on a slow phone.
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
    pub fn matrix(&self) -> Matrix<'_> {
        Matrix { ty: self.ty, rows: self.rows, cols: self.cols, bytes: &self.bytes }
    }

    /// `out[t] = self · x[t]`, some rows at a time.
    pub async fn apply(&self, x: &[f32], out: &mut [f32], yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        let matrix = self.matrix();
        let at_a_time = (STEP / x.len()).max(1);
        for start in (0..self.rows).step_by(at_a_time) {
            let rows = start..self.rows.min(start + at_a_time);
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

/// A projection with or without a bias.
#[derive(Debug)]
pub(super) struct Linear {
    weight: Tensor,
    bias: Option<Vec<f32>>,
}

impl Linear {
    /// `out[t] = weight · x[t] + bias`.
    pub async fn apply(&self, x: &[f32], out: &mut [f32], yield_now: &mut impl AsyncFnMut()) -> Result<()> {
        self.weight.apply(x, out, yield_now).await?;
        let Some(bias) = &self.bias else { return Ok(()) };
        for out in out.chunks_exact_mut(bias.len()) {
            out.iter_mut().zip(bias).for_each(|(out, bias)| *out += bias);
        }
        Ok(())
    }
}

/// One layer; the names are those of [`Role`].
#[derive(Debug)]
pub(super) struct Layer {
    pub attn_norm: Vec<f32>,
    pub q: Linear,
    pub k: Linear,
    pub v: Linear,
    pub q_norm: Option<Vec<f32>>,
    pub k_norm: Option<Vec<f32>>,
    pub attn_out: Tensor,
    pub ffn_norm: Vec<f32>,
    pub gate: Tensor,
    pub up: Tensor,
    pub down: Tensor,
}

/// All of a model.
#[derive(Debug)]
pub(super) struct Weights {
    pub embedding: Tensor,
    pub output_norm: Vec<f32>,
    head: Option<Tensor>,
    pub rope_freqs: Option<Vec<f32>>,
    pub layers: Vec<Layer>,
}

impl Weights {
    /// The output head; the embedding table where the file has none.
    pub fn head(&self) -> &Tensor {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// Takes the tensors of a model as they arrive, in any order. Made by [`CpuModel::builder`].
#[derive(Debug)]
pub struct CpuModelBuilder {
    config: ModelConfig,
    tensors: HashMap<(Option<usize>, Role), Tensor>,
}

impl CpuModelBuilder {
    pub(super) fn new(config: ModelConfig) -> Self {
        Self { config, tensors: HashMap::new() }
    }

    /// Puts a tensor in place: `spec` from [`match_tensors`](crate::model::match_tensors), with the type and the bytes
    /// in the file. The bytes stay as they are.
    ///
    /// # Errors
    /// `bad_file` if the number of bytes does not fit the shape; the message names the tensor and both numbers.
    pub fn put(&mut self, spec: &WeightSpec, ty: GgmlType, bytes: Vec<u8>) -> Result<()> {
        let (rows, cols) = (spec.rows(), spec.cols());
        Matrix::new(ty, rows, cols, &bytes)
            .map_err(|error| Error::new(error.code(), format!("tensor {}: {}", spec.name, error.message())))?;
        self.tensors.insert((spec.layer, spec.role), Tensor { ty, rows, cols, bytes });
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
        let head = if self.config.tied { None } else { Some(self.take(None, Role::Output)?) };
        let weights = Weights {
            embedding: self.take(None, Role::TokenEmbedding)?,
            output_norm: self.take(None, Role::OutputNorm)?.vector()?,
            head,
            rope_freqs: self.take_vector(None, Role::RopeFreqs)?,
            layers: (0..self.config.layers).map(|n| self.layer(n)).collect::<Result<_>>()?,
        };
        Ok(CpuModel::new(self.config, weights, context_length, cache))
    }

    fn layer(&mut self, n: usize) -> Result<Layer> {
        let layer = Some(n);
        let qk_norm = self.config.architecture.qk_norm;
        Ok(Layer {
            attn_norm: self.take(layer, Role::AttnNorm)?.vector()?,
            q: self.linear(layer, Role::AttnQ, Role::AttnQBias)?,
            k: self.linear(layer, Role::AttnK, Role::AttnKBias)?,
            v: self.linear(layer, Role::AttnV, Role::AttnVBias)?,
            q_norm: if qk_norm { Some(self.take(layer, Role::AttnQNorm)?.vector()?) } else { None },
            k_norm: if qk_norm { Some(self.take(layer, Role::AttnKNorm)?.vector()?) } else { None },
            attn_out: self.take(layer, Role::AttnOut)?,
            ffn_norm: self.take(layer, Role::FfnNorm)?.vector()?,
            gate: self.take(layer, Role::FfnGate)?,
            up: self.take(layer, Role::FfnUp)?,
            down: self.take(layer, Role::FfnDown)?,
        })
    }

    fn linear(&mut self, layer: Option<usize>, weight: Role, bias: Role) -> Result<Linear> {
        Ok(Linear { weight: self.take(layer, weight)?, bias: self.take_vector(layer, bias)? })
    }

    fn take(&mut self, layer: Option<usize>, role: Role) -> Result<Tensor> {
        self.tensors.remove(&(layer, role)).ok_or_else(|| self.missing(layer, role))
    }

    /// A vector that may be absent where the architecture says so.
    fn take_vector(&mut self, layer: Option<usize>, role: Role) -> Result<Option<Vec<f32>>> {
        match self.tensors.remove(&(layer, role)) {
            Some(tensor) => tensor.vector().map(Some),
            None if self.spec(layer, role).is_none_or(|spec| spec.optional) => Ok(None),
            None => Err(self.missing(layer, role)),
        }
    }

    fn spec(&self, layer: Option<usize>, role: Role) -> Option<WeightSpec> {
        weight_specs(&self.config).into_iter().find(|spec| spec.layer == layer && spec.role == role)
    }

    fn missing(&self, layer: Option<usize>, role: Role) -> Error {
        let name = self.spec(layer, role).map_or_else(|| format!("{role:?}"), |spec| spec.name);
        Error::bad_file(format!("tensor {name} was not loaded"))
    }
}
