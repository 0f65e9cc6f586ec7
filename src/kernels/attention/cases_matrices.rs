//! Chunks on subgroup matrices: heads of one to eight matrices, keys that end in and at a step of 32.

use super::cases::chunk_cases;
use crate::harness::{Case, Suite};
use crate::kernels::attention::matrices::supports;
use crate::kernels::attention::{Limits, MATRICES};
use crate::kernels::caps::{ActivationFormat, Caps};
use crate::kernels::kv_type::KvType;
use crate::kernels::rope_kv::Heads;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_subgroup_matrix");
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let ring = |capacity, of: Heads| Heads { ring: true, capacity, ..of };
    let of_blocks = |kv_type, of: Heads| Heads { kv_type, ..of };
    let window = |window| Limits { window, soft_cap: 0.0, ..Limits::default() };
    let none = Limits::default();
    let capped = Limits { window: 100, soft_cap: 4.0, ..Limits::default() };
    let shapes = [
        // Whole tiles, one row more, one fewer, few; keys that end at, before and behind a step.
        (heads(2, 1, 64), none, [0, 0, 128]),
        (heads(2, 1, 64), none, [0, 64, 65]),
        (heads(4, 2, 64), none, [0, 129, 127]),
        (heads(1, 1, 128), none, [0, 31, 1]),
        (heads(2, 2, 128), none, [1, 200, 130]),
        // One matrix, and odd numbers of them.
        (heads(2, 1, 16), none, [0, 3, 70]),
        (heads(3, 1, 48), none, [0, 90, 33]),
        (heads(2, 1, 80), none, [1, 191, 66]),
        (heads(2, 1, 112), none, [0, 63, 66]),
        (heads(2, 1, 72), none, [0, 64, 67]),
        // Windows that are smaller than a step, as large, and of several.
        (heads(2, 1, 64), window(5), [0, 300, 100]),
        (heads(2, 1, 96), window(32), [0, 301, 70]),
        (heads(2, 2, 128), window(129), [0, 0, 300]),
        (heads(4, 2, 64), capped, [1, 90, 140]),
        // Rings that wrap inside a chunk and inside a step.
        (ring(170, heads(2, 1, 64)), window(41), [0, 500, 130]),
        (ring(164, heads(2, 1, 128)), window(100), [1, 1000, 65]),
        (of_blocks(KvType::Q8_0, heads(2, 1, 64)), none, [0, 130, 70]),
        (of_blocks(KvType::Q4_0, ring(140, heads(2, 1, 80))), window(70), [1, 300, 68]),
    ];
    let mut cases = Vec::new();
    for (heads, limits, chunk) in shapes {
        cases.extend(chunk_cases(random, heads, limits, chunk, (1, None)));
    }
    for (heads, limits, chunk) in [(heads(4, 2, 64), none, [0, 0, 130]), (heads(3, 1, 128), window(33), [1, 90, 65])] {
        let sinks: Vec<f32> = random.floats(heads.heads as usize).into_iter().map(|x| 12.0 * x).collect();
        cases.extend(chunk_cases(random, heads, limits, chunk, (1, Some(&sinks))));
    }
    cases.retain(|case| case.kernel_name == MATRICES.kernel_name);
    let needs = needs(suite.caps);
    cases.into_iter().map(|case| Case { needs, ..case }).collect()
}

/// What a device lacks for the largest heads on subgroup matrices.
pub(crate) fn needs(caps: &Caps) -> Option<&'static str> {
    let Some(shape) = caps.subgroup_matrix else { return Some("chromium-experimental-subgroup-matrix") };
    let rounds = Caps { activation_format: ActivationFormat::F16(shape), ..caps.clone() };
    (!supports(&rounds, 128)).then_some("matrices of 16, subgroups of 32, or more memory in a workgroup")
}
