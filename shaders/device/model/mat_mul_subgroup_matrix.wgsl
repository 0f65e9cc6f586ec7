// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                every token of a pass, on subgroup matrices of f16
//
// The formula of mat_mul over the output of `round_f16`. STEP blocks of columns at a time, a workgroup dequantises
// TILE_ROWS rows of W to f16, each weight once, and copies TILE_TOKENS tokens of x next to them. Its four subgroups
// share the sums, two by two: each multiplies DOWN matrices of tokens by ACROSS matrices of rows, and adds up in f32.
// Fetching one step during another was not faster: other workgroups have work in the meantime.
//
// How many matrices there are, and of what size, is in the files of `matrices` and `shape`, which write the products
// out one by one: matrices that a loop indexes do not stay in registers (on an NVIDIA GPU the kernel took two to three
// times as long), and a loop over the columns of a step costs another tenth.

override SUBGROUP_SIZE: u32; // threads of every subgroup

override WG_SIZE: u32 = 4u * SUBGROUP_SIZE;
override SHARE: u32 = (STEP * max(TILE_ROWS, TILE_TOKENS) + WG_SIZE - 1u) / WG_SIZE; // blocks that a thread loads

#import shape
#import matrices

const TILE_TOKENS = 2u * DOWN * M;
const TILE_ROWS = 2u * ACROSS * N;
const QUADS = 8u * STEP + 2u; // of a tile's row: eight of a block, and two so that rows start in different banks

#import product

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<vec4<u32>>;     // [tokens, BLOCKS, 4], eight f16 each
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

alias Sums = array<SumMatrix, DOWN * ACROSS>; // [ACROSS, DOWN]

// A subgroup's part of the workgroup's sums.
struct Place {
    token: u32, // the first
    row: u32,   // of W, the first
    y_at: u32,  // in y_tile
    lane: u32,
}

// Writes the matrix of sums that is `down`-th along the tokens and `across`-th along the rows. The elements of a matrix
// belong to no thread that a shader can name: they pass through workgroup memory.
fn write_matrix(sum: SumMatrix, down: u32, across: u32, place: Place) {
    workgroupBarrier();
    store_sums(place.y_at, sum);
    workgroupBarrier();
    for (var e = place.lane; e < M * N; e += SUBGROUP_SIZE) {
        let t = place.token + down * M + e / N;
        // mutant: x_scales[min(t, x_rows() - 1u)] => x_scales[0u]
        let scale = x_scales[min(t, x_rows() - 1u)];
        // mutant: y_tile[place.y_at + e] => y_tile[e]
        write(t, place.row + across * N + e % N, scale * y_tile[place.y_at + e]);
    }
}

// Loads STEP blocks of columns from block `start` on: a thread takes whole blocks, and starts all its loads before it
// waits for one. Rows and tokens past the end repeat the last, their sums are never written; blocks past the
// end are zero. That `thread` has a bound tells the compiler that no store needs a check of its own.
fn bring(start: u32, first_row: u32, first_token: u32, thread: u32) {
    for (var n = 0u; n < SHARE; n += 1u) {
        let i = n * WG_SIZE + min(thread, WG_SIZE - 1u);
        let line = i / STEP;
        let b = start + i % STEP;
        var eights: array<vec4<u32>, 4>;
        var quads: array<vec4<f32>, 8>;
        // mutant: if b < BLOCKS { => if b + 1u < BLOCKS {
        if b < BLOCKS {
            let token = min(first_token + line, x_rows() - 1u);
            for (var k = 0u; k < 4u; k += 1u) {
                eights[k] = x[(token * BLOCKS + b) * 4u + k];
            }
            // mutant: min(first_row + line, ROWS - 1u) => min(line, ROWS - 1u)
            quads = load_block(min(first_row + line, ROWS - 1u) * BLOCKS + b);
        }
        let at = line * QUADS + (i % STEP) * 8u;
        if line < TILE_TOKENS {
            for (var k = 0u; k < 4u; k += 1u) {
                x_tile[at + 2u * k] = halves_of(eights[k].xy);
                x_tile[at + 2u * k + 1u] = halves_of(eights[k].zw);
            }
        }
        // mutant: line < TILE_ROWS => line < TILE_ROWS / 2u
        if line < TILE_ROWS {
            for (var k = 0u; k < 8u; k += 1u) {
                w_tile[at + k] = vec4<f16>(quads[k]);
            }
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let first_row = group.x * TILE_ROWS;
    let first_token = group.y * TILE_TOKENS;
    // As everywhere, a subgroup is consecutive threads of a workgroup in one dimension.
    let subgroup = thread / SUBGROUP_SIZE;
    let tokens_at = (subgroup / 2u) * DOWN * M;
    let rows_at = (subgroup % 2u) * ACROSS * N;
    var sums: Sums;
    for (var b = 0u; b < BLOCKS; b += STEP) {
        workgroupBarrier();
        bring(b, first_row, first_token, thread);
        workgroupBarrier();
        multiply_step(&sums, tokens_at * QUADS, rows_at * QUADS);
    }
    let lane = thread % SUBGROUP_SIZE;
    write_sums(&sums, Place(first_token + tokens_at, first_row + rows_at, subgroup * M * N, lane));
}
