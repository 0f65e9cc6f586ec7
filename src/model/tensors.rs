//! The tensors of a model: names, roles and shapes, and their search in a file's tensor table.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::ModelConfig;
use super::program::{GateUp, Op, TableRow, TensorPart};
use crate::error::{Error, ErrorCode, Result};
use crate::gguf::TensorInfo;

/// The embedding table's name.
pub(super) const EMBEDDING: &str = "token_embd.weight";
/// The output head's name. A file without it uses the embedding table as head.
pub(super) const HEAD: &str = "output.weight";

/// What a tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// One row per token: the start of the residual stream. Also the head, where there is no [`Role::Output`].
    TokenEmbedding,
    /// One row per position.
    PositionEmbedding,
    /// One row per kind of text segment.
    TokenTypes,
    /// The norm after the embeddings.
    EmbeddingNorm,
    /// Bias of that.
    EmbeddingNormBias,
    /// The hidden layer of a classifier.
    Classifier,
    /// Bias of that.
    ClassifierBias,
    /// The norm after it.
    ClassifierNorm,
    /// A row per label of a classifier.
    ClassifierOut,
    /// Bias of that.
    ClassifierOutBias,
    /// The first product after pooling.
    Dense2,
    /// The second.
    Dense3,
    /// The RMS norm before the head.
    OutputNorm,
    /// The same as [`Role::OutputNorm`] under LFM2's name.
    OutputNormOfEmbedding,
    /// Bias of that.
    OutputNormBias,
    /// The head: one row per token.
    Output,
    /// Bias of the head.
    OutputBias,
    /// One divisor per rotated pair, applied to its frequency (Llama 3's long context).
    RopeFreqs,
    /// The same for contexts up to the original one (long RoPE).
    RopeFactorsShort,
    /// For longer contexts.
    RopeFactorsLong,
    /// The RMS norm before attention.
    AttnNorm,
    /// Bias of that.
    AttnNormBias,
    /// Queries.
    AttnQ,
    /// Keys.
    AttnK,
    /// Values.
    AttnV,
    /// Queries, keys and values in one tensor.
    AttnQkv,
    /// Their bias.
    AttnQkvBias,
    /// Attention back to the residual stream.
    AttnOut,
    /// Bias of that.
    AttnOutBias,
    /// z of a gated delta rule: what gates its heads.
    AttnGate,
    /// What the state of a delta rule takes in of a token, before its sigmoid.
    SsmBeta,
    /// What the state of a delta rule keeps, before softplus.
    SsmAlpha,
    /// Rows of [`Role::SsmBeta`] and [`Role::SsmAlpha`] for each head of k.
    SsmBetaAlpha,
    /// What gates the heads after attention: in Qwen 3.5 rows of [`Role::AttnQ`]'s tensor.
    AttnQGate,
    /// Bias of the queries.
    AttnQBias,
    /// Bias of the keys.
    AttnKBias,
    /// Bias of the values.
    AttnVBias,
    /// RMS norm of each query head.
    AttnQNorm,
    /// RMS norm of each key head.
    AttnKNorm,
    /// The RMS norm after the output projection of attention.
    AttnPostNorm,
    /// The norm of the sum after attention.
    AttnOutNorm,
    /// Bias of that.
    AttnOutNormBias,
    /// The norm of the sum after the feed-forward.
    LayerOutNorm,
    /// Bias of that.
    LayerOutNormBias,
    /// The norm before the feed-forward.
    FfnNorm,
    /// Bias of that.
    FfnNormBias,
    /// The half of the feed-forward that goes through the activation.
    FfnGate,
    /// The half of the feed-forward that is multiplied with it.
    FfnUp,
    /// The second half of a tensor that has both halves.
    FfnUpHalf,
    /// Bias of the half that goes through the activation.
    FfnGateBias,
    /// Bias of what goes into the feed-forward.
    FfnUpBias,
    /// Feed-forward back to the residual stream.
    FfnDown,
    /// Bias of that.
    FfnDownBias,
    /// The RMS norm after the feed-forward.
    FfnPostNorm,
    /// The same as [`Role::FfnNorm`] under Falcon-H1's name.
    FfnNormBare,
    /// b, c and x of a gated convolution.
    ShortConvIn,
    /// Its gate b.
    ShortConvB,
    /// Its gate c.
    ShortConvC,
    /// Its input.
    ShortConvX,
    /// Its taps.
    ShortConv,
    /// Gated convolution back to the residual stream.
    ShortConvOut,
    /// z, then x, B and C, then dt of a Mamba-2 layer.
    SsmIn,
    /// Its gate z.
    SsmZ,
    /// Its x, B and C, before the convolution.
    SsmXbc,
    /// Its time steps.
    SsmDt,
    /// Its convolution's taps.
    SsmConv,
    /// Its convolution's bias.
    SsmConvBias,
    /// Bias of its time steps.
    SsmDtBias,
    /// Decay of its heads.
    SsmA,
    /// How much of x goes past the state.
    SsmD,
    /// The RMS norm after the scan.
    SsmNorm,
    /// Mamba-2 back to the residual stream.
    SsmOut,
    /// Per token and layer a few values (Gemma 3n and 4).
    PerLayerTokenEmbedding,
    /// The residual stream's part in these.
    PerLayerModelProj,
    /// The RMS norm of that, for each layer by itself.
    PerLayerProjNorm,
    /// What of the residual stream goes through the activation before it meets the layer's values.
    PerLayerGate,
    /// From there back to the residual stream.
    PerLayerProj,
    /// The RMS norm after that.
    PerLayerPostNorm,
    /// A factor of the residual stream after the layer.
    LayerOutputScale,
    /// The router: one row per expert.
    Router,
    /// Its bias.
    RouterBias,
    /// Factors of the normalised residual stream before it (Gemma 4).
    RouterScale,
    /// The RMS norm before the experts, beside a dense feed-forward (Gemma 4).
    ExpertPreNorm,
    /// The RMS norm after the dense feed-forward beside experts.
    DensePostNorm,
    /// The RMS norm after the experts.
    ExpertPostNorm,
    /// Added to experts' weights for their choice alone.
    RouterChoiceBias,
    /// [`Role::FfnGate`] of every expert.
    ExpertGate,
    /// Its bias, for every expert.
    ExpertGateBias,
    /// [`Role::FfnUp`] of every expert.
    ExpertUp,
    /// Its bias, for every expert.
    ExpertUpBias,
    /// Gate and up of every expert in one tensor.
    ExpertGateUp,
    /// [`Role::FfnDown`] of every expert.
    ExpertDown,
    /// Its bias, for every expert.
    ExpertDownBias,
    /// What each expert's result is multiplied by.
    ExpertDownScale,
    /// One row: the logit of the gate of the expert of all tokens.
    SharedRouter,
    /// [`Role::FfnGate`] of the expert of all tokens.
    SharedGate,
    /// [`Role::FfnUp`] of it.
    SharedUp,
    /// [`Role::FfnDown`] of it.
    SharedDown,
    /// One logit per attention head that takes part in its softmax without a value.
    AttnSinks,
}

