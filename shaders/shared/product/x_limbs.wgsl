// x in workgroup memory as integers in int8 limbs, for quantised W on devices with packed 4×8-bit dot products.
//
// A block of 32 values is scaled by a power of two to less than 2^22 and rounded to integers: no less exact than the
// sums in f32 that follow. Each integer is split into three limbs of base 256, from -128 to 127. A packed dot product
// takes four quants of W and the limbs of one place of four values: three of these products replace a shift, a mask and
// a product for each of the four weights.
override X_LIMBS: u32 = 6u * PITCH;

var<workgroup> x_limbs: array<vec4<u32>, X_LIMBS>; // [3 limbs, lowest first; 2 halves of a block; PITCH]
var<workgroup> x_scales: array<f32, STAGE>;
var<workgroup> x_sums: array<vec2<f32>, STAGE>;      // of the halves of a block

const NUMBER = 0x4b400000u; // bits of 1.5 · 2^23: added to an integer below 2^22, it leaves that in the low bits
const NUMBER_OFF = 12582912.0;
const LIMBS_OFF = 0x808080u; // added to an integer, turns its unsigned bytes into limbs + 128
const LIMB_SIGNS = 0x80808080u;

// The low bytes of two words' halves, interleaved: a's at even places, b's at odd ones.
fn even_bytes(a: u32, b: u32) -> u32 {
    return (a & 0x00ff00ffu) | ((b << 8u) & 0xff00ff00u);
}

fn odd_bytes(a: u32, b: u32) -> u32 {
    return ((a >> 8u) & 0x00ff00ffu) | (b & 0xff00ff00u);
}

// Four numbers' limbs, a word for each place.
fn limbs_of(numbers: vec4<f32>) -> vec3<u32> {
    let n = bitcast<vec4<u32>>(numbers + NUMBER_OFF) - (NUMBER - LIMBS_OFF);
    // mutant (mat_vec): (n.zw << vec2<u32>(16u)) => (n.wz << vec2<u32>(16u))
    let low = (n.xy & vec2<u32>(0xffffu)) | (n.zw << vec2<u32>(16u));
    let high = (n.xy >> vec2<u32>(16u)) | (n.zw & vec2<u32>(0xffff0000u));
    let words = vec3<u32>(even_bytes(low.x, low.y), odd_bytes(low.x, low.y), even_bytes(high.x, high.y));
    return words ^ vec3<u32>(LIMB_SIGNS);
}

// Stages `count` blocks of x from block `start` on; returns the sum of squares of this thread's share. A thread takes
// half a block, its neighbour the other half.
fn stage(start: u32, count: u32, thread: u32) -> f32 {
    var squares = 0.0;
    let x_row = x_start();
    for (var i = thread; i < 2u * count; i += WG_SIZE) {
        var half: array<vec4<f32>, 4>;
        var most = vec4<f32>();
        var sums = vec4<f32>();
        for (var k = 0u; k < 4u; k += 1u) {
            let col = start * 32u + 16u * i + 4u * k;
            half[k] = prepared_x(x_row, col);
            if NORM {
                squares += dot(half[k], half[k]);
                half[k] *= load_norm(col);
            }
            most = max(most, abs(half[k]));
            sums += half[k];
        }
        let largest_here = max(max(most.x, most.y), max(most.z, most.w));
        // mutant (mat_vec): max(largest_here, subgroupShuffleXor(largest_here, 1u)) => largest_here
        let largest = max(largest_here, subgroupShuffleXor(largest_here, 1u));
        let sum = dot(sums, vec4<f32>(1.0));
        // mutant (mat_vec): let other_sum = subgroupShuffleXor(sum, 1u); => let other_sum = sum;
        let other_sum = subgroupShuffleXor(sum, 1u);
        // Biased exponents, as in the bits of an f32; scale and inverse are normal numbers.
        let exponent = max(bitcast<u32>(largest) >> 23u, 22u);
        let inverse = bitcast<f32>((275u - exponent) << 23u);
        var limbs: array<vec3<u32>, 4>;
        for (var k = 0u; k < 4u; k += 1u) {
            limbs[k] = limbs_of(half[k] * inverse);
        }
        let at = (i & 1u) * PITCH + i / 2u;
        x_limbs[at] = vec4<u32>(limbs[0].x, limbs[1].x, limbs[2].x, limbs[3].x);
        x_limbs[at + 2u * PITCH] = vec4<u32>(limbs[0].y, limbs[1].y, limbs[2].y, limbs[3].y);
        x_limbs[at + 4u * PITCH] = vec4<u32>(limbs[0].z, limbs[1].z, limbs[2].z, limbs[3].z);
        if (i & 1u) == 0u {
            x_scales[i / 2u] = bitcast<f32>((exponent - 21u) << 23u);
            x_sums[i / 2u] = vec2<f32>(sum, other_sum);
        }
    }
    return squares;
}

// Adds the products of four words of quants and of limbs to `sum`.
fn dot16(w: vec4<u32>, x: vec4<u32>, sum: i32) -> i32 {
    return sum + dot4I8Packed(w.x, x.x) + dot4I8Packed(w.y, x.y) + dot4I8Packed(w.z, x.z) + dot4I8Packed(w.w, x.w);
}

// Sums of a block's quants times the limbs of one place: of its first half, and of the other. Where both have one
// scale, the latter is the sum of both.
fn limb_sums(low: vec4<u32>, high: vec4<u32>, x_low: vec4<u32>, x_high: vec4<u32>) -> vec2<i32> {
    let low_sum = dot16(low, x_low, 0);
    // mutant (mat_vec): select(low_sum, 0, HALVES) => 0
    return vec2<i32>(low_sum, dot16(high, x_high, select(low_sum, 0, HALVES)));
}

// The value of sums of the three limbs, lowest first. They are converted to floats, not built as mantissas with an
// offset: a compiler may move that offset out of these products; NVIDIA's did, and the lowest limbs were lost.
fn value_of(first: i32, second: i32, third: i32) -> f32 {
    // mutant (mat_vec): f32(third) * 256.0 => f32(third) * 255.0
    return (f32(third) * 256.0 + f32(second)) * 256.0 + f32(first);
}

// Adds the thread group's rows from `first` on times block `start + b` of x.
fn add_block(sums: ptr<function, array<f32, MAX_SUMS>>, first: u32, start: u32, b: u32) {
    var limbs: array<vec4<u32>, 6>;
    for (var i = 0u; i < 6u; i += 1u) {
        limbs[i] = x_limbs[i * PITCH + b];
    }
    let x_scale = x_scales[b];
    let x_sum = x_sums[b];
    for (var group_row = 0u; group_row < ROWS_PER_GROUP; group_row += 1u) {
        let at = weight_row(first, group_row) * BLOCKS + start + b;
        let words = int8_words(at);
        let low = vec4<u32>(words[0], words[1], words[2], words[3]);
        let high = vec4<u32>(words[4], words[5], words[6], words[7]);
        let s = int8_scales(at);
        let first = limb_sums(low, high, limbs[0], limbs[1]);
        let second = limb_sums(low, high, limbs[2], limbs[3]);
        let third = limb_sums(low, high, limbs[4], limbs[5]);
        var value = s.y * value_of(first.y, second.y, third.y);
        if HALVES {
            value += s.x * value_of(first.x, second.x, third.x);
        }
        // mutant (mat_vec): - s.w * x_sum.y => - s.w * x_sum.x
        (*sums)[group_row] += x_scale * value - s.z * x_sum.x - s.w * x_sum.y;
    }
}
