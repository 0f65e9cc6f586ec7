// Reading quantised blocks of 32 weights. A type's file says what a block holds:
//   block_words(b)   its 32 quants, four 8-bit ones per word, in the order of the weights
//   block_word(b, k) word k of these
//   block_scales(b)  (scale of weights 0–15, of 16–31, minimum of 0–15, of 16–31): weight = scale · quant - minimum
//   SIGNED           whether the 8 bits have a sign

const BYTE_AT = vec4<u32>(0u, 8u, 16u, 24u);

fn quad_of(word: u32) -> vec4<f32> {
    if SIGNED {
        return vec4<f32>(vec4<i32>(vec4<u32>(word) << (24u - BYTE_AT)) >> vec4<u32>(24u));
    }
    return vec4<f32>((vec4<u32>(word) >> BYTE_AT) & vec4<u32>(255u));
}

// Number i of the f16 values from word `at` on.
fn half_at(at: u32, i: u32) -> f32 {
    let pair = unpack2x16float(w_word[at + i / 2u]);
    return select(pair.x, pair.y, (i & 1u) == 1u);
}

// The 32 weights of block b.
fn load_block(b: u32) -> array<vec4<f32>, 8> {
    let words = block_words(b);
    let s = block_scales(b);
    return array<vec4<f32>, 8>(
        quad_of(words[0]) * s.x - s.z, quad_of(words[1]) * s.x - s.z,
        quad_of(words[2]) * s.x - s.z, quad_of(words[3]) * s.x - s.z,
        quad_of(words[4]) * s.y - s.w, quad_of(words[5]) * s.y - s.w,
        quad_of(words[6]) * s.y - s.w, quad_of(words[7]) * s.y - s.w,
    );
}

// Weights 4k … 4k+3 of block b.
fn load_quad(b: u32, k: u32) -> vec4<f32> {
    let s = block_scales(b);
    let part = select(s.xz, s.yw, k >= 4u);
    return quad_of(block_word(b, k)) * part.x - part.y;
}

// Block b times x, given the sums of x over its halves: 32 products on the bare quants, and the scales once.
fn block_dot(b: u32, x: ptr<function, array<vec4<f32>, 8>>, x_sums: vec2<f32>) -> f32 {
    let words = block_words(b);
    let s = block_scales(b);
    let low = dot(quad_of(words[0]), (*x)[0]) + dot(quad_of(words[1]), (*x)[1])
        + dot(quad_of(words[2]), (*x)[2]) + dot(quad_of(words[3]), (*x)[3]);
    let high = dot(quad_of(words[4]), (*x)[4]) + dot(quad_of(words[5]), (*x)[5])
        + dot(quad_of(words[6]), (*x)[6]) + dot(quad_of(words[7]), (*x)[7]);
    return s.x * low + s.y * high - dot(s.zw, x_sums);
}
