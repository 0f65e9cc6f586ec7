// y[r] = epilogue(Σ_c W[r, c] · x[c])                                one column; few, long rows
// The formula of mat_vec, with NORM and prologues as there.
//
// A workgroup computes OUTPUTS rows of y, all its threads together: a thread takes eight weights of a block at a time,
// four from each half, so that neighbours read neighbouring words of W and neighbouring vec4 of x. There is no barrier
// before the sums, which suits small matrices.

const MAX_SUMS = 5u; // four rows of W, and the squares

#import mat_vec_rows
#import adapter
#import thread_group

// mutant: (4u * BLOCKS + WG_SIZE - 1u) / WG_SIZE => 4u * BLOCKS / WG_SIZE
override STEPS_OF_ROW: u32 = (4u * BLOCKS + WG_SIZE - 1u) / WG_SIZE; // pairs of quads of a row for each thread
override PARTS: u32 = SUMS * ((WG_SIZE + 3u) / 4u);

var<workgroup> parts: array<f32, PARTS>; // [thread groups, SUMS]

// Four values of x from column `col` of the row at `start`, normalised but for the factor of the row.
fn load_normed(start: u32, col: u32, squares: ptr<function, f32>) -> vec4<f32> {
    let quad = prepared_x(start, col);
    if NORM {
        *squares += dot(quad, quad);
        return quad * load_norm(col);
    }
    return quad;
}

// Adds block b's quads k and k + 4 of the rows from `first` on, times x.
fn add_quads(sums: ptr<function, array<f32, MAX_SUMS>>, first: u32, b: u32, k: u32) {
    let start = x_start();
    var squares = 0.0;
    let low = load_normed(start, b * 32u + 4u * k, &squares);
    let high = load_normed(start, b * 32u + 16u + 4u * k, &squares);
    let x_sums = vec2<f32>(dot(low, vec4<f32>(1.0)), dot(high, vec4<f32>(1.0)));
    (*sums)[ROWS_PER_GROUP] += squares;
    for (var group_row = 0u; group_row < ROWS_PER_GROUP; group_row += 1u) {
        let at = weight_row(first, group_row) * BLOCKS + b;
        (*sums)[group_row] += quads_dot(at, k, low, high, x_sums);
    }
}

// Sum i of the workgroup, from those of its thread groups.
fn total(i: u32, thread_groups: u32) -> f32 {
    var sum = 0.0;
    // mutant: thread_group < thread_groups; thread_group += 1u => thread_group < 1u; thread_group += 1u
    for (var thread_group = 0u; thread_group < thread_groups; thread_group += 1u) {
        sum += parts[thread_group * SUMS + i];
    }
    return sum;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let first = (group.y * groups.x + group.x) * OUTPUTS;
    let thread_group = join_thread_group(thread);
    let thread_groups = WG_SIZE / thread_group.lanes;
    // There are more threads than rows.
    let row = load_row(select(first + thread, ROWS, thread >= OUTPUTS), 0u);
    var sums = array<f32, MAX_SUMS>();
    for (var i = 0u; i < ROWS_PER_GROUP; i += 1u) {
        sums[i] = adapter_sum(weight_row(first, i), thread, WG_SIZE);
    }
    prepare(first == 0u, thread);
    for (var step = 0u; step < STEPS_OF_ROW; step += 1u) {
        let i = step * WG_SIZE + thread;
        // mutant: if i < 4u * BLOCKS { => if i <= 4u * BLOCKS {
        if i < 4u * BLOCKS {
            add_quads(&sums, first, i / 4u, i & 3u);
        }
    }
    thread_group_sums(&sums, thread_group, thread);
    for (var i = 0u; i < SUMS; i += 1u) {
        if thread_group.lane == 0u {
            parts[thread_group.index * SUMS + i] = sums[i];
        }
    }
    workgroupBarrier();
    if thread < OUTPUTS {
        let at = select(thread, 2u * thread, SWIGLU);
        var squares = 0.0;
        if NORM {
            squares = total(ROWS_PER_GROUP, thread_groups);
        }
        write_row(row, total(at, thread_groups), total(at + 1u, thread_groups), squares);
    }
}
