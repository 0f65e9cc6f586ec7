// x in workgroup memory as whole numbers, for quantised W on devices that multiply four bytes in one instruction.
//
// A block of 32 values is scaled by a power of two to less than 2^22 and rounded: no less exact than the sums in f32
// that follow. The numbers are written as three digits of base 256, from -128 to 127, and the digits of one rank are
// what a packed dot product takes. Three of these per four weights replace a shift, a mask and a product for each.
override X_DIGITS: u32 = 6u * PITCH;

var<workgroup> x_digits: array<vec4<u32>, X_DIGITS>; // [3 ranks, lowest first; 2 halves of a block; PITCH]
var<workgroup> x_scales: array<vec4<f32>, STAGE>;    // scale, sums of the halves

const NUMBER = 0x4b400000u; // bits of 1.5 · 2^23: adding it to a small number leaves that in the low bits
const NUMBER_OFF = 12582912.0;
const DIGITS_OFF = 0x808080u; // makes digits of bytes without a sign
const DIGIT_SIGNS = 0x80808080u;

// The low bytes of two words' halves, side by side: a's at even places, b's at odd ones.
fn even_bytes(a: u32, b: u32) -> u32 {
    return (a & 0x00ff00ffu) | ((b << 8u) & 0xff00ff00u);
}

fn odd_bytes(a: u32, b: u32) -> u32 {
    return ((a >> 8u) & 0x00ff00ffu) | (b & 0xff00ff00u);
}

// Four numbers' digits, a word for each rank.
fn digits_of(numbers: vec4<f32>) -> vec3<u32> {
    let n = bitcast<vec4<u32>>(numbers + NUMBER_OFF) - (NUMBER - DIGITS_OFF);
    let low = (n.xy & vec2<u32>(0xffffu)) | (n.zw << vec2<u32>(16u));
    let high = (n.xy >> vec2<u32>(16u)) | (n.zw & vec2<u32>(0xffff0000u));
    let words = vec3<u32>(even_bytes(low.x, low.y), odd_bytes(low.x, low.y), even_bytes(high.x, high.y));
    return words ^ vec3<u32>(DIGIT_SIGNS);
}

// Brings `count` blocks of x from block `start` on; the squares of this thread's share. A thread takes half a block,
// its neighbour the other half.
fn stage(start: u32, count: u32, thread: u32) -> f32 {
    var squares = 0.0;
    let x_row = x_start();
    for (var i = thread; i < 2u * count; i += WG_SIZE) {
        var half: array<vec4<f32>, 4>;
        var most = vec4<f32>();
        var sums = vec4<f32>();
        for (var k = 0u; k < 4u; k += 1u) {
            let col = start * 32u + 16u * i + 4u * k;
            half[k] = load_x(x_row, col);
            if NORM {
                squares += dot(half[k], half[k]);
                half[k] *= load_norm(col);
            }
            most = max(most, abs(half[k]));
            sums += half[k];
        }
        let largest_here = max(max(most.x, most.y), max(most.z, most.w));
        let largest = max(largest_here, subgroupShuffleXor(largest_here, 1u));
        let sum = dot(sums, vec4<f32>(1.0));
        let other_sum = subgroupShuffleXor(sum, 1u);
        // Exponents as f32 has them; the scale's and its inverse's are those of normal numbers.
        let exponent = max(bitcast<u32>(largest) >> 23u, 22u);
        let inverse = bitcast<f32>((275u - exponent) << 23u);
        var digits: array<vec3<u32>, 4>;
        for (var k = 0u; k < 4u; k += 1u) {
            digits[k] = digits_of(half[k] * inverse);
        }
        let at = (i & 1u) * PITCH + i / 2u;
        x_digits[at] = vec4<u32>(digits[0].x, digits[1].x, digits[2].x, digits[3].x);
        x_digits[at + 2u * PITCH] = vec4<u32>(digits[0].y, digits[1].y, digits[2].y, digits[3].y);
        x_digits[at + 4u * PITCH] = vec4<u32>(digits[0].z, digits[1].z, digits[2].z, digits[3].z);
        if (i & 1u) == 0u {
            x_scales[i / 2u] = vec4<f32>(bitcast<f32>((exponent - 21u) << 23u), sum, other_sum, 0.0);
        }
    }
    return squares;
}

// Adds the products of four words of quants and of digits to `sum`.
fn dot16(w: vec4<u32>, x: vec4<u32>, sum: i32) -> i32 {
    return sum + dot4I8Packed(w.x, x.x) + dot4I8Packed(w.y, x.y) + dot4I8Packed(w.z, x.z) + dot4I8Packed(w.w, x.w);
}

// Sums of a block's quants times the digits of one rank: of its first half, and of the other. Where both have one
// scale, the latter is the sum of both.
fn rank_sums(low: vec4<u32>, high: vec4<u32>, x_low: vec4<u32>, x_high: vec4<u32>) -> vec2<i32> {
    let low_sum = dot16(low, x_low, 0);
    return vec2<i32>(low_sum, dot16(high, x_high, select(low_sum, 0, HALVES)));
}

// The number that sums of the three ranks stand for, lowest first. They are converted, not read as mantissas: a
// compiler may move the offset of mantissas out of these products, and NVIDIA's did, which took the lowest digits away.
fn value_of(first: i32, second: i32, third: i32) -> f32 {
    return (f32(third) * 256.0 + f32(second)) * 256.0 + f32(first);
}

// Adds the team's rows from `first` on times block `start + b` of x.
fn add_block(sums: ptr<function, array<f32, SUMS_MOST>>, first: u32, start: u32, b: u32) {
    var digits: array<vec4<u32>, 6>;
    for (var i = 0u; i < 6u; i += 1u) {
        digits[i] = x_digits[i * PITCH + b];
    }
    let x_scale = x_scales[b];
    for (var slot = 0u; slot < SLOTS; slot += 1u) {
        let at = slot_row(first, slot) * BLOCKS + start + b;
        let words = int8_words(at);
        let low = vec4<u32>(words[0], words[1], words[2], words[3]);
        let high = vec4<u32>(words[4], words[5], words[6], words[7]);
        let s = int8_scales(at);
        let first_rank = rank_sums(low, high, digits[0], digits[1]);
        let second_rank = rank_sums(low, high, digits[2], digits[3]);
        let third_rank = rank_sums(low, high, digits[4], digits[5]);
        var value = s.y * value_of(first_rank.y, second_rank.y, third_rank.y);
        if HALVES {
            value += s.x * value_of(first_rank.x, second_rank.x, third_rank.x);
        }
        (*sums)[slot] += x_scale.x * value - s.z * x_scale.y - s.w * x_scale.z;
    }
}
