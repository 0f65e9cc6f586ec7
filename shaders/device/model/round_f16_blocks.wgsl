// y[t, c] = f16(x[t, c] / scale), a scale for each block of 32 columns                  activations for mat_mul_f16
//
// The scale is the power of two that brings the largest value of the block to between 2 and 4, which is exact: large
// enough for values of a thousandth of it to keep all bits, small enough that 16 products do not overflow. Behind the
// last column the last block of a row has zeros. One thread takes a block.

override WG_SIZE: u32;
override COLS: u32;     // columns of x: a multiple of 4
override X_STRIDE: u32; // elements from one row of x to the next: a multiple of 4

override BLOCKS: u32 = (COLS + 31u) / 32u;

struct Params {
    unused: u32,
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;        // [tokens, X_STRIDE]
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f16>>;  // [tokens, BLOCKS, 8]
@group(0) @binding(4) var<storage, read_write> scales: array<f32>;   // [tokens, BLOCKS]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let b = group.x * WG_SIZE + thread;
    let t = group.y;
    if b >= BLOCKS || t >= this_pass.rows {
        return;
    }
    var block: array<vec4<f32>, 8>;
    var most = vec4<f32>();
    for (var k = 0u; k < 8u; k += 1u) {
        block[k] = vec4<f32>();
        // mutant: b * 8u + k < COLS / 4u => true
        if b * 8u + k < COLS / 4u {
            // mutant: (t * X_STRIDE) / 4u => t * (COLS / 4u)
            block[k] = x[(t * X_STRIDE) / 4u + b * 8u + k];
        }
        most = max(most, abs(block[k]));
    }
    let largest = max(max(most.x, most.y), max(most.z, most.w));
    // Biased exponents, as in the bits of an f32; scale and inverse are normal numbers.
    // mutant: >> 23u, 2u) - 1u => >> 23u, 2u) - 2u
    let exponent = max(bitcast<u32>(largest) >> 23u, 2u) - 1u;
    let inverse = bitcast<f32>((254u - exponent) << 23u);
    let at = t * BLOCKS + b;
    for (var k = 0u; k < 8u; k += 1u) {
        y[8u * at + k] = vec4<f16>(block[k] * inverse);
    }
    scales[at] = bitcast<f32>(exponent << 23u);
}
