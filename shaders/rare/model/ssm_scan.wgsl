// Mamba-2's recurrence (Dao & Gu 2024, arXiv 2405.21060) for the few rows of a pass, of any sequences. Per head, with
// x of HEAD_DIM values, B and C of STATE values shared by the heads of a group, and one decay A:
//   dt = softplus(dt + bias),  h = exp(dt * A) * h + dt * B xᵀ,  y = (C · h + D * x) * silu(z)
// A workgroup computes LANES values of one head, along the rows of one sequence; its threads share the state's STATE
// values by slices.

#import pass

override WG_SIZE: u32 = 256;
override LANES: u32 = 32;   // divides WG_SIZE
override HEADS: u32;
override HEAD_DIM: u32;
override STATE: u32;
override GROUPS: u32;       // divides HEADS
override STRIDE: u32;       // values from one row of zdt to the next
override Z_AT: u32;         // where in a row z starts
override DT_AT: u32;        // and where dt
override SLICES: u32 = WG_SIZE / LANES;
override TILES: u32 = (HEAD_DIM + LANES - 1) / LANES;

struct Params {
    unused: u32,
}

#import silu
#import softplus

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> zdt: array<f32>;         // [rows, STRIDE]: z [HEADS, HEAD_DIM], dt [HEADS]
@group(0) @binding(3) var<storage, read> xbc: array<f32>;         // [rows, x [HEADS, HEAD_DIM], B, C [GROUPS, STATE]]
@group(0) @binding(4) var<storage, read> heads: array<f32>;       // [3, HEADS]: bias of dt, A, D
@group(0) @binding(5) var<storage, read_write> state: array<f32>; // [sequences, HEADS, STATE, HEAD_DIM]
@group(0) @binding(6) var<storage, read_write> y: array<f32>;     // [rows, HEADS, HEAD_DIM]

#import ssm_rows

var<workgroup> sums: array<f32, WG_SIZE>;

// One token's step of the state's slice; returns its part of C · h.
fn advance(row: u32, head: u32, at: u32, slice: u32) -> f32 {
    let here = this_pass.row[row];
    let dt = time_step(row, head);
    let decay = exp(dt * heads[HEADS + head]);
    let input = dt * x_of(row, head, at);
    var sum = 0.0;
    for (var n = slice; n < STATE; n += SLICES) {
        // mutant: here.sequence * HEADS + head => head
        let i = ((here.sequence * HEADS + head) * STATE + n) * HEAD_DIM + at;
        // mutant: here.position == 0u => here.position == 1u
        let before = select(state[i], 0.0, here.position == 0u);
        let h = decay * before + input * b_of(row, head, n);
        state[i] = h;
        sum += h * c_of(row, head, n);
    }
    return sum;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let sequence = this_pass.row[group.y].sequence;
    for (var row = 0u; row < group.y; row++) {
        // The workgroup of that row takes this one along.
        // mutant: == sequence { => > 9u {
        if this_pass.row[row].sequence == sequence {
            return;
        }
    }
    let head = group.x / TILES;
    let at = group.x % TILES * LANES + lane % LANES;
    for (var row = group.y; row < this_pass.rows; row++) {
        let here = this_pass.row[row];
        if here.sequence != sequence || (here.flags & ROW_DONE) != 0u {
            continue;
        }
        sums[lane] = 0.0;
        // mutant: at < HEAD_DIM { => at <= HEAD_DIM {
        if at < HEAD_DIM {
            sums[lane] = advance(row, head, at, lane / LANES);
        }
        workgroupBarrier();
        if lane < LANES && at < HEAD_DIM {
            var sum = 0.0;
            for (var slice = 0u; slice < SLICES; slice++) {
                sum += sums[slice * LANES + lane];
            }
            y[(row * HEADS + head) * HEAD_DIM + at] = gated(row, head, at, sum);
        }
        workgroupBarrier();
    }
}
