// y[t, c] = f16(x[t, c] / scale[t])                       activations for mat_mul_subgroup_matrix
//
// The largest f16 is 65,504, and activations of real models can be larger: a row is scaled by the power of two that
// brings its largest value to between 2^14 and 2^15, which is exact. Rows of y are whole blocks of 32 columns, with
// zeros behind the last column of x. One workgroup takes a row.

override WG_SIZE: u32;
override COLS: u32;     // columns of x: a multiple of 4
override X_STRIDE: u32; // elements from one row of x to the next: a multiple of 4

override QUADS: u32 = COLS / 4u;                  // of a row of x
override Y_QUADS: u32 = (COLS + 31u) / 32u * 8u;  // of a row of y
override LANES: u32 = WG_SIZE;

struct Params {
    unused: u32,
}

#import lanes

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;           // [tokens, X_STRIDE]
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f16>>;     // [tokens, Y_QUADS]
@group(0) @binding(3) var<storage, read_write> scales: array<f32>;      // [tokens]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    // mutant: group.x * (X_STRIDE / 4u) => group.x * QUADS
    let start = group.x * (X_STRIDE / 4u);
    var most = vec4<f32>();
    for (var i = lane; i < QUADS; i += WG_SIZE) {
        most = max(most, abs(x[start + i]));
    }
    let largest = lanes_max(max(max(most.x, most.y), max(most.z, most.w)), lane);
    // Biased exponents, as in the bits of an f32; scale and inverse are normal numbers.
    // mutant: >> 23u, 15u) - 14u => >> 23u, 14u) - 14u
    let exponent = max(bitcast<u32>(largest) >> 23u, 15u) - 14u;
    let inverse = bitcast<f32>((254u - exponent) << 23u);
    for (var i = lane; i < Y_QUADS; i += WG_SIZE) {
        var values = vec4<f32>();
        // mutant: i < QUADS => i < Y_QUADS
        if i < QUADS {
            values = x[start + i] * inverse;
        }
        y[group.x * Y_QUADS + i] = vec4<f16>(values);
    }
    if lane == 0u {
        scales[group.x] = bitcast<f32>(exponent << 23u);
    }
}