/// A tensor of a model: what it is for, and the layer it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WeightKey {
    /// The layer, or `None` for the model's own.
    pub layer: Option<usize>,
    /// What it is for.
    pub role: Role,
}

/// A tensor that a model wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightSpec {
    /// The name of its tensor in the file.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// The layer it belongs to, or `None` for the model's own.
    pub layer: Option<usize>,
    /// Its shape in GGUF order: `[length of a row]`, `[length of a row, rows]`, or of experts `[.., rows, experts]`.
    pub dims: Vec<u64>,
    /// Which rows of the tensor it is, unless all.
    pub part: Option<TensorPart>,
    /// Whether the model takes it as f32 values rather than as a matrix to multiply with: all vectors, and taps of
    /// convolutions.
    pub values: bool,
    /// Whether the model runs without it.
    pub optional: bool,
}

impl WeightSpec {
    /// What names it in a program.
    pub fn key(&self) -> WeightKey {
        WeightKey { layer: self.layer, role: self.role }
    }

    /// The shape of its tensor.
    pub fn tensor_dims(&self) -> Vec<u64> {
        let mut dims = self.dims.clone();
        if let (Some(part), Some(rows)) = (self.part, dims.last_mut()) {
            *rows = part.of as u64;
        }
        dims
    }

    /// The runs of the tensor's rows (of a vector: values) that it is: first row and length of each.
    pub fn runs(&self) -> Vec<(usize, usize)> {
        let rows = if self.dims.len() == 1 { self.cols() } else { self.rows() };
        self.part.map_or_else(|| vec![(0, rows)], |part| part.runs(rows).collect())
    }

