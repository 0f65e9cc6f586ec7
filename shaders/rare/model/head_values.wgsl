// y[r, h] = W[h] · x[r, h], or transposed y[r, h] = x[r, h] · W[h]          heads with a matrix of f32 each
//
// W[h] are rows of one matrix of all heads. One thread computes one value of y for ROWS_AT_ONCE rows.

override WG_SIZE: u32 = 64;
override HEADS: u32;
override OF_X: u32;     // values of a head of x
override OF_Y: u32;     // values of a head of y
override X_STRIDE: u32; // values from one row of x to the next
override W_HEAD: u32;   // values from W[h] to W[h + 1]
override W_AT: u32;     // value where W[0] starts
override W_X: u32;      // values of W from what meets a value of x to what meets the next
override W_Y: u32;      // and from what makes a value of y to what makes the next

const ROWS_AT_ONCE: u32 = 8u;

struct Params {
    unused: u32,
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<f32>;       // [rows, X_STRIDE], of which the heads come first
@group(0) @binding(3) var<storage, read> w: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // [rows, HEADS, OF_Y]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = group.x * WG_SIZE + lane;
    // mutant: n >= HEADS * OF_Y => n > HEADS * OF_Y
    if n >= HEADS * OF_Y {
        return;
    }
    let head = n / OF_Y;
    let first = group.y * ROWS_AT_ONCE;
    // mutant: min(ROWS_AT_ONCE, this_pass.rows - => min(ROWS_AT_ONCE - 1u, this_pass.rows -
    let count = min(ROWS_AT_ONCE, this_pass.rows - min(first, this_pass.rows));
    var sum: array<f32, ROWS_AT_ONCE>;
    for (var i = 0u; i < OF_X; i += 1u) {
        // mutant: W_AT + head * W_HEAD => W_AT
        let weight = w[W_AT + head * W_HEAD + n % OF_Y * W_Y + i * W_X];
        for (var row = 0u; row < ROWS_AT_ONCE; row += 1u) {
            let of_row = first + min(row, max(count, 1u) - 1u);
            sum[row] += weight * x[of_row * X_STRIDE + head * OF_X + i];
        }
    }
    for (var row = 0u; row < count; row += 1u) {
        y[(first + row) * HEADS * OF_Y + n] = sum[row];
    }
}
