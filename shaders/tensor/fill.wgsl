// y[i] = value                                words: for buffers that are then added to, or written only in part
// One workgroup writes 4 · WG_SIZE words.

override WG_SIZE: u32;

struct Params {
    words: u32, // to write
    value: u32, // each, bit for bit
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<u32>; // [words]

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: 4u * WG_SIZE + lane => 4u * (WG_SIZE + lane)
    // mutant: (group.y * groups.x + group.x) => group.x
    let first = (group.y * groups.x + group.x) * 4u * WG_SIZE + lane;
    for (var i = 0u; i < 4u; i += 1u) {
        // mutant: first + i * WG_SIZE < params.words => first < params.words
        if first + i * WG_SIZE < params.words {
            y[first + i * WG_SIZE] = params.value;
        }
    }
}
