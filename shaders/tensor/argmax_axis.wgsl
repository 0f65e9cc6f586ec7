// y[a, c] = the index i of the largest x[a, i, c]: the lowest among equals; NaN is less than all.
// LANES threads compute one value of y. One thread per value is for columns: neighbouring threads then read
// neighbouring elements.

override WG_SIZE: u32 = 256;
override LANES: u32;

struct Params {
    outputs: u32, // outer · inner
    length: u32,
    inner: u32,
}

#import order_key

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [outer, length, inner], bits of f32
@group(0) @binding(2) var<storage, read_write> y: array<u32>; // [outer, inner]

var<workgroup> keys: array<u32, WG_SIZE>;
var<workgroup> indices: array<u32, WG_SIZE>;

// Takes over what another thread has found, if that is better.
fn join(thread: u32, other: u32) {
    // mutant: indices[other] < indices[thread] => indices[other] > indices[thread]
    let tie = keys[other] == keys[thread] && indices[other] < indices[thread];
    if keys[other] > keys[thread] || tie {
        keys[thread] = keys[other];
        indices[thread] = indices[other];
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let output = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + thread / LANES;
    let lane = thread % LANES;
    // mutant: output / params.inner * params.length * params.inner => output / params.inner * params.length
    let start = output / params.inner * params.length * params.inner + output % params.inner;
    let length = select(0u, params.length, output < params.outputs);
    var key = 0u;
    // mutant: var index = lane; => var index = 0xffffffffu;
    var index = lane; // in a row of nothing but NaN, the lowest lane's index stays
    for (var i = lane; i < length; i += LANES) {
        let found = order_key(x[start + i * params.inner]);
        // mutant: if found > key { => if found >= key {
        if found > key {
            key = found;
            index = i;
        }
    }
    keys[thread] = key;
    indices[thread] = index;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if lane < half {
            join(thread, thread + half);
        }
        workgroupBarrier();
    }
    if lane == 0u && output < params.outputs {
        y[output] = indices[thread];
    }
}
