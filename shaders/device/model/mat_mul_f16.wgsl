// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                every token of a pass, products in f16 without matrix units
//
// The formula of mat_mul over the output of `round_f16_blocks`, in the tiles of mat_mul_8x8. Of a step each group of 64
// threads takes 16 columns, of which a thread fetches four of four rows of W and of four tokens. Their products are
// summed in f16; such a sum, times the scale of the token's block, is added to a sum in f32. With two groups, for
// matrices of few tiles, the second hands its sums to the first in the end. Values of x are at most 4, so that no sum
// overflows while weights are below 1,023.

override GROUPS: u32; // 1 or 2

override WG_SIZE: u32 = 64u * GROUPS;

#import product

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<vec4<f16>>;     // [tokens, BLOCKS, 8]
@group(0) @binding(3) var<storage, read> x_scales: array<f32>;    // [tokens, BLOCKS]
@group(0) @binding(4) var<storage, read> w_vec: array<vec4<u32>>; // [ROWS, BLOCKS] and scales
@group(0) @binding(5) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(6) var<storage, read> bias: array<f32>;        // [rows of the whole matrix]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;     // [tokens, Y_STRIDE]

#import weights
#import tile_8x8

const PART = 68u;                 // of four columns, and four so that neighbouring parts start in different banks
const X_AT = 4u * PART;           // of a group's tile: where x starts
override TILES: u32 = 2u * X_AT * GROUPS;

var<workgroup> tile: array<vec4<f16>, TILES>;     // [groups, W and x, 4, 4 columns, rows or tokens / 4]
var<workgroup> scale_tile: array<f32, WG_SIZE>;   // [groups, tokens]

#import short_sums

fn halves_of(four: mat4x4<f32>) -> mat4x4<f16> {
    return mat4x4<f16>(vec4<f16>(four[0]), vec4<f16>(four[1]), vec4<f16>(four[2]), vec4<f16>(four[3]));
}

// Columns 4k … of block b of four tokens; tokens past the end repeat the last.
fn fetch_x(b: u32, k: u32, token: u32) -> mat4x4<f16> {
    // mutant: let last = x_rows() - 1u; => let last = x_rows() - 2u;
    let last = x_rows() - 1u;
    return transpose(mat4x4<f16>(
        x[(min(token, last) * BLOCKS + b) * 8u + k],
        x[(min(token + 1u, last) * BLOCKS + b) * 8u + k],
        x[(min(token + 2u, last) * BLOCKS + b) * 8u + k],
        x[(min(token + 3u, last) * BLOCKS + b) * 8u + k],
    ));
}

fn put(at: u32, four: mat4x4<f16>) {
    tile[at] = four[0];
    tile[at + LINE] = four[1];
    tile[at + 2u * LINE] = four[2];
    tile[at + 3u * LINE] = four[3];
}

// Adds the products of a column, at `w` and `x` of the tile, to the sums of all of a thread's tokens.
fn multiply(first: ptr<function, ShortSums>, second: ptr<function, ShortSums>, w: u32, x: u32) {
    let low = tile[w];
    // mutant: let high = tile[w + SIDE]; => let high = tile[w];
    let high = tile[w + SIDE];
    add(first, tile[x], low, high);
    // mutant: add(second, tile[x + SIDE], low, high); => add(second, tile[x], low, high);
    add(second, tile[x + SIDE], low, high);
}

fn multiply_part(first: ptr<function, ShortSums>, second: ptr<function, ShortSums>, w: u32, x: u32) {
    multiply(first, second, w, x);
    multiply(first, second, w + LINE, x + LINE);
    multiply(first, second, w + 2u * LINE, x + 2u * LINE);
    // mutant: multiply(first, second, w + 3u * LINE, => multiply(first, second, w + 2u * LINE,
    multiply(first, second, w + 3u * LINE, x + 3u * LINE);
}

// The products of 16 columns, for all of a thread's tokens.
fn multiply_step(first: ptr<function, ShortSums>, second: ptr<function, ShortSums>, w: u32, x: u32) {
    multiply_part(first, second, w, x);
    multiply_part(first, second, w + PART, x + PART);
    multiply_part(first, second, w + 2u * PART, x + 2u * PART);
    multiply_part(first, second, w + 3u * PART, x + 3u * PART);
}

// The same for the first half of the tokens alone.
fn multiply_few(sums: ptr<function, ShortSums>, w: u32, x: u32) {
    for (var c = 0u; c < 16u; c += 1u) {
        let at = c / 4u * PART + c % 4u * LINE;
        add(sums, tile[x + at], tile[w + at], tile[w + at + SIDE]);
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let lane = thread % 64u;
    let own = thread / 64u; // the number of the group
    let tx = lane % SIDE;
    let ty = lane / SIDE;
    // What a thread fetches: neighbours follow the columns.
    let part = lane % 4u;
    let row = group.x * TILE + 4u * (lane / 4u);
    let token = group.y * TILE + 4u * (lane / 4u);
    let w_at = own * 2u * X_AT;
    let x_at = w_at + X_AT;
    let at = part * PART + lane / 4u;
    let scales = min(group.y * TILE + lane, x_rows() - 1u) * BLOCKS;
    let scale_at = own * TILE + 4u * ty;
    // mutant: x_rows() <= group.y * TILE + HALF => true
    let are_few = x_rows() <= group.y * TILE + HALF;
    var first = Sums();
    var second = Sums();
    for (var start = 0u; start < 2u * BLOCKS; start += GROUPS) {
        let step = start + own;
        let of_w = halves_of(fetch_weights(step / 2u, step % 2u * 4u + part, row));
        let of_x = fetch_x(step / 2u, step % 2u * 4u + part, token);
        let scale = x_scales[scales + step / 2u];
        workgroupBarrier();
        put(w_at + at, of_w);
        put(x_at + at, of_x);
        scale_tile[thread] = scale;
        workgroupBarrier();
        var short = ShortSums();
        var short_second = ShortSums();
        if are_few {
            multiply_few(&short, w_at + tx, x_at + ty);
        } else {
            multiply_step(&short, &short_second, w_at + tx, x_at + ty);
            // mutant: settle(&second, &short_second, scale_at + HALF); => settle(&second, &short_second, scale_at);
            settle(&second, &short_second, scale_at + HALF);
        }
        settle(&first, &short, scale_at);
    }
    if GROUPS == 2u {
        hand_over(&first, thread);
        hand_over(&second, thread);
    }
    if own == 0u {
        write_sums(group.y * TILE + 4u * ty, group.x * TILE + 4u * tx, &first);
        write_sums(group.y * TILE + 4u * ty + HALF, group.x * TILE + 4u * tx, &second);
    }
}
