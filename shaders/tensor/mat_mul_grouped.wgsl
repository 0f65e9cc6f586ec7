// y[i, j] = Σ_c x[i / share, c] · w[ids[i], j, c]                    each row by the matrix of its expert
//
// expert_rows has listed the entries i of every expert (an entry: one token with one of its experts). One workgroup of
// 8 × 8 threads computes TILE entries of one expert by TILE columns, so that weights are read once per tile: DEPTH
// steps of c at a time both operands go into workgroup memory, rows and columns innermost, and every thread adds to
// MICRO × MICRO sums. Which expert and which of its tiles a workgroup has follows from the offsets; the grid has room
// for one partly filled tile per expert, and workgroups without a tile end at once. Entries without an expert stay as
// they are.

override X_KIND: u32; // how x is stored: see stored.wgsl
override W_KIND: u32; // how w is stored, unless in blocks

struct Params {
    n: u32,       // columns of y
    k: u32,       // columns of x
    share: u32,   // entries that share a row of x
    experts: u32,
}

#import real
#import stored

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> groups: array<u32>;      // offsets [experts + 1], entries by expert [entries]
@group(0) @binding(2) var<storage, read> x: array<u32>;           // [entries / share, k], words of elements
@group(0) @binding(3) var<storage, read> w_vec: array<vec4<u32>>; // [experts, n, k], in blocks or words of elements
@group(0) @binding(4) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(5) var<storage, read_write> y: array<f32>;     // [entries, n]

#import experts
#import expert_x
#import micro

const TILE = 8u * MICRO;
const DEPTH = 1024u / TILE; // steps of c: 4 × 4 elements of either operand for each of 64 threads
const STRIDE = TILE / 4u + 1u; // quads, and one more, so that threads that go down a column use different banks

var<workgroup> entries: array<u32, TILE>;
var<workgroup> a_tile: array<vec4<f32>, DEPTH * STRIDE>; // [DEPTH, quads of entries]
var<workgroup> b_tile: array<vec4<f32>, DEPTH * STRIDE>; // [DEPTH, quads of columns]

// Columns c … c + 3 of entry i's row of x.
fn entry_quad(i: u32, c: u32) -> vec4<f32> {
    // mutant: entries[i] / params.share => entries[i]
    return x_quad(entries[i] / params.share, c);
}

// Each of the 64 threads transposes 4 × 4 elements of either operand. Columns past n repeat the last.
fn stage(first_weight: u32, col: u32, c: u32, lane: u32) {
    let step = 4u * (lane % (DEPTH / 4u));
    let quad = lane / (DEPTH / 4u);
    let i = 4u * quad;
    let from_x = c + step;
    let rows = transpose(mat4x4<f32>(
        entry_quad(i, from_x), entry_quad(i + 1u, from_x), entry_quad(i + 2u, from_x), entry_quad(i + 3u, from_x),
    ));
    let at = first_weight + min(vec4<u32>(col + i) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.n - 1u));
    // The last block of columns may be cut short; what is read past its end is multiplied by zeros of x.
    let k = min(c + step, (params.k - 1u) / 4u * 4u);
    let columns = transpose(mat4x4<f32>(
        weight_quad(at.x, k), weight_quad(at.y, k), weight_quad(at.z, k), weight_quad(at.w, k),
    ));
    let to = step * STRIDE + quad;
    for (var j = 0u; j < 4u; j += 1u) {
        a_tile[to + j * STRIDE] = rows[j];
        b_tile[to + j * STRIDE] = columns[j];
    }
}

// Four columns of the tile's entry `row`, of `count` in it.
fn write(count: u32, row: u32, col: u32, sums: vec4<f32>) {
    for (var i = 0u; i < 4u; i += 1u) {
        if row < count && col + i < params.n {
            y[entries[row] * params.n + col + i] = sums[i];
        }
    }
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups_of_grid: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups_of_grid.x + group.x => group.x
    let index = group.y * groups_of_grid.x + group.x;
    let tiles = (params.n + TILE - 1u) / TILE;
    let col = index % tiles * TILE;
    var tile = index / tiles;
    var e = 0u;
    for (; e < params.experts; e += 1u) {
        let own = (groups[e + 1u] - groups[e] + TILE - 1u) / TILE;
        // mutant: if tile < own { => if tile <= own {
        if tile < own {
            break;
        }
        tile -= own;
    }
    if e >= params.experts {
        return;
    }
    // mutant: groups[e] + tile * TILE => groups[e]
    let first = groups[e] + tile * TILE;
    let count = min(groups[e + 1u] - first, TILE);
    for (var i = lane; i < TILE; i += 64u) {
        // Places past the last entry repeat it: their sums are never written.
        // mutant: min(i, count - 1u) => min(i, count - 2u)
        entries[i] = groups[params.experts + 1u + first + min(i, count - 1u)];
    }
    workgroupBarrier();
    var sums = Sums();
    for (var c = 0u; c < params.k; c += DEPTH) {
        stage(e * params.n, col, c, lane);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d += 1u) {
            multiply(&sums, d, lane % 8u, lane / 8u);
        }
        workgroupBarrier();
    }
    var totals = Totals();
    flush(&sums, &totals);
    write_all(&totals, count, 4u * (lane / 8u), col + 4u * (lane % 8u));
}
