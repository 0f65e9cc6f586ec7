// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                 every token of a pass, activations rounded to 8 bits
//
// The formula of mat_mul over the output of `quantise`: within a block of 32 columns, quants of W and of x are summed
// as integers, four products to an instruction, and scaled once per block. One workgroup computes TILE rows
// for TILE tokens, STEP blocks of columns at a time; while it computes one step, the next is loaded from
// memory. The tiles are column-major: neighbouring threads read neighbouring vec4 of them.

const TX = 8u;           // threads along the rows of W
const TY = 16u;          // threads along the tokens
const TILE = 64u;        // rows, and tokens: 8·TX and 4·TY
const STEP = 2u;         // blocks of columns at a time, so that each thread loads one of W and one of x
const WG_SIZE = TX * TY; // STEP · TILE
const QUADS = 2u * STEP * TILE;

#import product

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<vec4<u32>>;        // [tokens, BLOCKS, 2], 16 quants each
@group(0) @binding(3) var<storage, read> x_scales: array<vec4<f32>>; // [tokens, BLOCKS]: scale, sums of the halves
@group(0) @binding(4) var<storage, read> w_vec: array<vec4<u32>>;    // [ROWS, BLOCKS] and scales
@group(0) @binding(5) var<storage, read> w_word: array<u32>;         // the same buffer
@group(0) @binding(6) var<storage, read> bias: array<f32>;           // [rows of the whole matrix]
@group(0) @binding(7) var<storage, read_write> y: array<f32>;        // [tokens, Y_STRIDE]

#import weights

var<workgroup> w_tile: array<vec4<u32>, QUADS>;        // [STEP, halves, TILE rows]
var<workgroup> x_tile: array<vec4<u32>, QUADS>;        // [STEP, halves, TILE tokens]
var<workgroup> w_scale_tile: array<vec4<f32>, WG_SIZE>; // [STEP, TILE rows]: scales, minima
var<workgroup> x_scale_tile: array<vec4<f32>, WG_SIZE>; // [STEP, TILE tokens]

// What one thread loads for a step: a block of W and one of x.
struct Share {
    w: array<vec4<u32>, 2>,
    w_scales: vec4<f32>,
    x: array<vec4<u32>, 2>,
    x_scales: vec4<f32>,
}

// Rows and tokens past the end repeat the last: their sums are never written. Blocks past the end are zero.
fn fetch(step: u32, first_row: u32, first_token: u32, thread: u32) -> Share {
    var share: Share;
    let b = step * STEP + thread / TILE;
    // mutant: if b < BLOCKS { => if b <= BLOCKS {
    if b < BLOCKS {
        let at = min(first_row + thread % TILE, ROWS - 1u) * BLOCKS + b;
        let words = int8_words(at);
        share.w[0] = vec4<u32>(words[0], words[1], words[2], words[3]);
        share.w[1] = vec4<u32>(words[4], words[5], words[6], words[7]);
        share.w_scales = int8_scales(at);
        let x_at = min(first_token + thread % TILE, x_rows() - 1u) * BLOCKS + b;
        share.x[0] = x[2u * x_at];
        share.x[1] = x[2u * x_at + 1u];
        share.x_scales = x_scales[x_at];
    }
    return share;
}

fn put(share: Share, thread: u32) {
    let at = (thread / TILE) * 2u * TILE + thread % TILE;
    w_tile[at] = share.w[0];
    w_tile[at + TILE] = share.w[1];
    x_tile[at] = share.x[0];
    x_tile[at + TILE] = share.x[1];
    w_scale_tile[thread] = share.w_scales;
    x_scale_tile[thread] = share.x_scales;
}

fn dot16(w: vec4<u32>, x: vec4<u32>, sum: i32) -> i32 {
    return dot4I8Packed(w.x, x.x) + dot4I8Packed(w.y, x.y) + dot4I8Packed(w.z, x.z) + dot4I8Packed(w.w, x.w) + sum;
}

// Adds the integer sums of block `b` of the step (of one half, with HALVES) to the sums of 8 rows and 4 tokens. They
// are converted, not built as mantissas with an offset: NVIDIA's compiler was seen to move such an offset out of the
// products that follow (see x_limbs).
fn scale_up(
    sums: ptr<function, array<vec4<f32>, 8>>, dots: ptr<function, array<vec4<i32>, 8>>,
    b: u32, half: u32, tx: u32, ty: u32,
) {
    var scale = vec4<f32>();
    var offset = vec4<f32>();
    var high = vec4<f32>();
    for (var t = 0u; t < 4u; t += 1u) {
        let s = x_scale_tile[b * TILE + t * TY + ty];
        scale[t] = s.x;
        // mutant: HALVES && half == 1u => half == 2u
        offset[t] = select(s.y, s.z, HALVES && half == 1u);
        high[t] = s.z;
    }
    for (var r = 0u; r < 8u; r += 1u) {
        let s = w_scale_tile[b * TILE + r * TX + tx];
        let part = select(s.xz, s.yw, half == 1u);
        let products = vec4<f32>((*dots)[r]);
        if !HALVES {
            // mutant: (*sums)[r] -= s.w * high; => (*sums)[r] -= s.w * offset;
            (*sums)[r] -= s.w * high;
        }
        (*sums)[r] += (part.x * scale) * products - part.y * offset;
        (*dots)[r] = vec4<i32>();
    }
}

