//! Blocks from one value to the most, rows beside others, several dispatches, repeated signs, heads in another order,
//! and in place.

use super::{MAX_BLOCK, hadamard};
use crate::harness::{Bench, Case, Expected, Random, Suite, Tolerance};
use crate::kernels::norm::Rows;
use crate::kernels::pass::Pass;
use crate::kernels::reference;
use crate::model::Rotation;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("hadamard");
    let plain = |block, width| Rotation { block, width, ..Rotation::default() };
    let of = |regrouped| Rotation { regrouped: Some(regrouped), ..plain(32, 768) };
    let inverse = Rotation { is_inverse: true, tokens: Some(9), ..plain(128, 640) };
    let cases = [
        (plain(1, 7), 7, true),
        (plain(8, 24), 24, true),
        (plain(64, 192), 576, true),
        (plain(256, 1280), 1280, false),
        (plain(MAX_BLOCK, 8192), 8192, true),
        (plain(512, 17_408), 17_408, true),
        (of([3, 4, 64]), 768, true),
        (of([2, 8, 48]), 768, true),
        (inverse, 640, true),
    ];
    cases.into_iter().map(|(rotation, width, signed)| case(random, rotation, width, signed)).collect()
}

/// Rows of `width` values with others before and after them; an inverse in its place, where the second row has no
/// token.
fn case(random: &mut Random, mut rotation: Rotation, width: usize, signed: bool) -> Case {
    if signed {
        rotation.signs = (0..rotation.width.div_ceil(32)).map(|_| random.bits() as u32).collect();
    }
    let (before, ids) = (4, [8, 9, 3]);
    let stride = before + width + 3;
    let x = random.floats(ids.len() * stride);
    let mut bench = Bench::of(Pass::chunk(0, 0, &ids));
    let [x_buffer, y_buffer] = [bench.floats(&x), bench.floats(&x)];
    let rows = |buffer| Rows { slice: buffer, stride: stride as u32, offset: before as u32 };
    let from = (!rotation.is_inverse).then(|| rows(x_buffer.into()));
    let (pass, dummy) = bench.fixed();
    let list = hadamard([pass, dummy], &rotation, width, from, rows(y_buffer.into()));
    let mut y = x.clone();
    for (row, id) in y.chunks_exact_mut(stride).zip(ids) {
        if rotation.tokens.is_none_or(|count| (id as usize) < count) {
            let turned = reference::hadamard(&rotation, &row[before..][..width]);
            row[before..][..width].copy_from_slice(&turned);
        }
    }
    let Rotation { block, is_inverse, regrouped, .. } = rotation;
    let name = format!("{width} values in blocks of {block}, signs {signed}, inverse {is_inverse}, {regrouped:?}");
    bench.case(name, list, y_buffer, Expected::Close(y, Tolerance::PLAIN))
}
