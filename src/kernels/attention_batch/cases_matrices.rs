//! Inputs on subgroup matrices: tiles with rows of several inputs, heads that fill no matrix, windows.

use super::cases::case;
use super::matrices::attention_batch_subgroup_matrix;
use super::{BatchHeads, BatchRules};
use crate::harness::{Case, Expected, Suite, Tolerance};
use crate::kernels::attention::cases_matrices::needs;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_batch_subgroup_matrix");
    let heads = |heads, kv_heads, head_dim| BatchHeads { heads, kv_heads, head_dim };
    let full = BatchRules { causal: false, window: 0, scale: 0.1, soft_cap: 0.0, alibi: 0.0, distances: None };
    let causal = BatchRules { causal: true, ..full };
    let window = |window| BatchRules { window, ..full };
    let sets: [(BatchHeads, BatchRules, &[usize]); 9] = [
        (heads(2, 2, 64), full, &[256]),
        (heads(4, 2, 64), full, &[130, 1, 63, 40]),
        (heads(2, 1, 72), full, &[191]),
        (heads(1, 1, 8), full, &[129]),
        (heads(3, 1, 80), full, &[31, 33, 65]),
        (heads(4, 2, 64), causal, &[100, 30]),
        (heads(2, 2, 64), window(6), &[150, 2, 33]),
        (heads(2, 1, 128), window(129), &[300]),
        (heads(2, 1, 96), BatchRules { causal: true, ..window(50) }, &[20, 200]),
    ];
    let needs = needs(suite.caps);
    let each = |(of, rules, lengths): (BatchHeads, BatchRules, &[usize])| {
        let case =
            case(random, (of, rules), lengths, "", |_, buffers| attention_batch_subgroup_matrix(of, rules, buffers));
        let expected = match case.expected {
            Expected::Close(values, _) => Expected::Close(values, Tolerance::HALF_ATTENTION),
            other => other,
        };
        Case { needs, expected, ..case }
    };
    sets.into_iter().map(each).collect()
}
