//! A model as a program: the operations of each layer, in order, over named activations and weights.
//!
//! A family (`families`) writes a program that reads like its paper; it knows no kernels, no buffers and no
//! file offsets. Four lowerings run it: `forward` writes command lists for prefill and for decode, `cpu` interprets it
//! on the host, and `js/training/language/` makes tensor operations with gradients of what `forward` exports. Numbers
//! that may differ from layer to layer (heads, windows, scales, caps, norms, widths) are fields of the operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ModelConfig;
pub use super::attention::{
    AttentionSpec, BlockSpec, Distances, FarSpec, GridSpec, Keys, NearSpec, RopeFactors, RopeTable, Sight, Temperature,
};
pub use super::cells::{CellKind, CellSpec};
use super::drafter::Drafted;
pub use super::experts::{ExpertActivation, Experts, GateUp, Gating, MAX_EXPERTS, MAX_USED, Routing};
pub use super::op::{Combining, Factor, Grouping, HeadRows, Op, Operand, OwnToken, PoolKind, TableRow};
pub use super::recurrent::{ChannelSpec, ConvSpec, DeltaSpec, ScanSpec, WkvForm, WkvSpec};
use super::roles::{Role, WeightKey};
pub use super::streams::{Spreading, StreamSpec};
pub use super::switch::{Switch, Switching};
use crate::{Error, ErrorCode, Result};

/// An activation: one row of f32 per token. Its name and width are in [`Program::activations`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Activation(pub usize);

/// Name and width of an activation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivationSpec {
    /// The name in labels and messages.
    pub name: &'static str,
    /// Values per token.
    pub width: usize,
}

/// A weight tensor as an operation uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight {
    /// The tensor.
    pub key: WeightKey,
    /// Whether the file may lack the tensor, which only biases may.
    pub optional: bool,
}

/// A weight that is a part of a fused tensor: runs of `run` rows, where the first run begins at row `first` and each
/// next one `every` rows later. For vectors, a row is a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorPart {
    /// The tensor.
    pub tensor: WeightKey,
    /// The number of rows of the tensor.
    pub of: usize,
    /// The first row of the weight.
    pub first: usize,
    /// Rows in a run.
    pub run: usize,
    /// Rows from the start of a run to the start of the next.
    pub every: usize,
}

impl TensorPart {
    /// The runs of a weight with `rows` rows: the first row in the tensor and the length of each.
    pub fn runs(self, rows: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..rows.div_ceil(self.run.max(1)))
            .map(move |i| (self.first + i * self.every, self.run.min(rows - i * self.run)))
    }
}

/// The kinds of norms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormKind {
    /// `x / √(mean x² + eps)` (Zhang and Sennrich 2019, <https://arxiv.org/abs/1910.07467>)
    Rms,
    /// `(x − mean x) / √(mean (x − mean x)² + eps)` (Ba, Kiros and Hinton 2016, <https://arxiv.org/abs/1607.06450>)
    Layer,
}

/// A norm: `weight · normalised x + bias`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Norm {
    /// The kind.
    pub kind: NormKind,
    /// `[width]`; `None`: all ones.
    pub weight: Option<WeightKey>,
    /// `[width]`
    pub bias: Option<Weight>,
    /// Values that are normalised together: the activation's width, or `head_dim` for norms of heads.
    pub width: usize,
    /// Whether each group of `width` values has its own weights: then `weight` is `[width of x]`, without a bias.
    pub is_grouped: bool,
    /// Epsilon, added to the mean of the squares.
    pub eps: f32,
}

impl Norm {
    /// Weight and epsilon of a plain RMS norm, which can be fused into products.
    pub fn plain_rms(&self) -> Option<(WeightKey, f32)> {
        let plain = self.kind == NormKind::Rms && self.bias.is_none() && !self.is_grouped;
        self.weight.filter(|_| plain).map(|weight| (weight, self.eps))
    }
}

