//! A decoder that attends to a source: its encoder, and the keys and values that its layers make of the encoder's rows.

use std::rc::Rc;

use super::buffers::{Buffers, Room};
use super::growth::{Growth, Moved};
use super::plan::{BufferSpec, Plan};
use super::prefill::format_of_keys;
use super::{Forward, Lowering};
use crate::kernels::attention_batch::{BatchHeads, SourceBuffers, attention_to_source};
use crate::kernels::mat_mul::MatMul;
use crate::kernels::mat_vec::Epilogue;
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::WeightKey;
use crate::model::program::{Activation, AttentionSpec, Op, Program};

/// Rows of a source that there is room for at first, where the context is longer.
const START_ROWS: usize = 128;

/// Rows are made in steps of this many: the keys of each sequence then begin where a binding may.
const ROWS: usize = 64;

/// The buffers of the sources of all sequences.
#[derive(Debug, Clone)]
pub struct Source {
    /// Rows that there is room for, of each sequence.
    pub rows: usize,
    /// First row of each sequence in `kv`, and one past its last: `[sequences, 2]` u32.
    pub spans: Slice,
    /// Keys and values, by the number of the attention: `[sequences, rows, heads, head_dim]` f32. Where there are fewer
    /// key and value heads, the end of each row stays unused.
    pub kv: Vec<[Slice; 2]>,
    /// The encoder's own buffers.
    pub encoder: Rc<Buffers>,
}

/// The attentions to the source, in the order of their numbers.
fn attentions(program: &Program) -> impl Iterator<Item = ([WeightKey; 2], AttentionSpec)> {
    program.ops().filter_map(|op| match op {
        Op::AttendSource { kv, attention, .. } => Some((*kv, *attention)),
        _ => None,
    })
}

impl Source {
    /// Buffers for sources of up to a context, with room for the first rows; `None` for a model without an encoder.
    pub(super) fn alloc(program: &Program, room: Room, plan: &mut Plan) -> Option<Self> {
        Self::with_rows(program, (START_ROWS.min(room.context), room.sequences), plan)
    }

    fn with_rows(program: &Program, (rows, sequences): (usize, usize), plan: &mut Plan) -> Option<Self> {
        let encoder = program.source.as_deref()?;
        let rows = rows.next_multiple_of(ROWS);
        let (spans, mut kv) = (plan.words("sources", sequences * 2), Vec::new());
        for (_, of) in attentions(program) {
            let label = format!("source of attention {}", kv.len());
            kv.push([(); 2].map(|()| plan.words(label.as_str(), sequences * rows * of.query_width())));
        }
        Some(Self { rows, spans, kv, encoder: Buffers::for_batches(encoder, rows, plan).into() })
    }
}

impl Buffers {
    /// The buffers with room for sources of `rows` rows.
    pub fn with_source_of(&self, program: &Program, rows: usize) -> Growth {
        let mut growth = Growth { buffers: self.clone(), specs: Vec::new(), moved: Vec::new() };
        let Some(old) = &self.source else { return growth };
        // They are the last ones of a session, and keep their numbers.
        let first = old.spans.buffer.0 as usize;
        let mut plan = Plan { buffers: vec![BufferSpec::new(old.spans.buffer, String::new(), 0); first] };
        growth.buffers.source = Source::with_rows(program, (rows, self.room.sequences), &mut plan);
        growth.specs = plan.buffers.split_off(first);
        for ((_, of), buffer) in
            attentions(program).zip(&old.kv).flat_map(|(of, kv)| kv.map(|slice| (of, slice.buffer)))
        {
            let [bytes, step] =
                [old.rows, rows.next_multiple_of(ROWS)].map(|rows| (rows * of.query_width() * 4) as u64);
            for sequence in 0..self.room.sequences as u64 {
                growth.moved.push(Moved { buffer, from: sequence * bytes, to: sequence * step, bytes });
            }
        }
        growth
    }
}

impl<'a> Forward<'a> {
    /// The encoder over a source, and after it the keys and values for each sequence.
    pub(super) fn source(&self) -> (Vec<Dispatch>, Vec<Dispatch>) {
        let Some((program, source)) = self.program.source.as_deref().zip(self.buffers.source.as_ref()) else {
            return Default::default();
        };
        let encoder = Forward::new(program, self.caps, self.weights, &source.encoder);
        let places = &source.encoder.places.head;
        let x = places.of(program.output_activation());
        let (format, mut list) = (format_of_keys(self.caps.activation_format), Vec::new());
        for sequence in 0..self.buffers.room.sequences {
            let mut problems = Vec::new();
            for ((keys, spec), slices) in attentions(self.program).zip(&source.kv) {
                let width = spec.query_width();
                let first = (sequence * source.rows * width * 4) as u64;
                for (key, slice) in keys.iter().zip(slices) {
                    problems.extend(self.weights.projections[key].iter().map(|part| MatMul {
                        x_rows: source.encoder.chunk as u32,
                        weights: &part.matrix,
                        x: x.slice,
                        x_stride: x.stride as u32,
                        bias: part.bias,
                        epilogue: Epilogue::Store,
                        y: slice.after(first),
                        y_stride: width as u32,
                        y_offset: part.first_output,
                    }));
                }
            }
            list.extend(encoder.many_rows(places).multiply(format, &problems));
        }
        (encoder.batch_lists(source.rows).rows, list)
    }
}

impl Lowering<'_> {
    /// Attention of the rows of a pass to the source of each.
    pub(super) fn attend_source(&self, [q, y]: [Activation; 2], spec: &AttentionSpec, number: usize) -> Dispatch {
        let buffers = self.forward.buffers;
        let source = buffers.source.as_ref().expect("a model with an encoder has room for its sources");
        let [q, y] = [q, y].map(|of| self.places.of(of));
        debug_assert!([q, y].iter().all(|of| of.offset == 0 && of.stride == spec.query_width()), "whole rows");
        let [heads, kv_heads, head_dim] = [spec.heads, spec.kv_heads, spec.head_dim].map(|count| count as u32);
        let (spans, kv) = (source.spans, source.kv[number]);
        let buffers = SourceBuffers { pass: buffers.pass, spans, q: q.slice, kv, y: y.slice };
        attention_to_source(self.rows, BatchHeads { heads, kv_heads, head_dim }, spec.scale, buffers)
    }
}
