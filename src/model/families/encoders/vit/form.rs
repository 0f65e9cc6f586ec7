//! In what the layers of the families of encoders differ.

use super::super::super::super::config::ModelConfig;
use super::super::super::super::program::{NormKind, Sight};

/// The options of a family's layers.
#[derive(Clone, Copy)]
pub struct Form {
    /// The norms of whole rows.
    pub norm: NormKind,
    /// Distance between the two values of a rotated pair of a head, where heads are rotated.
    pub apart: Option<usize>,
    /// Factor of attention scores.
    pub scale: f32,
    /// Whether each head of v goes through an RMS norm without weight.
    pub v_norm: bool,
    /// All layers but the last of each group of this size attend within windows.
    pub parts: Option<usize>,
    /// Rows that a row sees, itself and the ones before it; `None`: all rows.
    pub window: Option<usize>,
}

impl Form {
    /// Layer norms, no rotation, scores divided by √head_dim.
    pub fn new(config: &ModelConfig) -> Self {
        let scale = 1.0 / (config.head_dim as f32).sqrt();
        Self { norm: NormKind::Layer, apart: None, scale, v_norm: false, parts: None, window: None }
    }

    /// What a row of a layer sees.
    pub fn sight(&self, layer: usize) -> Sight {
        match (self.window, self.parts) {
            (Some(_), _) => Sight::Causal,
            (None, Some(pattern)) if !(layer + 1).is_multiple_of(pattern) => Sight::Part,
            _ => Sight::All,
        }
    }
}
