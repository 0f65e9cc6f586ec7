//! How programs of embedders and rerankers end.

use super::super::program::{Activation, Norm, NormKind, Op, Output, PoolKind, Program, TableRow, Weight, of_model};
use super::super::{ActivationKind, Pooling, Role};
use super::builder::Builder;

impl Builder<'_> {
    /// Ends with one vector or the scores of a classifier for each input: norm, pooling, and what the file has after
    /// it.
    pub fn embedder_head(mut self, norm: Option<Norm>) -> Program {
        let config = self.config;
        let mut x = self.x;
        if let Some(norm) = norm {
            x = self.activation("normed", config.hidden);
            self.push(Op::Norm { x: self.x, norm, y: x });
        }
        let pooled = self.activation("pooled", config.hidden);
        self.push(Op::Pool { x, kind: config.embedder.pool_kind().unwrap_or(PoolKind::Mean), y: pooled });
        if config.embedder.pooling == Some(Pooling::Rank) {
            self.classifier(pooled);
            return self.finish(Output::Scores { softmax: config.architecture == "qwen3" });
        }
        if let Some(width) = config.embedder.projected {
            let y = self.activation("embedding", width);
            self.push(Op::Linear { x: pooled, weight: of_model(Role::Output), bias: None, y });
        }
        if let Some(width) = config.embedder.dense.filter(|_| config.has_tensor("dense_2.weight")) {
            let between = self.activation("dense", width);
            let y = self.activation("embedding", config.hidden);
            self.push(Op::Linear { x: pooled, weight: of_model(Role::Dense2), bias: None, y: between });
            self.push(Op::Linear { x: between, weight: of_model(Role::Dense3), bias: None, y });
        }
        self.finish(Output::Embedding)
    }

    /// A hidden layer, where the file has one, and a product with a row per label, where it has that.
    fn classifier(&mut self, pooled: Activation) {
        let config = self.config;
        let mut x = pooled;
        let optional = |role| Some(Weight { key: of_model(role), optional: true });
        if config.has_tensor("cls.weight") {
            let is_whole = config.architecture == "jina-bert-v2";
            x = self.activation("classified", if is_whole { config.embedder.labels } else { config.hidden });
            let bias = optional(Role::ClassifierBias);
            self.push(Op::Linear { x: pooled, weight: of_model(Role::Classifier), bias, y: x });
            let is_modern = config.architecture == "modern-bert";
            self.push(Op::Activate { x, kind: if is_modern { ActivationKind::Gelu } else { ActivationKind::Tanh } });
            if config.has_tensor("cls.norm.weight") {
                let weight = Some(of_model(Role::ClassifierNorm));
                let (width, eps) = (config.hidden, config.layer_norm_eps);
                let norm = Norm { kind: NormKind::Layer, weight, bias: None, width, is_grouped: false, eps };
                self.push(Op::Norm { x, norm, y: x });
            }
        }
        if config.has_tensor("cls.output.weight") {
            let y = self.activation("scores", config.embedder.labels);
            let bias = optional(Role::ClassifierOutBias);
            self.push(Op::Linear { x, weight: of_model(Role::ClassifierOut), bias, y });
        }
    }

    /// The program, whose head are the operations at hand.
    pub fn finish(mut self, output: Output) -> Program {
        self.program.head = self.ops;
        self.program.output = output;
        self.program
    }

    /// An operation after the embedding of the token.
    pub fn embed_op(&mut self, op: Op) {
        self.program.embed.push(op);
    }

    /// Adds a row of another table to the embedding of the token.
    pub fn embed_place(&mut self, table: Role, row: TableRow) {
        let y = self.program.activation("place", self.config.hidden);
        self.program.embed.push(Op::EmbedPlace { table: of_model(table), row, y });
        self.program.embed.push(Op::Add { x: y, scale: 1.0, to: self.x });
    }
}
