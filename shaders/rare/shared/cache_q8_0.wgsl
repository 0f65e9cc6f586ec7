// A cache of keys and values as Q8_0: rows are blocks of 32 values, the last with zeros past HEAD_DIM. A row is the
// quants of all blocks, signed bytes, eight to an element, then an f16 scale of each block, four to an element:
// value = scale * quant. What the kernel declares, and what `row` is, as in cache_f16.
alias CacheElement = vec2<u32>;

struct PackedEight {
    quants: CacheElement,
    scale: f32,
}

#import cache_blocks

override ROW: u32 = 4 * BLOCKS + (BLOCKS + 3) / 4; // elements

fn scale_of(block: u32, scales: CacheElement) -> f32 {
    // mutant (attention, attention_decode): block / 2u % 2u => 0u
    return unpack2x16float(scales[block / 2u % 2u])[block % 2u];
}

// Values 8i … 8i+7 of a key.
fn load_k(row: u32, i: u32) -> PackedEight {
    // mutant (attention, attention_decode): i / 16u => 0u * i
    let scales = k_cache[row + 4u * BLOCKS + i / 16u];
    return PackedEight(k_cache[row + i], scale_of(i / 4u, scales));
}

fn load_v(row: u32, i: u32) -> PackedEight {
    // mutant (attention_decode): i / 16u => 0u * i
    let scales = v_cache[row + 4u * BLOCKS + i / 16u];
    return PackedEight(v_cache[row + i], scale_of(i / 4u, scales));
}

fn signed_bytes(word: u32) -> vec4<f32> {
    let bytes = vec4<u32>(word << 24u, word << 16u, word << 8u, word);
    return vec4<f32>(bitcast<vec4<i32>>(bytes) >> vec4<u32>(24u));
}

fn unpack_eight(packed: PackedEight) -> Eight {
    let low = packed.scale * signed_bytes(packed.quants.x);
    // mutant (attention, attention_decode): signed_bytes(packed.quants.y) => signed_bytes(packed.quants.x)
    return Eight(low, packed.scale * signed_bytes(packed.quants.y));
}

// Values 2 * pair and 2 * pair + 1 of a value row.
fn v_pair(row: u32, pair: u32) -> vec2<f32> {
    let scale = scale_of(pair / 16u, v_cache[row + 4u * BLOCKS + pair / 64u]);
    let four = signed_bytes(v_cache[row + pair / 4u][pair / 2u % 2u]);
    // mutant (attention): select(four.xy, four.zw, => select(four.zw, four.xy,
    return scale * select(four.xy, four.zw, pair % 2u == 1u);
}
