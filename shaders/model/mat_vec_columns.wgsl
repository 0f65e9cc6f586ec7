// y[n, r] = epilogue(Σ_c W[r, c] · x[n, c])                          two to eight columns
// The formula of mat_vec, with NORM as there.
//
// A thread group computes four rows of W times all columns: a thread unpacks eight weights of each row, four from each
// half of a block, and multiplies them by every column. x is read where it is: all thread groups of a workgroup read
// the same values at about the same time, so that the cache has them, and nothing waits for a barrier before the sums.

override COLUMN_THREADS: u32; // threads that sum the squares of a column

override GROUPS: u32 = WG_SIZE / LANES;          // thread groups
override GROUP_ROWS: u32 = OUTPUTS * GROUPS;     // rows of y of a workgroup
override HALF: u32 = LANES / 2u;                 // sums of a thread group after the first step
override PARTS: u32 = LANES / 8u;                // and after the second
override COLUMN_SUMS: u32 = WG_SIZE / 2u;        // of all thread groups after the first step
override MEMORY: u32 = 4u * COLUMN_SUMS;

#import mat_vec_rows

var<workgroup> memory: array<vec4<f32>, MEMORY>; // [4 columns, GROUPS, HALF] sums of four rows
var<workgroup> squares_of: array<f32, WG_SIZE>;  // [columns, COLUMN_THREADS]

// For each column the sums of four rows of W. These are names, not an array: what a loop indexes leaves the registers.
struct Sums {
    c0: vec4<f32>,
    c1: vec4<f32>,
    c2: vec4<f32>,
    c3: vec4<f32>,
    c4: vec4<f32>,
    c5: vec4<f32>,
    c6: vec4<f32>,
    c7: vec4<f32>,
}

// Squares of the quad `i` of the row of x at `start`, 0 past its end.
fn squares_at(start: u32, i: u32) -> f32 {
    let quad = prepared_x(start, 4u * min(i, 8u * BLOCKS - 1u));
    // mutant: i < 8u * BLOCKS => true
    return select(0.0, dot(quad, quad), i < 8u * BLOCKS);
}

// This thread's share of the squares of a column: four quads at once, so that it does not wait for each.
fn squares_share(thread: u32) -> f32 {
    let column = thread / COLUMN_THREADS;
    var squares = vec4<f32>();
    if column < COLUMNS {
        // mutant: x_start() + column * COLS => column * COLS
        let start = x_start() + column * COLS;
        for (var i = thread % COLUMN_THREADS; i < 8u * BLOCKS; i += 4u * COLUMN_THREADS) {
            squares += vec4<f32>(
                squares_at(start, i),
                squares_at(start, i + COLUMN_THREADS),
                squares_at(start, i + 2u * COLUMN_THREADS),
                // mutant: i + 3u * COLUMN_THREADS => i + 2u * COLUMN_THREADS
                squares_at(start, i + 3u * COLUMN_THREADS),
            );
        }
    }
    return dot(squares, vec4<f32>(1.0));
}

// `sum` with the products of four values of a column and four weights of each of four rows; w is [weight][row].
fn with_products(sum: vec4<f32>, quad: vec4<f32>, w: mat4x4<f32>) -> vec4<f32> {
    let half = fma(vec4<f32>(quad.y), w[1], fma(vec4<f32>(quad.x), w[0], sum));
    // mutant: quad.w), w[3] => quad.w), w[2]
    return fma(vec4<f32>(quad.w), w[3], fma(vec4<f32>(quad.z), w[2], half));
}

// Adds the products of four rows' quads, [row][weight], with the quad from column `col` of every row of x.
fn add_products(sums: ptr<function, Sums>, quads: mat4x4<f32>, start: u32, col: u32) {
    let w = transpose(quads);
    (*sums).c0 = with_products((*sums).c0, prepared_x(start, col), w);
    (*sums).c1 = with_products((*sums).c1, prepared_x(start + COLS, col), w);
    // mutant: COLUMNS > 2u => COLUMNS > 3u
    if COLUMNS > 2u {
        (*sums).c2 = with_products((*sums).c2, prepared_x(start + 2u * COLS, col), w);
    }
    if COLUMNS > 3u {
        (*sums).c3 = with_products((*sums).c3, prepared_x(start + 3u * COLS, col), w);
    }
    if COLUMNS > 4u {
        (*sums).c4 = with_products((*sums).c4, prepared_x(start + 4u * COLS, col), w);
    }
    if COLUMNS > 5u {
        (*sums).c5 = with_products((*sums).c5, prepared_x(start + 5u * COLS, col), w);
    }
    if COLUMNS > 6u {
        (*sums).c6 = with_products((*sums).c6, prepared_x(start + 6u * COLS, col), w);
    }
    if COLUMNS > 7u {
        // mutant: start + 7u * COLS => start + 6u * COLS
        (*sums).c7 = with_products((*sums).c7, prepared_x(start + 7u * COLS, col), w);
    }
}

