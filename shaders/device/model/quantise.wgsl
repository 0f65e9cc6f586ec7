// q[t, c] = round(x[t, c] / scale), scale = max |x| of a block of 32 over 127           activations for mat_mul_int8
// One thread takes a block. With the scale it stores the sum of each half's quants times the scale: the minima and
// zero points of the weights are multiplied by these.

override WG_SIZE: u32;
override COLS: u32;     // columns of x: a multiple of 32
override X_STRIDE: u32; // elements from one row of x to the next: a multiple of 4

override BLOCKS: u32 = COLS / 32u;

struct Params {
    unused: u32,
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;             // [tokens, X_STRIDE]
@group(0) @binding(3) var<storage, read_write> q: array<vec4<u32>>;       // [tokens, BLOCKS, 2], 16 quants each
@group(0) @binding(4) var<storage, read_write> scales: array<vec4<f32>>;  // [tokens, BLOCKS]: scale, sums of the halves

// Four quants as signed bytes of a word.
fn pack(quants: vec4<i32>) -> u32 {
    let bytes = (vec4<u32>(quants) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
    return bytes.x | bytes.y | bytes.z | bytes.w;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let b = group.x * WG_SIZE + thread;
    let t = group.y;
    // mutant: b >= BLOCKS || =>
    if b >= BLOCKS || t >= this_pass.rows {
        return;
    }
    var block: array<vec4<f32>, 8>;
    var most = vec4<f32>();
    for (var k = 0u; k < 8u; k += 1u) {
        // mutant: (t * X_STRIDE) / 4u => t * (COLS / 4u)
        block[k] = x[(t * X_STRIDE) / 4u + b * 8u + k];
        most = max(most, abs(block[k]));
    }
    let largest = max(max(most.x, most.y), max(most.z, most.w));
    let scale = largest / 127.0;
    let inverse = select(0.0, 127.0 / largest, largest > 0.0);
    var words: array<u32, 8>;
    var sums = array<i32, 2>();
    for (var k = 0u; k < 8u; k += 1u) {
        let quants = vec4<i32>(round(block[k] * inverse));
        words[k] = pack(quants);
        // mutant: sums[k / 4u] => sums[k / 5u]
        sums[k / 4u] += quants.x + quants.y + quants.z + quants.w;
    }
    let at = t * BLOCKS + b;
    q[2u * at] = vec4<u32>(words[0], words[1], words[2], words[3]);
    q[2u * at + 1u] = vec4<u32>(words[4], words[5], words[6], words[7]);
    scales[at] = vec4<f32>(scale, scale * f32(sums[0]), scale * f32(sums[1]), 0.0);
}
