// rows[0] = rows[accepted]: the hidden state of the last token that a pass with a draft has accepted, for the row after
// it. One thread copies one value.

override WG_SIZE: u32 = 64;
override WIDTH: u32;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> report: array<u32>;    // the third word: tokens that were accepted
@group(0) @binding(2) var<storage, read_write> rows: array<f32>; // [rows, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    // mutant: id.x < WIDTH => id.x <= WIDTH
    if id.x < WIDTH {
        // mutant: report[2] => report[3]
        rows[id.x] = rows[report[2] * WIDTH + id.x];
    }
}
