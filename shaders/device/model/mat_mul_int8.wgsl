// y[t, r] = epilogue(Σ_c W[r, c] · x[t, c])                 every token of a pass, activations rounded to 8 bits
//
// The formula of mat_mul over the output of `quantise`: within a block of 32 columns, quants of W and of x are summed
// as integers, four products to an instruction, and scaled once per block. One workgroup computes TILE rows
// for TILE tokens, a block of columns at a time, of which a thread loads a row of W or a token of x. The tiles are
// column-major: neighbouring threads read neighbouring vec4 of them.

const TX = 8u;           // threads along the rows of W
const TY = 16u;          // threads along the tokens
const TILE = 64u;        // rows, and tokens: 8·TX and 4·TY
const WG_SIZE = TX * TY; // 2 · TILE
const X_AT = 2u * TILE;  // of the tile: where x starts

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

var<workgroup> tile: array<vec4<u32>, 4u * TILE>;     // [W and x, halves of a block, TILE rows or tokens]
var<workgroup> scale_tile: array<vec4<f32>, WG_SIZE>; // [TILE rows]: scales, minima; [TILE tokens]: as in x_scales

// What one thread loads of a block of columns.
struct Share {
    first: vec4<u32>,
    second: vec4<u32>,
    scales: vec4<f32>,
}

// Rows and tokens past the end repeat the last: their sums are never written.
fn fetch(b: u32, first_row: u32, first_token: u32, thread: u32) -> Share {
    if thread < TILE {
        let at = min(first_row + thread, ROWS - 1u) * BLOCKS + b;
        let words = int8_words(at);
        let first = vec4<u32>(words[0], words[1], words[2], words[3]);
        return Share(first, vec4<u32>(words[4], words[5], words[6], words[7]), int8_scales(at));
    }
    let at = min(first_token + thread - TILE, x_rows() - 1u) * BLOCKS + b;
    return Share(x[2u * at], x[2u * at + 1u], x_scales[at]);
}

fn dot16(w: vec4<u32>, x: vec4<u32>, sum: i32) -> i32 {
    return dot4I8Packed(w.x, x.x) + dot4I8Packed(w.y, x.y) + dot4I8Packed(w.z, x.z) + dot4I8Packed(w.w, x.w) + sum;
}

// Adds the integer sums of a block (of one half, with HALVES) to the sums of 8 rows and 4 tokens. They are converted,
// not built as mantissas with an offset: NVIDIA's compiler was seen to move such an offset out of the products that
// follow (see x_limbs).
fn scale_up(
    sums: ptr<function, array<vec4<f32>, 8>>, dots: ptr<function, array<vec4<i32>, 8>>, half: u32, tx: u32, ty: u32,
) {
    let at = TILE + ty;
    let of_tokens = mat4x4<f32>(
        scale_tile[at], scale_tile[at + TY], scale_tile[at + 2u * TY], scale_tile[at + 3u * TY],
    );
    let of_x = transpose(of_tokens); // scales, sums of first halves, of last halves
    // mutant: of_x[1], of_x[2], half == 1u => of_x[1], of_x[2], half == 2u
    let x_sums = select(of_x[1] + of_x[2], select(of_x[1], of_x[2], half == 1u), HALVES);
    for (var r = 0u; r < 8u; r += 1u) {
        let s = scale_tile[r * TX + tx];
        let part = select(s.xz, s.yw, half == 1u);
        // mutant: - part.y * x_sums; => - part.x * x_sums;
        (*sums)[r] += (part.x * of_x[0]) * vec4<f32>((*dots)[r]) - part.y * x_sums;
        (*dots)[r] = vec4<i32>();
    }
}

fn compute(sums: ptr<function, array<vec4<f32>, 8>>, tx: u32, ty: u32) {
    var dots = array<vec4<i32>, 8>(); // [row], of 4 tokens
    for (var half = 0u; half < 2u; half += 1u) {
        let at = X_AT + half * TILE + ty;
        let x0 = tile[at];
        let x1 = tile[at + TY];
        let x2 = tile[at + 2u * TY];
        let x3 = tile[at + 3u * TY];
        for (var r = 0u; r < 8u; r += 1u) {
            let row = tile[half * TILE + r * TX + tx];
            let d = dots[r];
            dots[r] = vec4<i32>(dot16(row, x0, d.x), dot16(row, x1, d.y), dot16(row, x2, d.z), dot16(row, x3, d.w));
        }
        if HALVES || half == 1u {
            scale_up(sums, &dots, half, tx, ty);
        }
    }
}

// The same for the first two tokens of a thread, where the pass has no others in this tile.
fn scale_up_two(
    sums: ptr<function, array<vec4<f32>, 8>>, dots: ptr<function, array<vec2<i32>, 8>>, half: u32, tx: u32, ty: u32,
) {
    let first = scale_tile[TILE + ty];
    let second = scale_tile[TILE + TY + ty];
    let scale = vec2<f32>(first.x, second.x);
    let of_first = vec2<f32>(first.y, second.y);
    let of_second = vec2<f32>(first.z, second.z);
    // mutant: of_second, half == 1u => of_second, half == 2u
    let x_sums = select(of_first + of_second, select(of_first, of_second, half == 1u), HALVES);
    for (var r = 0u; r < 8u; r += 1u) {
        let s = scale_tile[r * TX + tx];
        let part = select(s.xz, s.yw, half == 1u);
        let more = (part.x * scale) * vec2<f32>((*dots)[r]) - part.y * x_sums;
        (*sums)[r] += vec4<f32>(more, 0.0, 0.0);
        (*dots)[r] = vec2<i32>();
    }
}

fn compute_two(sums: ptr<function, array<vec4<f32>, 8>>, tx: u32, ty: u32) {
    var dots = array<vec2<i32>, 8>(); // [row], of 2 tokens
    for (var half = 0u; half < 2u; half += 1u) {
        let x0 = tile[X_AT + half * TILE + ty];
        let x1 = tile[X_AT + half * TILE + ty + TY];
        for (var r = 0u; r < 8u; r += 1u) {
            let row = tile[half * TILE + r * TX + tx];
            // mutant: dot16(row, x1, dots[r].y) => dot16(row, x0, dots[r].y)
            dots[r] = vec2<i32>(dot16(row, x0, dots[r].x), dot16(row, x1, dots[r].y));
        }
        if HALVES || half == 1u {
            scale_up_two(sums, &dots, half, tx, ty);
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
    let at = thread / TILE * X_AT + thread % TILE;
    for (var b = 0u; b < BLOCKS; b += 1u) {
        let share = fetch(b, first_row, first_token, thread);
        workgroupBarrier();
        tile[at] = share.first;
        tile[at + TILE] = share.second;
        scale_tile[thread] = share.scales;
        workgroupBarrier();
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
