//! Weights of a router and without, streams of a base that are skipped, in place, copies, more values than a workgroup.

use super::{Shape, streams};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::reference;

/// Where the base comes from.
#[derive(Clone, Copy, PartialEq)]
enum Base {
    None,
    InPlace,
    /// From this stream on.
    After(usize),
}

const ROWS: usize = 3;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("streams");
    let shape = |width, streams, inputs| {
        // x has a stream that does not count.
        Shape { width, streams, base: [0; 2], inputs: [inputs + 1, inputs], first: 0, routes: 0, plus: 1.0 }
    };
    [
        (Shape { routes: 4, plus: 0.0, ..shape(24, 4, 4) }, Base::After(0)),
        (Shape { routes: 4, ..shape(33, 4, 1) }, Base::After(1)),
        (Shape { routes: 3, plus: -0.5, ..shape(100, 2, 3) }, Base::InPlace),
        (Shape { first: 1, ..shape(70, 4, 1) }, Base::InPlace),
        (Shape { plus: 0.25, ..shape(64, 1, 3) }, Base::After(2)),
        (shape(7, 3, 0), Base::After(1)),
        (shape(50, 3, 1), Base::None),
    ]
    .map(|(shape, base)| case(random, shape, base))
    .into()
}

fn case(random: &mut Random, shape: Shape, base: Base) -> Case {
    let Shape { width, streams: count, inputs: [of_x, inputs], first, routes, plus, .. } = shape;
    let of_base = match base {
        Base::None => [0, 0],
        Base::InPlace => [count, 0],
        Base::After(skipped) => [skipped + count + 1, skipped],
    };
    let shape = Shape { base: of_base, ..shape };
    let widths = [of_base[0] * width, of_x * width, routes, count * width];
    let [from, x, mut router, mut y] = widths.map(|width| random.floats(ROWS * width));
    router.iter_mut().for_each(|logit| *logit *= width as f32);
    let w = random.floats(count * inputs * routes);
    let mut bench = Bench::new(ROWS as u32);
    let [of_from, of_x, of_router, of_w, of_y] = [&from, &x, &router, &w, &y].map(|values| bench.floats(values));
    let of_base = if base == Base::InPlace { of_y } else { of_from };
    let buffers = [of_base, of_x, of_router, of_w, of_y].map(Into::into);
    let dispatch = streams(&shape, buffers, Bench::DUMMY.into());
    let rows = y.chunks_exact_mut(count * width).enumerate();
    rows.for_each(|(row, y)| match base {
        Base::None => y.fill(0.0),
        Base::InPlace => {}
        Base::After(skipped) => y.copy_from_slice(&from[(row * shape.base[0] + skipped) * width..][..count * width]),
    });
    reference::streams(&shape, &x, [&router, &w], &mut y);
    let base = match base {
        Base::None => String::new(),
        Base::InPlace => ", in place".into(),
        Base::After(skipped) => format!(", on others after {skipped}"),
    };
    let name = format!("{count} of {inputs} streams of {width} from {first} on, {routes} routes and {plus}{base}");
    bench.case(name, vec![dispatch], of_y, Expected::Close(y, Tolerance::PLAIN))
}
