// y[o, index[j], i] += x[o, j, i] for every j whose index is in the axis, in the order of j: equal indices add up the
// same way in every run. One dispatch adds the pairs [start, end), so that no thread takes long.
// One thread adds to one element of y, that of the first of equal indices, which follow each other in `pairs`; a
// workgroup has WG_SIZE threads.

override WG_SIZE: u32 = 256;

struct Params {
    len: u32,   // elements of x that are added
    size: u32,  // elements of the axis in y
    inner: u32, // elements of the axes after it
    count: u32, // indices
    start: u32,
    end: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> pairs: array<vec2<u32>>; // [count]: index and j of `sort_pairs`
@group(0) @binding(2) var<storage, read> x: array<f32>;           // [outer, count, inner]
@group(0) @binding(3) var<storage, read_write> y: array<f32>;     // [outer, size, inner]

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
    let i = at % params.inner;
    let outer = row / (params.end - params.start);
    let first = params.start + row % (params.end - params.start);
    let index = pairs[first].x;
    // mutant: first > params.start => first > 0u
    let is_later = first > params.start && pairs[first - 1u].x == index;
    // mutant: index >= params.size => index > params.size
    if index >= params.size || is_later {
        return;
    }
    // mutant: outer * params.size + index => outer * params.count + index
    let to = (outer * params.size + index) * params.inner + i;
    var sum = y[to];
    // mutant: k < params.end => k < params.count
    for (var k = first; k < params.end && pairs[k].x == index; k += 1u) {
        // mutant: outer * params.count + pairs[k].y => pairs[k].y
        sum += x[(outer * params.count + pairs[k].y) * params.inner + i];
    }
    y[to] = sum;
}
