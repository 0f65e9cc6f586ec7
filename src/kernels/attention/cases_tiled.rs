//! Chunks of more rows than a tile of `attention_tiled` has, over more keys than a workgroup takes at a time.

use super::cases::chunk_case_with;
use crate::harness::{Case, Suite};
use crate::kernels::attention::{Limits, TILED};
use crate::kernels::kv_type::KvType;
use crate::kernels::rope_kv::Heads;

pub(crate) fn cases(suite: &Suite) -> Vec<Case> {
    let random = &mut suite.random("attention_tiled");
    let heads = |heads, kv_heads, head_dim| Heads::f16(heads, kv_heads, head_dim, 704);
    let ring = |capacity, of: Heads| Heads { ring: true, capacity, ..of };
    let of_blocks = |kv_type, of: Heads| Heads { kv_type, ..of };
    let window = |window| Limits { window, soft_cap: 0.0, ..Limits::default() };
    let none = Limits::default();
    let capped = Limits { window: 100, soft_cap: 4.0, ..Limits::default() };
    let shapes = [
        // Whole tiles, one row more, one fewer; keys that end at, before and behind those of a round.
        (heads(2, 1, 64), none, [0, 0, 128]),
        (heads(2, 1, 64), none, [0, 64, 65]),
        (heads(4, 2, 64), none, [0, 129, 127]),
        (heads(1, 1, 8), none, [0, 3, 70]),
        (heads(2, 1, 72), none, [1, 191, 66]),
        (heads(2, 2, 128), none, [0, 200, 130]),
        (heads(2, 1, 160), none, [1, 100, 90]),
        (heads(2, 1, 192), none, [0, 63, 66]),
        (heads(4, 1, 256), none, [2, 255, 68]),
        // Windows that are smaller than a tile, as large, and of several; tiles that no query sees.
        (heads(2, 1, 64), window(5), [0, 300, 100]),
        (heads(2, 1, 64), window(64), [0, 301, 70]),
        (heads(2, 2, 128), window(129), [0, 0, 300]),
        (heads(4, 2, 64), capped, [1, 90, 140]),
        // Rings that wrap inside a chunk and inside a tile.
        (ring(170, heads(2, 1, 64)), window(41), [0, 500, 130]),
        (ring(164, heads(2, 1, 128)), window(100), [1, 1000, 65]),
        (ring(133, heads(4, 1, 256)), window(64), [0, 260, 70]),
        (of_blocks(KvType::Q8_0, heads(2, 1, 64)), none, [0, 130, 70]),
        (of_blocks(KvType::Q8_0, ring(140, heads(2, 1, 72))), window(70), [1, 300, 68]),
        (of_blocks(KvType::Q8_0, heads(2, 1, 256)), none, [0, 0, 66]),
        (of_blocks(KvType::Q4_0, heads(2, 1, 128)), none, [0, 130, 70]),
        (of_blocks(KvType::Q4_0, ring(140, heads(2, 1, 72))), window(70), [1, 300, 68]),
    ];
    let mut cases: Vec<Case> = Vec::new();
    for (heads, limits, chunk) in shapes {
        cases.extend(chunk_case_with(random, heads, limits, chunk, (1, None)));
    }
    // Two groups of two parts.
    cases.extend(chunk_case_with(random, heads(2, 2, 128), none, [0, 200, 130], (2, None)));
    cases.extend(chunk_case_with(random, heads(2, 1, 72), capped, [1, 191, 66], (2, None)));
    for (heads, limits, chunk) in [(heads(4, 2, 64), none, [0, 0, 130]), (heads(3, 1, 128), window(33), [1, 90, 65])] {
        let sinks: Vec<f32> = random.floats(heads.heads as usize).into_iter().map(|x| 12.0 * x).collect();
        cases.extend(chunk_case_with(random, heads, limits, chunk, (2, Some(&sinks))));
    }
    cases.retain(|case| case.kernel_name == TILED.kernel_name);
    cases
}