/// All operations of a model for a token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The activations, indexed by [`Activation`].
    pub activations: Vec<ActivationSpec>,
    /// The rope tables, indexed by [`Op::Rope`].
    pub rope_tables: Vec<RopeTable>,
    /// Weights that are parts of fused tensors, such as q, k and v in one tensor.
    pub parts: BTreeMap<WeightKey, TensorPart>,
    /// The embedding: token → residual stream.
    pub embed: Vec<Op>,
    /// The operations of each layer.
    pub layers: Vec<Vec<Op>>,
    /// The head: residual stream → logits, for the rows whose logits are needed, or another [`Program::output`].
    pub head: Vec<Op>,
    /// The kind of result of the last operation.
    pub output: Output,
    /// Further results: for deeper layers of a text model (DeepStack), or for [`Program::hands_on`].
    pub sides: Vec<Activation>,
    /// Upper bound of the rows of each stage of the embedding but the last: see [`Program::stages`].
    pub stage_rows: Vec<usize>,
    /// Multi-token prediction: a block that drafts the token after the next one, from that one and the hidden state
    /// before it, which is its input. Activations, caches and rope tables share their indices with this program.
    pub next: Option<Box<Self>>,
    /// What makes the hidden state behind the layers, of a model for its [`Program::next`], and of that for itself.
    pub hands_on: Vec<Op>,
    /// How a block that drafts has the rows of passes.
    pub drafted: Drafted,
    /// The encoder of a source, which gives a row for each token. Activations share their indices with this program.
    pub source: Option<Box<Self>>,
    /// Tokens that switch the model's own adapters, and that have embeddings of others.
    pub switch: Option<Arc<Switch>>,
    /// What is special in a model that writes while it hears.
    pub hearing: Option<super::condition::Hearing>,
}

/// The result of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// Logits `[vocab]` of a row.
    #[default]
    Logits,
    /// A vector for each input.
    Embedding,
    /// Rows for the prompts of a text model.
    Rows,
    /// A score for each label, for each input.
    Scores {
        /// Whether a softmax turns the scores into probabilities.
        softmax: bool,
    },
}

/// The logits: `[vocab]` per row.
pub const LOGITS: &str = "logits";

impl Program {
    /// Embedding, layers and head in order.
    pub fn parts(&self) -> Vec<&Vec<Op>> {
        let mut parts = vec![&self.embed];
        parts.extend(&self.layers);
        parts.push(&self.head);
        parts
    }

