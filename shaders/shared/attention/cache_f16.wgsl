// A cache of keys and values as f16: [sequences, kv heads, CAPACITY, ROW], elements of eight values; a row is HEAD_DIM
// values and zeros up to a whole element. The kernel binds `k_cache` and `v_cache`, arrays of CacheElement, declares
// HEAD_DIM, and imports `eight`. `row` below is the element with which a row begins, ROW times its number.
alias CacheElement = vec4<u32>;
alias PackedEight = vec4<u32>; // as they are loaded

override ROW: u32 = (HEAD_DIM + 7) / 8; // elements

// Values 8i … 8i+7 of a key.
fn load_k(row: u32, i: u32) -> PackedEight {
    // mutant (attention, attention_decode): [row + i] => [row]
    return k_cache[row + i];
}

fn load_v(row: u32, i: u32) -> PackedEight {
    // mutant (attention_decode): [row + i] => [row]
    return v_cache[row + i];
}

fn unpack_eight(packed: PackedEight) -> Eight {
    return Eight(
        vec4<f32>(unpack2x16float(packed.x), unpack2x16float(packed.y)),
        // mutant (attention, attention_decode): unpack2x16float(packed.w) => unpack2x16float(packed.z)
        vec4<f32>(unpack2x16float(packed.z), unpack2x16float(packed.w)),
    );
}

// Values 2 * pair and 2 * pair + 1 of a value row.
fn v_pair(row: u32, pair: u32) -> vec2<f32> {
    // mutant (attention): [pair % 4u] => [pair % 2u]
    return unpack2x16float(v_cache[row + pair / 4u][pair % 4u]);
}
