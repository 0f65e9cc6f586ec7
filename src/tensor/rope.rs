//! Rotary position embedding: `ropeTable` and `rope`.

use serde::Deserialize;

use super::{DType, Tape, Tensor, describe};
use crate::kernels::rope::{self, Frequencies, RopeParams, Rotations, TableParams, Yarn};
use crate::{Error, Result};

/// The order of the axes of queries, keys and values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// [batch, head, position, dim]
    #[default]
    Bhsd,
    /// [batch, position, head, dim]
    Bshd,
}

/// The sizes of a tensor of heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadShape {
    pub batch: u32,
    pub heads: u32,
    pub positions: u32,
    pub dim: u32,
}

impl Layout {
    /// The sizes of a tensor in this order. Without a batch axis there is one sequence; two axes are positions and
    /// dimensions of one head.
    pub(crate) fn sizes(self, shape: &[u32]) -> Option<HeadShape> {
        let (batch, a, b, dim) = match *shape {
            [batch, a, b, dim] => (batch, a, b, dim),
            [a, b, dim] => (1, a, b, dim),
            [positions, dim] => return Some(HeadShape { batch: 1, heads: 1, positions, dim }),
            _ => return None,
        };
        let (heads, positions) = match self {
            Self::Bhsd => (a, b),
            Self::Bshd => (b, a),
        };
        Some(HeadShape { batch, heads, positions, dim })
    }

    /// Elements from one sequence, head and position to the next in a tensor of these sizes.
    pub(crate) fn strides(self, size: HeadShape) -> [u32; 3] {
        let HeadShape { heads, positions, dim, .. } = size;
        match self {
            Self::Bhsd => [heads * positions * dim, positions * dim, dim],
            Self::Bshd => [heads * positions * dim, dim, heads * dim],
        }
    }
}

/// Which values of a head are rotated as a pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pairing {
    /// i and i + dims/2, as in most models.
    #[default]
    SplitHalf,
    /// 2i and 2i + 1.
    Interleaved,
}

/// YaRN (Peng et al. 2023, <https://arxiv.org/abs/2309.00071>).
#[derive(Debug, Clone, Copy)]
pub struct YarnOptions {
    /// By how much the context is longer than the trained one.
    pub factor: f64,
    /// The trained context.
    pub original_context: f64,
    /// Rotations over the trained context from which on a pair keeps its frequency; 32 if not given.
    pub beta_fast: Option<f64>,
    /// Rotations up to which a pair is interpolated; 1 if not given.
    pub beta_slow: Option<f64>,
    /// Factor of cosines and sines; 0.1 ln factor + 1 if not given.
    pub attention_factor: Option<f64>,
}

/// Options of [`rope_table`].
#[derive(Debug, Clone, Default)]
pub struct RopeTableOptions {
    /// Rows of the table.
    pub positions: u32,
    /// Dimensions of a head that are rotated; even.
    pub dims: u32,
    /// Position of the first row.
    pub position: u32,
    /// The frequency of pair i is base^(-2i/dims) radians per position; 10,000 if not given.
    pub base: Option<f64>,
    /// Factor of positions: 1 / factor of linear scaling.
    pub scale: Option<f64>,
    /// Divisors of the pairs' frequencies: dims/2 numbers.
    pub factors: Option<Vec<f32>>,
    /// YaRN.
    pub yarn: Option<YarnOptions>,
}

/// Options of [`rope()`]. The last four are for rotations without a table.
#[derive(Debug, Clone, Default)]
pub struct RopeOptions {
    /// Order of x's axes.
    pub layout: Layout,
    /// Which values are rotated as a pair.
    pub pairing: Pairing,
    /// Dimensions that are rotated, even; all if not given. The rest is copied. With a table its width decides.
    pub dims: Option<u32>,
    /// Position of the first token: a row of the table, if there is one.
    pub position: u32,
    /// See [`RopeTableOptions::base`].
    pub base: Option<f64>,
    /// See [`RopeTableOptions::scale`].
    pub scale: Option<f64>,
    /// See [`RopeTableOptions::factors`].
    pub factors: Option<Vec<f32>>,
    /// YaRN.
    pub yarn: Option<YarnOptions>,
}

