// y[o, index[j], i] += x[o, j, i] for every j whose index is in the axis, in the order of j: equal indices add up the
// same way in every run.
// One thread adds up one element of y, that of the first of equal indices; a workgroup has WG_SIZE threads.

override WG_SIZE: u32 = 256;

struct Params {
    len: u32,   // elements of x
    size: u32,  // elements of the axis in y
    inner: u32, // elements of the axes after it
    count: u32, // indices
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> indices: array<u32>;  // [count]
@group(0) @binding(2) var<storage, read> links: array<u32>;    // [count] of `scatter_links`
@group(0) @binding(3) var<storage, read> x: array<f32>;        // [outer, count, inner]
@group(0) @binding(4) var<storage, read_write> y: array<f32>;  // [outer, size, inner]

#import links

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let at = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if at >= params.len {
        return;
    }
    let row = at / params.inner;
    let first = row % params.count;
    if (links[first] & LATER) != 0u {
        return;
    }
    let i = at % params.inner;
    let outer = row / params.count;
    // mutant: outer * params.size + indices[first] => outer * params.count + indices[first]
    let to = (outer * params.size + indices[first]) * params.inner + i;
    var sum = y[to];
    var j = first;
    for (var n = 0u; n < params.count && j != NONE; n += 1u) {
        // mutant: (outer * params.count + j) * params.inner => j * params.inner
        sum += x[(outer * params.count + j) * params.inner + i];
        // mutant: j = links[j] & NONE; => j = NONE;
        j = links[j] & NONE;
    }
    y[to] = sum;
}