fn compute(sums: ptr<function, array<vec4<f32>, 8>>, tx: u32, ty: u32) {
    var dots = array<vec4<i32>, 8>(); // [row], of 4 tokens
    for (var i = 0u; i < 2u * STEP; i += 1u) {
        let w = i * TILE + tx;
        let at = i * TILE + ty;
        let x0 = x_tile[at];
        let x1 = x_tile[at + TY];
        let x2 = x_tile[at + 2u * TY];
        let x3 = x_tile[at + 3u * TY];
        for (var r = 0u; r < 8u; r += 1u) {
            let row = w_tile[w + r * TX];
            let d = dots[r];
            dots[r] = vec4<i32>(dot16(row, x0, d.x), dot16(row, x1, d.y), dot16(row, x2, d.z), dot16(row, x3, d.w));
        }
        if HALVES || (i & 1u) == 1u {
            scale_up(sums, &dots, i / 2u, i & 1u, tx, ty);
        }
    }
}

// The same for the first two tokens of a thread, where the pass has no others in this tile.
fn scale_up_two(
    sums: ptr<function, array<vec4<f32>, 8>>, dots: ptr<function, array<vec2<i32>, 8>>,
    b: u32, half: u32, tx: u32, ty: u32,
) {
    let first = x_scale_tile[b * TILE + ty];
    let second = x_scale_tile[b * TILE + TY + ty];
    let scale = vec2<f32>(first.x, second.x);
    let high = vec2<f32>(first.z, second.z);
    // mutant: high, HALVES && half == 1u => high, half == 2u
    let offset = select(vec2<f32>(first.y, second.y), high, HALVES && half == 1u);
    for (var r = 0u; r < 8u; r += 1u) {
        let s = w_scale_tile[b * TILE + r * TX + tx];
        let part = select(s.xz, s.yw, half == 1u);
        var more = (part.x * scale) * vec2<f32>((*dots)[r]) - part.y * offset;
        if !HALVES {
            // mutant: more -= s.w * high => more -= s.w * offset
            more -= s.w * high;
        }
        (*sums)[r] += vec4<f32>(more, 0.0, 0.0);
        (*dots)[r] = vec2<i32>();
    }
}

fn compute_two(sums: ptr<function, array<vec4<f32>, 8>>, tx: u32, ty: u32) {
    var dots = array<vec2<i32>, 8>(); // [row], of 2 tokens
    for (var i = 0u; i < 2u * STEP; i += 1u) {
        let w = i * TILE + tx;
        let x0 = x_tile[i * TILE + ty];
        let x1 = x_tile[i * TILE + ty + TY];
        for (var r = 0u; r < 8u; r += 1u) {
            let row = w_tile[w + r * TX];
            // mutant: dot16(row, x1, dots[r].y) => dot16(row, x0, dots[r].y)
            dots[r] = vec2<i32>(dot16(row, x0, dots[r].x), dot16(row, x1, dots[r].y));
        }
        if HALVES || (i & 1u) == 1u {
            scale_up_two(sums, &dots, i / 2u, i & 1u, tx, ty);
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let first_row = group.x * TILE;
    let first_token = group.y * TILE;
    // A thread's rows are TX apart and its tokens TY, so that neighbouring threads access neighbouring memory.
    let tx = thread % TX;
    let ty = thread / TX;
    var sums = array<vec4<f32>, 8>(); // [row], of 4 tokens
    // mutant: x_rows() <= first_token + 2u * TY => true
    let are_few = x_rows() <= first_token + 2u * TY;
    var share = fetch(0u, first_row, first_token, thread);
    for (var step = 0u; step * STEP < BLOCKS; step += 1u) {
        workgroupBarrier();
        put(share, thread);
        workgroupBarrier();
        share = fetch(step + 1u, first_row, first_token, thread);
        if are_few {
            compute_two(&sums, tx, ty);
        } else {
            compute(&sums, tx, ty);
        }
    }
    for (var t = 0u; t < 4u; t += 1u) {
        for (var r = 0u; r < 8u; r += 1u) {
            // mutant: first_row + tx + r * TX => first_row + tx * 8u + r
            write(first_token + ty + t * TY, first_row + tx + r * TX, sums[r][t]);
        }
    }
}
