//! Widths below and above the workgroup, heads, parts of rows, in place, layer norms.

use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::{Norm, Rows, norm};
use crate::kernels::reference::{NormShape, layer_norm};

/// The shape of a case: three rows of `groups · width` values.
#[derive(Clone, Copy, Default)]
struct Shape {
    width: u32,
    groups: u32,
    /// Factor of the result that is added to y; 0: the result replaces y.
    add: f32,
    centred: bool,
    plain: bool,
    biased: bool,
    in_place: bool,
    by_group: bool,
    /// Values of a row before and after those of x, and twice as many of y.
    beside: u32,
}

const ROWS: u32 = 3;
const EPS: f32 = 1e-5;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("norm");
    let one = |width| Shape { width, groups: 1, ..Shape::default() };
    [
        one(1),
        Shape { add: 1.0, ..one(31) },
        one(33),
        Shape { add: 0.3, ..one(257) },
        one(1000),
        Shape { centred: true, biased: true, ..one(300) },
        Shape { centred: true, add: 1.0, beside: 5, ..one(77) },
        Shape { groups: 3, beside: 7, ..one(40) },
        Shape { groups: 3, by_group: true, ..one(301) },
        Shape { groups: 5, in_place: true, beside: 9, ..one(33) },
        Shape { groups: 2, in_place: true, plain: true, ..one(64) },
        Shape { in_place: true, centred: true, biased: true, beside: 3, ..one(270) },
    ]
    .map(|shape| case(random, shape))
    .into()
}

fn name(shape: &Shape) -> String {
    let said = [
        (shape.centred, "layer norm"),
        (shape.plain, "no weight"),
        (shape.by_group, "weights by group"),
        (shape.biased, "bias"),
        (shape.add != 0.0, "added"),
        (shape.beside > 0, "part of a row"),
        (shape.in_place, "in place"),
    ];
    let said: String = said.iter().filter(|(is, _)| *is).map(|(_, what)| format!(", {what}")).collect();
    format!("{ROWS}x{}x{}{said}", shape.groups, shape.width)
}

fn case(random: &mut Random, shape: Shape) -> Case {
    let Shape { width, groups, add, centred, plain, biased, in_place, by_group, beside } = shape;
    let mut bench = Bench::new(ROWS);
    let (values, x_offset) = (groups * width, beside);
    let x_stride = values + 2 * beside;
    let (y_offset, y_stride) = if in_place { (x_offset, x_stride) } else { (2 * beside, values + 4 * beside) };
    let x_values = random.floats((ROWS * x_stride) as usize);
    let weight = random.floats((if by_group { values } else { width }) as usize);
    let bias = random.floats(width as usize);
    let before = if in_place { x_values.clone() } else { random.floats((ROWS * y_stride) as usize) };
    let y = bench.floats(&before);
    let x = if in_place { y } else { bench.floats(&x_values) };
    let [weight_slice, bias_slice] = [&weight, &bias].map(|values| bench.floats(values).into());
    let problem = Norm {
        width,
        groups,
        centred,
        eps: EPS,
        x: Rows { slice: x.into(), stride: x_stride, offset: x_offset },
        weight: (!plain).then_some(weight_slice),
        weight_by_group: by_group,
        bias: biased.then_some(bias_slice),
        y: Rows { slice: y.into(), stride: y_stride, offset: y_offset },
        add: (add != 0.0).then_some(add),
    };
    let dispatch = norm(&problem, Bench::DUMMY.into());
    let expected = |group: usize| NormShape {
        width: width as usize,
        centred,
        eps: EPS,
        weight: (!plain).then(|| &weight[if by_group { group * width as usize } else { 0 }..][..width as usize]),
        weight_offset: 0.0,
        bias: biased.then_some(&bias),
    };
    let mut out = before.clone();
    for row in 0..ROWS {
        let from = (row * x_stride + x_offset) as usize;
        let parts = x_values[from..][..values as usize].chunks_exact(width as usize).enumerate();
        let normed: Vec<f32> = parts.flat_map(|(group, x)| layer_norm(x, &expected(group))).collect();
        let to = (row * y_stride + y_offset) as usize;
        for (out, normed) in out[to..][..values as usize].iter_mut().zip(normed) {
            *out = if add != 0.0 { *out + add * normed } else { normed };
        }
    }
    bench.case(name(&shape), vec![dispatch], y, Expected::Close(out, Tolerance::PLAIN))
}
