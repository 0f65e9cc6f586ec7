// The rows of a pass as a block that drafts has them: each at the position before, from where the hidden state comes
// that goes with its token; or back again. With MAPPED a token of the block's own vocabulary becomes the model's.

#import pass

override WG_SIZE: u32 = 64;
override BACK: bool;            // to the position before, else to the one behind
override MAPPED: bool = false;  // whether tokens get other ids

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> ids: array<vec2<u32>>;     // of each own id the model's: low and high word
@group(0) @binding(3) var<storage, read_write> moved: Pass;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i == 0u {
        moved.rows = this_pass.rows;
        // mutant: moved.outputs = this_pass.outputs; => moved.outputs = this_pass.rows;
        moved.outputs = this_pass.outputs;
    }
    // mutant: i >= this_pass.rows => i > this_pass.rows
    if i >= this_pass.rows {
        return;
    }
    let row = this_pass.row[i];
    var token = row.token;
    if MAPPED {
        // mutant: min(row.token, arrayLength(&ids) - 1u) => i
        token = ids[min(row.token, arrayLength(&ids) - 1u)].x;
    }
    // mutant: BACK && row.position == 0u => false
    let flags = select(row.flags, row.flags | ROW_DONE, BACK && row.position == 0u);
    // mutant: row.position + 1u, row.position - 1u => row.position + 1u, row.position + 1u
    let position = select(row.position + 1u, row.position - 1u, BACK);
    moved.row[i] = Row(token, position, row.sequence, flags);
}
