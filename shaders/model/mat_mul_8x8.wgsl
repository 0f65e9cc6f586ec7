// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                          every token of a pass: prefill
//
// What mat_mul computes, with 8 × 8 sums in the registers of a thread: 64 threads have 64 rows of W and 64 tokens. In a
// step of 16 columns a thread fetches four rows of W and four tokens, four columns of each, turns them, and puts them
// into workgroup memory, where the rows (or tokens) of a column are neighbours. The products of a step are written
// out: a loop over its columns takes 1.15 times as long (on an NVIDIA H100).

override X_STRIDE: u32; // elements from one row of x to the next

#import product

const PART = 66u;   // of four columns, and two so that neighbouring parts start in different banks
const PARTS = 4u;   // of a step

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<x_elem>;        // [tokens, X_STRIDE]
@group(0) @binding(3) var<storage, read> w_vec: array<vec4<u32>>; // [ROWS, BLOCKS] and scales
@group(0) @binding(4) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(5) var<storage, read> bias: array<f32>;        // [rows of the whole matrix]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;     // [tokens, Y_STRIDE]

#import columns
#import weights
#import tile_8x8

var<workgroup> w_tile: array<vec4<f32>, PARTS * PART>; // [PARTS, 4 columns, rows / 4]
var<workgroup> x_tile: array<vec4<f32>, PARTS * PART>; // [PARTS, 4 columns, tokens / 4]

// Columns 4k … of block b of four tokens; tokens past the end repeat the last.
fn fetch_x(b: u32, k: u32, token: u32) -> mat4x4<f32> {
    // mutant: let last = x_rows() - 1u; => let last = x_rows() - 2u;
    let last = x_rows() - 1u;
    let col = b * 32u + 4u * k;
    return transpose(mat4x4<f32>(
        // mutant: min(token, last) * X_STRIDE => min(token, last) * COLS
        load_x(min(token, last) * X_STRIDE, col),
        load_x(min(token + 1u, last) * X_STRIDE, col),
        load_x(min(token + 2u, last) * X_STRIDE, col),
        load_x(min(token + 3u, last) * X_STRIDE, col),
    ));
}

// Adds the products of a column: of the x of four tokens with the weights of both halves of the rows.
fn add(sums: ptr<function, Sums>, x: vec4<f32>, low: vec4<f32>, high: vec4<f32>) {
    (*sums)[0] += x.x * low;
    (*sums)[1] += x.x * high;
    (*sums)[2] += x.y * low;
    (*sums)[3] += x.y * high;
    (*sums)[4] += x.z * low;
    (*sums)[5] += x.z * high;
    (*sums)[6] += x.w * low;
    // mutant: (*sums)[7] += x.w * high; => (*sums)[7] += x.w * low;
    (*sums)[7] += x.w * high;
}

// Adds those of a column at `w` and `x` of the tiles to the sums of all of a thread's tokens.
fn multiply(first: ptr<function, Sums>, second: ptr<function, Sums>, w: u32, x: u32) {
    let low = w_tile[w];
    // mutant: let high = w_tile[w + SIDE]; => let high = w_tile[w];
    let high = w_tile[w + SIDE];
    add(first, x_tile[x], low, high);
    // mutant: add(second, x_tile[x + SIDE], low, high); => add(second, x_tile[x], low, high);
    add(second, x_tile[x + SIDE], low, high);
}

fn multiply_part(first: ptr<function, Sums>, second: ptr<function, Sums>, w: u32, x: u32) {
    multiply(first, second, w, x);
    multiply(first, second, w + LINE, x + LINE);
    multiply(first, second, w + 2u * LINE, x + 2u * LINE);
    // mutant: multiply(first, second, w + 3u * LINE, => multiply(first, second, w + 2u * LINE,
    multiply(first, second, w + 3u * LINE, x + 3u * LINE);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let tx = lane % SIDE;
    let ty = lane / SIDE;
    // What a thread fetches: neighbours follow the columns.
    let part = lane % PARTS;
    let four = lane / PARTS;
    let row = group.x * TILE + 4u * four;
    let token = group.y * TILE + 4u * four;
    let at = part * PART + four;
    // mutant: x_rows() <= group.y * TILE + HALF => true
    let are_few = x_rows() <= group.y * TILE + HALF;
    var first = Sums();
    var second = Sums();
    for (var step = 0u; step < 2u * BLOCKS; step += 1u) {
        // mutant: step % 2u * PARTS + part => part
        let k = step % 2u * PARTS + part;
        let of_w = fetch_weights(step / 2u, k, row);
        let of_x = fetch_x(step / 2u, k, token);
        workgroupBarrier();
        w_tile[at] = of_w[0];
        w_tile[at + LINE] = of_w[1];
        w_tile[at + 2u * LINE] = of_w[2];
        w_tile[at + 3u * LINE] = of_w[3];
        x_tile[at] = of_x[0];
        x_tile[at + LINE] = of_x[1];
        x_tile[at + 2u * LINE] = of_x[2];
        x_tile[at + 3u * LINE] = of_x[3];
        workgroupBarrier();
        if are_few {
            for (var c = 0u; c < 4u * PARTS; c += 1u) {
                let of_column = c / 4u * PART + c % 4u * LINE;
                add(&first, x_tile[of_column + ty], w_tile[of_column + tx], w_tile[of_column + tx + SIDE]);
            }
        } else {
            multiply_part(&first, &second, tx, ty);
            multiply_part(&first, &second, tx + PART, ty + PART);
            multiply_part(&first, &second, tx + 2u * PART, ty + 2u * PART);
            multiply_part(&first, &second, tx + 3u * PART, ty + 3u * PART);
        }
    }
    write_sums(group.y * TILE + 4u * ty, group.x * TILE + 4u * tx, &first);
    write_sums(group.y * TILE + 4u * ty + HALF, group.x * TILE + 4u * tx, &second);
}
