// y[a, i, c] = Σ_j x[a, j, c] over j <= i, or over j < i where exclusive.
// LANES threads compute one line (a, c), in tiles of ITEMS values per thread: each adds up its own, and a scan over the
// workgroup (Hillis & Steele 1986) adds the sums before them. One thread per line is for columns: neighbouring threads
// then read neighbouring elements.

override WG_SIZE: u32 = 256;
override LANES: u32;

struct Params {
    lines: u32, // outer · inner
    length: u32,
    inner: u32,
    exclusive: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [outer, length, inner]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [outer, length, inner]

const ITEMS: u32 = 4u;

var<workgroup> scratch: array<f32, WG_SIZE>;

// Sums of value over the lanes up to this one, in scratch.
fn scan(value: f32, thread: u32, lane: u32) {
    scratch[thread] = value;
    if LANES == 1u {
        return;
    }
    workgroupBarrier();
    for (var offset = 1u; offset < LANES; offset *= 2u) {
        var before = 0.0;
        if lane >= offset {
            before = scratch[thread - offset];
        }
        workgroupBarrier();
        scratch[thread] += before;
        workgroupBarrier();
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let line = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + thread / LANES;
    let lane = thread % LANES;
    // mutant: line / params.inner * params.length * params.inner => line / params.inner * params.length
    let start = line / params.inner * params.length * params.inner + line % params.inner;
    let length = select(0u, params.length, line < params.lines);
    var carry = 0.0; // of the tiles before
    for (var tile = 0u; tile < params.length; tile += LANES * ITEMS) {
        let first = tile + lane * ITEMS;
        // mutant: min(first + ITEMS, length) => first + ITEMS
        let end = min(first + ITEMS, length);
        var own = 0.0;
        for (var i = first; i < end; i++) {
            own += x[start + i * params.inner];
        }
        scan(own, thread, lane);
        var sum = carry;
        if lane > 0u {
            // mutant: sum += scratch[thread - 1u] => sum += scratch[thread]
            sum += scratch[thread - 1u];
        }
        var running = 0.0;
        for (var i = first; i < end; i++) {
            let at = start + i * params.inner;
            let after = running + x[at];
            y[at] = sum + select(after, running, params.exclusive == 1u);
            running = after;
        }
        // mutant: carry += scratch => carry = scratch
        carry += scratch[thread - lane + LANES - 1u];
        workgroupBarrier();
    }
}
