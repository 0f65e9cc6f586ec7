//! Writes programs from pieces that families share, each of a few operations.

use super::super::program::{
    Activation, AttentionSpec, Factor, Keys, LOGITS, Norm, NormKind, Op, Program, Sight, TensorPart, Weight, of_layer,
    of_model,
};
use super::super::{ActivationKind, GateKind, Loops, ModelConfig};
use super::behind::next_of;
pub use super::blocks::{AttentionBlock, Bias, ExpertBlock, KeysAndValues, Norms, named};
use crate::model::{Role, WeightKey};

/// A program under construction. `self.ops` has the operations of the current part.
pub struct Builder<'a> {
    pub config: &'a ModelConfig,
    pub(super) program: Program,
    pub(super) ops: Vec<Op>,
    pub(super) layer: usize,
    /// How often the layers run.
    pub loops: Loops,
    /// The kind of norms of whole rows.
    pub norms: Norms,
    /// Whether the feed-forward has biases.
    pub ffn_bias: Bias,
    /// The number of KV caches so far.
    pub caches: usize,
    /// The number of recurrent states so far.
    pub(super) states: usize,
    /// The norm before the head.
    pub output_norm: Role,
    /// The residual stream.
    pub x: Activation,
    /// Embedding, layer and head of [`Program::next`].
    pub(super) next: Option<[Vec<Op>; 3]>,
}

impl<'a> Builder<'a> {
    /// Begins with the embedding of the token, times `scale`.
    pub fn new(config: &'a ModelConfig, scale: f32) -> Self {
        let mut program = Program::default();
        let x = program.activation("x", config.hidden);
        program.embed = vec![Op::Embed { table: of_model(Role::TokenEmbedding), rows: config.vocab, scale, y: x }];
        let (ops, output_norm) = (Vec::new(), Role::OutputNorm);
        Self {
            config,
            program,
            ops,
            layer: 0,
            loops: Loops { count: 1, normed: false, stacks: config.loops.stacks },
            norms: Norms::Rms,
            ffn_bias: Bias::None,
            caches: 0,
            states: 0,
            output_norm,
            x,
            next: None,
        }
    }