    /// The length of a row.
    pub fn cols(&self) -> usize {
        self.dims.first().map_or(0, |&n| n as usize)
    }

    /// The number of rows, of all experts together; 1 for a vector.
    pub fn rows(&self) -> usize {
        self.dims.iter().skip(1).map(|&n| n as usize).product()
    }
}

/// Names of the model's own tensors.
const MODEL: &[(Role, &str)] = &[
    (Role::TokenEmbedding, EMBEDDING),
    (Role::PositionEmbedding, "position_embd.weight"),
    (Role::TokenTypes, "token_types.weight"),
    (Role::EmbeddingNorm, "token_embd_norm.weight"),
    (Role::EmbeddingNormBias, "token_embd_norm.bias"),
    (Role::Classifier, "cls.weight"),
    (Role::ClassifierBias, "cls.bias"),
    (Role::ClassifierNorm, "cls.norm.weight"),
    (Role::ClassifierOut, "cls.output.weight"),
    (Role::ClassifierOutBias, "cls.output.bias"),
    (Role::Dense2, "dense_2.weight"),
    (Role::Dense3, "dense_3.weight"),
    (Role::OutputNorm, "output_norm.weight"),
    (Role::OutputNormOfEmbedding, "token_embd_norm.weight"),
    (Role::OutputNormBias, "output_norm.bias"),
    (Role::Output, HEAD),
    (Role::OutputBias, "output.bias"),
    (Role::RopeFreqs, "rope_freqs.weight"),
    (Role::RopeFactorsShort, "rope_factors_short.weight"),
    (Role::RopeFactorsLong, "rope_factors_long.weight"),
    (Role::PerLayerTokenEmbedding, "per_layer_token_embd.weight"),
    (Role::PerLayerModelProj, "per_layer_model_proj.weight"),
    (Role::PerLayerProjNorm, "per_layer_proj_norm.weight"),
];

