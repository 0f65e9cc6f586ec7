// y[n, r] = epilogue(Σ_c W[r, c] · x[n, c])                          up to eight columns; long rows of few
// The formula of mat_vec, with NORM as there.
//
// A workgroup computes OUTPUTS rows of y, all its threads together: a thread takes eight weights of a block at a time,
// four from each half, so that neighbours read neighbouring words of W and neighbouring vec4 of x. Nothing waits
// before the sums, which suits matrices that are soon read.

const SUMS_MOST = 24u; // two slots for eight columns, and the squares of each

#import mat_vec_rows

override STEPS_OF_ROW: u32 = (4u * BLOCKS + WG_SIZE - 1u) / WG_SIZE; // pairs of quads of a row for each thread
override PARTS: u32 = SUMS * ((WG_SIZE + 3u) / 4u);

var<workgroup> parts: array<f32, PARTS>; // [teams, SUMS]

// Four values of x from column `col` of the row at `start`, normalised but for the factor of the row.
fn load_normed(start: u32, col: u32, squares: ptr<function, f32>) -> vec4<f32> {
    let quad = load_x(start, col);
    if NORM {
        *squares += dot(quad, quad);
        return quad * load_norm(col);
    }
    return quad;
}

// Adds block b's quads k and k + 4 of the rows from `first` on, times x.
fn add_quads(sums: ptr<function, array<f32, SUMS_MOST>>, first: u32, b: u32, k: u32) {
    for (var column = 0u; column < COLUMNS; column += 1u) {
        let start = x_start() + column * COLS;
        var squares = 0.0;
        let low = load_normed(start, b * 32u + 4u * k, &squares);
        let high = load_normed(start, b * 32u + 16u + 4u * k, &squares);
        let x_sums = vec2<f32>(dot(low, vec4<f32>(1.0)), dot(high, vec4<f32>(1.0)));
        (*sums)[COLUMNS * SLOTS + column] += squares;
        for (var slot = 0u; slot < SLOTS; slot += 1u) {
            (*sums)[column * SLOTS + slot] += quads_dot(slot_row(first, slot) * BLOCKS + b, k, low, high, x_sums);
        }
    }
}

// Sum i of the workgroup, from those of its teams.
fn total(i: u32, teams: u32) -> f32 {
    var sum = 0.0;
    for (var team = 0u; team < teams; team += 1u) {
        sum += parts[team * SUMS + i];
    }
    return sum;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let first = (group.y * groups.x + group.x) * OUTPUTS;
    let team = join_team(thread);
    let teams = WG_SIZE / team.lanes;
    // There are more threads than rows times columns.
    let output = thread % OUTPUTS;
    let column = thread / OUTPUTS;
    let row = load_row(select(first + output, ROWS, column >= COLUMNS), column);
    var sums = array<f32, SUMS_MOST>();
    for (var step = 0u; step < STEPS_OF_ROW; step += 1u) {
        let i = step * WG_SIZE + thread;
        if i < 4u * BLOCKS {
            add_quads(&sums, first, i / 4u, i & 3u);
        }
    }
    team_sums(&sums, team, thread);
    for (var i = 0u; i < SUMS; i += 1u) {
        if team.lane == 0u {
            parts[team.index * SUMS + i] = sums[i];
        }
    }
    workgroupBarrier();
    if column < COLUMNS {
        let at = column * SLOTS + select(output, 2u * output, SWIGLU);
        let squares = total(COLUMNS * SLOTS + column, teams);
        write_row(row, total(at, teams), total(at + 1u, teams), squares);
    }
}
