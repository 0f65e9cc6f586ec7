// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                every token of a pass, on subgroup matrices of f16
//
// The formula of mat_mul over the output of `round_f16`. STEP blocks of columns at a time, a workgroup unpacks
// TILE_ROWS rows of W to f16, each weight once, and copies TILE_TOKENS tokens of x next to them. Its subgroups share
// the sums: each multiplies DOWN matrices of tokens by ACROSS matrices of rows, and adds up in f32. While it
// multiplies, it fetches what a later step needs into registers, W as it is packed: of registers the sums leave few.
//
// Workgroups that share rows of W are neighbours, so that these come from memory once.
//
// How many matrices there are, and of what size, is in the files of `tiling` and `shape`, which write the products
// out one by one: matrices that a loop indexes do not stay in registers (on an NVIDIA GPU the kernel took two to three
// times as long), and a loop over the columns of a step costs another tenth.

override SUBGROUP_SIZE: u32; // threads of every subgroup

#import shape
#import tiling

const TILE_TOKENS = GROUPS_DOWN * DOWN * M;
const TILE_ROWS = GROUPS_ACROSS * ACROSS * N;
const X_EIGHTS = 4u * STEP;    // of a token in a step: eight f16 each
const PITCH = X_EIGHTS + 1u;   // of a row of the tile, in eights: one more, so that rows start in different banks
const W_AT = TILE_TOKENS * PITCH;
const SUBGROUPS = GROUPS_DOWN * GROUPS_ACROSS;
const MOST_X = (TILE_TOKENS * X_EIGHTS + 8u * SUBGROUPS - 1u) / (8u * SUBGROUPS); // with subgroups of 8, the smallest
const MOST_W = (TILE_ROWS * STEP + 8u * SUBGROUPS - 1u) / (8u * SUBGROUPS);

override WG_SIZE: u32 = SUBGROUPS * SUBGROUP_SIZE;
override X_SHARE: u32 = (TILE_TOKENS * X_EIGHTS + WG_SIZE - 1u) / WG_SIZE; // eights of x that a thread fetches
override W_SHARE: u32 = (TILE_ROWS * STEP + WG_SIZE - 1u) / WG_SIZE;       // blocks of W

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
#import packed

var<workgroup> tile: array<vec4<u32>, (TILE_TOKENS + TILE_ROWS) * PITCH>; // x, then W: [tokens and rows, PITCH]

#import subgroup_matrix

alias Sums = array<SumMatrix, DOWN * ACROSS>; // [ACROSS, DOWN]

// The workgroup's tile of y, and this thread.
struct Place {
    token: u32, // the workgroup's first
    row: u32,   // of W, the workgroup's first
    thread: u32,
}

// What a thread fetches of a step.
struct Share {
    x: array<vec4<u32>, MOST_X>,
    w: array<Packed, MOST_W>,
}

// Starts to load STEP blocks of columns from block `start` on; neighbouring threads load neighbouring eights of x.
// Rows and tokens past the end repeat the last, their sums are never written; blocks past the end are zero.
fn fetch(share: ptr<function, Share>, start: u32, place: Place) {
    for (var n = 0u; n < X_SHARE; n += 1u) {
        let i = n * WG_SIZE + place.thread;
        let token = min(place.token + i / X_EIGHTS, x_rows() - 1u);
        (*share).x[n] = vec4<u32>();
        // mutant: if start + i % X_EIGHTS / 4u < BLOCKS { => if start + i % X_EIGHTS / 4u + 1u < BLOCKS {
        if start + i % X_EIGHTS / 4u < BLOCKS {
            (*share).x[n] = x[(token * BLOCKS + start) * 4u + i % X_EIGHTS];
        }
    }
    for (var n = 0u; n < W_SHARE; n += 1u) {
        let i = n * WG_SIZE + place.thread;
        // mutant: min(place.row + i / STEP, ROWS - 1u) => min(i / STEP, ROWS - 1u)
        let row = min(place.row + i / STEP, ROWS - 1u);
        (*share).w[n] = Packed();
        if start + i % STEP < BLOCKS {
            (*share).w[n] = fetch_packed(row * BLOCKS + start + i % STEP);
        }
    }
}

// Writes what was fetched to the tile, W in f16.
fn put(share: ptr<function, Share>, thread: u32) {
    for (var n = 0u; n < X_SHARE; n += 1u) {
        let i = n * WG_SIZE + thread;
        if i < TILE_TOKENS * X_EIGHTS {
            tile[i / X_EIGHTS * PITCH + i % X_EIGHTS] = (*share).x[n];
        }
    }
    for (var n = 0u; n < W_SHARE; n += 1u) {
        let i = n * WG_SIZE + thread;
        // mutant: i < TILE_ROWS * STEP => i < TILE_ROWS * STEP / 2u
        if i < TILE_ROWS * STEP {
            let at = W_AT + i / STEP * PITCH + i % STEP * 4u;
            for (var k = 0u; k < 4u; k += 1u) {
                tile[at + k] = eight_of((*share).w[n], k);
            }
        }
    }
}

// Writes the matrix of sums that is `down`-th along the tokens and `across`-th along the rows of this subgroup's. The
// elements of a matrix belong to no thread that a shader can name: they pass through workgroup memory.
fn write_matrix(sum: SumMatrix, down: u32, across: u32, place: Place) {
    let subgroup = place.thread / SUBGROUP_SIZE;
    let token = place.token + (subgroup / GROUPS_ACROSS * DOWN + down) * M;
    let row = place.row + (subgroup % GROUPS_ACROSS * ACROSS + across) * N;
    let at = subgroup * (M * N / 4u);
    workgroupBarrier();
    store_sums(at, sum);
    workgroupBarrier();
    for (var e = place.thread % SUBGROUP_SIZE; e < M * N / 4u; e += SUBGROUP_SIZE) {
        let t = token + e / (N / 4u);
        // mutant: x_scales[min(t, x_rows() - 1u)] => x_scales[0u]
        let scale = x_scales[min(t, x_rows() - 1u)];
        // mutant: tile[at + e] => tile[e]
        let sums = scale * bitcast<vec4<f32>>(tile[at + e]);
        for (var i = 0u; i < 4u; i += 1u) {
            write(t, row + e % (N / 4u) * 4u + i, sums[i]);
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    // The bound of the thread tells the compiler that no store needs a check.
    let place = Place(group.x * TILE_TOKENS, group.y * TILE_ROWS, min(thread, WG_SIZE - 1u));
    // As everywhere, a subgroup is consecutive threads of a workgroup in one dimension.
    let subgroup = thread / SUBGROUP_SIZE;
    var sums: Sums;
    let x_at = subgroup / GROUPS_ACROSS * DOWN * M * PITCH;
    add_up(&sums, x_at, W_AT + subgroup % GROUPS_ACROSS * ACROSS * N * PITCH, place);
    write_sums(&sums, place);
}
