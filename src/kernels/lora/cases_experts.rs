//! Entries of several sequences with and without the adapter at work, matrices behind others, and halves of them;
//! biases, and what another adapter has added.

use super::cases::{SLOT, row, scale_of, scales};
use super::experts::{LoraOfExperts, Params};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::pass::Pass;
use crate::kernels::reference::{lora_a, lora_b};
use crate::kernels::route::Counts;

/// The shape of one dispatch.
struct Kind {
    name: &'static str,
    rank: usize,
    cols: usize,
    outputs: usize,
    /// Ranks before A, values before B, rows of B for an expert before those that are used and behind, and biases.
    before: [usize; 5],
    per_choice: bool,
    bias: bool,
    add: bool,
    /// Whether it is a chunk, whose number of rows the dispatch does not know.
    many: bool,
}

const GATE: Kind = Kind {
    name: "gate",
    rank: 4,
    cols: 33,
    outputs: 70,
    before: [0; 5],
    per_choice: false,
    bias: true,
    add: false,
    many: false,
};

const KINDS: &[Kind] = &[
    GATE,
    Kind { name: "up behind gate", rank: 20, cols: 64, before: [3, 50, 0, 0, 420], ..GATE },
    Kind { name: "up behind each gate", before: [0, 0, 70, 0, 420], many: true, ..GATE },
    Kind { name: "unchanged", rank: 0, ..GATE },
    Kind { name: "down", rank: 33, outputs: 1100, per_choice: true, bias: false, ..GATE },
    Kind {
        name: "a second adapter",
        rank: 16,
        before: [0, 0, 0, 70, 0],
        per_choice: true,
        add: true,
        many: true,
        ..GATE
    },
];

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("lora_experts");
    KINDS.iter().map(|kind| case(random, kind)).collect()
}

fn case(random: &mut Random, kind: &Kind) -> Case {
    let Kind { rank, cols, outputs, before: [first, at, skipped, behind, bias_at], per_choice, add, .. } = *kind;
    let counts = Counts { experts: 6, used: 2 };
    let (experts, used) = (6, 2);
    let pass = Pass::decode(&[(2, 5), (0, 0), (1, 5), (1, 6), (2, 9)].map(|(sequence, at)| row(sequence, at)));
    let rows = pass.rows.len();
    let ids: Vec<usize> = (0..rows * used).map(|entry| (entry / used * 5 + entry % used * 2 + 1) % experts).collect();
    let row_of = |ids: &[usize]| ids.iter().map(|id| *id as u32).chain(vec![0; used]).collect::<Vec<u32>>();
    let routes: Vec<u32> = ids.chunks_exact(used).flat_map(row_of).collect();
    let (x_stride, b_rows) = (cols + 2, skipped + outputs + behind);
    let x = random.floats(if per_choice { rows * used } else { rows } * x_stride);
    let a = random.floats(experts * (first + rank) * cols);
    let b = random.floats(at + experts * b_rows * rank);
    let bias = random.floats(bias_at + experts * outputs);
    // Entries past those of the pass stay as they are.
    let y = random.floats((rows * used + 3) * outputs);
    let mut expected = y.clone();
    for (entry, (y, &expert)) in expected.chunks_exact_mut(outputs).zip(&ids).enumerate() {
        match (add, kind.bias) {
            (true, _) => {}
            (false, true) => y.copy_from_slice(&bias[bias_at + expert * outputs..][..outputs]),
            (false, false) => y.fill(0.0),
        }
        let scale = scale_of(&pass.rows[entry / used]);
        if rank > 0 && scale != 0.0 {
            let x = &x[if per_choice { entry } else { entry / used } * x_stride..][..cols];
            let t = lora_a(scale, &a[(experts * first + expert * rank) * cols..][..rank * cols], x);
            lora_b(1.0, &b[at + (expert * b_rows + skipped) * rank..][..outputs * rank], &t, y);
        }
    }
    let mut bench = Bench::of(pass);
    let (pass, _) = bench.fixed();
    let y = bench.floats(&y);
    let params = Params {
        slot: SLOT as u32,
        cols: cols as u32,
        x_stride: x_stride as u32,
        outputs: outputs as u32,
        first: first as u32,
        rank: rank as u32,
        at: (at + skipped * rank) as u32,
        b_rows: b_rows as u32,
        bias_at: bias_at as u32,
    };
    let bias = kind.bias.then(|| bench.floats(&bias).into());
    let lora = LoraOfExperts { counts, per_choice, add, bias, params };
    let [scales, routes] = [scales(), routes].map(|words| bench.bytes(bytemuck::cast_slice(&words)).into());
    let [a, b, x] = [a, b, x].map(|values| bench.floats(&values).into());
    let slices = [pass, scales, routes, a, b, x, y.into()];
    let dispatch = lora.dispatch(slices, (!kind.many).then_some(rows as u32));
    let tolerance = Tolerance { abs: 1e-5 + 2e-7 * rank as f32, ..Tolerance::PLAIN };
    let name = format!("{}, rank {rank} of {cols} values, {outputs} outputs", kind.name);
    bench.case(name, vec![dispatch], y, Expected::Close(expected, tolerance))
}
