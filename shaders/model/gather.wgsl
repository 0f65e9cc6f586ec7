// y[t, c] = W[id of t, c], or a number `missing` for an id that is no row of W
// One workgroup dequantises 4 · WG_SIZE columns of one id. W may be a shard: it then writes the ids it holds. `ids`
// says where they come from: the rows of a pass, or a tensor.

override WG_SIZE: u32 = 64;
override COLS: u32;
override SCALE: f32 = 1; // of every value

override BLOCKS: u32 = (COLS + 31u) / 32u; // blocks of a row

struct Params {
    first_row: u32, // row of the whole matrix that row 0 of W is
    rows: u32,      // rows of W
    all_rows: u32,  // rows of the whole matrix
    missing: u32,   // bits of the number for an id that is no row
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> w_vec: array<vec4<u32>>; // [rows, BLOCKS] and scales
@group(0) @binding(3) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(4) var<storage, read_write> y: array<f32>;     // [ids, COLS]

#import ids

#import weights

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = group.y;
    let col = 4u * (group.x * WG_SIZE + lane);
    let id = id_of(t);
    // mutant: id - params.first_row < params.rows => id - params.first_row <= params.rows
    let here = id >= params.first_row && id - params.first_row < params.rows;
    let nowhere = id >= params.all_rows; // every shard writes these
    // mutant: is_kept(t) || =>
    if is_kept(t) || col >= COLS || !(here || nowhere) {
        return;
    }
    // mutant: vec4<u32>(params.missing) => vec4<u32>()
    var quad = bitcast<vec4<f32>>(vec4<u32>(params.missing));
    if here {
        // mutant: (id - params.first_row) * BLOCKS => id * BLOCKS
        // mutant: (col / 4u) & 7u => (col / 4u) & 3u
        quad = load_quad((id - params.first_row) * BLOCKS + col / 32u, (col / 4u) & 7u) * SCALE;
    }
    for (var i = 0u; i < min(4u, COLS - col); i += 1u) {
        y[t * COLS + col + i] = quad[i];
    }
}
