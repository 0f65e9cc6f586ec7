// A cache of keys and values as Q4_0: rows are blocks of 32 values, the last with zeros past HEAD_DIM. A row is the
// quants of all blocks, eight to an element, then an f16 scale of each block, two to an element:
// value = scale * (quant - 8). Of eight quants the first four are the low nibbles of the bytes, the others the high
// ones. What the kernel declares, and what `row` is, as in cache_f16.
alias CacheElement = u32;

struct PackedEight {
    quants: CacheElement,
    scale: f32,
}

#import cache_blocks

override ROW: u32 = 4 * BLOCKS + (BLOCKS + 1) / 2; // elements

// Values 8i … 8i+7 of a key.
fn load_k(row: u32, i: u32) -> PackedEight {
    // mutant (attention, attention_decode): [i / 4u % 2u] => [0]
    let scale = unpack2x16float(k_cache[row + 4u * BLOCKS + i / 8u])[i / 4u % 2u];
    return PackedEight(k_cache[row + i], scale);
}

fn load_v(row: u32, i: u32) -> PackedEight {
    // mutant (attention_decode): i / 8u] => 0u * i]
    let scale = unpack2x16float(v_cache[row + 4u * BLOCKS + i / 8u])[i / 4u % 2u];
    return PackedEight(v_cache[row + i], scale);
}

// The quants in the low nibbles of a word's bytes, less 8.
fn low_nibbles(word: u32) -> vec4<f32> {
    let nibbles = vec4<u32>(word, word >> 8u, word >> 16u, word >> 24u) & vec4<u32>(15u);
    // mutant (attention, attention_decode): 8.0 => 7.0
    return vec4<f32>(nibbles) - 8.0;
}

fn unpack_eight(packed: PackedEight) -> Eight {
    let low = packed.scale * low_nibbles(packed.quants);
    // mutant (attention, attention_decode): packed.quants >> 4u => packed.quants
    return Eight(low, packed.scale * low_nibbles(packed.quants >> 4u));
}

// Values 2 * pair and 2 * pair + 1 of a value row.
fn v_pair(row: u32, pair: u32) -> vec2<f32> {
    let scale = unpack2x16float(v_cache[row + 4u * BLOCKS + pair / 32u])[pair / 16u % 2u];
    // mutant (attention): 4u * (pair / 2u % 2u) => 0u
    let four = low_nibbles(v_cache[row + pair / 4u] >> (4u * (pair / 2u % 2u)));
    return scale * select(four.xy, four.zw, pair % 2u == 1u);
}
