// y[r] = epilogue(Σ_c W[r, c] · x[c])                                one column, tall W: gate and up, and the head
// With NORM, x is RMS-normalised on the way: Σ_c W[r, c] · x[c] · norm_weight[c] / sqrt(mean x² + EPS).
// The file imported as `prologue` says what x is made of before that.
//
// A workgroup computes GROUP_ROWS rows of y, each of its thread groups OUTPUTS at a time. x is staged in workgroup
// memory, STAGE blocks at once, part by part, so that lanes which work on neighbouring blocks read neighbouring vec4.
// Norm weights and squares are thus computed once per workgroup. The file imported as `x_stage` decides in which form x
// is staged, and multiplies it: floats (x_floats), or int8 limbs for packed dot products (x_limbs). mat_vec_split is
// for matrices of few, long rows.

override GROUP_ROWS: u32; // a multiple of OUTPUTS
override ROW_PASSES: u32;     // upper bound of the passes in which the thread groups compute these rows
override STAGE: u32;      // blocks of x in workgroup memory

override PITCH: u32 = STAGE | 1u; // from one part of the blocks to the next: odd, so that writes spread over the banks
override MAX_THREAD_GROUPS: u32 = (WG_SIZE + 3u) / 4u;

const MAX_SUMS = 9u; // eight rows of W, and the squares

#import mat_vec_rows
#import adapter
#import thread_group

#import x_stage
#import stage_grid

var<workgroup> squares_of: array<f32, MAX_THREAD_GROUPS>; // [thread groups]

// Blocks of a stage for each lane: a constant where the size of a thread group is one, so that loops can be unrolled.
fn steps_of(lanes: u32) -> u32 {
    if LANES != 0u {
        // mutant: (STAGE + LANES - 1u) / max(LANES, 1u) => STAGE / max(LANES, 1u)
        return (STAGE + LANES - 1u) / max(LANES, 1u); // the divisor must not be 0 even in a branch not taken
    }
    // mutant: (STAGE + lanes - 1u) / lanes => STAGE / lanes
    return (STAGE + lanes - 1u) / lanes;
}

// Σ x² of the workgroup, given those of the thread groups.
fn all_squares(squares: f32, thread_group: ThreadGroup, count: u32) -> f32 {
    if thread_group.lane == 0u {
        squares_of[thread_group.index] = squares;
    }
    workgroupBarrier();
    var total = 0.0;
    // mutant: i < count; i += 1u) { => i < 1u; i += 1u) {
    for (var i = 0u; i < count; i += 1u) {
        total += squares_of[i];
    }
    return total;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let begin = (group.y * groups.x + group.x) * GROUP_ROWS;
    let thread_group = join_thread_group(thread);
    let thread_groups = WG_SIZE / thread_group.lanes;
    var squares = 0.0;
    stage_grid(thread);
    prepare(begin == 0u, thread);
    for (var round = 0u; round < ROW_PASSES; round += 1u) {
        let taken = (round * thread_groups + thread_group.index) * OUTPUTS;
        let idle = ROW_PASSES > 1u && taken >= GROUP_ROWS;
        let row = load_row(select(begin + taken + thread_group.lane, ROWS, idle || thread_group.lane >= OUTPUTS), 0u);
        var sums = array<f32, MAX_SUMS>();
        for (var i = 0u; i < ROWS_PER_GROUP; i += 1u) {
            sums[i] = adapter_sum(weight_row(begin + taken, i), thread_group.lane, thread_group.lanes);
        }
        for (var start = 0u; start < BLOCKS; start += STAGE) {
            // mutant: min(STAGE, BLOCKS - start) => STAGE
            let staged = min(STAGE, BLOCKS - start);
            // mutant: round == 0u || BLOCKS > STAGE => round == 0u
            if round == 0u || BLOCKS > STAGE {
                workgroupBarrier();
                sums[ROWS_PER_GROUP] += stage(start, staged, thread);
                workgroupBarrier();
            }
            let steps = select(0u, steps_of(thread_group.lanes), !idle);
            for (var i = 0u; i < steps; i += 1u) {
                let b = i * thread_group.lanes + thread_group.lane;
                if b < staged {
                    add_block(&sums, begin + taken, start, b);
                }
            }
        }
        thread_group_sums(&sums, thread_group, thread);
        if NORM && round == 0u {
            squares = all_squares(sums[ROWS_PER_GROUP], thread_group, thread_groups);
        }
        // Each lane writes a row of its own: no index that the compiler does not know.
        for (var i = 0u; i < OUTPUTS; i += 1u) {
            let at = select(i, 2u * i, SWIGLU);
            if thread_group.lane == i {
                write_row(row, sums[at], sums[at + 1u], squares);
            }
        }
    }
}
