// y[r, h] = (a[r, h], b[r, h])          the values of a head of one activation, then those of another
//
// One thread copies one value of y.

override WG_SIZE: u32 = 64;
override HEADS: u32;
override OF_A: u32;     // values of a head of a
override OF_B: u32;
override A_STRIDE: u32; // values from one row to the next
override A_AT: u32;     // value of a row where the heads start
override B_STRIDE: u32;
override B_AT: u32;
override Y_STRIDE: u32;
override Y_AT: u32;

override WIDTH: u32 = OF_A + OF_B;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;       // [rows, A_STRIDE]
@group(0) @binding(2) var<storage, read> b: array<f32>;       // [rows, B_STRIDE]
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [rows, Y_STRIDE]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let n = group.x * WG_SIZE + lane;
    // mutant: n >= HEADS * WIDTH => n > HEADS * WIDTH
    if n >= HEADS * WIDTH {
        return;
    }
    let head = n / WIDTH;
    let i = n % WIDTH;
    var value: f32;
    // mutant: i < OF_A => i <= OF_A
    if i < OF_A {
        value = a[group.y * A_STRIDE + A_AT + head * OF_A + i];
    } else {
        // mutant: B_AT + head * OF_B => B_AT
        value = b[group.y * B_STRIDE + B_AT + head * OF_B + i - OF_A];
    }
    y[group.y * Y_STRIDE + Y_AT + n] = value;
}
