// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                          every token of a pass: prefill
//
// One workgroup of TX × TY threads computes 4·TX rows for 4·TY tokens. Per block of 32 columns it dequantises its
// rows of W and copies its tokens of x into workgroup memory, each value once, and every thread adds to 4 × 4
// sums. The tiles are column-major: neighbouring threads read neighbouring vec4 of them.

override X_STRIDE: u32; // elements from one row of x to the next
override WG_SIZE: u32;  // TX · TY
override TX: u32;       // threads along the rows of W
override TY: u32;       // threads along the tokens

override TILE_ROWS: u32 = 4u * TX;
override TILE_TOKENS: u32 = 4u * TY;
override W_TILE: u32 = 8u * TILE_ROWS;
override X_TILE: u32 = 8u * TILE_TOKENS;

#import product

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<x_elem>;        // [tokens, X_STRIDE]
@group(0) @binding(3) var<storage, read> w_vec: array<vec4<u32>>; // [ROWS, BLOCKS] and scales
@group(0) @binding(4) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(5) var<storage, read> bias: array<f32>;        // [rows of the whole matrix]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;     // [tokens, Y_STRIDE]

#import columns
#import weights

var<workgroup> w_tile: array<vec4<f32>, W_TILE>; // [8 quads of a block, TILE_ROWS]
var<workgroup> x_tile: array<vec4<f32>, X_TILE>; // [8 quads of a block, TILE_TOKENS]

// Rows and tokens past the end repeat the last: their sums are never written.
fn stage(b: u32, first_row: u32, first_token: u32, lane: u32) {
    for (var i = lane; i < 4u * TILE_ROWS; i += WG_SIZE) {
        let at = min(first_row + i / 4u, ROWS - 1u) * BLOCKS + b;
        let k = i & 3u; // quads k and k + 4 share a word of nibbles
        w_tile[k * TILE_ROWS + i / 4u] = load_quad(at, k);
        w_tile[(k + 4u) * TILE_ROWS + i / 4u] = load_quad(at, k + 4u);
    }
    for (var i = lane; i < X_TILE; i += WG_SIZE) {
        // mutant: first_token + i / 8u, x_rows() - 1u => first_token + i / 8u, x_rows() - 2u
        let token = min(first_token + i / 8u, x_rows() - 1u);
        // mutant: token * X_STRIDE => token * COLS
        x_tile[(i & 7u) * TILE_TOKENS + i / 8u] = load_x(token * X_STRIDE, b * 32u + 4u * (i & 7u));
    }
}

fn products(w: array<vec4<f32>, 4>, x: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(dot(w[0], x), dot(w[1], x), dot(w[2], x), dot(w[3], x));
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let first_row = group.x * TILE_ROWS;
    let first_token = group.y * TILE_TOKENS;
    // A thread's rows are TX apart and its tokens TY, so that neighbouring threads access neighbouring memory.
    let tx = lane % TX;
    let ty = lane / TX;
    var sums = array<vec4<f32>, 4>(); // [token], of 4 rows
    // mutant: x_rows() > first_token + 2u * TY => false
    let are_many = x_rows() > first_token + 2u * TY;
    for (var b = 0u; b < BLOCKS; b += 1u) {
        stage(b, first_row, first_token, lane);
        workgroupBarrier();
        for (var k = 0u; k < 8u; k += 1u) {
            let w = k * TILE_ROWS + tx;
            let rows = array<vec4<f32>, 4>(w_tile[w], w_tile[w + TX], w_tile[w + 2u * TX], w_tile[w + 3u * TX]);
            let at = k * TILE_TOKENS + ty;
            sums[0] += products(rows, x_tile[at]);
            sums[1] += products(rows, x_tile[at + TY]);
            if are_many {
                sums[2] += products(rows, x_tile[at + 2u * TY]);
                sums[3] += products(rows, x_tile[at + 3u * TY]);
            }
        }
        workgroupBarrier();
    }
    for (var j = 0u; j < 4u; j += 1u) {
        for (var i = 0u; i < 4u; i += 1u) {
            // mutant: sums[j][i] => sums[i][j]
            write(first_token + ty + j * TY, first_row + tx + i * TX, sums[j][i]);
        }
    }
}
