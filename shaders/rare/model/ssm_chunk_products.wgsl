// C_t · B_i of the tokens of each chunk of CHUNK rows, i up to t: what Mamba-2's scan by chunks multiplies with decays
// (Dao & Gu 2024, arXiv 2405.21060). A workgroup computes TILE × TILE products.

#import pass

override TILE: u32 = 16;
override CHUNK: u32;        // a multiple of TILE
override STATE: u32;
override GROUPS: u32;
override STRIDE: u32;       // values from one row of xbc to the next
override B_AT: u32;         // where in a row B starts

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> xbc: array<f32>;            // [rows, STRIDE]: …, B, C [GROUPS, STATE]
@group(0) @binding(3) var<storage, read_write> products: array<f32>; // [chunks, GROUPS, CHUNK (t), CHUNK (i)]

@compute @workgroup_size(TILE, TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tiles = CHUNK / TILE;
    let i = group.x % tiles * TILE + local.x;
    let t = group.x / tiles * TILE + local.y;
    let first = group.y * CHUNK;
    // mutant: i > t || => i >= t ||
    if i > t || first + t >= this_pass.rows {
        return;
    }
    let b = (first + i) * STRIDE + B_AT + group.z * STATE;
    // mutant: (GROUPS + group.z) * STATE => GROUPS * STATE
    let c = (first + t) * STRIDE + B_AT + (GROUPS + group.z) * STATE;
    var sum = 0.0;
    for (var n = 0u; n < STATE; n++) {
        sum += xbc[c + n] * xbc[b + n];
    }
    // mutant: (group.y * GROUPS + group.z) * CHUNK => group.z * CHUNK
    products[((group.y * GROUPS + group.z) * CHUNK + t) * CHUNK + i] = sum;
}
