// What the kernels for products of tensors share: constants, parameters, bindings, operands and the epilogue.

override A_KIND: u32;     // how a is stored: see stored.wgsl
override B_KIND: u32;     // how b is stored, unless in blocks
override BIAS: bool;
override ACTIVATION: u32; // see activation.wgsl
override RESIDUAL: bool;

struct Params {
    m: u32,       // rows of a and y
    n: u32,       // columns of b and y
    k: u32,       // columns of a, rows of b
    batches: u32, // products
    batch_1: u32, // size of the second batch dimension
    batch_2: u32, // size of the third
    a_m: u32,     // elements of a from one row to the next
    a_k: u32,     // from one column to the next
    a_0: u32,     // along the batch dimensions: 0 where a is broadcast
    a_1: u32,
    a_2: u32,
    b_k: u32,     // elements of b from one row to the next
    b_n: u32,     // from one column to the next
    b_0: u32,     // along the batch dimensions: 0 where b is broadcast
    b_1: u32,
    b_2: u32,
}

#import stored
#import activation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<u32>;           // [.., m, k] or transposed, words of elements
@group(0) @binding(2) var<storage, read> w_vec: array<vec4<u32>>; // b [.., k, n] or transposed, words of elements; or
@group(0) @binding(3) var<storage, read> w_word: array<u32>;      // [k, n] in blocks along n. The same buffer
@group(0) @binding(4) var<storage, read> bias: array<f32>;        // [n]
@group(0) @binding(5) var<storage, read> residual: array<f32>;    // [.., m, n]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;     // [.., m, n]

#import dense_b

fn load_a(i: u32) -> f32 {
    return stored_value(a[stored_word(i, A_KIND)], i, A_KIND);
}

// Product z's first elements of a and of b.
fn starts(z: u32) -> vec2<u32> {
    let outer = z / params.batch_2;
    // mutant (mat_mul_dense): outer % params.batch_1 => outer
    let at = vec3<u32>(outer / params.batch_1, outer % params.batch_1, z % params.batch_2);
    return vec2<u32>(
        at.x * params.a_0 + at.y * params.a_1 + at.z * params.a_2,
        at.x * params.b_0 + at.y * params.b_1 + at.z * params.b_2,
    );
}

fn write_one(z: u32, row: u32, col: u32, sum: f32) {
    // mutant (mat_mul_dense): col >= params.n => col > params.n
    if row >= params.m || col >= params.n {
        return;
    }
    // mutant (mat_mul_dense): (z * params.m + row) * params.n => (z * params.n + row) * params.n
    let at = (z * params.m + row) * params.n + col;
    var value = sum;
    if BIAS {
        // mutant (mat_mul_dense, mat_mul_dense_few): bias[col] => bias[row]
        value += bias[col];
    }
    value = activate(value);
    if RESIDUAL {
        // mutant (mat_mul_dense, mat_mul_dense_few): value += residual[at]; => value = activate(value + residual[at]);
        value += residual[at];
    }
    y[at] = value;
}