    /// Appends operations to the embedding, which `write` writes, and returns its result.
    pub fn embed_more<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        let found = write(self);
        self.program.embed.append(&mut self.ops);
        found
    }

    /// Writes all layers by `write`; the whole stack runs [`Builder::loops`] times.
    pub fn layers(mut self, mut write: impl FnMut(&mut Self, usize)) -> Self {
        self.write_layers(&mut write);
        self
    }

    fn write_layers(&mut self, write: &mut dyn FnMut(&mut Self, usize)) {
        let layers = self.config.layers;
        for at in 0..self.loops.count * layers {
            self.layer = at % layers;
            if at > 0 && self.layer == 0 && self.loops.normed {
                let norm = self.plain_rms(of_model(self.output_norm), self.config.hidden);
                self.ops.push(Op::Norm { x: self.x, norm, y: self.x });
            }
            write(self, at % layers);
            let ops = std::mem::take(&mut self.ops);
            self.program.layers.push(ops);
        }
    }

    /// Ends with norm and head: logits `W · norm(x)`, with a soft cap if there is one. With a pooling type the program
    /// ends as an embedder.
    pub fn head(mut self, soft_cap: Option<f32>) -> Program {
        if self.config.embedder.pooling.is_some() {
            let norm = self.plain_rms(of_model(self.output_norm), self.config.hidden);
            return self.embedder_head(Some(norm));
        }
        let normed = self.whole_norm(self.x, of_model(self.output_norm), "normed");
        let weight = of_model(self.head_role());
        let logits = self.program.activation(LOGITS, self.config.vocab);
        let bias = Weight { key: of_model(Role::OutputBias), optional: false };
        let bias = Some(bias).filter(|bias| self.config.has_tensor(&bias.key.name()));
        self.ops.push(Op::Linear { x: normed, weight, bias, y: logits });
        self.ops.extend(soft_cap.map(|cap| Op::SoftCap { x: logits, cap }));
        self.program.head = self.ops;
        if let Some(next) = self.next {
            next_of(&mut self.program, next);
        }
        self.program
    }

    /// The matrix of the head.
    pub(super) fn head_role(&self) -> Role {
        if self.config.tied { Role::TokenEmbedding } else { Role::Output }
    }

    /// `norm(x)` by the layer's weight of this role.
    pub fn norm(&mut self, x: Activation, role: Role) -> Activation {
        self.whole_norm(x, of_layer(self.layer, role), "normed")
    }

    /// As [`Builder::norm`], where the layer still needs the result of its previous norm.
    pub fn norm_apart(&mut self, x: Activation, role: Role) -> Activation {
        self.whole_norm(x, of_layer(self.layer, role), "normed apart")
    }

    /// The family's norm of whole rows.
    pub(super) fn whole_norm(&mut self, x: Activation, weight: WeightKey, name: &'static str) -> Activation {
        let width = self.program.width(x);
        let y = self.program.activation(name, width);
        let plain = self.plain_rms(weight, width);
        let norm = match self.norms {
            Norms::Rms => plain,
            Norms::RmsBare => Norm { weight: None, ..plain },
            Norms::RmsBiased => Norm { bias: bias_of_norm(weight), ..plain },
            Norms::Layer => Norm { bias: bias_of_norm(weight), ..self.plain_layer(weight, width) },
            Norms::LayerUnbiased => self.plain_layer(weight, width),
            Norms::LayerBare => Norm { weight: None, ..self.plain_layer(weight, width) },
        };
        self.ops.push(Op::Norm { x, norm, y });
        y
    }

    pub(super) fn plain_rms(&self, weight: WeightKey, width: usize) -> Norm {
        let eps = self.config.norm_eps;
        Norm { kind: NormKind::Rms, weight: Some(weight), bias: None, width, is_grouped: false, eps }
    }

    fn plain_layer(&self, weight: WeightKey, width: usize) -> Norm {
        let eps = self.config.layer_norm_eps;
        Norm { kind: NormKind::Layer, eps, ..self.plain_rms(weight, width) }
    }

    /// As [`Builder::norm`], in place and for each head separately.
    pub(super) fn head_norm(&mut self, x: Activation, role: Role, head_dim: usize) {
        self.ops.push(Op::Norm { x, norm: self.plain_rms(of_layer(self.layer, role), head_dim), y: x });
    }

    /// As `head_norm`, with separate weights for each head.
    fn own_head_norm(&mut self, kind: NormKind, x: Activation, role: Role, head_dim: usize) {
        let key = of_layer(self.layer, role);
        let plain = match kind {
            NormKind::Layer => self.plain_layer(key, head_dim),
            _ => self.plain_rms(key, head_dim),
        };
        let norm = Norm { kind, is_grouped: true, ..plain };
        self.ops.push(Op::Norm { x, norm, y: x });
    }

    /// `y = W · x + bias` by the layer's weight of this role; `y` has this name and width.
    pub fn linear(&mut self, x: Activation, role: Role, bias: Option<Weight>, y: (&'static str, usize)) -> Activation {
        let y = self.program.activation(y.0, y.1);
        self.ops.push(Op::Linear { x, weight: of_layer(self.layer, role), bias, y });
        y
    }

    /// Self-attention over `x`, normalised before: q, k and v, rotation, attention and the output projection.
    pub fn attention(&mut self, x: Activation, block: AttentionBlock) -> Activation {
        let (heads, kv_heads) = (self.config.heads.of(self.layer), self.config.kv_heads.of(self.layer));
        let AttentionBlock { head_dim, scale, window, soft_cap, temperature, alibi, .. } = block;
        let sinks = block.sinks.then(|| of_layer(self.layer, Role::AttnSinks));
        let plain = AttentionSpec::plain([heads, kv_heads, head_dim], scale);
        let attention = AttentionSpec { window, soft_cap, temperature, alibi, sinks, ..plain };
        self.parts_of_qkv(attention.query_width(), attention.kv_width());
        let q = self.linear(x, Role::AttnQ, self.bias(block.bias, Role::AttnQBias), ("q", attention.query_width()));
        let (kv, cache) = match block.kv {
            KeysAndValues::Shared(cache) => (None, cache),
            _ => {
                self.caches += 1;
                (Some(self.keys_and_values(x, &block, attention.kv_width())), self.caches - 1)
            }
        };
        let gate = block.gated.then(|| {
            self.fused(Role::AttnQ, heads, &[(Role::AttnQ, head_dim), (Role::AttnQGate, head_dim)]);
            self.linear(x, Role::AttnQGate, None, ("head gates", attention.query_width()))
        });
        let gate = match block.head_gates {
            true => Some(self.linear(x, Role::AttnGate, None, ("head gates", block.gates(heads)))),
            false => gate,
        };
        self.before_attention(q, kv, &block);
        let attended = self.program.activation("attended", attention.query_width());
        let sight = if self.config.embedder.causal { Sight::Causal } else { Sight::All };
        let keys = self.config.embedder.pooling.map_or(Keys::Cached(cache), |_| Keys::OfInput(sight));
        self.ops.push(Op::Attend { q, kv, attention, keys, y: attended });
        let attended = gate.map_or(attended, |gate| self.gate_heads(attended, gate, None, head_dim));
        let attended = block.inner_norm.map_or(attended, |norm| self.norm(attended, norm));
        let out_bias = self.bias(block.out_bias, Role::AttnOutBias);
        self.linear(attended, Role::AttnOut, out_bias, ("update", self.config.hidden))
    }

    /// The operations on q, k and v between their products and attention: clamping, norms of q and k, rotation.
    fn before_attention(&mut self, q: Activation, kv: Option<[Activation; 2]>, block: &AttentionBlock) {
        let head_dim = block.head_dim;
        let k = kv.map(|[k, _]| k);
        if let Some(limit) = block.clamp {
            let clamped = [q].into_iter().chain(kv.into_iter().flatten());
            self.ops.extend(clamped.map(|x| Op::Activate { x, kind: ActivationKind::Clamp(limit) }));
        }
        let normed = [(Some(q), Role::AttnQNorm), (k, Role::AttnKNorm)].map(|(x, role)| Some((x?, role)));
        let normed: Vec<(Activation, Role)> = normed.into_iter().flatten().collect();
        if let Some(kind) = block.own_qk_norm {
            normed.iter().for_each(|&(x, role)| self.own_head_norm(kind, x, role, head_dim));
        }
        if block.biased_qk_norm {
            for &(x, role) in &normed {
                let name = if role == Role::AttnQNorm { "attn_q_norm.bias" } else { "attn_k_norm.bias" };
                let key = of_layer(self.layer, named(name));
                let plain = self.plain_layer(of_layer(self.layer, role), self.program.width(x));
                let norm = Norm { bias: Some(Weight { key, optional: true }), ..plain };
                self.ops.push(Op::Norm { x, norm, y: x });
            }
        }
        if block.whole_qk_norm {
            normed.iter().for_each(|&(x, role)| self.head_norm(x, role, self.program.width(x)));
        }
        if block.qk_norm {
            normed.iter().for_each(|&(x, role)| self.head_norm(x, role, head_dim));
        }
        if block.rope.dims > 0 {
            let table = self.program.rope_table(block.rope);
            self.ops.extend(normed.iter().map(|&(x, _)| Op::Rope { x, head_dim, table }));
        }
        if block.rotated_qk_norm {
            normed.iter().for_each(|&(x, role)| self.head_norm(x, role, head_dim));
        }
    }

    /// Products for q, k and v, whose weights and biases may be fused into one tensor.
    fn parts_of_qkv(&mut self, q: usize, kv: usize) {
        let fused = [
            (Role::AttnQkv, [Role::AttnQ, Role::AttnK, Role::AttnV]),
            (Role::AttnQkvBias, [Role::AttnQBias, Role::AttnKBias, Role::AttnVBias]),
        ];
        for (tensor, [of_q, of_k, of_v]) in fused {
            if self.config.has_tensor(&of_layer(self.layer, tensor).name()) {
                self.fused(tensor, 1, &[(of_q, q), (of_k, kv), (of_v, kv)]);
            }
        }
    }

    /// k and v of `x`; v after its norm, k before its own.
    fn keys_and_values(&mut self, x: Activation, block: &AttentionBlock, width: usize) -> [Activation; 2] {
        let k = self.linear(x, Role::AttnK, self.bias(block.bias, Role::AttnKBias), ("k", width));
        let v = match block.kv {
            KeysAndValues::ValuesAreKeys => self.program.activation("v", width),
            _ => self.linear(x, Role::AttnV, self.bias(block.bias, Role::AttnVBias), ("v", width)),
        };
        if block.v_norm {
            let from = if block.kv == KeysAndValues::ValuesAreKeys { k } else { v };
            let norm = Norm { weight: None, ..self.plain_rms(of_layer(self.layer, Role::AttnKNorm), block.head_dim) };
            self.ops.push(Op::Norm { x: from, norm, y: v });
        }
        [k, v]
    }

    pub(super) fn bias(&self, bias: Bias, role: Role) -> Option<Weight> {
        let weight = |optional| Some(Weight { key: of_layer(self.layer, role), optional });
        match bias {
            Bias::None => None,
            Bias::Optional => weight(true),
            Bias::Required => weight(false),
        }
    }

    /// `x · σ(gate)`, or with the weight of a norm `norm(x) · silu(gate)`, for each head of `width` values.
    pub fn gate_heads(&mut self, x: Activation, gate: Activation, norm: Option<Role>, width: usize) -> Activation {
        let y = self.program.activation("gated", self.program.width(x));
        let norm = norm.map(|role| (of_layer(self.layer, role), self.config.norm_eps));
        self.ops.push(Op::GateHeads { x, gate, norm, width, y });
        y
    }

    /// A pre-norm layer: attention, then the feed-forward that `feed_forward` writes, each added to the residual
    /// stream.
    pub fn normed_layer(
        &mut self,
        block: AttentionBlock,
        feed_forward: impl FnOnce(&mut Self, Activation) -> Activation,
    ) {
        let normed = self.norm(self.x, Role::AttnNorm);
        let update = self.attention(normed, block);
        self.add(update);
        let normed = self.norm(self.x, Role::FfnNorm);
        let update = feed_forward(self, normed);
        self.add(update);
    }

    /// The gated feed-forward of `x`, normalised before.
    pub fn feed_forward(&mut self, x: Activation, kind: GateKind) -> Activation {
        self.feed_forward_of(x, [Role::FfnGate, Role::FfnUp], kind)
    }

    /// The gated feed-forward with these weights for the two halves.
    pub fn feed_forward_of(&mut self, x: Activation, [gate, up]: [Role; 2], kind: GateKind) -> Activation {
        let (hidden, ffn) = (self.config.hidden, self.config.ffn.of(self.layer));
        let bias = |role| self.bias(self.ffn_bias, role);
        let [gate_bias, up_bias, down_bias] = [Role::FfnGateBias, Role::FfnUpBias, Role::FfnDownBias].map(bias);
        let gate = self.linear(x, gate, gate_bias, ("gate", ffn));
        let up = self.linear(x, up, up_bias, ("up", ffn));
        let activated = self.program.activation("activated", ffn);
        self.ops.push(Op::Gate { gate, up, at: 0, kind, y: activated });
        self.linear(activated, Role::FfnDown, down_bias, ("update", hidden))
    }

    /// The gated feed-forward with both halves in one tensor, `gate` first.
    pub fn feed_forward_fused(&mut self, x: Activation, gate: Role, kind: GateKind) -> Activation {
        let ffn = self.config.ffn.of(self.layer);
        self.fused(Role::FfnUp, 1, &[(gate, ffn), (Role::FfnUpHalf, ffn)]);
        self.feed_forward_of(x, [gate, Role::FfnUpHalf], kind)
    }

    /// The feed-forward of `x` without a gate.
    pub fn feed_forward_plain(&mut self, x: Activation, kind: ActivationKind) -> Activation {
        let (hidden, ffn) = (self.config.hidden, self.config.ffn.of(self.layer));
        let bias = |role| Some(Weight { key: of_layer(self.layer, role), optional: true });
        let [up_bias, down_bias] = [Role::FfnUpBias, Role::FfnDownBias].map(bias);
        let up = self.linear(x, Role::FfnUp, up_bias, ("up", ffn));
        self.ops.push(Op::Activate { x: up, kind });
        self.linear(up, Role::FfnDown, down_bias, ("update", hidden))
    }

    /// The layer's weight of this role.
    pub fn weight(&self, role: Role) -> WeightKey {
        of_layer(self.layer, role)
    }

    /// Whether the file has the layer's tensor of this role.
    pub fn has(&self, role: Role) -> bool {
        self.config.has_tensor(&of_layer(self.layer, role).name())
    }

    /// Adds `norm(x)`, by the layer's weight of this role, to the residual stream.
    pub fn add_normed(&mut self, x: Activation, role: Role) {
        let normed = self.norm(x, role);
        self.add(normed);
    }

    /// Adds to the residual stream.
    pub fn add(&mut self, x: Activation) {
        self.add_scaled(x, 1.0);
    }

    /// Adds `scale · x` to the residual stream.
    pub fn add_scaled(&mut self, x: Activation, scale: f32) {
        self.ops.push(Op::Add { x, scale, to: self.x });
    }

    /// A copy of an activation, by this name.
    pub fn copy(&mut self, x: Activation, name: &'static str) -> Activation {
        let y = self.program.activation(name, self.program.width(x));
        self.ops.push(Op::Copy { x, y });
        y
    }

    /// Appends an operation to the current part.
    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// The activation of this name and width.
    pub fn activation(&mut self, name: &'static str, width: usize) -> Activation {
        self.program.activation(name, width)
    }

    /// `activation(gate) · up`, with the values of `up` from `at` on.
    pub fn gate_part(&mut self, gate: Activation, (up, at): (Activation, usize), kind: GateKind) -> Activation {
        let width = self.program.width(gate);
        let y = self.program.activation("activated", width);
        self.ops.push(Op::Gate { gate, up, at, kind, y });
        y
    }

    /// Multiplies the residual stream by the layer's factor of this role.
    pub fn scale_by(&mut self, role: Role) {
        self.ops.push(Op::Scale { x: self.x, factor: Factor::Weight(of_layer(self.layer, role)) });
    }

    /// Declares weights of this layer as parts of the fused tensor `tensor`, which consists of `repeats` groups with
    /// `rows[i].1` rows of weight i each.
    pub fn fused(&mut self, tensor: Role, repeats: usize, rows: &[(Role, usize)]) {
        let every = rows.iter().map(|(_, run)| run).sum();
        let tensor = of_layer(self.layer, tensor);
        let mut first = 0;
        for &(role, run) in rows {
            let part = TensorPart { tensor, of: every * repeats, first, run, every };
            self.program.parts.insert(of_layer(self.layer, role), part);
            first += run;
        }
    }
}

/// The bias of a norm before attention, feed-forward or head; StableLM's feed-forward may have none.
fn bias_of_norm(weight: WeightKey) -> Option<Weight> {
    let (role, optional) = match weight.role {
        Role::AttnNorm => (Role::AttnNormBias, false),
        Role::AttnNorm2 => (Role::AttnNorm2Bias, false),
        Role::FfnNorm => (Role::FfnNormBias, true),
        Role::OutputNorm => (Role::OutputNormBias, false),
        _ => return None,
    };
    Some(Weight { key: WeightKey { role, ..weight }, optional })
}
