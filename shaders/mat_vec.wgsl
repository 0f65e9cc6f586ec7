// y[r] = epilogue(Σ_c W[r, c] · x[c])                                one column, tall W: gate and up, and the head
// With NORM, x is RMS-normalised on the way: Σ_c W[r, c] · x[c] · norm_weight[c] / sqrt(mean x² + EPS).
//
// A workgroup computes GROUP_ROWS rows of y, each of its teams OUTPUTS at a time. x lies in workgroup memory, STAGE
// blocks of it at once, part by part, so that lanes which work on neighbouring blocks read neighbouring vec4. Norm
// weights and squares are thus taken once per workgroup. `x_stage` says in which form x lies there, and multiplies it:
// as numbers (x_floats), or as digits for packed dot products (x_digits). mat_vec_split is for long rows of few.

override GROUP_ROWS: u32; // a multiple of OUTPUTS
override ROUNDS: u32;     // in which the teams get through these rows, at most
override STAGE: u32;      // blocks of x in workgroup memory

override PITCH: u32 = STAGE | 1u; // from one part of the blocks to the next: odd, so that writes spread over the banks
override TEAMS_MOST: u32 = (WG_SIZE + 3u) / 4u;

const SUMS_MOST = 5u; // four slots, and the squares

#import mat_vec_rows

#import x_stage

var<workgroup> squares_of: array<f32, TEAMS_MOST>; // [teams]

// Blocks of a stage for each lane: a constant where the size of a team is one, so that the loop can be unrolled.
fn steps_of(lanes: u32) -> u32 {
    if LANES != 0u {
        return (STAGE + LANES - 1u) / max(LANES, 1u); // 0 may not stand there, taken or not
    }
    return (STAGE + lanes - 1u) / lanes;
}

// Σ x² of the workgroup, given those of the teams.
fn all_squares(squares: f32, team: Team, count: u32) -> f32 {
    if team.lane == 0u {
        squares_of[team.index] = squares;
    }
    workgroupBarrier();
    var total = 0.0;
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
    let begin = (group.y * groups.x + group.x) * GROUP_ROWS;
    let team = join_team(thread);
    let teams = WG_SIZE / team.lanes;
    var squares = 0.0;
    for (var round = 0u; round < ROUNDS; round += 1u) {
        let taken = (round * teams + team.index) * OUTPUTS;
        let idle = ROUNDS > 1u && taken >= GROUP_ROWS;
        let row = load_row(select(begin + taken + team.lane, ROWS, idle || team.lane >= OUTPUTS), 0u);
        var sums = array<f32, SUMS_MOST>();
        for (var start = 0u; start < BLOCKS; start += STAGE) {
            let staged = min(STAGE, BLOCKS - start);
            if round == 0u || BLOCKS > STAGE {
                workgroupBarrier();
                sums[SLOTS] += stage(start, staged, thread);
                workgroupBarrier();
            }
            let steps = select(0u, steps_of(team.lanes), !idle);
            for (var i = 0u; i < steps; i += 1u) {
                let b = i * team.lanes + team.lane;
                if b < staged {
                    add_block(&sums, begin + taken, start, b);
                }
            }
        }
        team_sums(&sums, team, thread);
        if NORM && round == 0u {
            squares = all_squares(sums[SLOTS], team, teams);
        }
        // Each lane writes a row of its own: no index that the compiler does not know.
        for (var i = 0u; i < OUTPUTS; i += 1u) {
            let at = select(i, 2u * i, SWIGLU);
            if team.lane == i {
                write_row(row, sums[at], sums[at + 1u], squares);
            }
        }
    }
}
