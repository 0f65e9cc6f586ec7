//! Blocks behind the layers, which draft: of the model's own file, and drafters of files of their own.

use super::super::ModelConfig;
use super::super::program::{Activation, LOGITS, Op, Program, of_layer, of_model};
use super::builder::{Builder, named};
use crate::model::{Role, WeightKey};

/// The name of the hidden state that a block which drafts takes with the next token.
pub(super) const STATE: &str = "hidden state";

/// What a head multiplies: its norm, to another activation.
pub(super) fn norm_of(head: &[Op], to: Activation) -> Vec<Op> {
    let norm = |op: &Op| match op {
        Op::Norm { x, norm, .. } => Some(Op::Norm { x: *x, norm: *norm, y: to }),
        _ => None,
    };
    head.iter().find_map(norm).into_iter().collect()
}

/// Makes a block of embedding, layer and head the [`Program::next`] of a program.
pub(super) fn next_of(program: &mut Program, [embed, layer, head]: [Vec<Op>; 3]) {
    let state = program.activation(STATE, program.width(program.residual()));
    let [own, theirs] = [&program.head, &head].map(|head| norm_of(head, state));
    let next = Program { embed, layers: vec![layer], head, hands_on: theirs, ..program.clone() };
    (program.hands_on, program.next) = (own, Some(next.into()));
}

impl<'a> Builder<'a> {
    /// Goes on behind a model's program, with a drafter as the layer of this number.
    pub fn behind(config: &'a ModelConfig, program: Program, layer: usize) -> Self {
        let mut begun = Self::new(config, 1.0);
        begun.caches = program.attentions().len();
        begun.program = program;
        begun.x = begun.program.activation("x", config.hidden);
        begun.layer = layer;
        begun
    }

    /// The operations since the last time.
    pub fn take(&mut self) -> Vec<Op> {
        std::mem::take(&mut self.ops)
    }

    /// Multi-token prediction, where the file has the block: a layer by `write`, whose input joins the embedding of the
    /// next token with the hidden state before it, and a head (DeepSeek-AI 2024, <https://arxiv.org/abs/2412.19437>,
    /// section 2.2).
    pub fn predicting_next(mut self, write: impl FnOnce(&mut Self)) -> Self {
        self.layer = self.config.layers;
        let projection = named("nextn.eh_proj.weight");
        if !self.config.predicts_next || !self.has(projection) {
            return self;
        }
        let (x, hidden) = (self.x, self.config.hidden);
        let before = self.activation("hidden state before", hidden);
        let table = self.own_or("nextn.embed_tokens.weight", Role::TokenEmbedding);
        self.ops = vec![Op::Input { y: before }, Op::Embed { table, rows: self.config.vocab, scale: 1.0, y: x }];
        let embedded = self.norm(x, named("nextn.enorm.weight"));
        let state = self.norm_apart(before, named("nextn.hnorm.weight"));
        let joined = self.activation("embedding and hidden state", 2 * hidden);
        self.ops.push(Op::JoinHeads { parts: [embedded, state], heads: 1, y: joined });
        self.ops.push(Op::Linear { x: joined, weight: of_layer(self.layer, projection), bias: None, y: x });
        let embed = std::mem::take(&mut self.ops);
        write(&mut self);
        let layer = std::mem::take(&mut self.ops);
        let norm = self.own_or("nextn.shared_head_norm.weight", self.output_norm);
        let normed = self.whole_norm(x, norm, "normed");
        let weight = self.own_or("nextn.shared_head_head.weight", self.head_role());
        let logits = self.activation(LOGITS, self.config.vocab);
        self.ops.push(Op::Linear { x: normed, weight, bias: None, y: logits });
        self.next = Some([embed, layer, std::mem::take(&mut self.ops)]);
        self
    }

    /// The layer's own weight of this name, or else the model's weight of this role.
    pub(super) fn own_or(&self, name: &'static str, shared: Role) -> WeightKey {
        if self.has(named(name)) { of_layer(self.layer, named(name)) } else { of_model(shared) }
    }
}
