//! The vision transformer (Dosovitskiy et al. 2020, <https://arxiv.org/abs/2010.11929>), with the options that encoders
//! of images and sounds need.

use super::super::super::config::{EncoderConfig, ModelConfig};
use super::super::super::program::{
    Activation, AttentionSpec, Combining, Factor, Keys, Norm, NormKind, Op, Operand, Output, Program, TensorPart,
    Weight,
};
use super::super::super::{Role, WeightKey};

mod attention;
mod form;
mod projector;
mod tables;

pub use form::Form;

/// Patches that a convolution reads: 3 × 3.
const AROUND: usize = 9;
/// The product before a convolution.
const CONV_IN: &str = "conv2d_in_proj.weight";

const fn multiply(x: Activation, with: Operand) -> Op {
    Op::Combine { x, kind: Combining::Multiply, with }
}

/// Writes the program of an encoder.
pub struct Vit<'a> {
    pub config: &'a ModelConfig,
    pub encoder: &'a EncoderConfig,
    pub form: Form,
    program: Program,
    ops: Vec<Op>,
    layer: Option<usize>,
    /// Operations that put a row in the place of others, so far.
    marks: usize,
    /// The prefix of layer names.
    group: &'static str,
    /// The residual stream.
    pub x: Activation,
}

/// The names of a product's tensors: weights, a bias, and the bounds of its inputs and results.
pub struct Names {
    pub weight: &'static str,
    pub bias: &'static str,
    pub input: [&'static str; 2],
    pub output: [&'static str; 2],
}

macro_rules! names {
    ($name:literal) => {
        &$crate::model::families::encoders::vit::Names {
            weight: concat!($name, ".weight"),
            bias: concat!($name, ".bias"),
            input: [concat!($name, ".input_min"), concat!($name, ".input_max")],
            output: [concat!($name, ".output_min"), concat!($name, ".output_max")],
        }
    };
}

pub(super) use names;

/// A tensor of the encoder or its projector that is of no layer.
pub const fn own(name: &'static str) -> WeightKey {
    WeightKey { layer: None, role: Role::Named { group: "", name } }
}

impl<'a> Vit<'a> {
    /// Begins with the patch embedding; for kernels with two frames, of the same frame twice.
    pub fn new(config: &'a ModelConfig, encoder: &'a EncoderConfig, form: Form) -> Self {
        let patch = 3 * encoder.patch_size * encoder.patch_size;
        let (mut vit, patches) = Self::reading(patch, "v.blk", config, (encoder, form));
        let x = vit.x;
        let bias = vit.optional("v.patch_embd.bias");
        vit.push(Op::Linear { x: patches, weight: own("v.patch_embd.weight"), bias, y: x });
        if config.has_tensor("v.patch_embd.weight.1") {
            // The input is copied, so that the two products are not stacked but summed.
            let again = vit.activation("patches of a second frame", patch);
            vit.push(Op::Copy { x: patches, y: again });
            let second = vit.activation("second frame", config.hidden);
            vit.push(Op::Linear { x: again, weight: own("v.patch_embd.weight.1"), bias: None, y: second });
            vit.push(Op::Add { x: second, scale: 1.0, to: x });
        }
        vit
    }

    /// Begins with input rows of `width` values; layers are named `group`.
    pub fn reading(
        width: usize,
        group: &'static str,
        config: &'a ModelConfig,
        (encoder, form): (&'a EncoderConfig, Form),
    ) -> (Self, Activation) {
        let mut program = Program::default();
        let patches = program.activation("patches", width);
        let x = program.activation("x", config.hidden);
        let mut vit = Self { config, encoder, form, program, ops: Vec::new(), layer: None, marks: 0, group, x };
        vit.push(Op::Input { y: patches });
        (vit, patches)
    }

    /// Adds the position embeddings to the residual stream, by taps into their table.
    pub fn places(&mut self, taps: usize) {
        let (rows, is_sounds) = (self.encoder.places, self.encoder.bins > 0);
        let table = own(if is_sounds { "a.position_embd.weight" } else { "v.position_embd.weight" });
        self.push(Op::AddPlaces { table, rows, taps, number: 0, to: self.x });
    }

    /// Puts `row` in the place of the rows of `to` that the caller marks.
    pub fn mark(&mut self, row: WeightKey, to: Activation) {
        let number = self.marks;
        self.marks += 1;
        self.push(Op::Break { row, number, to });
    }

    /// A norm of the residual stream in place, where the file has it.
    pub fn stream_norm(&mut self, [weight, bias]: [&'static str; 2]) {
        if self.config.has_tensor(weight) {
            let norm = self.norm_of(own(weight), own(bias));
            self.push(Op::Norm { x: self.x, norm, y: self.x });
        }
    }

    /// Writes the layers; `after` may append operations to each.
    pub fn layers(&mut self, after: &mut dyn FnMut(&mut Self, usize)) {
        self.stream_norm(["v.pre_ln.weight", "v.pre_ln.bias"]);
        self.blocks(after);
        self.stream_norm(["v.post_ln.weight", "v.post_ln.bias"]);
    }

    /// The layers without norms around them.
    pub fn blocks(&mut self, after: &mut dyn FnMut(&mut Self, usize)) {
        self.each_layer(&mut |vit, layer| {
            vit.block(layer);
            after(vit, layer);
        });
    }

    /// Layers of another kind, which `write` writes.
    pub fn each_layer(&mut self, write: &mut dyn FnMut(&mut Self, usize)) {
        self.layers_from(0, write);
    }

    /// The same from `first` on; those before it are part of the embedding.
    pub fn layers_from(&mut self, first: usize, write: &mut dyn FnMut(&mut Self, usize)) {
        self.program.embed = std::mem::take(&mut self.ops);
        for layer in first..self.config.layers {
            self.layer = Some(layer);
            write(self, layer);
            let ops = std::mem::take(&mut self.ops);
            self.program.layers.push(ops);
        }
        self.layer = None;
    }

    /// A tensor of a layer.
    pub const fn of_layer(&self, layer: usize, name: &'static str) -> WeightKey {
        WeightKey { layer: Some(layer), role: Role::Named { group: self.group, name } }
    }

    /// A layer.
    pub fn block(&mut self, layer: usize) {
        let normed = self.layer_norm(layer, ["ln1.weight", "ln1.bias"]);
        let update = match self.has(self.of_layer(layer, CONV_IN)) {
            true => self.convolution(normed, layer),
            false => self.attention(normed, layer),
        };
        self.add_update(update, layer, ["ls1.weight", "attn_post_norm.weight"]);
        let normed = self.layer_norm(layer, ["ln2.weight", "ln2.bias"]);
        let update = self.feed_forward(normed, layer);
        self.add_update(update, layer, ["ffn_post_norm.weight", "ls2.weight"]);
        let factor = self.of_layer(layer, "out_scale.weight");
        if self.has(factor) {
            self.push(Op::Scale { x: self.x, factor: Factor::Weight(factor) });
        }
    }

    /// Adds `update` to the residual stream, after the layer scales and norms of these names that the file has.
    pub fn add_update(&mut self, update: Activation, layer: usize, names: [&'static str; 2]) {
        for name in names {
            let key = self.of_layer(layer, name);
            if !self.has(key) {
                continue;
            }
            match name.starts_with("ls") {
                true => self.push(multiply(update, Operand::Vector(key))),
                false => {
                    let norm = Norm { bias: None, ..self.norm(NormKind::Rms, key, self.config.hidden) };
                    self.push(Op::Norm { x: update, norm, y: update });
                }
            }
        }
        self.push(Op::Add { x: update, scale: 1.0, to: self.x });
    }

    /// `out(b · conv(a · c))`, with a, b and c the thirds of a product: a convolution over 3 × 3 patches, where the
    /// file has its kernel.
    fn convolution(&mut self, x: Activation, layer: usize) -> Activation {
        let hidden = self.config.hidden;
        self.split(layer, CONV_IN, ["conv2d_a.weight", "conv2d_b.weight", "conv2d_c.weight"], [hidden; 3]);
        let mut inner = self.linear(x, layer, names!("conv2d_a"), ("conv input", hidden));
        // Products of one activation would lie side by side: what is multiplied elementwise does not.
        let again = self.activation("normed again", hidden);
        self.push(Op::Copy { x, y: again });
        let c = self.linear(again, layer, names!("conv2d_c"), ("conv gate", hidden));
        self.push(multiply(inner, Operand::Rows(c)));
        let kernel = self.of_layer(layer, "conv2d_spatial.weight");
        if self.has(kernel) {
            let y = self.activation("conv", hidden);
            self.push(Op::ConvAround { x: inner, kernel, taps: AROUND, y });
            inner = y;
        }
        let b = self.linear(x, layer, names!("conv2d_b"), ("conv factor", hidden));
        self.push(multiply(inner, Operand::Rows(b)));
        self.linear(inner, layer, names!("conv2d_out_proj"), ("update", hidden))
    }

    fn attention(&mut self, x: Activation, layer: usize) -> Activation {
        let config = self.config;
        let (heads, kv_heads) = (config.heads.of(layer), config.kv_heads.of(layer));
        let head_dim = config.head_dim;
        let plain = AttentionSpec::plain([heads, kv_heads, head_dim], self.form.scale);
        let attention = AttentionSpec { window: self.form.window, ..plain };
        let (wide, narrow) = (attention.query_width(), attention.kv_width());
        self.parts_of_qkv(layer, [wide, narrow]);
        let parts = [
            (names!("attn_q"), "q", "q apart", wide),
            (names!("attn_k"), "k", "k apart", narrow),
            (names!("attn_v"), "v", "v apart", narrow),
        ];
        let is_apart = parts.iter().any(|(names, ..)| self.is_bounded(Some(layer), names));
        let products = parts.map(|(names, label, apart, width)| {
            let y = self.linear(x, layer, names, (if is_apart { apart } else { label }, width));
            (y, label, width)
        });
        // Attention reads q, k and v side by side, as consecutive products and copies are.
        let [q, k, v] = products.map(|(x, label, width)| {
            let y = self.activation(label, width);
            if is_apart {
                self.push(Op::Copy { x, y });
            }
            y
        });
        for (x, name) in [(q, "attn_q_norm.weight"), (k, "attn_k_norm.weight")] {
            let key = self.of_layer(layer, name);
            if self.has(key) {
                let norm = self.norm(self.form.norm, key, head_dim);
                self.push(Op::Norm { x, norm, y: x });
            }
        }
        if self.form.v_norm {
            let norm = Norm { weight: None, ..self.norm(NormKind::Rms, own(""), head_dim) };
            self.push(Op::Norm { x: v, norm, y: v });
        }
        if let Some(apart) = self.form.apart {
            self.ops.extend([q, k].map(|x| Op::Turn { x, head_dim, apart }));
        }
        let attended = self.activation("attended", wide);
        let (kv, keys) = (Some([k, v]), Keys::OfInput(self.form.sight(layer)));
        self.push(Op::Attend { q, kv, attention, keys, y: attended });
        self.linear(attended, layer, names!("attn_out"), ("update", config.hidden))
    }

    /// A file may have q, k and v in one tensor, and their biases too.
    fn parts_of_qkv(&mut self, layer: usize, [q, kv]: [usize; 2]) {
        let runs = [q, kv, kv];
        self.split(layer, "attn_qkv.weight", ["attn_q.weight", "attn_k.weight", "attn_v.weight"], runs);
        self.split(layer, "attn_qkv.bias", ["attn_q.bias", "attn_k.bias", "attn_v.bias"], runs);
    }

    /// Names for three runs of rows of a tensor, where the file has it.
    pub fn split(&mut self, layer: usize, tensor: &'static str, names: [&'static str; 3], runs: [usize; 3]) {
        let tensor = self.of_layer(layer, tensor);
        if !self.has(tensor) {
            return;
        }
        let (every, mut first) = (runs.iter().sum(), 0);
        for (name, run) in names.into_iter().zip(runs) {
            let part = TensorPart { tensor, of: every, first, run, every };
            self.program.parts.insert(self.of_layer(layer, name), part);
            first += run;
        }
    }

    fn feed_forward(&mut self, x: Activation, layer: usize) -> Activation {
        let [up, down] = [names!("ffn_up"), names!("ffn_down")];
        let [up, down] = if self.encoder.is_swapped { [down, up] } else { [up, down] };
        let (ffn, hidden, kind) = (self.encoder.ffn, self.config.hidden, self.encoder.activation);
        if !self.has(self.of_layer(layer, "ffn_gate.weight")) {
            let up = self.linear(x, layer, up, ("up", ffn));
            self.push(Op::Activate { x: up, kind });
            return self.linear(up, layer, down, ("update", hidden));
        }
        let gate = self.gated(x, (Some(layer), [names!("ffn_gate"), up]), ffn);
        self.linear(gate, layer, down, ("update", hidden))
    }

    /// The activation of one product times another product.
    pub fn gated(
        &mut self,
        x: Activation,
        (layer, [gate, up]): (Option<usize>, [&Names; 2]),
        width: usize,
    ) -> Activation {
        let y = self.activation("gate", width);
        self.product(x, (layer, gate), y);
        self.push(Op::Activate { x: y, kind: self.encoder.activation });
        let other = self.activation("up", width);
        self.product(x, (layer, up), other);
        self.push(multiply(y, Operand::Rows(other)));
        y
    }

    fn linear(
        &mut self,
        x: Activation,
        layer: usize,
        names: &Names,
        (name, width): (&'static str, usize),
    ) -> Activation {
        let y = self.activation(name, width);
        self.product(x, (Some(layer), names), y);
        y
    }

    const fn key(&self, layer: Option<usize>, name: &'static str) -> WeightKey {
        match layer {
            Some(layer) => self.of_layer(layer, name),
            None => own(name),
        }
    }

    /// A product of a layer, or of the encoder itself, with the file's bounds of inputs and results.
    pub fn product(&mut self, x: Activation, (layer, names): (Option<usize>, &Names), y: Activation) {
        let x = self.bounded(x, (layer, names));
        let bias = Some(Weight { key: self.key(layer, names.bias), optional: true });
        self.push(Op::Linear { x, weight: self.key(layer, names.weight), bias, y });
        self.bound(y, (layer, names.output));
    }

    /// Whether the file has bounds of a product.
    fn is_bounded(&self, layer: Option<usize>, names: &Names) -> bool {
        [names.input, names.output].into_iter().flatten().any(|name| self.has(self.key(layer, name)))
    }

    /// A copy of a product's input that is clamped to its bounds; x itself without bounds.
    pub fn bounded(&mut self, x: Activation, (layer, names): (Option<usize>, &Names)) -> Activation {
        if !self.is_bounded(layer, names) {
            return x;
        }
        let y = self.activation("bounded", self.width(x));
        self.push(Op::Copy { x, y });
        self.bound(y, (layer, names.input));
        y
    }

    /// Clamps x between two bounds, where the file has them.
    pub fn bound(&mut self, x: Activation, (layer, names): (Option<usize>, [&'static str; 2])) {
        let [least, most] = names.map(|name| self.key(layer, name));
        if self.has(least) && self.has(most) {
            self.push(Op::Bound { x, least, most });
        }
    }

    pub fn layer_norm(&mut self, layer: usize, [weight, bias]: [&'static str; 2]) -> Activation {
        let norm = self.norm_of(self.of_layer(layer, weight), self.of_layer(layer, bias));
        let y = self.activation("normed", self.config.hidden);
        self.push(Op::Norm { x: self.x, norm, y });
        y
    }

    /// The family's norm of whole rows, with a bias where the file has it.
    fn norm_of(&self, weight: WeightKey, bias: WeightKey) -> Norm {
        let bias = Some(Weight { key: bias, optional: true }).filter(|bias| self.has(bias.key));
        Norm { bias, ..self.norm(self.form.norm, weight, self.config.hidden) }
    }

    /// A norm with a weight and without a bias.
    pub fn norm(&self, kind: NormKind, weight: WeightKey, width: usize) -> Norm {
        Norm { kind, weight: Some(weight), bias: None, width, is_grouped: false, eps: self.config.norm_eps }
    }

    fn optional(&self, name: &'static str) -> Option<Weight> {
        Some(Weight { key: own(name), optional: true })
    }

    pub fn push(&mut self, op: Op) {
        self.ops.push(op);
    }

    pub fn activation(&mut self, name: &'static str, width: usize) -> Activation {
        self.program.activation(name, width)
    }

    /// Finishes the program, with the current operations as its head.
    pub fn finish(mut self) -> Program {
        self.program.head = self.ops;
        self.program.output = Output::Rows;
        self.program
    }
}