/// Cosines and sines of pairs at positions: f32 `[positions, dims/2, 2]`, cosine first.
///
/// # Errors
/// `invalid_argument` for odd dimensions, no positions, and numbers that are not positive.
pub fn rope_table(tape: &mut Tape, options: &RopeTableOptions) -> Result<Tensor> {
    let RopeTableOptions { positions, dims, position, base, scale, .. } = *options;
    if positions == 0 || dims == 0 || dims % 2 != 0 {
        let why = "at least one, and an even number of dims";
        return Err(Error::invalid_argument(format!("ropeTable: {positions} positions of {dims} dims; {why}")));
    }
    let (frequencies, factor) =
        frequencies("ropeTable", dims, [base, scale], options.factors.as_deref(), options.yarn.as_ref())?;
    let table = tape.output(DType::F32, &[positions, dims / 2, 2])?;
    let turns = tape.constant(bytemuck::cast_slice(&frequencies.turns()))?;
    let params = TableParams { positions, pairs: dims / 2, first: position, factor };
    tape.push(rope::rope_table(&params, turns, table.slice()));
    Ok(table)
}

/// Rotates the pairs of each head of x by its position: x f32 `[batch, head, position, dim]` (see [`Layout`]), the
/// result like it. With a `table` of [`rope_table`], row `options.position` is that of the first token.
///
/// # Errors
/// `invalid_argument` for other types and shapes, a table that is too short or too wide, and options that
/// contradict a table.
pub fn rope(tape: &mut Tape, x: &Tensor, table: Option<&Tensor>, options: &RopeOptions) -> Result<Tensor> {
    let Some(size) = options.layout.sizes(&x.shape).filter(|_| x.dtype == DType::F32) else {
        return Err(Error::invalid_argument(format!("rope: x is {}; f32 with 2 to 4 axes is needed", x.describe())));
    };
    let dims = match table {
        Some(table) => table_dims(x, size, table, options)?,
        None => options.dims.unwrap_or(size.dim),
    };
    if dims == 0 || dims % 2 != 0 || dims > size.dim {
        let message = format!("rope: {dims} dims of x {}; an even number up to {}", x.describe(), size.dim);
        return Err(Error::invalid_argument(message));
    }
    let (rotations, factor) = match table {
        Some(table) => (Rotations::Table(table.slice()), 1.0),
        None => {
            let (factors, yarn) = (options.factors.as_deref(), options.yarn.as_ref());
            let (frequencies, factor) = frequencies("rope", dims, [options.base, options.scale], factors, yarn)?;
            (Rotations::Computed(tape.constant(bytemuck::cast_slice(&frequencies.turns()))?), factor)
        }
    };
    let y = tape.output(DType::F32, &x.shape)?;
    let params = RopeParams {
        rows: x.len() / size.dim,
        head_dim: size.dim,
        pairs: dims / 2,
        tokens: size.positions,
        stride: if options.layout == Layout::Bshd { size.heads } else { 1 },
        position: options.position,
        factor,
    };
    let split_half = options.pairing == Pairing::SplitHalf;
    tape.push(rope::rope(&params, split_half, x.slice(), rotations, y.slice()));
    Ok(y)
}

/// The dimensions that a table rotates, once it fits x and no option contradicts it.
fn table_dims(x: &Tensor, size: HeadShape, table: &Tensor, options: &RopeOptions) -> Result<u32> {
    let bad = |why: String| {
        Err(Error::invalid_argument(format!("rope: x is {} and the table {}; {why}", x.describe(), table.describe())))
    };
    let RopeOptions { dims, base, scale, factors, yarn, .. } = options;
    if dims.is_some() || base.is_some() || scale.is_some() || factors.is_some() || yarn.is_some() {
        return bad("dims, base, scale, factors and yarn are the table's".into());
    }
    let &[rows, pairs, 2] = table.shape.as_slice() else {
        return bad("a table is [positions, pairs, 2]".into());
    };
    let last = u64::from(options.position) + u64::from(size.positions);
    if table.dtype != DType::F32 || u64::from(rows) < last || 2 * u64::from(pairs) > u64::from(size.dim) {
        let needed = describe(DType::F32, &[last.min(u32::MAX.into()) as u32, size.dim / 2, 2]);
        return bad(format!("it has to be {needed}, with more positions or fewer pairs"));
    }
    Ok(2 * pairs)
}

