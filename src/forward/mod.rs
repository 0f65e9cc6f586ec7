//! Tokens → logits, as command lists: plain data that `gpu` makes ready once and replays.
//!
//! Three lists share one set of buffers. *Prefill* runs a chunk of up to [`CHUNK`] tokens through all layers; *head*
//! turns the last token of a pass into logits; *decode* runs the one token that the sampler left in `tokens[0]`
//! through all layers. What changes from token to token is in the GPU-side state, so the lists never change.

mod buffers;
mod plan;
mod weights;

pub use buffers::{Activations, Buffers, LayerCache, MAX_STOPS, SampleBuffers};
pub use plan::{BufferSpec, Plan};
pub use weights::{GateUp, Layer, Part, Placement, Target, Weights, place};

use crate::config::ModelConfig;
use crate::kernels::argmax::{argmax, argmax_merge};
use crate::kernels::attention::{Attention, Splits, attention, attention_decode};
use crate::kernels::caps::{ActivationFormat, Caps};
use crate::kernels::gather::gather;
use crate::kernels::layout::Matrix;
use crate::kernels::mat_mul::{MatMul, mat_mul};
use crate::kernels::mat_mul_int8::{self, mat_mul_int8, quantise};
use crate::kernels::mat_mul_subgroup_matrix::{self, Subgroups, mat_mul_subgroup_matrix, round_f16};
use crate::kernels::mat_vec::{Epilogue, MatVec, mat_vec};
use crate::kernels::rms_norm::rms_norm;
use crate::kernels::rope_kv::{Heads, Rope, RopeKv, rope_kv};
use crate::kernels::sample::{Sample, sample};
use crate::kernels::spec::{Dispatch, Slice};
use crate::kernels::swiglu::swiglu;
use crate::model::RopeStyle;

/// Tokens of a prefill chunk, at most.
pub const CHUNK: usize = 512;

/// Positions evaluated at once: their logits are `[EVALUATE_CHUNK, vocab]`.
pub const EVALUATE_CHUNK: usize = 16;

/// A model placed on a device: what the lists are written from.
pub struct Forward<'a> {
    /// The model's numbers.
    pub config: &'a ModelConfig,
    /// The device.
    pub caps: &'a Caps,
    /// Where the weights are.
    pub weights: &'a Weights,
    /// Where everything else is.
    pub buffers: &'a Buffers,
}

/// Everything that runs a model.
#[derive(Debug, Clone)]
pub struct Lists {
    /// A chunk of tokens through all layers: the residual stream holds the last layer's output.
    pub prefill: Vec<Dispatch>,
    /// The last token of the pass → logits `[vocab]`.
    pub head: Vec<Dispatch>,
    /// The pass's one token through all layers and the head.
    pub decode: Vec<Dispatch>,
    /// Logits → the largest one's id, committed as the next token.
    pub greedy: Vec<Dispatch>,
    /// Logits → one id by the run's sampling options, committed as the next token.
    pub sample: Vec<Dispatch>,
}

impl Lists {
    /// All dispatches.
    pub fn all(&self) -> impl Iterator<Item = &Dispatch> {
        [&self.prefill, &self.head, &self.decode, &self.greedy, &self.sample].into_iter().flatten()
    }
}

