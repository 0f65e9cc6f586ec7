//! Every type in every shape of the table that the device can run, with every epilogue.

use super::data::Tensor;
use super::{Bench, Case, Expected, Random, Tolerance};
use crate::gguf::GgmlType;
use crate::kernels::caps::Caps;
use crate::kernels::mat_vec::{Epilogue, MatVec, RULES, SPEC, Shape, dispatch};
use crate::reference;

/// What a case does beside the product.
#[derive(Debug, Clone, Copy)]
struct Kind {
    rows: u32,
    norm: bool,
    bias: bool,
    epilogue: Epilogue,
    /// Tokens of the pass, of which the last is used where there are several.
    tokens: u32,
    shards: bool,
    done: bool,
}

const PLAIN: Kind =
    Kind { rows: 33, norm: false, bias: false, epilogue: Epilogue::Store, tokens: 1, shards: false, done: false };

const KINDS: &[Kind] = &[
    PLAIN,
    Kind { rows: 257, norm: true, bias: true, ..PLAIN },
    Kind { rows: 31, tokens: 3, epilogue: Epilogue::Residual, ..PLAIN },
    Kind { rows: 66, norm: true, epilogue: Epilogue::SwiGlu, ..PLAIN },
    Kind { rows: 1000, bias: true, shards: true, epilogue: Epilogue::Residual, ..PLAIN },
    Kind { rows: 1, norm: true, tokens: 2, ..PLAIN },
    Kind { done: true, ..PLAIN },
];

const EPS: f32 = 1e-5;

pub fn cases(caps: &Caps, random: &mut Random, step: usize) -> Vec<Case> {
    let shapes: Vec<Shape> = RULES.iter().map(|rule| rule.shape).collect();
    let (subgroup, plain): (Vec<Shape>, Vec<Shape>) = shapes.into_iter().partition(|shape| shape.lanes == 0);
    let topologies = if caps.subgroups { vec![plain, subgroup] } else { vec![plain] };
    let mut cases = Vec::new();
    for (t, ty) in GgmlType::ALL.into_iter().enumerate() {
        for (s, shapes) in topologies.iter().enumerate() {
            // Turning through shapes and widths gives each of them every kind, over all types.
            let chosen = KINDS.iter().enumerate().filter(|(k, _)| (t + s + k) % step == 0);
            let turn = |(k, kind)| (kind, shapes[(t + k) % shapes.len()], widths(ty)[(t + k) % widths(ty).len()]);
            let turned = chosen.map(turn);
            cases.extend(turned.map(|(kind, shape, cols)| case(caps, random, (ty, cols), shape, kind)));
        }
    }
    cases
}

fn widths(ty: GgmlType) -> &'static [u32] {
    match ty.block_len() {
        1 => &[1000, 257, 96, 33, 1, 31, 2048],
        32 => &[32, 96, 1056, 2048],
        _ => &[256, 768, 2304],
    }
}

fn case(caps: &Caps, random: &mut Random, (ty, cols): (GgmlType, u32), shape: Shape, kind: &Kind) -> Case {
    let tensor = Tensor::new(random, ty, [kind.rows, cols], 2.0 / (cols as f32).sqrt());
    let mut bench = if kind.done { Bench::done() } else { Bench::new(kind.tokens) };
    let starts: &[u32] = if kind.shards { &[0, 333] } else { &[0] };
    let weights = tensor.upload(&mut bench, starts);
    let x = random.floats((cols * kind.tokens) as usize);
    let norm_weight = kind.norm.then(|| random.floats(cols as usize));
    let bias = kind.bias.then(|| random.floats(kind.rows as usize));
    let y_offset = kind.rows % 5;
    let before = random.floats((y_offset + kind.rows + 3) as usize);
    let y = bench.floats(&before);
    let problem = MatVec {
        weights: &weights,
        x: bench.floats(&x).into(),
        norm: norm_weight.as_ref().map(|weight| (bench.floats(weight).into(), EPS)),
        bias: bias.as_ref().map(|bias| bench.floats(bias).into()),
        epilogue: kind.epilogue,
        y: y.into(),
        y_offset,
        last_token: kind.tokens > 1,
    };
    let shards = weights.shards.iter();
    let dispatches = shards.map(|shard| dispatch(caps, shape, bench.fixed(), &problem, shard)).collect();
    let mut expected = before;
    if !kind.done {
        let last = &x[x.len() - cols as usize..];
        let y = &mut expected[y_offset as usize..];
        apply(&tensor, last, norm_weight.as_deref(), bias.as_deref(), kind.epilogue, y);
    }
    let Kind { rows, norm, bias, tokens, epilogue, done, .. } = kind;
    let Shape { wg_size, lanes, slots } = shape;
    let shards = starts.len();
    let name = format!(
        "{rows}×{cols} {epilogue:?} norm {norm} bias {bias} tokens {tokens} shards {shards} done {done}; \
         {wg_size}/{lanes}/{slots}"
    );
    let case = bench.case(name, dispatches, y, Expected::Close(expected, Tolerance::dot(ty)));
    // Both topologies are one stem.
    Case { stem: SPEC.stem, ..case }
}

/// The reference: norm, product, bias and epilogue one after the other.
fn apply(
    tensor: &Tensor,
    x: &[f32],
    norm: Option<&[f32]>,
    bias: Option<&[f32]>,
    epilogue: Epilogue,
    y: &mut [f32],
) {
    let mut x = x.to_vec();
    if let Some(weight) = norm {
        reference::rms_norm(&mut x, weight, EPS);
    }
    let mut sums = vec![0.0; tensor.rows as usize];
    reference::mat_vec(&tensor.reference(), &x, &mut sums).expect("the matrix is whole");
    for (sum, bias) in sums.iter_mut().zip(bias.unwrap_or_default()) {
        *sum += bias;
    }
    match epilogue {
        Epilogue::Store => y[..sums.len()].copy_from_slice(&sums),
        Epilogue::Residual => y.iter_mut().zip(&sums).for_each(|(y, sum)| *y += sum),
        Epilogue::SwiGlu => {
            let (gate, up) = sums.split_at_mut(tensor.rows as usize / 2);
            reference::swiglu(gate, up);
            y[..gate.len()].copy_from_slice(gate);
        }
    }
}
