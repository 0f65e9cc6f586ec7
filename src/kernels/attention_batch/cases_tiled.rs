//! Inputs of more and fewer rows than a tile, tiles with rows of several inputs, head sizes, groups, windows.

use super::cases::case;
use super::tiled::attention_batch_tiled;
use super::{BatchHeads, BatchRules};
use crate::harness::{Case, Suite};

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_batch_tiled");
    let heads = |heads, kv_heads, head_dim| BatchHeads { heads, kv_heads, head_dim };
    let full = BatchRules { causal: false, window: 0, scale: 0.3, soft_cap: 0.0, alibi: 0.0, distances: None };
    let causal = BatchRules { causal: true, ..full };
    let window = |window| BatchRules { window, ..full };
    let sets: [(BatchHeads, BatchRules, u32, &[usize]); 11] = [
        (heads(2, 2, 64), full, 1, &[256]),
        (heads(4, 2, 64), full, 2, &[130, 1, 63, 40]),
        (heads(2, 1, 72), full, 1, &[191]),
        (heads(2, 2, 72), full, 2, &[70, 66]),
        (heads(1, 1, 8), full, 1, &[129]),
        (heads(3, 1, 80), full, 1, &[31, 33, 65]),
        (heads(2, 1, 256), full, 1, &[100]),
        (heads(4, 2, 64), causal, 1, &[100, 30]),
        (heads(2, 2, 64), window(6), 2, &[150, 2, 33]),
        (heads(2, 1, 128), window(129), 1, &[300]),
        (heads(2, 1, 64), BatchRules { causal: true, ..window(50) }, 1, &[20, 200]),
    ];
    let each = |(of, rules, groups, lengths): (BatchHeads, BatchRules, u32, &[usize])| {
        let name = format!(", {groups} groups at least");
        case(random, (of, rules), lengths, &name, |_, buffers| attention_batch_tiled(groups, of, rules, buffers))
    };
    sets.into_iter().map(each).collect()
}