// Weights 4k … of the blocks at `rows` of four rows, with NORM times the norm's.
fn quads_of(rows: vec4<u32>, k: u32, col: u32) -> mat4x4<f32> {
    let quads = mat4x4<f32>(
        load_quad(rows.x, k), load_quad(rows.y, k), load_quad(rows.z, k), load_quad(rows.w, k),
    );
    if NORM {
        let norm = load_norm(col);
        // mutant: quads[3] * norm); => quads[3]);
        return mat4x4<f32>(quads[0] * norm, quads[1] * norm, quads[2] * norm, quads[3] * norm);
    }
    return quads;
}

// Sum of the squares of a column.
fn column_squares(column: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < COLUMN_THREADS; i += 1u) {
        // mutant: column * COLUMN_THREADS + i => i
        sum += squares_of[column * COLUMN_THREADS + i];
    }
    return sum;
}

// Adds up the sums of up to four columns from `column` on, and writes their rows.
fn write_columns(column: u32, sums: mat4x4<f32>, first: u32, thread: u32) {
    let lane = thread % LANES;
    let slot = thread / LANES * HALF + lane % HALF;
    workgroupBarrier();
    if lane >= HALF {
        memory[slot] = sums[0];
        memory[COLUMN_SUMS + slot] = sums[1];
        memory[2u * COLUMN_SUMS + slot] = sums[2];
        memory[3u * COLUMN_SUMS + slot] = sums[3];
    }
    workgroupBarrier();
    if lane < HALF {
        memory[slot] += sums[0];
        memory[COLUMN_SUMS + slot] += sums[1];
        memory[2u * COLUMN_SUMS + slot] += sums[2];
        memory[3u * COLUMN_SUMS + slot] += sums[3];
    }
    workgroupBarrier();
    // Half of the threads add up four sums each; what the others read is kept inside the memory, and not used.
    let at = min(thread / PARTS * HALF + thread % PARTS, MEMORY - 3u * PARTS - 1u);
    // mutant: memory[at + 3u * PARTS] => memory[at + 2u * PARTS]
    let part = (memory[at] + memory[at + PARTS]) + (memory[at + 2u * PARTS] + memory[at + 3u * PARTS]);
    workgroupBarrier();
    if thread < COLUMN_SUMS {
        memory[thread] = part;
    }
    workgroupBarrier();
    // mutant: i += WG_SIZE => i += 2u * WG_SIZE
    for (var i = thread; i < min(4u, COLUMNS - column) * GROUP_ROWS; i += WG_SIZE) {
        let c = i / GROUP_ROWS;
        let output = i % GROUP_ROWS;
        // mutant: column + c => c
        let row = load_row(first + output, column + c);
        // mutant: c * GROUPS + output / OUTPUTS => output / OUTPUTS
        let begin = (c * GROUPS + output / OUTPUTS) * PARTS;
        let of_row = select(output % OUTPUTS, 2u * (output % OUTPUTS), SWIGLU);
        var sum = 0.0;
        var up = 0.0;
        // mutant: k < PARTS => k < 1u
        for (var k = 0u; k < PARTS; k += 1u) {
            sum += memory[begin + k][of_row];
            if SWIGLU {
                up += memory[begin + k][of_row + 1u];
            }
        }
        var squares = 0.0;
        if NORM {
            squares = column_squares(column + c);
        }
        write_row(row, sum, up, squares);
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group.y * groups.x + group.x) * GROUP_ROWS;
    let own = first + thread / LANES * OUTPUTS;
    let rows = vec4<u32>(weight_row(own, 0u), weight_row(own, 1u), weight_row(own, 2u), weight_row(own, 3u)) * BLOCKS;
    let start = x_start();
    var sums: Sums;
    if NORM {
        squares_of[thread] = squares_share(thread);
    }
    for (var i = thread % LANES; i < 4u * BLOCKS; i += LANES) {
        let b = i / 4u;
        let k = i & 3u;
        let col = 32u * b + 4u * k;
        add_products(&sums, quads_of(rows + b, k, col), start, col);
        // mutant: start, col + 16u); => start, col);
        add_products(&sums, quads_of(rows + b, k + 4u, col + 16u), start, col + 16u);
    }
    write_columns(0u, mat4x4<f32>(sums.c0, sums.c1, sums.c2, sums.c3), first, thread);
    if COLUMNS > 4u {
        write_columns(4u, mat4x4<f32>(sums.c4, sums.c5, sums.c6, sums.c7), first, thread);
    }
}
