//! What the kernels for chunks have in common: bindings, and constants of a layer.

use super::{Attention, Limits};
use crate::kernels::rope_kv::Heads;
use crate::kernels::spec::{Binding, PARAMS, Slice, bool_override, read, write};

/// The bindings of these kernels, in the order of [`Attention::buffers`].
pub(super) const OF_CHUNKS: &[Binding] =
    &[PARAMS, read("this_pass"), read("q"), read("k_cache"), read("v_cache"), read("sinks"), write("y")];

impl Attention {
    /// The constants of the cache and of what a row sees.
    pub(super) fn constants(&self, limits: Limits) -> [(&'static str, f64); 7] {
        let Heads { heads, kv_heads, capacity, ring, .. } = self.heads;
        [
            ("HEADS", heads.into()),
            ("GROUP", (heads / kv_heads).into()),
            ("CAPACITY", capacity.into()),
            ("RING", bool_override(ring)),
            ("SCALE", self.scale.into()),
            ("WINDOW", limits.window.into()),
            ("SOFT_CAP", limits.soft_cap.into()),
        ]
    }

    /// Whether each softmax has a sink.
    pub(super) fn has_sinks(&self) -> (&'static str, f64) {
        ("SINKS", bool_override(self.sinks.is_some()))
    }

    /// The buffers of a pass.
    pub(super) fn buffers(&self, pass: Slice) -> [Slice; 6] {
        [pass, self.q, self.cache.k, self.cache.v, self.sinks.unwrap_or(self.q), self.y]
    }
}
