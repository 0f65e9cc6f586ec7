// Reading quantised blocks of 32 weights. A type's file says what a block holds:
//   BITS             bits of a quant, at most 8
//   HALVES           whether the halves of a block have scales of their own
//   block_words(b)   its 32 quants in the low bits of bytes, four per word, in the order of the weights; bits above
//                    them may be anything, but that of 7-bit quants is 0
//   block_word(b, k) word k of these
//   block_scales(b)  (scale of weights 0–15, of 16–31, minimum of 0–15, of 16–31): weight = scale · quant - minimum
//
// A quant becomes a float without a conversion: put into the upper bits of the mantissa of a number between 1 and 2, it
// reads 1 + quant / 2^BITS. That takes a shift and a mask, where a conversion runs at a quarter of the rate or less.

const ONE = 0x3f800000u;
const MASK = ((1u << u32(BITS)) - 1u) << u32(23 - BITS);
const STEPS = f32(1 << u32(BITS));

// Four quants as 1 + quant / STEPS.
fn quad_of(word: u32) -> vec4<f32> {
    // mutant (mat_vec, mat_mul, gather): >> u32(max(BITS - 7, 0)) =>
    let third = (word << u32(max(7 - BITS, 0))) >> u32(max(BITS - 7, 0));
    let placed = vec4<u32>(word << u32(23 - BITS), word << u32(15 - BITS), third, word >> u32(BITS + 1));
    return bitcast<vec4<f32>>((placed & vec4<u32>(MASK)) | vec4<u32>(ONE));
}

// Number i of the f16 values from word `at` on.
fn half_at(at: u32, i: u32) -> f32 {
    let pair = unpack2x16float(w_word[at + i / 2u]);
    // mutant (mat_vec, gather, mat_mul_int8): select(pair.x, pair.y, (i & 1u) == 1u) => pair.x
    return select(pair.x, pair.y, (i & 1u) == 1u);
}

// Four weights; subtracting the 1 first is exact.
fn weights_of(word: u32, scale: f32, minimum: f32) -> vec4<f32> {
    return (quad_of(word) - 1.0) * (STEPS * scale) - minimum;
}

// Weights 4k … 4k+3 of block b.
fn load_quad(b: u32, k: u32) -> vec4<f32> {
    let s = block_scales(b);
    // mutant (mat_mul, gather): select(s.xz, s.yw, k >= 4u) => s.xz
    let part = select(s.xz, s.yw, k >= 4u);
    return weights_of(block_word(b, k), part.x, part.y);
}

// Sums of products with quad_of's numbers over two halves, for weights with these scales, given the sums of x.
fn scaled(low: vec4<f32>, high: vec4<f32>, x_sums: vec2<f32>, s: vec4<f32>) -> f32 {
    if !HALVES {
        let x_sum = x_sums.x + x_sums.y;
        // mutant (mat_vec, mat_vec_split): - s.z * x_sum; => - s.z * x_sums.x;
        return s.x * (STEPS * (dot(low + high, vec4<f32>(1.0)) - x_sum)) - s.z * x_sum;
    }
    let sums = vec2<f32>(dot(low, vec4<f32>(1.0)), dot(high, vec4<f32>(1.0)));
    // mutant (mat_vec, mat_vec_split): dot(s.zw, x_sums) => dot(s.zw, x_sums.yx)
    return dot(s.xy, STEPS * (sums - x_sums)) - dot(s.zw, x_sums);
}

// Block b times x, given the sums of x over its halves: 32 products, and the scales once.
fn block_dot(b: u32, x: ptr<function, array<vec4<f32>, 8>>, x_sums: vec2<f32>) -> f32 {
    let words = block_words(b);
    var low = quad_of(words[0]) * (*x)[0];
    var high = quad_of(words[4]) * (*x)[4];
    for (var k = 1u; k < 4u; k += 1u) {
        low += quad_of(words[k]) * (*x)[k];
        // mutant (mat_vec): high += quad_of(words[k + 4u]) * (*x)[k + 4u]; => high += quad_of(words[k + 4u]) * (*x)[k];
        high += quad_of(words[k + 4u]) * (*x)[k + 4u];
    }
    return scaled(low, high, x_sums, block_scales(b));
}

// Weights 4k … and 16 + 4k … of block b times `low` and `high`, four values of x each.
fn quads_dot(b: u32, k: u32, low: vec4<f32>, high: vec4<f32>, x_sums: vec2<f32>) -> f32 {
    let products = quad_of(block_word(b, k)) * low;
    return scaled(products, quad_of(block_word(b, k + 4u)) * high, x_sums, block_scales(b));
}

// The quants of block b as signed bytes, for integer dot products, and their scales and minima.
const BYTES = select(((1u << u32(BITS)) - 1u) * 0x01010101u, 0xffffffffu, BITS >= 7);
const FLIPPED = select(0u, 0x80808080u, BITS == 8); // 8-bit quants are lowered by 128 to fit signed bytes

fn int8_words(b: u32) -> array<u32, 8> {
    var words = block_words(b);
    for (var k = 0u; k < 8u; k += 1u) {
        words[k] = (words[k] & BYTES) ^ FLIPPED;
    }
    return words;
}

fn int8_scales(b: u32) -> vec4<f32> {
    let s = block_scales(b);
    // mutant (mat_mul_int8): select(0.0, 128.0, BITS == 8) => 0.0
    return vec4<f32>(s.xy, s.zw - select(0.0, 128.0, BITS == 8) * s.xy);
}
