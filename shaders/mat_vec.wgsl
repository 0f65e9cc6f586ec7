// y[r] = epilogue(Σ_c W[r, c] · x[c])                                one column, tall W: gate and up, and the head
// With NORM, x is RMS-normalised on the way: Σ_c W[r, c] · x[c] · norm_weight[c] / sqrt(mean x² + EPS).
//
// A workgroup computes GROUP_ROWS rows of y, each of its teams OUTPUTS at a time. x lies in workgroup memory, STAGE
// blocks of it at once, quad by quad, so that lanes which work on neighbouring blocks read neighbouring vec4. Norm
// weights and squares are thus taken once per workgroup. mat_vec_split is for long rows of few.

override GROUP_ROWS: u32; // a multiple of OUTPUTS
override ROUNDS: u32;     // in which the teams get through these rows, at most
override STAGE: u32;      // blocks of x in workgroup memory

override QUAD: u32 = STAGE + 1u; // from one quad of a block to the next: odd, so that writes spread over the banks
override X_STAGE: u32 = 8u * QUAD;
override TEAMS_MOST: u32 = (WG_SIZE + 3u) / 4u;

const SUMS_MOST = 5u; // four slots, and the squares

#import mat_vec_rows

var<workgroup> x_stage: array<vec4<f32>, X_STAGE>;         // [8 quads of a block, QUAD]
var<workgroup> squares_of: array<f32, TEAMS_MOST>; // [teams]

// Copies `count` blocks of x from block `start` on; the squares of this thread's share.
fn stage(start: u32, count: u32, thread: u32) -> f32 {
    var squares = 0.0;
    let x_row = x_start();
    for (var i = thread; i < 8u * count; i += WG_SIZE) {
        let col = start * 32u + 4u * i;
        var quad = load_x(x_row, col);
        if NORM {
            squares += dot(quad, quad);
            quad *= load_norm(col);
        }
        x_stage[(i & 7u) * QUAD + i / 8u] = quad;
    }
    return squares;
}

// Adds the team's rows from `first` on times block `start + b` of x.
fn add_block(sums: ptr<function, array<f32, SUMS_MOST>>, first: u32, start: u32, b: u32) {
    var block: array<vec4<f32>, 8>;
    var halves = array<vec4<f32>, 2>();
    for (var k = 0u; k < 8u; k += 1u) {
        block[k] = x_stage[k * QUAD + b];
        halves[k / 4u] += block[k];
    }
    let x_sums = vec2<f32>(dot(halves[0], vec4<f32>(1.0)), dot(halves[1], vec4<f32>(1.0)));
    for (var slot = 0u; slot < SLOTS; slot += 1u) {
        (*sums)[slot] += block_dot(slot_row(first, slot) * BLOCKS + start + b, &block, x_sums);
    }
}

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
