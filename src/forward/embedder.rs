//! Batches of inputs: all their rows through the layers, and one row for each of them through what follows pooling.

use super::fusion::{Attend, Fused, OfHeads};
use super::{Buffers, Forward, Lowering, Places};
use crate::kernels::attention_batch::{BatchBuffers, BatchHeads, BatchRules, attention_batch, attention_of_inputs};
use crate::kernels::caps::ActivationFormat;
use crate::kernels::rope_batch::{RopeBatch, rope_batch};
use crate::kernels::rope_kv::{Qkv, Rope};
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::RopeStyle;
use crate::model::program::{Op, Sight};

/// Everything that runs an embedder.
#[derive(Debug, Clone)]
pub struct BatchLists {
    /// Rows of a batch, at most.
    pub most: usize,
    /// Over the rows of each stage of the embedding but the last.
    pub stages: Vec<Vec<Dispatch>>,
    /// Over the rows of a batch: embedding, layers, and the head up to pooling.
    pub rows: Vec<Dispatch>,
    /// Over its inputs: pooling and what follows.
    pub inputs: Vec<Dispatch>,
}

impl BatchLists {
    /// All dispatches.
    pub fn all(&self) -> impl Iterator<Item = &Dispatch> {
        self.stages.iter().flatten().chain(&self.rows).chain(&self.inputs)
    }
}

/// Operations of a program that are lowered together, over rows of one kind.
pub(super) struct Section<'a> {
    /// The part of the program: 0 the embedding, then the layers, then the head.
    pub part: usize,
    pub ops: &'a [Op],
    pub places: &'a Places,
    pub steps: Vec<(Fused<'a>, Vec<Dispatch>)>,
}

impl Section<'_> {
    pub fn dispatches(self) -> impl Iterator<Item = Dispatch> {
        self.steps.into_iter().flat_map(|(_, dispatches)| dispatches)
    }
}

impl<'a> Forward<'a> {
    /// Everything that runs batches of up to `most` rows, which the buffers have room for.
    pub fn batch_lists(&self, most: usize) -> BatchLists {
        let sections = self.batch_sections(most).into_iter();
        let mut sections: Vec<Vec<Dispatch>> = sections.map(|section| section.dispatches().collect()).collect();
        let inputs = sections.pop().unwrap_or_default();
        let rows = sections.split_off(self.program.stages().len() - 1);
        BatchLists { most, stages: sections, rows: rows.concat(), inputs }
    }

    /// The stages of the embedding, the layers, the head before rows are pooled, and what follows pooling, of batches
    /// of up to `most` rows.
    pub(super) fn batch_sections(&self, most: usize) -> Vec<Section<'a>> {
        let format = self.caps.activation_format;
        let buffers = Buffers { chunk: most, ..self.buffers.clone() };
        let (program, of_rows, places) = (self.program, Forward { buffers: &buffers, ..*self }, &self.buffers.places);
        let mut sections = Vec::new();
        for (number, ops) in program.stages().into_iter().enumerate() {
            let chunk = program.stage_rows.get(number).copied().unwrap_or(most);
            let steps = of_rows.stage(number, ops, chunk);
            sections.push(Section { part: 0, ops, places: &places.embed, steps });
        }
        for (layer, (ops, places)) in program.layers.iter().zip(&places.layers).enumerate() {
            let steps = of_rows.many_rows(places).steps_many(ops, format);
            sections.push(Section { part: 1 + layer, ops, places, steps });
        }
        let (part, places) = (1 + program.layers.len(), &places.head);
        let (ops, pooled) = program.head_parts();
        let steps = of_rows.many_rows(places).steps_many(ops, format);
        sections.push(Section { part, ops, places, steps });
        let of_inputs = Buffers { pass: buffers.inputs.pass, ..buffers.clone() };
        let of_inputs = Forward { buffers: &of_inputs, ..*self };
        let steps = of_inputs.many_rows(places).steps_many(pooled, ActivationFormat::F32);
        sections.push(Section { part, ops: pooled, places, steps });
        sections
    }

    /// The steps of a stage of the embedding, over up to `chunk` rows.
    fn stage<'o>(&self, number: usize, ops: &'o [Op], chunk: usize) -> Vec<(Fused<'o>, Vec<Dispatch>)> {
        let mut buffers = Buffers { chunk, ..self.buffers.clone() };
        if let Some(tables) = &mut buffers.tables {
            if let Some(([pass, spans], _)) = tables.folds.get(number) {
                (buffers.pass, buffers.inputs.spans) = (*pass, *spans);
            }
            if let Some((_, groups)) = number.checked_sub(1).and_then(|before| tables.folds.get(before)) {
                tables.groups = *groups;
            }
        }
        let forward = Forward { buffers: &buffers, ..*self };
        forward.many_rows(&buffers.places.embed).steps_many(ops, ActivationFormat::F32)
    }

    /// Where the pooled rows end up: `[inputs, width]` f32.
    pub fn pooled(&self) -> Slice {
        self.buffers.places.head.of(self.program.output_activation()).slice
    }
}

