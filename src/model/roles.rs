//! The roles of tensors, and their names in GGUF files.

/// The embedding table's name.
pub(super) const EMBEDDING: &str = "token_embd.weight";
/// The output head's name. A file without it uses the embedding table as head.
pub(super) const HEAD: &str = "output.weight";

/// The role of a tensor.
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
    /// The same under NeoBERT's name.
    OutputNormOfEncoder,
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
    /// The norm before attention, where [`Role::AttnNorm`] is that before a feed-forward beside it (Falcon).
    AttnNorm2,
    /// Bias of that.
    AttnNorm2Bias,
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
    /// Projection to the latent vector of queries.
    AttnQA,
    /// The RMS norm of that.
    AttnQANorm,
    /// Projection of the latent vector to queries.
    AttnQB,
    /// The part of each query head without rotation, which [`Role::AttnKB`] projects to the latent vector of keys.
    AttnQNope,
    /// The rotated part of each query head.
    AttnQRope,
    /// Projection to the latent vector of keys and values, then to the rotated part that all keys share.
    AttnKvA,
    /// The rows of [`Role::AttnKvA`] for the latent vector.
    AttnKvLatent,
    /// The rows of [`Role::AttnKvA`] for the rotated part.
    AttnKRope,
    /// The RMS norm of the latent vector.
    AttnKvANorm,
    /// Projection of the latent vector to keys and values of each head.
    AttnKvB,
    /// The matrix of keys of each head, transposed: from queries to the latent vector.
    AttnKB,
    /// The matrix of values of each head.
    AttnVB,
    /// Attention back to the residual stream.
    AttnOut,
    /// Bias of that.
    AttnOutBias,
    /// The RMS norm before the output projection of attention (BitNet).
    AttnInnerNorm,
    /// z of a gated delta rule: the gate of its heads.
    AttnGate,
    /// beta of a delta rule, before its sigmoid: how strongly a token is written to the state.
    SsmBeta,
    /// alpha of a delta rule, before softplus: the decay of the state.
    SsmAlpha,
    /// Rows of [`Role::SsmBeta`] and [`Role::SsmAlpha`] for each head of k.
    SsmBetaAlpha,
    /// The gate of heads after attention: in Qwen 3.5 rows of [`Role::AttnQ`]'s tensor.
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
    /// The RMS norm before the product back to the residual stream (BitNet).
    FfnInnerNorm,
    /// The RMS norm after the feed-forward.
    FfnPostNorm,
    /// The same as [`Role::FfnNorm`] under Falcon-H1's name.
    FfnNormBare,
    /// b, c and x of a gated convolution.
    ShortConvIn,
    /// Gate b of a gated convolution.
    ShortConvB,
    /// Gate c of a gated convolution.
    ShortConvC,
    /// Input of a gated convolution.
    ShortConvX,
    /// Taps of a gated convolution.
    ShortConv,
    /// Gated convolution back to the residual stream.
    ShortConvOut,
    /// z, then x, B and C, then dt of a Mamba-2 layer.
    SsmIn,
    /// Gate z of a Mamba-2 layer.
    SsmZ,
    /// x, B and C of a Mamba-2 layer, before the convolution.
    SsmXbc,
    /// Time steps of a Mamba-2 layer.
    SsmDt,
    /// Taps of a Mamba layer's convolution.
    SsmConv,
    /// Bias of a Mamba layer's convolution.
    SsmConvBias,
    /// Bias of a Mamba layer's time steps.
    SsmDtBias,
    /// Decay of a Mamba layer's heads.
    SsmA,
    /// Time steps, B and C of a Mamba layer.
    SsmX,
    /// B of a Mamba layer.
    SsmB,
    /// C of a Mamba layer.
    SsmC,
    /// From time steps to those of the channels.
    SsmDtOut,
    /// The RMS norm of time steps.
    SsmDtNorm,
    /// The RMS norm of B.
    SsmBNorm,
    /// The RMS norm of C.
    SsmCNorm,
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
    /// Projection of the residual stream to the gate of the layer's values.
    PerLayerGate,
    /// From there back to the residual stream.
    PerLayerProj,
    /// The RMS norm after that.
    PerLayerPostNorm,
    /// A factor of the residual stream after the layer.
    LayerOutputScale,
    /// The router: one row per expert.
    Router,
    /// Bias of the router.
    RouterBias,
    /// Factors of the normalised residual stream before the router (Gemma 4).
    RouterScale,
    /// The RMS norm before the experts, beside a dense feed-forward (Gemma 4).
    ExpertPreNorm,
    /// The RMS norm after the dense feed-forward beside experts.
    DensePostNorm,
    /// The RMS norm after the experts.
    ExpertPostNorm,
    /// Added to the experts' weights, only to choose them.
    RouterChoiceBias,
    /// [`Role::FfnGate`] of every expert.
    ExpertGate,
    /// Bias of [`Role::ExpertGate`], for every expert.
    ExpertGateBias,
    /// [`Role::FfnUp`] of every expert.
    ExpertUp,
    /// Bias of [`Role::ExpertUp`], for every expert.
    ExpertUpBias,
    /// Gate and up of every expert in one tensor.
    ExpertGateUp,
    /// [`Role::FfnDown`] of every expert.
    ExpertDown,
    /// Bias of [`Role::ExpertDown`], for every expert.
    ExpertDownBias,
    /// Factor of each expert's result.
    ExpertDownScale,
    /// One row: the logit of the shared expert's gate.
    SharedRouter,
    /// [`Role::FfnGate`] of the shared expert.
    SharedGate,
    /// [`Role::FfnUp`] of the shared expert.
    SharedUp,
    /// [`Role::FfnDown`] of the shared expert.
    SharedDown,
    /// One logit per attention head that takes part in its softmax without a value.
    AttnSinks,
    /// A tensor of an encoder, by its name: `{group}.{layer}.{name}`, or the name alone where it is of no layer.
    Named {
        /// The name of the layers.
        group: &'static str,
        /// The name.
        name: &'static str,
    },
}

