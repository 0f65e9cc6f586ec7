// Merges sorted runs of pairs (key, place): `ways` runs in a row become one, equal keys in the order they had. From
// runs of one pair on, the dispatches of `kernels/sort_pairs/mod.rs` sort them all.
// One thread moves one pair, to its place in its own run plus the pairs of the other runs that come before it, which
// it finds by bisection; a workgroup has WG_SIZE threads.

override WG_SIZE: u32;

struct Params {
    count: u32, // pairs
    run: u32,   // pairs of a run; the last may be shorter
    ways: u32,  // runs that become one
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> keys: array<u32>;               // [count]: runs of one pair
@group(0) @binding(2) var<storage, read> runs: array<vec2<u32>>;         // [count]: longer ones
@group(0) @binding(3) var<storage, read_write> merged: array<vec2<u32>>; // [count]

fn pair(i: u32) -> vec2<u32> {
    // mutant: run == 1u => run < 1u
    if params.run == 1u {
        return vec2<u32>(keys[i], i);
    }
    return runs[i];
}

// How many pairs of a run [start, end) have smaller keys; or, with `equal`, no larger ones.
fn before(key: u32, start: u32, end: u32, equal: bool) -> u32 {
    var low = start;
    var high = end;
    while low < high {
        let middle = (low + high) / 2u;
        let other = pair(middle).x;
        // mutant: other < key || => other <= key ||
        if other < key || (equal && other == key) {
            // mutant: middle + 1u => middle + 2u
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low - start;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if i >= params.count {
        return;
    }
    let own = i / params.run;
    let first = own / params.ways * params.ways;
    let moved = pair(i);
    // mutant: first * params.run + i % params.run => i % params.run
    var place = first * params.run + i % params.run;
    for (var other = first; other < first + params.ways; other += 1u) {
        let start = min(other * params.run, params.count);
        // mutant: min(start + params.run, params.count) => start + params.run
        let end = min(start + params.run, params.count);
        if other != own {
            // mutant: other < own => other > own
            place += before(moved.x, start, end, other < own);
        }
    }
    merged[place] = moved;
}
