// values, indices[r, j] = the j-th largest of x[r, ..] and its index: the lowest index first among equals; NaN is less
// than all. One workgroup computes one part of a row; a second dispatch combines the parts of a long one.
//
// Values become integer keys of the same order; with the inverted index appended every key is unique. The k-th largest
// is found a byte at a time through histograms (radix selection, Alabi et al. 2012); all keys from it up are gathered
// and sorted (Batcher's bitonic network, 1968).

override WG_SIZE: u32 = 256;

struct Params {
    groups: u32, // rows · parts
    length: u32, // of a row
    parts: u32,
    chunk: u32,  // length of a part; the last may be shorter
    k: u32,      // at most WG_SIZE
    mapped: u32, // 1: x are values that were chosen before, origin says where they come from
}

#import order_key

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;              // [rows, length], bits of f32
@group(0) @binding(2) var<storage, read> origin: array<u32>;         // [rows, length] where mapped
@group(0) @binding(3) var<storage, read_write> values: array<u32>;   // [rows, parts, k], bits of f32
@group(0) @binding(4) var<storage, read_write> indices: array<u32>;  // [rows, parts, k]

const BINS: u32 = 256u; // WG_SIZE must be as many

var<workgroup> bins: array<atomic<u32>, BINS>;
var<workgroup> limit: vec2<u32>;  // (key, inverted index) of the k-th largest, as far as it is known
var<workgroup> wanted: u32;       // how many are still to come from the bin that was chosen last
var<workgroup> complete: bool;    // all of that bin are wanted
var<workgroup> gathered: atomic<u32>;
var<workgroup> best: array<vec2<u32>, WG_SIZE>;

fn element(row: u32, i: u32) -> vec2<u32> {
    let at = row * params.length + i;
    var index = i;
    if params.mapped == 1u {
        // mutant: index = origin[at]; => index = origin[i];
        index = origin[at];
    }
    // mutant: vec2<u32>(order_key(x[at]), ~index) => vec2<u32>(order_key(x[at]), index)
    return vec2<u32>(order_key(x[at]), ~index);
}

fn less(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x < b.x || (a.x == b.x && a.y < b.y);
}

// The byte that a pass looks at: four of the key, four of the inverted index.
fn limb(e: vec2<u32>, level: u32) -> u32 {
    // mutant: select(e.x, e.y, level >= 4u) => select(e.x, e.y, level > 4u)
    return (select(e.x, e.y, level >= 4u) >> (24u - 8u * (level % 4u))) & 255u;
}

// Whether e and the limit have the bytes before this level in common.
fn agrees(e: vec2<u32>, level: u32) -> bool {
    let known = ~(0xffffffffu >> (8u * (level % 4u)));
    if level < 4u {
        return (e.x & known) == (limit.x & known);
    }
    return e.x == limit.x && (e.y & known) == (limit.y & known);
}

// Called by one thread: finds the bin, from the top, in which the wanted count is reached.
fn choose_bin(level: u32) {
    var bin = BINS - 1u;
    while bin > 0u && atomicLoad(&bins[bin]) < wanted {
        wanted -= atomicLoad(&bins[bin]);
        bin--;
    }
    complete = atomicLoad(&bins[bin]) <= wanted;
    let shifted = bin << (24u - 8u * (level % 4u));
    limit |= select(vec2<u32>(shifted, 0u), vec2<u32>(0u, shifted), level >= 4u);
}

fn sort_best(lane: u32) {
    // mutant: size <= WG_SIZE; size *= 2u => size < WG_SIZE; size *= 2u
    for (var size = 2u; size <= WG_SIZE; size *= 2u) {
        for (var stride = size / 2u; stride > 0u; stride /= 2u) {
            let other = lane ^ stride;
            let mine = best[lane];
            let theirs = best[other];
            workgroupBarrier();
            // Descending where the size's bit of the lane is 0; the lower lane of a pair gets the larger there.
            let larger = ((lane & size) == 0u) == (lane < other);
            if less(mine, theirs) == larger {
                best[lane] = theirs;
            }
            workgroupBarrier();
        }
    }
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: let g = group.y * groups.x + group.x; => let g = group.x;
    let g = group.y * groups.x + group.x;
    let row = g / params.parts;
    // mutant: g % params.parts * params.chunk => 0u
    let first = g % params.parts * params.chunk;
    // mutant: min(first + params.chunk, params.length) => first + params.chunk
    let end = select(0u, min(first + params.chunk, params.length), g < params.groups);
    best[lane] = vec2<u32>(0u);
    if lane == 0u {
        limit = vec2<u32>(0u);
        wanted = params.k; // or all there are, if fewer
        complete = false;
        atomicStore(&gathered, 0u);
    }
    for (var level = 0u; level < 8u; level++) {
        atomicStore(&bins[lane], 0u);
        workgroupBarrier();
        let stop = select(end, 0u, complete);
        for (var i = first + lane; i < stop; i += WG_SIZE) {
            let e = element(row, i);
            if agrees(e, level) {
                atomicAdd(&bins[limb(e, level)], 1u);
            }
        }
        workgroupBarrier();
        if lane == 0u && !complete {
            choose_bin(level);
        }
        workgroupBarrier();
    }
    for (var i = first + lane; i < end; i += WG_SIZE) {
        let e = element(row, i);
        if !less(e, limit) {
            best[min(atomicAdd(&gathered, 1u), WG_SIZE - 1u)] = e;
        }
    }
    workgroupBarrier();
    sort_best(lane);
    if lane < params.k && g < params.groups {
        let key = best[lane].x;
        let bits = select(~key, key & 0x7fffffffu, key >> 31u == 1u);
        values[g * params.k + lane] = select(bits, 0x7fc00000u, key == 0u);
        indices[g * params.k + lane] = ~best[lane].y;
    }
}