/// Names of the tensors of a layer; `blk.N.` comes before them.
const LAYER: &[(Role, &str)] = &[
    (Role::AttnNorm, "attn_norm.weight"),
    (Role::AttnNormBias, "attn_norm.bias"),
    (Role::AttnQ, "attn_q.weight"),
    (Role::AttnK, "attn_k.weight"),
    (Role::AttnV, "attn_v.weight"),
    (Role::AttnQkv, "attn_qkv.weight"),
    (Role::AttnQkvBias, "attn_qkv.bias"),
    (Role::AttnGate, "attn_gate.weight"),
    (Role::SsmBeta, "ssm_beta.weight"),
    (Role::SsmAlpha, "ssm_alpha.weight"),
    (Role::SsmBetaAlpha, "ssm_ba.weight"),
    (Role::AttnOut, "attn_output.weight"),
    (Role::AttnOutBias, "attn_output.bias"),
    (Role::AttnQBias, "attn_q.bias"),
    (Role::AttnKBias, "attn_k.bias"),
    (Role::AttnVBias, "attn_v.bias"),
    (Role::AttnQNorm, "attn_q_norm.weight"),
    (Role::AttnKNorm, "attn_k_norm.weight"),
    (Role::AttnPostNorm, "post_attention_norm.weight"),
    (Role::AttnOutNorm, "attn_output_norm.weight"),
    (Role::AttnOutNormBias, "attn_output_norm.bias"),
    (Role::LayerOutNorm, "layer_output_norm.weight"),
    (Role::LayerOutNormBias, "layer_output_norm.bias"),
    (Role::FfnNorm, "ffn_norm.weight"),
    (Role::FfnNormBias, "ffn_norm.bias"),
    (Role::FfnGate, "ffn_gate.weight"),
    (Role::FfnUp, "ffn_up.weight"),
    (Role::FfnGateBias, "ffn_gate.bias"),
    (Role::FfnUpBias, "ffn_up.bias"),
    (Role::FfnDown, "ffn_down.weight"),
    (Role::FfnDownBias, "ffn_down.bias"),
    (Role::FfnPostNorm, "post_ffw_norm.weight"),
    (Role::FfnNormBare, "ffn_norm"),
    (Role::ShortConvIn, "shortconv.in_proj.weight"),
    (Role::ShortConv, "shortconv.conv.weight"),
    (Role::ShortConvOut, "shortconv.out_proj.weight"),
    (Role::SsmIn, "ssm_in.weight"),
    (Role::SsmConv, "ssm_conv1d.weight"),
    (Role::SsmConvBias, "ssm_conv1d.bias"),
    (Role::SsmDtBias, "ssm_dt.bias"),
    (Role::SsmA, "ssm_a"),
    (Role::SsmD, "ssm_d"),
    (Role::SsmNorm, "ssm_norm.weight"),
    (Role::SsmOut, "ssm_out.weight"),
    (Role::PerLayerGate, "inp_gate.weight"),
    (Role::PerLayerProj, "proj.weight"),
    (Role::PerLayerPostNorm, "post_norm.weight"),
    (Role::LayerOutputScale, "layer_output_scale.weight"),
    (Role::Router, "ffn_gate_inp.weight"),
    (Role::RouterBias, "ffn_gate_inp.bias"),
    (Role::RouterScale, "ffn_gate_inp.scale"),
    (Role::ExpertPreNorm, "pre_ffw_norm_2.weight"),
    (Role::DensePostNorm, "post_ffw_norm_1.weight"),
    (Role::ExpertPostNorm, "post_ffw_norm_2.weight"),
    (Role::RouterChoiceBias, "exp_probs_b.bias"),
    (Role::ExpertGate, "ffn_gate_exps.weight"),
    (Role::ExpertGateBias, "ffn_gate_exps.bias"),
    (Role::ExpertUp, "ffn_up_exps.weight"),
    (Role::ExpertUpBias, "ffn_up_exps.bias"),
    (Role::ExpertGateUp, "ffn_gate_up_exps.weight"),
    (Role::ExpertDown, "ffn_down_exps.weight"),
    (Role::ExpertDownBias, "ffn_down_exps.bias"),
    (Role::ExpertDownScale, "ffn_down_exps.scale"),
    (Role::SharedRouter, "ffn_gate_inp_shexp.weight"),
    (Role::SharedGate, "ffn_gate_shexp.weight"),
    (Role::SharedUp, "ffn_up_shexp.weight"),
    (Role::SharedDown, "ffn_down_shexp.weight"),
    (Role::AttnSinks, "attn_sinks.weight"),
];