/// A tensor of a model: what it is for, and the layer it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WeightKey {
    /// The layer, or `None` for the model's own.
    pub layer: Option<usize>,
    /// The role of the tensor.
    pub role: Role,
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
    (Role::OutputNormOfEncoder, "enc.output_norm.weight"),
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
    (Role::AttnNorm2, "attn_norm_2.weight"),
    (Role::AttnNorm2Bias, "attn_norm_2.bias"),
    (Role::AttnQ, "attn_q.weight"),
    (Role::AttnK, "attn_k.weight"),
    (Role::AttnV, "attn_v.weight"),
    (Role::AttnQkv, "attn_qkv.weight"),
    (Role::AttnQkvBias, "attn_qkv.bias"),
    (Role::AttnGate, "attn_gate.weight"),
    (Role::SsmBeta, "ssm_beta.weight"),
    (Role::SsmAlpha, "ssm_alpha.weight"),
    (Role::SsmBetaAlpha, "ssm_ba.weight"),
    (Role::AttnQA, "attn_q_a.weight"),
    (Role::AttnQANorm, "attn_q_a_norm.weight"),
    (Role::AttnQB, "attn_q_b.weight"),
    (Role::AttnKvA, "attn_kv_a_mqa.weight"),
    (Role::AttnKvANorm, "attn_kv_a_norm.weight"),
    (Role::AttnKvB, "attn_kv_b.weight"),
    (Role::AttnKB, "attn_k_b.weight"),
    (Role::AttnVB, "attn_v_b.weight"),
    (Role::AttnOut, "attn_output.weight"),
    (Role::AttnOutBias, "attn_output.bias"),
    (Role::AttnInnerNorm, "attn_sub_norm.weight"),
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
    (Role::FfnInnerNorm, "ffn_sub_norm.weight"),
    (Role::FfnPostNorm, "post_ffw_norm.weight"),
    (Role::FfnNormBare, "ffn_norm"),
    (Role::ShortConvIn, "shortconv.in_proj.weight"),
    (Role::ShortConv, "shortconv.conv.weight"),
    (Role::ShortConvOut, "shortconv.out_proj.weight"),
    (Role::SsmIn, "ssm_in.weight"),
    (Role::SsmConv, "ssm_conv1d.weight"),
    (Role::SsmConvBias, "ssm_conv1d.bias"),
    (Role::SsmDtBias, "ssm_dt.bias"),
    (Role::SsmX, "ssm_x.weight"),
    (Role::SsmDtOut, "ssm_dt.weight"),
    (Role::SsmDtNorm, "ssm_dt_norm.weight"),
    (Role::SsmBNorm, "ssm_b_norm.weight"),
    (Role::SsmCNorm, "ssm_c_norm.weight"),
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
        if let Role::Named { group, name } = self.role {
            return self.layer.map_or_else(|| name.to_owned(), |layer| format!("{group}.{layer}.{name}"));
        }
        let of = |rows: &[(Role, &'static str)]| rows.iter().find(|row| row.0 == self.role).map_or("", |row| row.1);
        match self.layer {
            Some(layer) => format!("blk.{layer}.{}", of(LAYER)),
            None => of(MODEL).to_owned(),
        }
    }
}
