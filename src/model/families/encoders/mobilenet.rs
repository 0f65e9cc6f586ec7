//! The encoder of images of Gemma 3n (<https://ai.google.dev/gemma/docs/gemma-3n>): MobileNetV5, convolutions (Qin et
//! al. 2024, <https://arxiv.org/abs/2404.10518>) and attention whose heads share keys and values (Shazeer 2019,
//! <https://arxiv.org/abs/1911.02150>) over grids that become smaller. The caller gives the pixels of a square.

use super::super::super::config::{Block, Blocks, EncoderConfig, ModelConfig};
use super::super::super::program::{
    Activation, BlockSpec, CellKind, CellSpec, Combining, Factor, Norm, NormKind, Op, Operand, Program, Weight,
};
use super::super::super::{ActivationKind, Role, WeightKey};
use super::vit::{Form, Vit, own};

/// Pixels of a row that the caller gives.
const PIXELS: usize = 16;
/// Epsilon of all norms, whatever a file says.
const EPS: f32 = 1e-6;
/// The groups of the names of tensors, by stage.
const GROUPS: [&str; 4] = ["v.blk.0", "v.blk.1", "v.blk.2", "v.blk.3"];
/// The residual stream: what does not add to it becomes the other one.
const STREAMS: [&str; 2] = ["x", "x behind"];

/// The grid of the last stage but one beside the grid of the last, two products, means of what becomes a cell of
/// 16 × 16, and a projector.
pub fn gemma3nv(config: &ModelConfig, encoder: &EncoderConfig) -> Program {
    let Some(blocks) = &encoder.blocks else { return Program::default() };
    let config = &ModelConfig { norm_eps: EPS, ..config.clone() };
    let (vit, pixels) = Vit::reading(3 * PIXELS, "v.blk", config, (encoder, Form::new(config)));
    let x = Activation(0);
    let mut net = Net { vit, x, side: encoder.image_size, width: 3, stream: 0, key: (0, 0), rows: Vec::new() };
    net.stem(blocks, pixels);
    let mut kept = None;
    for (number, ((stage, of), side)) in blocks.stages.iter().zip(&blocks.sides).enumerate() {
        for (at, &block) in of.iter().enumerate() {
            net.key = (*stage, at);
            net.block(block, if at == 0 && block.shrinks() { 2 } else { 1 });
        }
        debug_assert!(net.side == *side, "sides are known");
        if blocks.is_fused() && number + 2 == blocks.stages.len() {
            let y = net.vit.activation("kept", net.width);
            net.vit.push(Op::Copy { x: net.x, y });
            kept = Some((y, net.side));
        }
    }
    if let Some(kept) = kept {
        net.beside(kept);
    }
    net.merge(blocks);
    let (mut vit, x, rows) = (net.vit, net.x, net.rows);
    vit.stage_rows(&rows);
    vit.layers_from(config.layers, &mut |_, _| {});
    project(&mut vit, x);
    vit.finish()
}

/// A norm, a product, and a norm without weights.
fn project(vit: &mut Vit, x: Activation) {
    let width = vit.width(x);
    vit.push(Op::Scale { x, factor: Factor::Number((width as f32).sqrt()) });
    let norm = vit.norm(NormKind::Rms, own("mm.soft_emb_norm.weight"), width);
    vit.push(Op::Norm { x, norm, y: x });
    let rows = vit.project_rows(x, ["mm.input_projection.weight", "mm.input_projection.bias"]);
    let norm = vit.norm(NormKind::Rms, own(""), vit.encoder.width);
    vit.push(Op::Norm { x: rows, norm: Norm { weight: None, ..norm }, y: rows });
}

/// Writes the blocks.
struct Net<'a> {
    vit: Vit<'a>,
    /// The residual stream.
    x: Activation,
    /// Cells along a side of its grid, and values of a cell.
    side: usize,
    width: usize,
    /// Which of [`STREAMS`] it is.
    stream: usize,
    /// Stage and number of a block.
    key: (usize, usize),
    /// Rows of each stage of the program but the last.
    rows: Vec<usize>,
}

