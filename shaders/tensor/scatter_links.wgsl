// For every index the place of the next equal one, so that `scatter_add` can follow them in order:
// link[j] = min {k > j : index[k] = index[j]}, or NONE; with LATER added where one before j is equal, or where
// index[j] is not in the axis.
// One thread computes one link, a workgroup WG_SIZE; it looks at all indices, WG_SIZE at a time.

override WG_SIZE: u32 = 256;

struct Params {
    count: u32, // indices
    size: u32,  // elements of the axis
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> indices: array<u32>;     // [count]
@group(0) @binding(2) var<storage, read_write> links: array<u32>; // [count]

#import links

var<workgroup> some: array<u32, WG_SIZE>;

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let j = (group.y * groups.x + group.x) * WG_SIZE + lane;
    let index = indices[min(j, params.count - 1u)];
    var next = NONE;
    // mutant: index >= params.size => index > params.size
    var later = select(0u, LATER, index >= params.size);
    for (var start = 0u; start < params.count; start += WG_SIZE) {
        some[lane] = indices[min(start + lane, params.count - 1u)];
        workgroupBarrier();
        // mutant: min(start + WG_SIZE, params.count) => start + WG_SIZE
        for (var k = start; k < min(start + WG_SIZE, params.count); k += 1u) {
            let equal = some[k - start] == index;
            // mutant: equal && k < j => equal && k <= j
            later = select(later, LATER, equal && k < j);
            // mutant: min(next, k) => k
            next = select(next, min(next, k), equal && k > j);
        }
        workgroupBarrier();
    }
    if j < params.count {
        links[j] = next | later;
    }
}
