//! The weights that each operation of a program reads. This table decides which tensors a model wants, and where they
//! go on the GPU.

use super::program::{
    CellKind, CellSpec, Factor, GateUp, Norm, Op, Operand, Program, StreamSpec, TableRow, Weight, WkvForm,
};
use super::roles::WeightKey;

/// How an operation uses a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightUse {
    /// A table of which each token reads one row.
    Table,
    /// A matrix that is multiplied with an activation, in the file's blocks.
    Matrix,
    /// f32 values: vectors, and small matrices such as the taps of convolutions.
    Values,
}

/// A weight that an operation reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpWeight {
    /// The weight.
    pub key: WeightKey,
    /// The shape in GGUF order: `[length of a row]`, `[length of a row, rows]`, or for experts `[.., rows, experts]`.
    pub dims: Vec<usize>,
    /// How the weight is used.
    pub used_as: WeightUse,
    /// Whether the operation runs without it.
    pub optional: bool,
}

fn table(key: WeightKey, dims: [usize; 2]) -> OpWeight {
    OpWeight { key, dims: dims.to_vec(), used_as: WeightUse::Table, optional: false }
}

fn matrix(key: WeightKey, dims: &[usize]) -> OpWeight {
    OpWeight { key, dims: dims.to_vec(), used_as: WeightUse::Matrix, optional: false }
}

fn values(key: WeightKey, dims: &[usize]) -> OpWeight {
    OpWeight { key, dims: dims.to_vec(), used_as: WeightUse::Values, optional: false }
}

fn bias(weight: Weight, width: usize) -> OpWeight {
    OpWeight { optional: weight.optional, ..values(weight.key, &[width]) }
}

fn norm_weights(norm: &Norm, width: usize) -> Vec<OpWeight> {
    let weight = norm.weight.map(|key| match norm.is_grouped {
        true => values(key, &[norm.width, width / norm.width.max(1)]),
        false => values(key, &[norm.width]),
    });
    weight.into_iter().chain(norm.bias.map(|weight| bias(weight, norm.width))).collect()
}

fn weights_of_cells(spec: &CellSpec) -> Vec<OpWeight> {
    match spec.kind {
        CellKind::Depthwise(key) => vec![values(key, &[spec.taps(), spec.width])],
        CellKind::Dense(key, of) => {
            let kernel = values(key, &[spec.taps() * spec.width, spec.outputs]);
            [kernel].into_iter().chain(of.map(|of| bias(of, spec.outputs))).collect()
        }
        CellKind::Beside | CellKind::Mean => Vec::new(),
    }
}

impl Op {
    /// The weights that the operation reads, in one order.
    pub fn weights(&self, program: &Program) -> Vec<OpWeight> {
        let width = |activation| program.width(activation);
        match self {
            Self::Embed { table: key, rows, y, .. } => vec![table(*key, [width(*y), *rows])],
            Self::EmbedPlace { table: key, row: TableRow::Position(rows) | TableRow::First(rows), y } => {
                vec![table(*key, [width(*y), *rows])]
            }
            Self::Norm { x, norm, .. } => norm_weights(norm, width(*x)),
            Self::Linear { x, weight, bias: of, y } => {
                let biases = of.map(|of| bias(of, width(*y)));
                [matrix(*weight, &[width(*x), width(*y)])].into_iter().chain(biases).collect()
            }
            Self::HeadLinear { x, weight, heads, y } => {
                let [cols, rows] = [x, y].map(|of| width(*of) / (*heads).max(1));
                vec![matrix(*weight, &[cols, rows, *heads])]
            }
            Self::HeadValues { x, weight, heads, rows, y } => {
                let cols = width(if rows.transposed { *y } else { *x }) / (*heads).max(1);
                vec![values(*weight, &[cols, rows.of * heads])]
            }
            Self::Attend { .. } | Self::AttendSource { .. } | Self::Switch { .. } => self.weights_of_attention(program),
            Self::DeltaNet { delta, .. } => [delta.dt_bias, delta.a].map(|key| values(key, &[delta.v_heads])).into(),
            Self::GateHeads { norm, width, .. } => norm.map(|(key, _)| values(key, &[*width])).into_iter().collect(),
            Self::Conv { x, conv, .. } => {
                let channels = width(*x);
                let biases = conv.bias.map(|of| bias(of, channels));
                let taps = conv.weight.map(|weight| values(weight, &[conv.kernel, channels]));
                taps.into_iter().chain(biases).collect()
            }
            Self::Scan { scan, .. } => {
                let [a, d] = [scan.a, scan.d].map(|key| values(key, &[1, scan.heads]));
                vec![values(scan.dt_bias, &[scan.heads]), a, d]
            }
            Self::ChannelScan { scan, .. } => {
                vec![values(scan.a, &[scan.state, scan.channels]), values(scan.d, &[scan.channels])]
            }
            Self::Route { routing, .. } => {
                let keys = [routing.bias, routing.expert_scales].into_iter().flatten();
                keys.map(|key| values(key, &[routing.experts.count])).collect()
            }
            Self::ExpertGate { x, gate_up, experts, y, .. } => {
                let (cols, rows) = (width(*x), width(*y) / experts.used.max(1));
                match gate_up {
                    GateUp::Fused(key) => vec![matrix(*key, &[cols, 2 * rows, experts.count])],
                    GateUp::Alone(key) => vec![matrix(*key, &[cols, rows, experts.count])],
                    GateUp::Pair { weights, biases } => {
                        let weights = weights.iter().map(|key| matrix(*key, &[cols, rows, experts.count]));
                        let biases = biases.iter().flatten().map(|key| values(*key, &[rows, experts.count]));
                        weights.chain(biases).collect()
                    }
                }
            }
            Self::ExpertDown { x, weight, bias, experts, y, .. } => {
                let (cols, rows) = (width(*x) / experts.used.max(1), width(*y));
                let biases = bias.iter().map(|key| values(*key, &[rows, experts.count]));
                [matrix(*weight, &[cols, rows, experts.count])].into_iter().chain(biases).collect()
            }
            Self::Scale { factor: Factor::Weight(factor), .. } => vec![values(*factor, &[1])],
            Self::AddPlaces { .. } | Self::ConvAround { .. } | Self::Regroup { .. } => self.weights_of_encoder(program),
            Self::Break { .. } | Self::Project { .. } | Self::Bound { .. } => self.weights_of_encoder(program),
            Self::AttendNear { .. } | Self::AttendFar { .. } | Self::Repeat { .. } => self.weights_of_encoder(program),
            Self::AttendRows { .. } | Self::AttendBlocks { .. } | Self::AttendGrid { .. } | Self::ConvGrid { .. } => {
                self.weights_of_encoder(program)
            }
            Self::Combine { x, with: Operand::Vector(key), .. } | Self::Lerp { x, by: Operand::Vector(key), .. } => {
                vec![values(*key, &[width(*x)])]
            }
            Self::Wkv { wkv, .. } => match wkv.form {
                WkvForm::Bonus(key) => vec![values(key, &[wkv.head_dim, wkv.heads])],
                WkvForm::Gated => Vec::new(),
                WkvForm::Delta(keys) => keys.map(|key| values(key, &[wkv.width()])).into(),
            },
            Self::WkvOutput { x, norm, own, .. } => {
                let keys = norm.iter().flat_map(|(keys, _)| keys).chain(own.iter().flat_map(|own| &own.weights));
                keys.map(|key| values(*key, &[width(*x)])).collect()
            }
            Self::Streams { spec: StreamSpec { router: Some((router, key)), inputs, width: of, .. }, y, .. } => {
                vec![values(*key, &[width(*router), width(*y) / of * inputs])]
            }
            Self::Rope { .. }
            | Self::Streams { .. }
            | Self::Spread { .. }
            | Self::Hadamard { .. }
            | Self::Angles { .. }
            | Self::JoinHeads { .. }
            | Self::Pool { .. }
            | Self::Input { .. }
            | Self::Turn { .. }
            | Self::Copy { .. }
            | Self::Combine { .. }
            | Self::Lerp { .. }
            | Self::Gate { .. }
            | Self::GateRow { .. }
            | Self::Activate { .. }
            | Self::Add { .. }
            | Self::Scale { factor: Factor::Number(_), .. }
            | Self::Adapt { .. }
            | Self::SoftCap { .. } => Vec::new(),
        }
    }

