//! Attention, and what comes before it: norms over heads, rotation, the cache.

use super::fusion::{Attend, OfHeads};
use super::{Forward, LayerCache, Lowering};
use crate::kernels::attention::{Attention, Distances, Limits};
use crate::kernels::rope_kv::{HeadNorms, Heads, Qkv, Rope, RopeKv, rope_kv};
use crate::kernels::spec::Dispatch;
use crate::model::program::{self, AttentionSpec, Keys};
use crate::model::{RopeStyle, WeightKey};

impl Lowering<'_> {
    /// Norms over heads, rotation, and the new keys and values into the cache.
    pub(super) fn rope_kv(&self, of_heads: &OfHeads, attend: &Attend) -> Dispatch {
        let buffers = self.forward.buffers;
        rope_kv(buffers.turned.unwrap_or(buffers.pass), buffers.dummy, &self.rotation(of_heads, attend))
    }

    /// Whether heads turn by several axes of a position.
    pub(super) fn has_axes(&self, of_heads: &OfHeads) -> bool {
        let Forward { program, buffers, .. } = self.forward;
        buffers.room.axes && of_heads.rope.is_some_and(|number| program.rope_tables[number].sections.is_some())
    }

    /// The cache that an attention looks into.
    pub(super) fn cache_of(&self, attend: &Attend) -> LayerCache {
        match attend.keys {
            Keys::Cached(number) | Keys::Kept(number) => self.forward.buffers.cache[number],
            Keys::OfInput { .. } => unreachable!("rows that see those of their input have no cache"),
        }
    }

    pub(super) fn rotation(&self, of_heads: &OfHeads, attend: &Attend) -> RopeKv {
        let Forward { program, buffers, .. } = self.forward;
        let rope_of = |number: usize| {
            let table = program.rope_tables[number];
            let [dims, first] = [table.dims, table.first].map(|count| count as u32);
            Rope { dims, first, split_half: table.style == RopeStyle::SplitHalf }
        };
        let LayerCache { heads, cache, .. } = self.cache_of(attend);
        let kv_heads = if attend.kv.is_some() { heads.kv_heads } else { 0 };
        let vector = |key: WeightKey| self.forward.vector(key);
        let qk = of_heads.qk_norm.map(|(q, k)| (vector(q), k.map_or(buffers.dummy, vector)));
        RopeKv {
            heads: Heads { heads: attend.attention.heads as u32, kv_heads, ..heads },
            rope: of_heads.rope.map_or(Rope { dims: 0, first: 0, split_half: true }, rope_of),
            magnitude: of_heads.rope.map_or(1.0, |number| program.rope_tables[number].scaling.magnitude),
            temperature: attend.attention.temperature.map(|of| (of.scale, of.span as u32)),
            qkv: self.qkv(attend, of_heads),
            frequencies: of_heads.rope.map_or(buffers.dummy, |number| buffers.frequencies[number]),
            axes: self.has_axes(of_heads),
            norms: HeadNorms { qk, rotated: of_heads.norms_rotated, v: of_heads.v_norm, eps: of_heads.eps },
            q: buffers.scratch.q,
            cache,
        }
    }

    /// Where q, k and v are: in one buffer, of which q is the first.
    pub(super) fn qkv(&self, attend: &Attend, of_heads: &OfHeads) -> Qkv {
        let q = self.places.of(attend.q);
        let mut qkv = Qkv { slice: q.slice, stride: q.stride as u32, kv_at: [0; 2] };
        debug_assert!(q.offset == 0, "a row begins with q");
        if let Some([k, v]) = attend.kv {
            let v = if of_heads.v_is_k { k } else { v };
            let [k, v] = [k, v].map(|of| self.places.of(of));
            debug_assert!(q.slice == k.slice && k.slice == v.slice, "q, k and v are side by side");
            qkv.kv_at = [k, v].map(|place| place.offset as u32);
        }
        qkv
    }

    /// The learned biases of an attention.
    pub(super) fn distances(&self, attention: &AttentionSpec) -> Option<Distances> {
        let table = |of: program::Distances| Distances {
            table: self.forward.vector(of.table),
            buckets: of.buckets as u32,
            both_ways: of.both_ways,
        };
        attention.distances.map(table)
    }

    pub(super) fn attention(&self, attend: &Attend) -> (Attention, Limits) {
        let Forward { buffers, program, .. } = self.forward;
        let is_held = buffers.turned.is_some() && program.drafted.held;
        let LayerCache { heads, cache, .. } = self.cache_of(attend);
        let y = self.places.of(attend.y).slice;
        let AttentionSpec { scale, value_dim, window, soft_cap, alibi, sinks, .. } = attend.attention;
        let sinks = sinks.map(|key| self.forward.vector(key));
        let limits = Limits {
            window: window.map_or(0, |window| window - usize::from(is_held)) as u32,
            soft_cap: soft_cap.unwrap_or(0.0),
            alibi: alibi.unwrap_or(0.0),
            value_dim: value_dim as u32,
            distances: self.distances(&attend.attention),
        };
        let heads = Heads { heads: attend.attention.heads as u32, ..heads };
        (Attention { heads, scale, q: buffers.scratch.q, cache, sinks, y }, limits)
    }
}
