// groups = for each expert, which entries of ids chose it             the plan of mat_mul_grouped
//
// One workgroup in all: it counts each expert's entries, adds the counts up to offsets, and lets every entry take the
// next place of its expert; the order within an expert does not matter. Ids that are no experts are dropped.

const WG_SIZE = 256u;
const MOST = 256u; // experts

struct Params {
    entries: u32, // ids
    experts: u32, // at most MOST
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> ids: array<u32>;           // [entries]
@group(0) @binding(2) var<storage, read_write> groups: array<u32>; // offsets [experts + 1], entries by expert [entries]

var<workgroup> places: array<atomic<u32>, MOST>; // counts, then where each expert's next entry goes

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
    for (var i = lane; i < params.entries; i += WG_SIZE) {
        if ids[i] < params.experts {
            atomicAdd(&places[ids[i]], 1u);
        }
    }
    workgroupBarrier();
    if lane == 0u {
        var offset = 0u;
        for (var e = 0u; e < params.experts; e += 1u) {
            let count = atomicLoad(&places[e]);
            groups[e] = offset;
            atomicStore(&places[e], offset);
            offset += count;
        }
        // mutant: groups[params.experts] = offset; => groups[params.experts] = params.entries;
        groups[params.experts] = offset;
    }
    workgroupBarrier();
    // mutant: i < params.entries; i += WG_SIZE) { => i < min(params.entries, WG_SIZE); i += WG_SIZE) {
    for (var i = lane; i < params.entries; i += WG_SIZE) {
        // mutant: if ids[i] < params.experts { => if ids[i] <= params.experts {
        if ids[i] < params.experts {
            groups[params.experts + 1u + atomicAdd(&places[ids[i]], 1u)] = i;
        }
    }
}
