//! What runs along an axis step by step.
//!
//! | operation | inputs | options | gives |
//! |---|---|---|---|
//! | `cumsum` | x | `{axis?, exclusive?}` | f32 |

use serde::Deserialize;

use super::norm::check_float;
use super::reduce::view_of;
use super::{DType, Tape, Tensor};
use crate::Result;

/// Options of [`cumsum`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CumsumOptions {
    /// Along which axis; the last if it is not given. A negative one counts from the last.
    pub axis: Option<i32>,
    /// Sums of what comes before a value, without it.
    pub exclusive: bool,
}

/// Running sums of x, f32, along an axis → f32, shape of x.
///
/// # Errors
/// `invalid_argument` where types or options do not fit.
pub fn cumsum(tape: &mut Tape, x: &Tensor, options: &CumsumOptions) -> Result<Tensor> {
    check_float("cumsum", "x", x)?;
    let (_, view) = view_of("cumsum", x, options.axis.unwrap_or(-1))?;
    let y = tape.output(DType::F32, &x.shape)?;
    tape.push(crate::kernels::cumsum::cumsum(view, options.exclusive, x.slice(), y.slice()));
    Ok(y)
}
