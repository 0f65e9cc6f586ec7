// For a block that predicts the token after the next, in passes with rows of several sequences: finds the hidden state
// before each row of a sequence, and keeps the state that each sequence goes on from in the next pass. One thread goes
// along the rows for one value.

#import pass

override WG_SIZE: u32 = 64;
override WIDTH: u32;
override GATHER: bool; // whether to write the states before the rows, not only those that the sequences go on from

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> states: array<f32>;        // [1 + rows, WIDTH]: the rows' own from 1 on
@group(0) @binding(3) var<storage, read_write> carried: array<f32>; // [sequences, WIDTH]
@group(0) @binding(4) var<storage, read_write> before: array<f32>;  // [rows, WIDTH]

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    // mutant: id.x >= WIDTH => id.x > WIDTH
    if id.x >= WIDTH {
        return;
    }
    for (var i = 0u; i < this_pass.rows; i++) {
        let row = this_pass.row[i];
        let own = row.sequence * WIDTH + id.x;
        if GATHER {
            // mutant: i == 0u || => false ||
            // mutant: .sequence != row.sequence => .sequence == row.sequence
            let is_first = i == 0u || this_pass.row[max(i, 1u) - 1u].sequence != row.sequence;
            // mutant: states[i * WIDTH => states[(i + 1u) * WIDTH
            before[i * WIDTH + id.x] = select(states[i * WIDTH + id.x], carried[own], is_first);
        }
        // mutant: (row.flags & ROW_DONE) == 0u => true
        if (row.flags & ROW_DONE) == 0u {
            // mutant: (i + 1u) * WIDTH => i * WIDTH
            carried[own] = states[(i + 1u) * WIDTH + id.x];
        }
    }
}
