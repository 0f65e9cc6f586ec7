// Elements as a tensor stores them: 0 is f32, 1 f16 and 2 bf16, the last two with two elements to a word.

// The word that holds element i.
fn stored_word(i: u32, kind: u32) -> u32 {
    return select(i / 2u, i, kind == 0u);
}

// Element i, given its word.
fn stored_value(word: u32, i: u32, kind: u32) -> f32 {
    if kind == 0u {
        return bitcast<f32>(word);
    }
    // mutant (mat_mul_dense, mat_mul_dense_few, mat_mul_grouped, mat_mul_grouped_each): 16u * (i & 1u) => 0u
    let half = word >> (16u * (i & 1u));
    if kind == 1u {
        return unpack2x16float(half).x;
    }
    // mutant (mat_mul_dense, mat_mul_grouped): half << 16u => half & 0xffff0000u
    return bitcast<f32>(half << 16u);
}