impl Forward<'_> {
    /// Everything that runs a model.
    pub fn lists(&self) -> Lists {
        Lists {
            prefill: self.prefill(),
            head: self.head(),
            decode: self.decode(),
            greedy: self.greedy(),
            sample: self.sample(),
        }
    }

    /// A chunk of tokens through all layers: `x` holds the last layer's output, the cache its keys and values.
    pub fn prefill(&self) -> Vec<Dispatch> {
        let b = &self.buffers.activations;
        let format = self.caps.activation_format;
        let mut list = self.embed();
        for (layer, cache) in self.weights.layers.iter().zip(&self.buffers.cache) {
            list.push(self.norm(b.x, layer.attn_norm, b.normed));
            let qkv = layer.qkv.iter().map(|part| MatMul {
                bias: part.bias,
                y_offset: part.first_output,
                ..self.mat_mul_of(&part.matrix, b.normed, b.qkv, self.qkv_width())
            });
            list.extend(self.multiply(self.format_of_qkv_inputs(), &qkv.collect::<Vec<_>>()));
            list.push(self.rope(layer, cache));
            list.push(attention(self.buffers.state, &self.attention_of(cache)));
            list.extend(self.multiply(
                format,
                &[MatMul {
                    epilogue: Epilogue::Residual,
                    ..self.mat_mul_of(&layer.attn_out, b.attended, b.x, self.hidden())
                }],
            ));
            list.push(self.norm(b.x, layer.ffn_norm, b.normed));
            list.extend(self.gate_up_many(layer));
            list.push(swiglu(self.ffn(), b.gate_up, b.activated));
            list.extend(self.multiply(
                format,
                &[MatMul {
                    epilogue: Epilogue::Residual,
                    ..self.mat_mul_of(&layer.down, b.activated, b.x, self.hidden())
                }],
            ));
        }
        list
    }

    /// The pass's one token through all layers and the head: seven dispatches per layer.
    pub fn decode(&self) -> Vec<Dispatch> {
        let b = &self.buffers.activations;
        let eps = self.config.rms_eps;
        let mut list = self.embed();
        for (layer, cache) in self.weights.layers.iter().zip(&self.buffers.cache) {
            for part in &layer.qkv {
                list.extend(self.multiply_one(&MatVec {
                    norm: Some((layer.attn_norm, eps)),
                    bias: part.bias,
                    y_offset: part.first_output,
                    ..MatVec::new(&part.matrix, b.x, b.qkv)
                }));
            }
            list.push(self.rope(layer, cache));
            list.extend(attention_decode(self.buffers.state, &self.attention_of(cache), &b.splits));
            list.extend(self.multiply_one(&MatVec {
                epilogue: Epilogue::Residual,
                ..MatVec::new(&layer.attn_out, b.attended, b.x)
            }));
            list.extend(self.gate_up_one(layer));
            list.extend(
                self.multiply_one(&MatVec {
                    epilogue: Epilogue::Residual,
                    ..MatVec::new(&layer.down, b.activated, b.x)
                }),
            );
        }
        list.extend(self.head());
        list
    }

    /// The last token of the pass → logits `[vocab]`.
    pub fn head(&self) -> Vec<Dispatch> {
        let b = &self.buffers.activations;
        self.multiply_one(&MatVec {
            norm: Some((self.weights.output_norm, self.config.rms_eps)),
            last_token: true,
            ..MatVec::new(&self.weights.head, b.x, b.logits)
        })
    }

    /// Every token of a pass of at most [`EVALUATE_CHUNK`] → logits `[tokens, vocab]` in `all_logits`.
    pub fn head_of_all(&self, all_logits: Slice) -> Vec<Dispatch> {
        let b = &self.buffers.activations;
        let mut list = vec![self.norm(b.x, self.weights.output_norm, b.normed)];
        list.extend(self.multiply_exact(&self.mat_mul_of(
            &self.weights.head,
            b.normed,
            all_logits,
            self.config.vocab as u32,
        )));
        list
    }

    /// Logits → the largest one's id, committed as the next token.
    pub fn greedy(&self) -> Vec<Dispatch> {
        let (b, s) = (&self.buffers.activations, &self.buffers.sample);
        let vocab = self.config.vocab as u32;
        vec![
            argmax(vocab, b.logits, s.partial_argmaxes),
            argmax_merge(vocab, s.partial_argmaxes, self.buffers.commit()),
        ]
    }

    /// Logits → one id by the run's sampling options, committed as the next token.
    pub fn sample(&self) -> Vec<Dispatch> {
        let s = self.buffers.sample;
        let problem = Sample {
            length: self.config.vocab as u32,
            options: s.options,
            counts: s.counts,
            logits: self.buffers.activations.logits,
            scratch: s.scratch,
            commit: self.buffers.commit(),
        };
        sample(&problem).into()
    }

    fn embed(&self) -> Vec<Dispatch> {
        let b = self.buffers;
        gather(b.state, b.tokens, &self.weights.embedding, b.activations.x)
    }

    fn rope(&self, layer: &Layer, cache: &LayerCache) -> Dispatch {
        let (c, b) = (self.config, &self.buffers.activations);
        let problem = RopeKv {
            heads: self.heads(),
            rope: Rope { dims: c.rope_dims as u32, split_half: c.architecture.rope == RopeStyle::SplitHalf },
            qkv: b.qkv,
            frequencies: self.buffers.frequencies,
            qk_norm: layer.qk_norm.map(|(q, k)| (q, k, c.rms_eps)),
            q: b.q,
            cache: *cache,
        };
        rope_kv(self.buffers.state, self.buffers.dummy, &problem)
    }

    fn gate_up_one(&self, layer: &Layer) -> Vec<Dispatch> {
        let b = &self.buffers.activations;
        let norm = Some((layer.ffn_norm, self.config.rms_eps));
        match &layer.gate_up {
            GateUp::Stacked(matrix) => {
                self.multiply_one(&MatVec { norm, epilogue: Epilogue::SwiGlu, ..MatVec::new(matrix, b.x, b.activated) })
            }
            GateUp::Separate(gate, up) => {
                let mut list = self.multiply_one(&MatVec { norm, ..MatVec::new(gate, b.x, b.gate_up) });
                let y_offset = self.ffn();
                list.extend(self.multiply_one(&MatVec { norm, y_offset, ..MatVec::new(up, b.x, b.gate_up) }));
                list.push(swiglu(self.ffn(), b.gate_up, b.activated));
                list
            }
        }
    }

    fn gate_up_many(&self, layer: &Layer) -> Vec<Dispatch> {
        let b = &self.buffers.activations;
        let of = |matrix| self.mat_mul_of(matrix, b.normed, b.gate_up, 2 * self.ffn());
        match &layer.gate_up {
            GateUp::Stacked(matrix) => self.multiply(self.caps.activation_format, &[of(matrix)]),
            GateUp::Separate(gate, up) => {
                self.multiply(self.caps.activation_format, &[of(gate), MatMul { y_offset: self.ffn(), ..of(up) }])
            }
        }
    }

    fn norm(&self, x: Slice, weight: Slice, y: Slice) -> Dispatch {
        rms_norm(self.hidden(), self.config.rms_eps, x, weight, y)
    }

    /// 8 bits are too few for keys and values: what is wrong in them stays in the cache for all later tokens.
    fn format_of_qkv_inputs(&self) -> ActivationFormat {
        match self.caps.activation_format {
            ActivationFormat::Int8 => ActivationFormat::F32,
            rounding => rounding,
        }
    }

    /// Products with one x, which is rounded once for those that take it so.
    fn multiply(&self, format: ActivationFormat, problems: &[MatMul]) -> Vec<Dispatch> {
        let Buffers { state, dummy, activations: b, .. } = self.buffers;
        let takes = |problem: &&MatMul| match format {
            ActivationFormat::F32 => false,
            ActivationFormat::Int8 => mat_mul_int8::supports(problem.weights),
            ActivationFormat::F16(_) => mat_mul_subgroup_matrix::supports(problem.weights),
        };
        let round = |&MatMul { weights, x, x_stride, .. }: &MatMul| match format {
            ActivationFormat::Int8 => quantise(*state, (weights.cols, x_stride), x, &b.quants),
            _ => round_f16((weights.cols, x_stride), x, &b.halves),
        };
        let product = |problem: &MatMul| match format {
            ActivationFormat::Int8 if takes(&problem) => mat_mul_int8((*state, *dummy), problem, &b.quants),
            ActivationFormat::F16(shape) if takes(&problem) => {
                let subgroups = Subgroups { size: self.caps.subgroup_size.0, shape };
                mat_mul_subgroup_matrix(subgroups, (*state, *dummy), problem, &b.halves)
            }
            _ => self.multiply_exact(problem),
        };
        let rounded = problems.iter().find(takes).map(round);
        rounded.into_iter().chain(problems.iter().flat_map(product)).collect()
    }

    fn multiply_exact(&self, problem: &MatMul) -> Vec<Dispatch> {
        mat_mul(self.caps, self.buffers.state, self.buffers.dummy, problem)
    }

    fn multiply_one(&self, problem: &MatVec) -> Vec<Dispatch> {
        mat_vec(self.caps, self.buffers.state, self.buffers.dummy, problem)
    }

    fn mat_mul_of<'m>(&self, weights: &'m Matrix, x: Slice, y: Slice, y_stride: u32) -> MatMul<'m> {
        let x_stride = weights.cols;
        MatMul { weights, x, x_stride, bias: None, epilogue: Epilogue::Store, y, y_stride, y_offset: 0 }
    }

    fn attention_of(&self, cache: &LayerCache) -> Attention {
        let b = &self.buffers.activations;
        let scale = 1.0 / (self.config.head_dim as f32).sqrt();
        Attention { heads: self.heads(), scale, q: b.q, cache: *cache, y: b.attended }
    }

    fn heads(&self) -> Heads {
        self.buffers.heads
    }

    fn hidden(&self) -> u32 {
        self.config.hidden as u32
    }

    fn ffn(&self) -> u32 {
        self.config.ffn as u32
    }

    fn qkv_width(&self) -> u32 {
        let Heads { heads, kv_heads, head_dim, .. } = self.heads();
        (heads + 2 * kv_heads) * head_dim
    }
}
