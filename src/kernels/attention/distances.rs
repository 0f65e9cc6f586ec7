//! Biases of scores by the distance of a key, as T5 learns them (Raffel et al. 2019,
//! <https://arxiv.org/abs/1910.10683>).

use crate::kernels::spec::{Dispatch, KernelSpec, Slice, bool_override};

/// The constants of `shaders/rare/shared/distances.wgsl`.
pub const OVERRIDES: &[&str] = &["BUCKETS", "BOTH_WAYS"];

/// Where the biases are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distances {
    /// `[buckets, heads]` f32.
    pub table: Slice,
    /// The number of buckets.
    pub buckets: u32,
    /// Whether half of the buckets are for keys behind the query.
    pub both_ways: bool,
}

/// The same dispatch with these biases, if there are any: by the contract `spec`, which has a table more, and with the
/// statement of the file `bias` behind each score.
pub fn biased(
    mut dispatch: Dispatch,
    spec: &'static KernelSpec,
    bias: &'static str,
    distances: Option<Distances>,
) -> Dispatch {
    if let Some(Distances { table, buckets, both_ways }) = distances {
        let mut kernel = dispatch.kernel.named("distances").import("alibi", "distances").import("distance_bias", bias);
        kernel.constants.extend([("BUCKETS", buckets.into()), ("BOTH_WAYS", bool_override(both_ways))]);
        kernel.spec = spec;
        dispatch.kernel = kernel;
        dispatch.buffers.push(table);
    }
    dispatch
}
