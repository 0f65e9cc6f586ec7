//! Adapters of experts. What they add is computed before the products, together with the biases of these, and takes
//! their place: gate and up are one kernel with their activation, which must see the whole sums.

use super::Lowering;
use super::experts::{Product, counts_of};
use crate::kernels::lora::experts::{LoraOfExperts, Params};
use crate::kernels::spec::{Dispatch, Slice};
use crate::model::WeightKey;
use crate::model::program::{GateUp, Op, Program};

/// Entries of what is added are rounded up to so many: parts begin where bindings may.
const ENTRIES: u32 = 64;

/// Adds the products of experts with one activation to a run: weights and widths of their results.
pub(super) fn push_experts(program: &Program, op: &Op, run: &mut Vec<(WeightKey, usize)>) {
    match *op {
        Op::ExpertGate { gate_up, experts, y, .. } => {
            let width = program.width(y) / experts.used;
            match gate_up {
                GateUp::Fused(key) => run.push((key, 2 * width)),
                GateUp::Pair { weights: [gate, up], .. } => {
                    run.push((gate, width));
                    run.push((up, width));
                }
                GateUp::Alone(key) => run.push((key, width)),
            }
        }
        Op::ExpertDown { weight, y, .. } => run.push((weight, program.width(y))),
        _ => {}
    }
}

/// Bytes of what adapters of these groups add to products of experts, in passes of up to so many rows.
pub fn bytes_of_experts(program: &Program, rows: usize, groups: &[WeightKey]) -> usize {
    let mut most = 0;
    for op in program.ops() {
        let (key, experts, width) = match *op {
            Op::ExpertGate { gate_up, experts, y, .. } => (gate_up.key(), experts, 2 * program.width(y) / experts.used),
            Op::ExpertDown { weight, experts, y, .. } => (weight, experts, program.width(y)),
            _ => continue,
        };
        if groups.contains(&key) {
            most = most.max((rows * experts.used).next_multiple_of(ENTRIES as usize) * width * size_of::<f32>());
        }
    }
    most
}

impl Lowering<'_> {
    /// What adapters add to the products with these experts, which take it for their biases; for so many rows, or for
    /// all of the pass.
    pub(super) fn adapt_experts(&self, of: WeightKey, products: &mut [Product], rows: Option<u32>) -> Vec<Dispatch> {
        let mut list = Vec::new();
        let Some(adapters) = self.forward.adapters else { return list };
        let buffers = self.forward.buffers;
        let mut part = 0;
        for product in products {
            let problem = self.problem(product);
            let (counts, outputs) = (counts_of(product.experts), problem.rows());
            let entries = (rows.unwrap_or(self.rows) * counts.used).next_multiple_of(ENTRIES);
            let place = |part: u32| {
                let offset = adapters.t.offset + u64::from(part * entries * outputs) * size_of::<f32>() as u64;
                Slice { offset, ..adapters.t }
            };
            let start = part;
            // Gate and up of one matrix are two parts.
            part += 1 + u32::from(problem.epilogue.is_paired());
            for adapter in adapters.all {
                let Some(group) = adapter.group(of) else { continue };
                for number in start..part {
                    let output = number * outputs;
                    let own = group.plan.iter().find(|own| (own.output..own.output + own.outputs).contains(&output));
                    let own = own.copied().unwrap_or(bytemuck::Zeroable::zeroed());
                    let params = Params {
                        slot: adapter.slot as u32,
                        cols: problem.weights.cols,
                        x_stride: problem.x_stride,
                        outputs,
                        first: own.first,
                        rank: own.rank,
                        at: own.at + (output - own.output) * own.rank,
                        b_rows: own.outputs,
                        bias_at: (number - start) * counts.experts * outputs,
                    };
                    let (add, bias) = (product.added.is_some(), problem.bias);
                    let lora = LoraOfExperts { counts, per_choice: product.per_choice, add, bias, params };
                    let slices = [buffers.pass, buffers.scales, problem.routes, group.a, group.b, problem.x];
                    let [pass, scales, routes, a, b, x] = slices;
                    list.push(lora.dispatch([pass, scales, routes, a, b, x, place(number)], rows));
                }
                product.added = Some((place(start), entries));
            }
        }
        list
    }
}