    /// All operations in order.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.parts().into_iter().flatten()
    }

    /// The parts of this program and what it hands on, then the same of [`Program::next`] and [`Program::source`].
    pub fn all_parts(&self) -> Vec<&Vec<Op>> {
        let others = [&self.next, &self.source].into_iter().flatten().map(|other| &**other);
        [self].into_iter().chain(others).flat_map(|of| of.parts().into_iter().chain([&of.hands_on])).collect()
    }

    /// The operations of this program, then the operations of [`Program::next`] and [`Program::source`].
    pub fn all_ops(&self) -> impl Iterator<Item = &Op> {
        self.all_parts().into_iter().flatten()
    }

    /// Checks that every activation has a width and every attention has heads, since arrays of a file may have 0 for a
    /// layer.
    ///
    /// # Errors
    /// `bad_file`, naming the layer; `unsupported_architecture` where the file has experts that the family does not.
    pub fn check(&self, config: &ModelConfig) -> Result<()> {
        let count = config.experts.experts.count;
        if count > 0 && !self.ops().any(|op| matches!(op, Op::Route { .. })) {
            let message =
                format!("metadata `{}.expert_count`: expected no experts, found {count}", config.architecture);
            return Err(Error::new(ErrorCode::UnsupportedArchitecture, message));
        }
        for (layer, ops) in self.layers.iter().enumerate() {
            for op in ops {
                self.check_op(op).map_err(|error| Error::bad_file(format!("layer {layer}: {}", error.message())))?;
            }
        }
        let others = [&self.next, &self.source].into_iter().flatten();
        others.flat_map(|other| other.ops()).try_for_each(|op| self.check_op(op))
    }

    /// Checks that a layer that reuses a cache has heads like the layer that fills it.
    fn check_shared(&self, attention: &AttentionSpec, cache: usize) -> Result<()> {
        let shape = |spec: &AttentionSpec| (spec.kv_heads, spec.head_dim, spec.window);
        match self.attentions().get(cache).map(shape) {
            Some(filled) if filled == shape(attention) => Ok(()),
            filled => {
                let message = format!("shares the cache of {filled:?}, expected {:?}", shape(attention));
                Err(Error::bad_file(format!("{message} (kv heads, values of a head, window)")))
            }
        }
    }

    fn check_op(&self, op: &Op) -> Result<()> {
        if let Op::Attend { attention, keys: Keys::Cached(cache), kv: None, .. } = op {
            self.check_shared(attention, *cache)?;
        }
        if let Some(AttentionSpec { heads, kv_heads, head_dim, .. }) = op.attention() {
            for (what, count) in [("heads", heads), ("kv heads", kv_heads), ("values of a head", head_dim)] {
                if count == 0 {
                    return Err(Error::bad_file(format!("{what}: expected at least 1, found 0")));
                }
            }
        }
        match op {
            Op::HeadLinear { heads, .. } if heads > &MAX_EXPERTS => {
                let message =
                    format!("heads with a matrix of their own: expected at most {MAX_EXPERTS}, found {heads}");
                return Err(Error::bad_file(message));
            }
            Op::Conv { conv, .. } => conv.check()?,
            Op::Scan { scan, .. } => scan.check()?,
            Op::ChannelScan { scan, .. } => scan.check()?,
            Op::DeltaNet { delta, .. } => delta.check()?,
            Op::Wkv { r, wkv, .. } => wkv.check(self.width(*r))?,
            _ => {}
        }
        let spec = &self.activations[op.writes().0];
        match spec.width {
            0 => Err(Error::bad_file(format!("width of `{}`: expected at least 1, found 0", spec.name))),
            _ => Ok(()),
        }
    }

    /// The operations of the embedding, split before each operation that changes the number of rows.
    pub fn stages(&self) -> Vec<&[Op]> {
        let folds = self.embed.iter().enumerate().filter(|(_, op)| op.opens_stage()).map(|(at, _)| at);
        let ends: Vec<usize> = folds.chain([self.embed.len()]).collect();
        let starts = [0].into_iter().chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| &self.embed[start..end]).collect()
    }

    /// Upper bound of the rows in the stage of an operation of the embedding; `most` in the last stage.
    pub fn rows_at(&self, at: usize, most: usize) -> usize {
        let before = self.embed.iter().take(at + 1).filter(|op| op.opens_stage()).count();
        self.stage_rows.get(before).copied().unwrap_or(most)
    }

    /// Whether an encoder has window attention in some layers.
    pub fn has_parts(&self) -> bool {
        self.ops().any(|op| matches!(op, Op::Attend { keys: Keys::OfInput(Sight::Part), .. }))
    }

    /// The groupings between stages of the embedding, in order.
    pub fn folds(&self) -> impl Iterator<Item = Grouping> {
        self.embed.iter().filter(|op| op.opens_stage()).map(Op::grouping)
    }

    /// The head, split before the operation that pools or regroups rows. The second part is empty if there is none.
    pub fn head_parts(&self) -> (&[Op], &[Op]) {
        let others = |op: &Op| matches!(op, Op::Pool { .. } | Op::Regroup { .. } | Op::Repeat { .. });
        let pool = self.head.iter().position(others);
        self.head.split_at(pool.unwrap_or(self.head.len()))
    }

    /// The activation that the head ends with.
    pub fn output_activation(&self) -> Activation {
        self.head.last().map_or(self.residual(), Op::writes)
    }

    /// The attention of the layer that fills each KV cache, by the index of the cache.
    pub fn attentions(&self) -> Vec<AttentionSpec> {
        let attention = |op: &Op| match op {
            Op::Attend { kv: Some(_), attention, keys: Keys::Cached(cache), .. } => Some((*cache, *attention)),
            _ => None,
        };
        let found: Vec<_> = self.all_ops().filter_map(attention).collect();
        in_order(&found)
    }

    /// The attention of every layer that reads a cache.
    pub fn cached_attentions(&self) -> impl Iterator<Item = &AttentionSpec> {
        self.all_ops().filter_map(|op| match op {
            Op::Attend { attention, keys: Keys::Cached(_), .. } => Some(attention),
            _ => None,
        })
    }

    /// Activations that are needed in more than one part: the residual stream, and results of the embedding that layers
    /// read.
    pub fn lasting(&self) -> BTreeSet<Activation> {
        let parts = self.parts().into_iter();
        let of_part = |ops: &Vec<Op>| -> BTreeSet<Activation> {
            let mut lasting = BTreeSet::new();
            let mut known = BTreeSet::new();
            for op in ops {
                // It is read before it is written here, so an earlier part has written it.
                lasting.extend(op.reads().into_iter().filter(|read| !known.contains(read)));
                known.insert(op.writes());
            }
            lasting
        };
        let mut all = BTreeSet::new();
        all.extend(parts.flat_map(of_part).chain([self.residual()]).chain(self.sides.iter().copied()));
        all
    }

    /// The recurrent state that an operation updates: its index and its values per sequence.
    pub fn state(&self, op: &Op) -> Option<(usize, usize)> {
        match *op {
            Op::Conv { x, conv, state, .. } => Some((state, conv.kernel.saturating_sub(1) * self.width(x))),
            Op::DeltaNet { delta, state, .. } => Some((state, delta.state_len())),
            Op::Wkv { wkv, state, .. } => Some((state, wkv.state_len())),
            Op::Scan { scan, state, .. } => Some((state, scan.inner() * scan.state)),
            Op::ChannelScan { scan, state, .. } => Some((state, scan.channels * scan.state)),
            _ => None,
        }
    }

    /// Values per sequence of each recurrent state, by index.
    pub fn states(&self) -> Vec<usize> {
        let found: Vec<_> = self.ops().filter_map(|op| self.state(op)).collect();
        in_order(&found)
    }

    /// Values of a row of this activation.
    pub fn width(&self, activation: Activation) -> usize {
        self.activations[activation.0].width
    }

    /// The activations that the caller provides, in order, but for [`Program::beside`].
    pub fn inputs(&self) -> Vec<Activation> {
        let input = |op: &Op| match op {
            Op::Input { y } if self.beside() != Some(*y) => Some(*y),
            _ => None,
        };
        self.embed.iter().filter_map(input).collect()
    }

    /// The activation that the embedding writes: the residual stream.
    pub fn residual(&self) -> Activation {
        let ends = self.drafted.held || self.folds().next().is_some();
        let embedding = match ends {
            true => self.embed.last(),
            false => self.embed.iter().find(|op| !matches!(op, Op::Input { .. })),
        };
        embedding.map_or(Activation(0), Op::writes)
    }

    /// The activation of this name, which is created by the first call.
    pub fn activation(&mut self, name: &'static str, width: usize) -> Activation {
        let known = self.activations.iter().position(|spec| spec.name == name && spec.width == width);
        Activation(known.unwrap_or_else(|| {
            self.activations.push(ActivationSpec { name, width });
            self.activations.len() - 1
        }))
    }

    /// The index of a rope table; equal tables share one.
    pub fn rope_table(&mut self, table: RopeTable) -> usize {
        let known = self.rope_tables.iter().position(|known| *known == table);
        known.unwrap_or_else(|| {
            self.rope_tables.push(table);
            self.rope_tables.len() - 1
        })
    }
}

/// A layer's weight of this role.
pub const fn of_layer(layer: usize, role: Role) -> WeightKey {
    WeightKey { layer: Some(layer), role }
}

/// The model's own weight of this role.
pub const fn of_model(role: Role) -> WeightKey {
    WeightKey { layer: None, role }
}

/// Values in the order of their indices, which are 0, 1, ….
fn in_order<T: Copy>(found: &[(usize, T)]) -> Vec<T> {
    let of = |number: usize| found.iter().find(|(at, _)| *at == number).map(|(_, value)| *value);
    let values: Vec<T> = (0..found.len()).filter_map(of).collect();
    debug_assert!(values.len() == found.len(), "every number is there");
    values
}