impl WeightKey {
    /// The tensor's name in a GGUF.
    pub fn name(self) -> String {
        let of = |rows: &[(Role, &'static str)]| rows.iter().find(|row| row.0 == self.role).map_or("", |row| row.1);
        match self.layer {
            Some(layer) => format!("blk.{layer}.{}", of(LAYER)),
            None => of(MODEL).to_owned(),
        }
    }
}

/// Every tensor that the model's program reads, each once, in the order of its first use.
pub fn weight_specs(config: &ModelConfig) -> Vec<WeightSpec> {
    let program = super::program(config);
    let mut specs = Specs { parts: &program.parts, found: Vec::new(), known: HashSet::new() };
    for op in program.ops() {
        match op {
            Op::Embed { table, y, .. } => specs.add(*table, &[program.width(*y), config.vocab], false),
            Op::EmbedPlace { table, row: TableRow::Position(rows) | TableRow::First(rows), y } => {
                specs.add(*table, &[program.width(*y), *rows], false);
            }
            Op::Norm { norm, .. } => {
                if let Some(weight) = norm.weight {
                    specs.add(weight, &[norm.width], false);
                }
                if let Some(bias) = norm.bias {
                    specs.add(bias.key, &[norm.width], bias.optional);
                }
            }
            Op::DeltaNet { delta, .. } => {
                for key in [delta.dt_bias, delta.a] {
                    specs.add(key, &[delta.v_heads], false);
                }
            }
            Op::GateHeads { norm: Some((weight, _)), width, .. } => specs.add(*weight, &[*width], false),
            Op::Linear { x, weight, bias, y } => {
                specs.add(*weight, &[program.width(*x), program.width(*y)], false);
                if let Some(bias) = bias {
                    specs.add(bias.key, &[program.width(*y)], bias.optional);
                }
            }
            Op::ScaleBy { factor, .. } => specs.add(*factor, &[1], false),
            Op::Conv { x, conv, .. } => {
                let channels = program.width(*x);
                specs.add_values(conv.weight, &[conv.kernel, channels]);
                if let Some(bias) = conv.bias {
                    specs.add(bias.key, &[channels], bias.optional);
                }
            }
            Op::Scan { scan, .. } => {
                specs.add(scan.dt_bias, &[scan.heads], false);
                [scan.a, scan.d].into_iter().for_each(|key| specs.add_values(key, &[1, scan.heads]));
            }
            Op::GroupNorm { x, norm, .. } => {
                if let Some(weight) = norm.weight {
                    specs.add_values(weight, &[norm.width, program.width(*x) / norm.width.max(1)]);
                }
            }
            Op::Attend { attention, .. } => {
                if let Some(sinks) = attention.sinks {
                    specs.add(sinks, &[attention.heads], false);
                }
            }
            Op::Route { routing, .. } => {
                for key in [routing.bias, routing.expert_scales].into_iter().flatten() {
                    specs.add(key, &[routing.experts.count], false);
                }
            }
            Op::ExpertGate { x, gate_up, experts, y, .. } => {
                let (cols, rows) = (program.width(*x), program.width(*y) / experts.used.max(1));
                match gate_up {
                    GateUp::Fused(key) => specs.add(*key, &[cols, 2 * rows, experts.count], false),
                    GateUp::Pair { weights, biases } => {
                        weights.iter().for_each(|key| specs.add(*key, &[cols, rows, experts.count], false));
                        biases.iter().flatten().for_each(|key| specs.add_values(*key, &[rows, experts.count]));
                    }
                }
            }
            Op::ExpertDown { x, weight, bias, experts, y, .. } => {
                let (cols, rows) = (program.width(*x) / experts.used.max(1), program.width(*y));
                specs.add(*weight, &[cols, rows, experts.count], false);
                bias.iter().for_each(|key| specs.add_values(*key, &[rows, experts.count]));
            }
            _ => {}
        }
    }
    for table in &program.rope_tables {
        for key in table.factors.iter().flat_map(|factors| [factors.short, factors.long]) {
            specs.add(key, &[table.dims / 2], true);
        }
    }
    // The model's own first; a stable sort keeps the rest in order.
    specs.found.sort_by_key(|spec| spec.layer);
    specs.found
}

/// Specs in the order in which they are added, without repeats.
struct Specs<'a> {
    parts: &'a BTreeMap<WeightKey, TensorPart>,
    found: Vec<WeightSpec>,
    known: HashSet<WeightKey>,
}

impl Specs<'_> {
    /// A matrix, or a vector.
    fn add(&mut self, key: WeightKey, dims: &[usize], optional: bool) {
        if self.known.insert(key) {
            let values = dims.len() == 1;
            let dims = dims.iter().map(|&n| n as u64).collect();
            let part = self.parts.get(&key).copied();
            let name = part.map_or(key, |part| part.tensor).name();
            self.found.push(WeightSpec { name, role: key.role, layer: key.layer, dims, part, values, optional });
        }
    }

