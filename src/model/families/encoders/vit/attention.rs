//! What attention of encoders that write it themselves has in common.

use super::super::super::super::program::{Activation, AttentionSpec};
use super::{Vit, names};

impl Vit<'_> {
    /// Products with the weights of queries, keys and values of a layer, side by side.
    pub fn qkv(&mut self, x: Activation, layer: usize, attention: &AttentionSpec) -> [Activation; 3] {
        let (wide, narrow) = (attention.query_width(), attention.kv_width());
        let parts = [("q", names!("attn_q"), wide), ("k", names!("attn_k"), narrow), ("v", names!("attn_v"), narrow)];
        parts.map(|(label, names, width)| {
            let y = self.activation(label, width);
            self.product(x, (Some(layer), names), y);
            y
        })
    }
}
