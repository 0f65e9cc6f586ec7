//! What follows the layers of an encoder: rows that are merged, and products that make rows of prompts of them.

use super::super::super::super::program::{
    Activation, Combining, Grouping, Norm, NormKind, Op, Operand, TensorPart, Weight,
};
use super::super::super::super::{ActivationKind, Role, WeightKey};
use super::{Vit, own};

impl Vit<'_> {
    /// A norm of the projector, with a bias where the file has it.
    pub fn projector_norm(&mut self, x: Activation, [weight, bias]: [&'static str; 2], eps: f32) -> Activation {
        let bias = Some(Weight { key: own(bias), optional: true }).filter(|bias| self.has(bias.key));
        let width = self.program.width(x);
        let norm = Norm { bias, eps, ..self.norm(NormKind::Layer, own(weight), width) };
        let y = self.activation("projector normed", width);
        self.push(Op::Norm { x, norm, y });
        y
    }

    /// A layer norm of the encoder itself, with its bias.
    pub fn normed(&mut self, x: Activation, [weight, bias]: [&'static str; 2], name: &'static str) -> Activation {
        let width = self.program.width(x);
        let bias = Some(Weight { key: own(bias), optional: true });
        let norm = Norm { bias, ..self.norm(NormKind::Layer, own(weight), width) };
        let y = self.activation(name, width);
        self.push(Op::Norm { x, norm, y });
        y
    }

    /// Concatenates groups of `parts` rows of `x`. The following operations run on these rows.
    pub fn side_by_side(&mut self, x: Activation, parts: usize) -> Activation {
        self.regroup(x, Grouping { parts, taps: 1, by_value: false })
    }

    /// Merges rows of `x`. The following operations run on these rows.
    pub fn regroup(&mut self, x: Activation, grouping: Grouping) -> Activation {
        self.regroup_as("regrouped", x, grouping)
    }

    /// Merges rows of `x` into an activation of this name.
    pub fn regroup_as(&mut self, name: &'static str, x: Activation, grouping: Grouping) -> Activation {
        let y = self.activation(name, self.program.width(x) * grouping.parts);
        self.push(Op::Regroup { x, grouping, kernel: None, y });
        y
    }

    /// A depthwise convolution of some rows of `x`, with a bias. The following operations run on its results.
    pub fn fold(
        &mut self,
        name: &'static str,
        x: Activation,
        taps: usize,
        [weight, bias]: [&'static str; 2],
    ) -> Activation {
        let y = self.activation(name, self.program.width(x));
        let grouping = Grouping { parts: 1, taps, by_value: false };
        self.push(Op::Regroup { x, grouping, kernel: Some(own(weight)), y });
        self.push(Op::Combine { x: y, kind: Combining::Add, with: Operand::Vector(own(bias)) });
        y
    }

    /// Means of `taps` rows of `x` each. The following operations run on these rows.
    pub fn mean(&mut self, x: Activation, taps: usize) -> Activation {
        self.regroup(x, Grouping { parts: 1, taps, by_value: false })
    }

    /// A product of the projector, whose width its tensor says.
    pub fn project(&mut self, x: Activation, names: [&'static str; 2], label: &'static str) -> Activation {
        let y = self.activation(label, self.encoder.width_of(names[0]));
        let bias = self.optional(names[1]);
        self.push(Op::Linear { x, weight: own(names[0]), bias, y });
        y
    }

    /// Halves of a product of the projector without a bias.
    pub fn halves(&mut self, x: Activation, tensor: &'static str, names: [&'static str; 2]) -> [Activation; 2] {
        let every = self.encoder.width_of(tensor);
        let run = every / 2;
        [0, 1].map(|half| {
            let y = self.activation(names[half], run);
            let part = TensorPart { tensor: own(tensor), of: every, first: half * run, run, every };
            self.program.parts.insert(own(names[half]), part);
            self.push(Op::Linear { x, weight: own(names[half]), bias: None, y });
            y
        })
    }

    /// A product of the projector as wide as rows of prompts are.
    pub fn project_rows(&mut self, x: Activation, names: [&'static str; 2]) -> Activation {
        let y = self.activation("rows", self.encoder.width);
        let bias = self.optional(names[1]);
        self.push(Op::Linear { x, weight: own(names[0]), bias, y });
        y
    }

    /// Two products of the projector with an activation between them, the second as wide as rows of prompts are.
    pub fn project_twice(
        &mut self,
        x: Activation,
        [first, second]: [[&'static str; 2]; 2],
        kind: ActivationKind,
    ) -> Activation {
        let between = self.project(x, first, "between");
        self.push(Op::Activate { x: between, kind });
        self.project_rows(between, second)
    }

    /// A product with a tensor of the encoder itself.
    pub fn push_linear(&mut self, x: Activation, [weight, bias]: [&'static str; 2], y: Activation) {
        let bias = self.optional(bias);
        self.push(Op::Linear { x, weight: own(weight), bias, y });
    }

    /// Rows for a deeper layer of the text model of `x`, by the weights of this layer's.
    pub fn deep_rows(&mut self, x: Activation, layer: usize, name: &'static str) {
        let key = |name| WeightKey { layer: Some(layer), role: Role::Named { group: "v.deepstack", name } };
        let bias = |name| Some(Weight { key: key(name), optional: true });
        let width = self.program.width(x);
        let bias_of_norm = bias("norm.bias").filter(|bias| self.has(bias.key));
        let norm = Norm { bias: bias_of_norm, ..self.norm(NormKind::Layer, key("norm.weight"), width) };
        let normed = self.activation("deep normed", width);
        self.push(Op::Norm { x, norm, y: normed });
        let between = self.encoder.width_of(&key("fc1.weight").name());
        let between = self.activation("deep between", between);
        self.push(Op::Linear { x: normed, weight: key("fc1.weight"), bias: bias("fc1.bias"), y: between });
        self.push(Op::Activate { x: between, kind: ActivationKind::Gelu });
        let side = self.activation(name, self.encoder.width);
        self.push(Op::Linear { x: between, weight: key("fc2.weight"), bias: bias("fc2.bias"), y: side });
        self.program.sides.push(side);
    }
}
