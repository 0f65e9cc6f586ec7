//! The weights of a CPU model: tensors in the file's own format, added one at a time.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::cpu::CpuModel;
use crate::cpu::product::{Held, Product};
use crate::cpu::threads::{Shareable, Shared, Team, shareable};
use crate::error::{Error, Result};
use crate::formats::integers::Dot;
use crate::gguf::{GgmlType, dequantize};
use crate::kernels::attention::reference::ByDistance;
use crate::kernels::gather::reference::gather;
use crate::kernels::kv_type::cache::CacheFormat;
use crate::kernels::mat_mul::reference::mat_mul_rows;
use crate::kernels::mat_vec::reference::Matrix;
use crate::model::program::AttentionSpec;
use crate::model::{ModelConfig, WeightKey, WeightSpec, program, weight_specs};

/// A tensor in its block format; the shape fits the bytes.
#[derive(Debug)]
pub struct Tensor {
    ty: GgmlType,
    rows: usize,
    cols: usize,
    bytes: Vec<u8>,
    /// Which rows the bytes are, where not all, in ascending order.
    known: Option<Vec<usize>>,
    /// Products with activations of 16 bits, where they are to be fast.
    dot: Option<Dot>,
    /// Where other threads have some of the rows.
    shared: Option<Shared>,
}

impl Tensor {
    /// `out[t] = self[ids[t]]`, NaN for rows that are not known.
    pub fn gather(&self, ids: &[u32], out: &mut [f32]) -> Result<()> {
        let Some(known) = &self.known else { return gather(&self.matrix(), ids, out) };
        let matrix = Matrix { rows: known.len(), ..self.matrix() };
        for (id, out) in ids.iter().zip(out.chunks_exact_mut(self.cols)) {
            match known.binary_search(&(*id as usize)) {
                Ok(row) => dequantize(self.ty, matrix.row(row), out)?,
                Err(_) => out.fill(f32::NAN),
            }
        }
        Ok(())
    }

    /// `out[t] = self[rows] · x[t]`, NaN for rows that are not known.
    fn apply_known(&self, known: &[usize], rows: Range<usize>, x: &[f32], out: &mut [f32]) -> Result<()> {
        let [from, to] = [rows.start, rows.end].map(|end| known.partition_point(|&row| row < end));
        let matrix = Matrix { rows: known.len(), ..self.matrix() }.rows(from..to);
        let mut found = vec![0.0; x.len() / self.cols * matrix.rows];
        mat_mul_rows(&matrix, 0..matrix.rows, x, &mut found)?;
        out.fill(f32::NAN);
        for (token, out) in out.chunks_exact_mut(rows.len()).enumerate() {
            let found = &found[token * matrix.rows..][..matrix.rows];
            known[from..to].iter().zip(found).for_each(|(row, found)| out[row - rows.start] = *found);
        }
        Ok(())
    }

    /// Rows of all experts together.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Values of a row.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The rows that are here: not all where other threads have some.
    fn matrix(&self) -> Matrix<'_> {
        let rows = match self.shared {
            Some(_) => self.bytes.len() / (self.cols / self.ty.block_len() * self.ty.block_bytes()),
            None => self.rows,
        };
        Matrix { ty: self.ty, rows, cols: self.cols, bytes: &self.bytes }
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
        if let Some(mut product) = self.product(rows, x, out)? {
            let mut is_unfinished = true;
            while is_unfinished {
                is_unfinished = product.step()?;
                yield_now().await;
            }
        }
        Ok(())
    }

    /// A product to be made step by step; `None` where it is made at once, of a tensor of which not all is known.
    #[inline(never)]
    fn product<'a>(&'a self, rows: Range<usize>, x: &'a [f32], out: &'a mut [f32]) -> Result<Option<Product<'a>>> {
        if let Some(known) = &self.known {
            self.apply_known(known, rows, x, out)?;
            return Ok(None);
        }
        let held = Held { matrix: self.matrix(), dot: self.dot };
        Ok(Some(match &self.shared {
            Some(shared) => shared.product(held, rows, x, out),
            None => Product::new(Held { matrix: held.matrix.rows(rows), ..held }, x, out),
        }))
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

    /// The learned biases of an attention, for queries that see no key behind them.
    pub fn distances(&self, attention: &AttentionSpec) -> Option<ByDistance<'_>> {
        attention.distances.map(|of| ByDistance { table: self.norm(of.table), both_ways: of.both_ways, ahead: 0 })
    }
}