impl Lowering<'_> {
    /// Norms over heads and rotation in place, and attention of the rows of a batch.
    pub(super) fn attention_input(&self, of_heads: &OfHeads, attend: &Attend, sight: Sight) -> Vec<Dispatch> {
        let Forward { program, buffers, .. } = self.forward;
        let spec = attend.attention;
        let (heads, kv_heads, head_dim) = (spec.heads as u32, spec.kv_heads as u32, spec.head_dim as u32);
        let heads = BatchHeads { heads, kv_heads, head_dim };
        let Qkv { slice: qkv, kv_at, .. } = self.qkv(attend, of_heads);
        let (q_width, kv_width) = (spec.query_width() as u32, spec.kv_width() as u32);
        debug_assert!(kv_at == [q_width, q_width + kv_width], "q, k and v are side by side");
        let OfHeads { qk_norm, norms_rotated, rope, eps, .. } = *of_heads;
        debug_assert!(!norms_rotated, "no family of embedders normalises what is rotated");
        let mut list = Vec::new();
        if qk_norm.is_some() || rope.is_some() {
            let table = rope.map(|number| program.rope_tables[number]);
            let problem = RopeBatch {
                heads,
                rope: Rope {
                    first: 0,
                    dims: table.map_or(0, |table| table.dims as u32),
                    split_half: table.is_some_and(|table| table.style == RopeStyle::SplitHalf),
                },
                magnitude: table.map_or(1.0, |table| table.scaling.magnitude),
                frequencies: rope.map_or(buffers.dummy, |number| buffers.frequencies[number]),
                qk_norm: qk_norm.map(|(q, k)| (self.forward.vector(q), self.forward.vector(k.unwrap_or(q)), eps)),
                qkv,
            };
            list.push(rope_batch(buffers.pass, buffers.dummy, &problem));
        }
        let rules = BatchRules {
            causal: sight == Sight::Causal,
            window: spec.window.unwrap_or(0) as u32,
            scale: spec.scale,
            soft_cap: spec.soft_cap.unwrap_or(0.0),
            alibi: spec.alibi.unwrap_or(0.0),
            distances: self.distances(&spec),
        };
        let y = self.places.of(attend.y).slice;
        let [pass, inputs] = match &buffers.tables {
            Some(tables) if sight == Sight::Part => tables.parts,
            _ => [buffers.pass, buffers.inputs.spans],
        };
        let batch = BatchBuffers { pass, inputs, qkv, y };
        // Texts may be short; images and sounds are long.
        list.push(match buffers.tables {
            Some(_) => attention_of_inputs(self.forward.caps, buffers.chunk as u32, heads, rules, batch),
            None => attention_batch(heads, rules, batch),
        });
        list
    }
}