    fn weights_of_encoder(&self, program: &Program) -> Vec<OpWeight> {
        let width = |activation| program.width(activation);
        match self {
            Self::AddPlaces { table, rows, to, .. } => vec![values(*table, &[width(*to), *rows])],
            Self::ConvAround { x, kernel, taps, .. } => vec![values(*kernel, &[*taps, width(*x)])],
            Self::ConvGrid { spec, .. } => weights_of_cells(spec),
            Self::Regroup { x, grouping, kernel, .. } => {
                kernel.iter().map(|key| values(*key, &[grouping.taps, width(*x)])).collect()
            }
            Self::Break { row, to, .. } => vec![values(*row, &[width(*to)])],
            Self::Project { x, weight, y } => vec![values(*weight, &[width(*y), width(*x)])],
            Self::Bound { least, most, .. } => [least, most].map(|key| values(*key, &[1])).into(),
            Self::AttendNear { weights, .. } | Self::AttendBlocks { with: weights, .. } => {
                let dims: &[usize] = match self {
                    Self::AttendNear { near, .. } => &[near.head_dim],
                    Self::AttendBlocks { spec, .. } if !spec.filled => &[spec.head_dim, 2 * spec.farthest + 1],
                    Self::AttendBlocks { spec, .. } => &[spec.heads * spec.head_dim],
                    _ => &[],
                };
                weights.iter().flatten().map(|key| values(*key, dims)).collect()
            }
            Self::AttendGrid { far, fill, spec, .. } => {
                let far = far.map(|key| values(key, &[spec.head_dim, spec.places]));
                let fill = fill.map(|key| values(key, &[spec.heads * spec.head_dim]));
                far.into_iter().chain(fill).collect()
            }
            Self::Repeat { table, rows, y } => vec![values(*table, &[program.width(*y), *rows])],
            Self::AttendFar { biases, spec, .. } => biases.map(|key| values(key, &[spec.head_dim, spec.heads])).into(),
            _ => Vec::new(),
        }
    }

    fn weights_of_attention(&self, program: &Program) -> Vec<OpWeight> {
        match self {
            Self::Attend { attention, .. } => {
                let sinks = attention.sinks.map(|key| values(key, &[attention.heads]));
                let distances = attention.distances.map(|of| values(of.table, &[attention.heads, of.buckets]));
                sinks.into_iter().chain(distances).collect()
            }
            // A row of the source is as wide as the residual stream.
            Self::AttendSource { kv, attention, .. } => {
                kv.map(|key| matrix(key, &[program.width(program.residual()), attention.kv_width()])).into()
            }
            _ => Vec::new(),
        }
    }
}