/// Checked frequencies and the factor of cosines and sines; `base_and_scale` where given.
fn frequencies<'a>(
    op: &str,
    dims: u32,
    base_and_scale: [Option<f64>; 2],
    factors: Option<&'a [f32]>,
    yarn: Option<&YarnOptions>,
) -> Result<(Frequencies<'a>, f32)> {
    let bad = |why: String| Err(Error::invalid_argument(format!("{op}: {why}")));
    let [base, scale] = [base_and_scale[0].unwrap_or(10_000.0), base_and_scale[1].unwrap_or(1.0)];
    let yarn_scaling = yarn.map(|yarn| Yarn {
        factor: yarn.factor,
        original_context: yarn.original_context,
        beta_fast: yarn.beta_fast.unwrap_or(32.0),
        beta_slow: yarn.beta_slow.unwrap_or(1.0),
    });
    let factor = yarn.zip(yarn_scaling).map(|(given, yarn)| given.attention_factor.unwrap_or(yarn.attention_factor()));
    let mut numbers = vec![("base", base), ("scale", scale), ("attentionFactor", factor.unwrap_or(1.0))];
    if let Some(yarn) = &yarn_scaling {
        numbers.extend([("factor", yarn.factor), ("originalContext", yarn.original_context)]);
        numbers.extend([("betaFast", yarn.beta_fast), ("betaSlow", yarn.beta_slow)]);
    }
    if let Some((name, number)) = numbers.iter().find(|(_, number)| !(number.is_finite() && *number > 0.0)) {
        return bad(format!("{name} is {number}, it must be a positive number"));
    }
    if let Some(factors) = factors {
        if factors.len() != dims as usize / 2 {
            return bad(format!("{} factors for {} pairs", factors.len(), dims / 2));
        }
        if let Some(factor) = factors.iter().find(|factor| !(factor.is_finite() && **factor > 0.0)) {
            return bad(format!("a frequency factor is {factor}, it must be a positive number"));
        }
    }
    Ok((Frequencies { dims, base, scale, factors, yarn: yarn_scaling }, factor.unwrap_or(1.0) as f32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::caps::Caps;

    #[test]
    fn what_does_not_fit_is_named() {
        let mut tape = Tape::new(Caps::baseline());
        let x = tape.output(DType::F32, &[1, 2, 5, 8]).unwrap();
        let table = tape.output(DType::F32, &[6, 4, 2]).unwrap();
        let mut message =
            |table, options: &RopeOptions| rope(&mut tape, &x, table, options).unwrap_err().message().to_owned();
        let late = RopeOptions { position: 2, ..Default::default() };
        let found = message(Some(&table), &late);
        assert!(found.contains("x is [1, 2, 5, 8] f32 and the table [6, 4, 2] f32; it has to be [7, 4, 2]"), "{found}");
        let based = RopeOptions { base: Some(1e6), ..Default::default() };
        assert!(message(Some(&table), &based).contains("are the table's"));
        let odd = RopeOptions { dims: Some(7), ..Default::default() };
        assert!(message(None, &odd).contains("7 dims of x [1, 2, 5, 8] f32; an even number up to 8"));
        let short = RopeOptions { factors: Some(vec![1.0; 3]), ..Default::default() };
        assert!(message(None, &short).contains("3 factors for 4 pairs"));
        let frozen = RopeOptions { base: Some(0.0), ..Default::default() };
        assert!(message(None, &frozen).contains("base is 0"));
    }
}