impl Weights {
    /// The weights of a partly sampled model; `None` where a weight is missing for which `is_needed` holds.
    pub fn sampled(
        config: &ModelConfig,
        mut samples: Samples,
        is_needed: impl Fn(&WeightSpec) -> bool,
    ) -> Option<Self> {
        let mut weights = Self { tensors: HashMap::new(), vectors: HashMap::new() };
        for spec in weight_specs(config).into_iter().filter(is_needed) {
            let key = spec.key();
            match samples.remove(&key) {
                Some(tensor) if spec.values => drop(weights.vectors.insert(key, tensor.vector().ok()?)),
                Some(tensor) => drop(weights.tensors.insert(key, tensor)),
                None if spec.optional => {}
                None => return None,
            }
        }
        Some(weights)
    }
}

/// Weights that are not whole: see [`take_sample`].
pub type Samples = HashMap<WeightKey, Tensor>;

/// Keeps some rows of a weight, `rows` of its own numbers, as far as they are among these of its tensor, the first of
/// which is row `first`; of values, all. Slices of a tensor come in order.
pub fn take_sample(
    samples: &mut Samples,
    spec: &WeightSpec,
    ty: GgmlType,
    rows: &[usize],
    (first, bytes): (usize, &[u8]),
) {
    let (own_rows_of, cols) = (spec.rows(), spec.cols());
    let tensor = samples.entry(spec.key()).or_insert_with(|| Tensor {
        ty,
        rows: own_rows_of,
        cols,
        bytes: Vec::new(),
        known: Some(Vec::new()),
        dot: None,
        shared: None,
    });
    if spec.values {
        let tensor_rows = spec.tensor_dims()[1..].iter().map(|&rows| rows as usize).product();
        tensor.bytes = own_rows(spec, tensor_rows, bytes);
        return;
    }
    let row_bytes = cols / ty.block_len() * ty.block_bytes();
    let mut own = 0;
    for (start, count) in spec.runs() {
        for &row in rows.iter().filter(|row| (own..own + count).contains(row)) {
            let at = (start + row - own).checked_sub(first).map(|at| at * row_bytes);
            if let (Some(found), Some(known)) = (at.and_then(|at| bytes.get(at..at + row_bytes)), &mut tensor.known) {
                tensor.bytes.extend(found);
                known.push(row);
            }
        }
        own += count;
    }
}

/// Takes the tensors of a model as they arrive, in any order. Made by [`CpuModel::builder`].
#[derive(Debug)]
pub struct CpuModelBuilder {
    config: ModelConfig,
    tensors: HashMap<WeightKey, Tensor>,
    rounds: bool,
    /// The threads, and what they share: see [`shareable`].
    team: Option<(Rc<Team>, Vec<Shareable>)>,
}

impl CpuModelBuilder {
    pub(super) fn new(config: ModelConfig) -> Self {
        Self { config, tensors: HashMap::new(), rounds: false, team: None }
    }

    /// Shares the products of matrices that are put from now on with other threads.
    pub fn with_threads(mut self, team: Rc<Team>) -> Self {
        self.team = Some((team, shareable(&program(&self.config))));
        self
    }

    /// Products of one token with quantised matrices round activations to 16 bits, in blocks of 32 with a scale each:
    /// several times as fast, and off by a hundred-thousandth of their terms.
    pub fn rounding(mut self) -> Self {
        self.rounds = true;
        self
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
        let mut bytes = if spec.part.is_some() { own_rows(spec, tensor_rows, &bytes) } else { bytes };
        let dot = ty.format().dot.filter(|_| self.rounds);
        let shared = self.team.as_ref().and_then(|(team, shareable)| {
            let of = shareable.iter().find(|of| of.key == spec.key() && !spec.values)?;
            team.share((ty, [rows, cols]), of, self.rounds, &mut bytes)
        });
        self.tensors.insert(spec.key(), Tensor { ty, rows, cols, bytes, known: None, dot, shared });
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
        for condition in program(&self.config).conditions() {
            let [down, up] = condition.by.map(|key| weights.vectors.remove(&key).unwrap_or_default());
            if let Some(norm) = weights.vectors.get_mut(&condition.norm) {
                condition.apply([&down, &up], norm);
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