impl Net<'_> {
    /// A tensor of the block.
    const fn of(&self, name: &'static str) -> WeightKey {
        WeightKey { layer: Some(self.key.1), role: Role::Named { group: GROUPS[self.key.0], name } }
    }

    /// A norm of cells in place, where the file has it.
    fn norm(&mut self, x: Activation, weight: WeightKey, width: usize) {
        if self.vit.has(weight) {
            let norm = self.vit.norm(NormKind::Rms, weight, width);
            self.vit.push(Op::Norm { x, norm, y: x });
        }
    }

    fn gelu(&mut self, x: Activation) {
        self.vit.push(Op::Activate { x, kind: ActivationKind::Gelu });
    }

    fn product(&mut self, x: Activation, weight: WeightKey, (name, width): (&'static str, usize)) -> Activation {
        let y = self.vit.activation(name, width);
        self.vit.push(Op::Linear { x, weight, bias: None, y });
        y
    }

    /// Cells of a grid of `x` as rows of `spec.outputs` values, on which the program goes on where they are fewer.
    fn cells(&mut self, x: Activation, spec: CellSpec, name: &'static str) -> Activation {
        let y = self.vit.activation(name, spec.outputs);
        if spec.opens {
            let packed = if self.vit.width(x) > spec.width { 4 } else { 1 };
            self.rows.push((spec.side * spec.side).div_ceil(packed));
            self.side = spec.out;
        }
        self.vit.push(Op::ConvGrid { x, spec, y });
        y
    }

    /// A depthwise convolution, and a norm.
    fn depthwise(
        &mut self,
        x: Activation,
        ([weight, norm], kernel, stride): ([&'static str; 2], usize, usize),
        name: &'static str,
    ) -> Activation {
        let width = self.vit.width(x);
        let kind = CellKind::Depthwise(self.of(weight));
        let y = self.cells(x, CellSpec::around(kind, [self.side, width], kernel, stride), name);
        self.norm(y, self.of(norm), width);
        y
    }

    /// The first convolution. Four cells are a row where the next one leaves a quarter of them.
    fn stem(&mut self, blocks: &Blocks, pixels: Activation) {
        let packed = if blocks.is_packed() { 4 } else { 1 };
        let bias = Weight { key: own("v.conv_stem.conv.bias"), optional: true };
        let kind = CellKind::Dense(own("v.conv_stem.conv.weight"), Some(bias).filter(|of| self.vit.has(of.key)));
        let spec = CellSpec::around(kind, [self.side, 3], 3, 2);
        let y = self.vit.activation("stem", packed * blocks.stem);
        self.vit.push(Op::ConvGrid { x: pixels, spec: CellSpec { outputs: blocks.stem, opens: false, ..spec }, y });
        (self.x, self.side, self.width) = (y, spec.out, blocks.stem);
        self.norm(y, own("v.conv_stem.bn.weight"), blocks.stem);
        self.gelu(y);
    }

    fn block(&mut self, block: Block, stride: usize) {
        let side = self.side;
        let update = match block {
            Block::Edge { wide, out } => self.edge([wide, out], stride),
            Block::Inverted { .. } => self.inverted(block, stride),
            Block::Attention { heads, head_dim, kernel, out } => self.attention([heads, head_dim, kernel], out),
        };
        let adds = self.side == side && self.width == block.out();
        // Attention that adds nothing is not scaled either.
        let scale = self.of("layer_scale.gamma");
        let scales = match block {
            Block::Edge { .. } => false,
            Block::Inverted { .. } => true,
            Block::Attention { .. } => adds,
        };
        if scales && self.vit.has(scale) {
            self.vit.push(Op::Combine { x: update, kind: Combining::Multiply, with: Operand::Vector(scale) });
        }
        if adds {
            self.vit.push(Op::Add { x: update, scale: 1.0, to: self.x });
            return;
        }
        self.stream = 1 - self.stream;
        self.width = block.out();
        let y = self.vit.activation(STREAMS[self.stream], self.width);
        self.vit.push(Op::Copy { x: update, y });
        self.x = y;
    }

    fn edge(&mut self, [wide, out]: [usize; 2], stride: usize) -> Activation {
        let spec = CellSpec::around(CellKind::Beside, [self.side, self.width], 3, stride);
        let around = self.cells(self.x, spec, "around");
        let y = self.product(around, self.of("conv_exp.weight"), ("wide", wide));
        self.norm(y, self.of("bn1.weight"), wide);
        self.gelu(y);
        let y = self.product(y, self.of("conv_pwl.weight"), ("update", out));
        self.norm(y, self.of("bn2.weight"), out);
        y
    }

    fn inverted(&mut self, block: Block, stride: usize) -> Activation {
        let Block::Inverted { start, wide, middle, out } = block else { return self.x };
        let mut x = self.x;
        if start > 0 {
            x = self.depthwise(x, (["dw_start.conv.weight", "dw_start.bn.weight"], start, 1), "started");
        }
        if self.vit.has(self.of("pw_exp.conv.weight")) {
            x = self.product(x, self.of("pw_exp.conv.weight"), ("wide", wide));
            self.norm(x, self.of("pw_exp.bn.weight"), wide);
            self.gelu(x);
        }
        if middle > 0 {
            x = self.depthwise(x, (["dw_mid.conv.weight", "dw_mid.bn.weight"], middle, stride), "middle");
            self.gelu(x);
        }
        if self.vit.has(self.of("pw_proj.conv.weight")) {
            x = self.product(x, self.of("pw_proj.conv.weight"), ("update", out));
            self.norm(x, self.of("pw_proj.bn.weight"), out);
        }
        x
    }

    /// Attention of all cells to all, or to the cells of a convolution, which are the first rows.
    fn attention(&mut self, [heads, head_dim, kernel]: [usize; 3], out: usize) -> Activation {
        let cells = self.side * self.side;
        let normed = self.vit.activation("normed", self.width);
        let weight = self.of("norm.weight");
        if self.vit.has(weight) {
            let norm = self.vit.norm(NormKind::Rms, weight, self.width);
            self.vit.push(Op::Norm { x: self.x, norm, y: normed });
        } else {
            self.vit.push(Op::Copy { x: self.x, y: normed });
        }
        let q = self.product(normed, self.of("attn.query.proj.weight"), ("q", heads * head_dim));
        let parts = [
            (["attn.key.down_conv.weight", "attn.key.norm.weight"], "attn.key.proj.weight", ["k before", "k"]),
            (["attn.value.down_conv.weight", "attn.value.norm.weight"], "attn.value.proj.weight", ["v before", "v"]),
        ];
        let mut keys = cells;
        let kv = parts.map(|(names, weight, [before, label])| {
            let mut x = normed;
            if kernel > 0 {
                let kind = CellKind::Depthwise(self.of(names[0]));
                let spec = CellSpec::around(kind, [self.side, self.width], kernel, 2);
                keys = spec.out * spec.out;
                x = self.cells(x, CellSpec { opens: false, ..spec }, before);
                self.norm(x, self.of(names[1]), self.width);
            }
            self.product(x, self.of(weight), (label, head_dim))
        });
        let scale = (head_dim as f32).sqrt().recip();
        let (group, queries) = (heads, cells);
        let spec = BlockSpec { heads, group, head_dim, scale, queries, keys, farthest: 0, filled: false };
        let y = self.vit.activation("attended", heads * head_dim);
        self.vit.push(Op::AttendBlocks { q, kv, with: [None; 2], spec, y });
        self.product(y, self.of("attn.output.proj.weight"), ("update", out))
    }

    /// Puts the stream, on a grid of this many cells along a side, behind the values of `kept`.
    fn beside(&mut self, (kept, side): (Activation, usize)) {
        let up = side / self.side;
        let spec = CellSpec::around(CellKind::Beside, [self.side, self.width], 1, 1);
        let larger = self.cells(self.x, CellSpec { out: side, up, opens: true, ..spec }, "larger");
        self.width += self.vit.width(kept);
        let y = self.vit.activation("side by side", self.width);
        self.vit.push(Op::JoinHeads { parts: [kept, larger], heads: 1, y });
        self.x = y;
    }

    /// The products behind the blocks, and means.
    fn merge(&mut self, blocks: &Blocks) {
        let [wide, out] = blocks.merged;
        if let Some(wide) = wide {
            self.x = self.product(self.x, own("v.msfa.ffn.pw_exp.conv.weight"), ("merged wide", wide));
            self.norm(self.x, own("v.msfa.ffn.pw_exp.bn.weight"), wide);
            self.gelu(self.x);
        }
        if let Some(out) = out {
            self.x = self.product(self.x, own("v.msfa.ffn.pw_proj.conv.weight"), ("merged", out));
            self.norm(self.x, own("v.msfa.ffn.pw_proj.bn.weight"), out);
        }
        self.width = self.vit.width(self.x);
        if self.side > blocks.out() {
            let kernel = self.side / blocks.out();
            let spec = CellSpec::around(CellKind::Mean, [self.side, self.width], kernel, kernel);
            self.x = self.cells(self.x, CellSpec { before: 0, ..spec }, "means");
        }
        self.norm(self.x, own("v.msfa.norm.weight"), self.width);
    }
}