    /// A tensor that is taken as values, whatever its shape.
    fn add_values(&mut self, key: WeightKey, dims: &[usize]) {
        let known = self.found.len();
        self.add(key, dims, false);
        self.found[known..].iter_mut().for_each(|spec| spec.values = true);
    }
}

/// Finds every tensor the model wants in a file's table: pairs of an index into `tensors` and what the tensor is for,
/// in the order of [`weight_specs`]; a tensor of several weights has as many pairs. Tensors the model does not know are
/// left out.
///
/// # Errors
/// `bad_file` for a missing tensor or a wrong shape (names the tensor and both shapes) and for a name that occurs
/// twice; `unsupported_architecture` for a bias or a scale that the architecture does not have, since without it the
/// answers would be wrong.
pub fn match_tensors(config: &ModelConfig, tensors: &[TensorInfo]) -> Result<Vec<(usize, WeightSpec)>> {
    let mut by_name = HashMap::with_capacity(tensors.len());
    for (index, tensor) in tensors.iter().enumerate() {
        if by_name.insert(tensor.name.as_str(), index).is_some() {
            return Err(Error::bad_file(format!("tensor {} occurs twice", tensor.name)));
        }
    }
    let specs = weight_specs(config);
    refuse_unknown_terms(config, tensors, &specs)?;
    let mut found = Vec::with_capacity(specs.len());
    for spec in specs {
        match by_name.get(spec.name.as_str()) {
            Some(&index) => {
                check_shape(&tensors[index], &spec)?;
                found.push((index, spec));
            }
            None if spec.optional => {}
            None => {
                return Err(Error::bad_file(format!(
                    "tensor {} of shape {:?} is missing",
                    spec.name,
                    spec.tensor_dims()
                )));
            }
        }
    }
    Ok(found)
}

/// GGUF may write trailing dimensions of 1.
fn check_shape(tensor: &TensorInfo, spec: &WeightSpec) -> Result<()> {
    let expected = spec.tensor_dims();
    let longest = tensor.dims.len().max(expected.len());
    let padded = |dims: &[u64], i: usize| dims.get(i).copied().unwrap_or(1);
    if (0..longest).all(|i| padded(&tensor.dims, i) == padded(&expected, i)) {
        return Ok(());
    }
    Err(Error::bad_file(format!("tensor {}: expected shape {expected:?}, found {:?}", spec.name, tensor.dims)))
}

fn refuse_unknown_terms(config: &ModelConfig, tensors: &[TensorInfo], specs: &[WeightSpec]) -> Result<()> {
    let known: HashSet<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    // What is added to a product or multiplies it (NVFP4): without it the answers would be wrong.
    let changes = |name: &&str| name.ends_with(".bias") || name.ends_with(".scale");
    let stray = tensors.iter().map(|t| t.name.as_str()).find(|name| changes(name) && !known.contains(name));
    stray.map_or(Ok(()), |name| {
        let (_, kind) = name.rsplit_once('.').unwrap_or_default();
        let message = format!("tensor {name}: the architecture {} has no such {kind} here", config.architecture);
        Err(Error::new(ErrorCode::UnsupportedArchitecture, message))
    })
}
