// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                every token of a pass, on subgroup matrices of f16
//
// The formula of mat_mul over the output of `round_f16`. Per block of 32 columns a workgroup dequantises TILE_ROWS rows
// of W to f16, each weight once, and puts TILE_TOKENS tokens of x beside them. Its four subgroups share the sums, two by
// two: each multiplies DOWN matrices of tokens by ACROSS matrices of rows, and adds up in f32. While one block is
// multiplied, the next is on its way from memory.

override SUBGROUP_SIZE: u32; // threads of every subgroup

override WG_SIZE: u32 = 4u * SUBGROUP_SIZE;

#import shape
#import matrices

const TILE_TOKENS = 2u * DOWN * M;
const TILE_ROWS = 2u * ACROSS * N;
const QUADS = 10u;     // of a tile's row: eight with values, and two so that rows start in different banks
const SHARE_MOST = 8u; // pairs of quads that a thread brings of either tile, at most

#import product

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> state: State;
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;     // [tokens, COLS / 4]
@group(0) @binding(3) var<storage, read> x_scales: array<f32>;    // [tokens]
@group(0) @binding(4) var<storage, read> w_vec: array<vec4<u32>>; // [ROWS, BLOCKS] and scales
@group(0) @binding(5) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(6) var<storage, read> bias: array<f32>;        // [rows of the whole matrix]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;     // [tokens, Y_STRIDE]

#import weights

var<workgroup> x_tile: array<vec4<f16>, TILE_TOKENS * QUADS>;
var<workgroup> w_tile: array<vec4<f16>, TILE_ROWS * QUADS>;
var<workgroup> y_tile: array<f32, 4u * M * N>; // a matrix of sums of each subgroup

#import subgroup_matrix

// What one thread brings to a block: quads k and k + 4 of rows of x and of W.
struct Share {
    x: array<vec4<f16>, 2u * SHARE_MOST>,
    w: array<vec4<f16>, 2u * SHARE_MOST>,
}

// Rows and tokens past the end repeat the last: their sums are never written.
fn fetch(b: u32, first_row: u32, first_token: u32, thread: u32) -> Share {
    var share: Share;
    if b < BLOCKS {
        for (var i = 0u; i * WG_SIZE < 4u * TILE_TOKENS; i += 1u) {
            let at = i * WG_SIZE + thread;
            let quad = (min(first_token + at / 4u, state.count - 1u) * BLOCKS + b) * 8u + (at & 3u);
            share.x[2u * i] = x[quad];
            share.x[2u * i + 1u] = x[quad + 4u];
        }
        for (var i = 0u; i * WG_SIZE < 4u * TILE_ROWS; i += 1u) {
            let at = i * WG_SIZE + thread;
            let block = min(first_row + at / 4u, ROWS - 1u) * BLOCKS + b;
            share.w[2u * i] = vec4<f16>(load_quad(block, at & 3u));
            share.w[2u * i + 1u] = vec4<f16>(load_quad(block, (at & 3u) + 4u));
        }
    }
    return share;
}

fn put(share: ptr<function, Share>, thread: u32) {
    for (var i = 0u; i * WG_SIZE < 4u * TILE_TOKENS; i += 1u) {
        let at = ((i * WG_SIZE + thread) / 4u) * QUADS + (thread & 3u);
        x_tile[at] = (*share).x[2u * i];
        x_tile[at + 4u] = (*share).x[2u * i + 1u];
    }
    for (var i = 0u; i * WG_SIZE < 4u * TILE_ROWS; i += 1u) {
        let at = ((i * WG_SIZE + thread) / 4u) * QUADS + (thread & 3u);
        w_tile[at] = (*share).w[2u * i];
        w_tile[at + 4u] = (*share).w[2u * i + 1u];
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let first_row = group.x * TILE_ROWS;
    let first_token = group.y * TILE_TOKENS;
    // As everywhere, a subgroup is consecutive threads of a workgroup in one dimension.
    let subgroup = thread / SUBGROUP_SIZE;
    let lane = thread % SUBGROUP_SIZE;
    let tokens_at = (subgroup / 2u) * DOWN * M;
    let rows_at = (subgroup % 2u) * ACROSS * N;
    var sums: array<SumMatrix, DOWN * ACROSS>;
    var share = fetch(0u, first_row, first_token, thread);
    for (var b = 0u; b < BLOCKS; b += 1u) {
        workgroupBarrier();
        put(&share, thread);
        workgroupBarrier();
        share = fetch(b + 1u, first_row, first_token, thread);
        for (var k = 0u; k < 8u; k += K / 4u) {
            var xs: array<XMatrix, DOWN>;
            for (var i = 0u; i < DOWN; i += 1u) {
                xs[i] = load_x_matrix((tokens_at + i * M) * QUADS + k);
            }
            for (var j = 0u; j < ACROSS; j += 1u) {
                let w = load_w_matrix((rows_at + j * N) * QUADS + k);
                for (var i = 0u; i < DOWN; i += 1u) {
                    sums[i * ACROSS + j] = multiply_add(xs[i], w, sums[i * ACROSS + j]);
                }
            }
        }
    }
    // The elements of a matrix belong to no thread that a shader can name: they pass through workgroup memory.
    let y_at = subgroup * M * N;
    for (var i = 0u; i < DOWN; i += 1u) {
        for (var j = 0u; j < ACROSS; j += 1u) {
            workgroupBarrier();
            store_sums(y_at, sums[i * ACROSS + j]);
            workgroupBarrier();
            for (var e = lane; e < M * N; e += SUBGROUP_SIZE) {
                let t = first_token + tokens_at + i * M + e / N;
                let scale = x_scales[min(t, state.count - 1u)];
                write(t, first_row + rows_at + j * N + e % N, scale * y_tile[y_at + e]);
            }
        }
    }
}
