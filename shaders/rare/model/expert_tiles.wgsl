// plan = the entries of each expert, cut into tiles                  the plan of mat_mul_experts
//
// An entry is one choice of a token: number t · TOP + s. One workgroup in all counts each expert's entries, adds the
// counts up, writes the tiles of every expert, and lets every entry take the next place of its expert; the order
// within an expert does not matter. Nothing is read back: workgroups of mat_mul_experts look up their tile.

override EXPERTS: u32;    // at most MAX_EXPERTS of kernels/route.rs
override TOP: u32;        // experts of a token
override TILE: u32;       // entries of a tile, of which an expert's last may have fewer
override ENTRIES_AT: u32; // word of the plan where the entries start
override HEADS: bool;     // choice s of every token is expert s: routes are not read

override FIRSTS: u32 = EXPERTS + 1u;

const WG_SIZE = 256u;

struct Params {
    unused: u32,
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> this_pass: Pass;
@group(0) @binding(2) var<storage, read> routes: array<u32>;     // [tokens, 2 · TOP]: ids, then weights
// [4]: number of tiles; [tiles, 4]: expert, first entry's place, entries; then the entries by expert
@group(0) @binding(3) var<storage, read_write> plan: array<u32>;

var<workgroup> counts: array<atomic<u32>, EXPERTS>; // entries, then where the next one goes
var<workgroup> tiles: array<u32, EXPERTS>;          // the first tile of each expert
var<workgroup> firsts: array<u32, FIRSTS>;           // the place of its first entry

fn expert_of(entry: u32) -> u32 {
    if HEADS {
        // mutant: return entry % TOP; => return entry / TOP;
        return entry % TOP;
    }
    // mutant: entry / TOP * 2u * TOP + entry % TOP => entry
    return routes[entry / TOP * 2u * TOP + entry % TOP];
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(local_invocation_index) lane: u32) {
    let entries = this_pass.rows * TOP;
    for (var i = lane; i < entries; i += WG_SIZE) {
        atomicAdd(&counts[expert_of(i)], 1u);
    }
    workgroupBarrier();
    if lane == 0u {
        var place = 0u;
        var tile = 0u;
        for (var e = 0u; e < EXPERTS; e += 1u) {
            let count = atomicLoad(&counts[e]);
            atomicStore(&counts[e], place);
            firsts[e] = place;
            tiles[e] = tile;
            place += count;
            // mutant: (count + TILE - 1u) / TILE => count / TILE
            tile += (count + TILE - 1u) / TILE;
        }
        firsts[EXPERTS] = place;
        plan[0] = tile;
    }
    workgroupBarrier();
    for (var e = lane; e < EXPERTS; e += WG_SIZE) {
        let end = firsts[e + 1u];
        var at = 4u * (tiles[e] + 1u);
        for (var first = firsts[e]; first < end; first += TILE) {
            plan[at] = e;
            plan[at + 1u] = first;
            // mutant: min(TILE, end - first) => TILE
            plan[at + 2u] = min(TILE, end - first);
            at += 4u;
        }
    }
    for (var i = lane; i < entries; i += WG_SIZE) {
        // mutant: ENTRIES_AT + atomicAdd(&counts[expert_of(i)], 1u) => ENTRIES_AT + i
        plan[ENTRIES_AT + atomicAdd(&counts[expert_of(i)], 1u)] = i;
    }
}
