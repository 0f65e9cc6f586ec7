//! A model of which only some rows of each matrix are known: enough to check what another way computes.
//!
//! A product is NaN in the rows that are not known, and so is what follows from them. Whoever checks puts the values
//! of the other way in their place, step by step, so that every operation starts from whole inputs.

use crate::cpu::CpuModel;
use crate::cpu::embed::regroup;
use crate::cpu::interpreter::Activations;
use crate::cpu::weights::{Samples, Weights};
use crate::error::Result;
use crate::kernels::kv_type::cache::CacheFormat;
use crate::model::program::{Activation, Op};
use crate::model::{EncoderInput, ModelConfig, WeightSpec};
use crate::time_slice::TimeSlice;

/// Rows of a matrix that are known, at most.
const ROWS: usize = 32;

/// The difference of a row of results from the expected one, in parts of that one's length, that rounding does not
/// explain: activations in 8 bits come to 0.02, f16 to 0.001.
const TOLERANCE: f64 = 0.1;

/// The indices of the rows to sample, out of `rows`: spread over all of them, with every remainder by a power of two.
pub fn sampled_rows(rows: usize) -> Vec<usize> {
    let count = rows.min(ROWS);
    (0..count).map(|i| if count < rows { i * (rows - 1) / (ROWS - 1) } else { i }).collect()
}

/// A model of sampled weights, with the activations of a pass.
pub struct SampledModel {
    model: CpuModel,
    run: Activations,
    ids: Vec<u32>,
    input: Option<EncoderInput>,
    time_slice: TimeSlice,
}

impl SampledModel {
    /// `None` where a weight is missing of which `is_needed`.
    pub fn new(
        config: &ModelConfig,
        samples: Samples,
        is_needed: impl Fn(&WeightSpec) -> bool,
        (context, cache): (usize, CacheFormat),
    ) -> Option<Self> {
        let weights = Weights::sampled(config, samples, is_needed)?;
        let model = CpuModel::new(config.clone(), weights, context, cache);
        let run = Activations { tokens: 0, values: Vec::new() };
        Some(Self { model, run, ids: Vec::new(), input: None, time_slice: TimeSlice::new() })
    }

    /// A pass of `ids` at `position` and after begins; everything before is cached.
    pub fn begin(&mut self, ids: &[u32], position: usize) {
        self.model.go_to(position);
        let program = self.model.program();
        self.run = match ids.len() {
            1 => Activations::of(program, program.ops(), 1),
            many => Activations::new(program, many),
        };
        self.ids = ids.to_vec();
    }

    /// A pass of an encoder over `input`, whose rows are as many at every stage, begins.
    pub fn begin_input(&mut self, input: EncoderInput) {
        self.model.go_to(0);
        let program = self.model.program();
        self.run = Activations::of(program, program.ops(), input.rows);
        self.input = Some(input);
    }

    /// Runs operations of the pass.
    ///
    /// # Errors
    /// `out_of_memory` where the cache cannot grow.
    pub async fn run(&mut self, ops: &[Op]) -> Result<()> {
        let (program, mut interpreter) = self.model.interpreter(&mut self.run, &self.ids);
        interpreter.input = self.input.as_ref();
        let mut turns = self.time_slice.turns();
        for op in ops {
            if let (Op::Regroup { y, .. }, Some(input)) = (op, &self.input) {
                let mut made = interpreter.run.take(*y);
                regroup(
                    (program, interpreter.weights),
                    op,
                    (&interpreter.run.values, &mut made),
                    input.taps_of(program, op),
                );
                interpreter.run.put(*y, made);
            }
            interpreter.run(op, &mut turns).await?;
        }
        Ok(())
    }

    /// Puts `found` in the place of an activation. Returns whether it is what was computed here, as far as that is
    /// known.
    pub fn replace(&mut self, activation: Activation, found: Vec<f32>) -> bool {
        let expected = std::mem::replace(&mut self.run.values[activation.0], found);
        let found = &self.run.values[activation.0];
        let width = (expected.len() / self.run.tokens.max(1)).max(1);
        expected.chunks(width).zip(found.chunks(width)).all(|(expected, found)| is_near(expected, found))
    }
}

fn is_near(expected: &[f32], found: &[f32]) -> bool {
    let (mut difference, mut length) = (0.0, 0.0);
    for (&expected, &found) in expected.iter().zip(found).filter(|(expected, _)| expected.is_finite()) {
        difference += f64::from(found - expected).powi(2);
        length += f64::from(expected).powi(2);
    }
    // Not with `>`: a NaN is a difference.
    difference <= TOLERANCE * TOLERANCE * length + 1e-12
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_spread_and_each_is_there_once() {
        for rows in [1, 31, 32, 33, 48, 64, 100, 2048, 128_256] {
            let found = sampled_rows(rows);
            assert_eq!(found.len(), rows.min(ROWS));
            assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
            assert_eq!([found[0], found[found.len() - 1]], [0, rows - 1]);
        }
    }

    #[test]
    fn what_is_not_known_is_not_compared() {
        let expected = [1.0, f32::NAN, -2.0, 0.5];
        assert!(is_near(&expected, &[1.01, 99.0, -2.0, 0.5]));
        assert!(!is_near(&expected, &[1.0, 0.0, -2.0, 1.5]));
        assert!(!is_near(&expected, &[1.0, 0.0, f32::NAN, 0.5]), "a NaN is wrong");
        assert!(is_near(&[0.0; 4], &[0.0; 4]));
        assert!(!is_near(&[0.0; 4], &[0.1; 4]));
    }
}
