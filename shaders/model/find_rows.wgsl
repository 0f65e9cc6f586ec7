// Looks up in which slot the row of each token of a pass lies, for a table of which the device holds some rows. A
// sequence whose row is in none waits: its row counts as done, so nothing of it changes until the host has put the row
// into a slot and writes the pass anew. One thread per row of the pass.

#import pass

override WG_SIZE: u32 = 64;

struct Params {
    rows: u32, // of the whole table; an id that is none of them has nothing to wait for
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> slot_of_row: array<u32>; // [rows]: slot + 1, or 0
@group(0) @binding(2) var<storage, read_write> this_pass: Pass;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let t = id.x;
    // mutant: t >= this_pass.rows => t > this_pass.rows
    if t >= this_pass.rows {
        return;
    }
    let row = this_pass.row[t];
    // mutant: (row.flags & ROW_DONE) != 0u || =>
    // mutant: || row.token >= params.rows => || row.token > params.rows
    if (row.flags & ROW_DONE) != 0u || row.token >= params.rows {
        return;
    }
    let slot = slot_of_row[row.token];
    if slot == 0u {
        // mutant: .flags = ROW_DONE; => .flags = 0u;
        this_pass.row[t].flags = ROW_DONE;
        // mutant: [row.sequence].done => [0].done
        this_pass.sequences[row.sequence].done = WAITING;
    } else {
        // mutant: slot << 1u => slot
        this_pass.row[t].flags = slot << 1u;
    }
}
