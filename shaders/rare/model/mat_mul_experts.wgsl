// y[i, r] = epilogue(Σ_c W[e, r, c] · x[i, c] + bias[e, r])          every token of a pass by its experts: prefill
//
// Entry i is a choice of a token, e the expert that it is of. A workgroup of TX × TY threads computes 4·TX rows for up
// to 4·TY entries of one expert, as mat_mul does for tokens: which expert and which entries, its tile in the plan of
// expert_tiles says. With PAIRED half of the rows of W are gates and half the ups of the same rows of y. W may be one
// shard, of whole experts: tiles of other experts are left to others.

override COLS: u32;
override ROWS: u32;       // rows of y for an expert: with PAIRED half of those of its matrix
override SHARE: u32;      // entries that share a row of x
override X_STRIDE: u32;   // elements from one row of x to the next
override Y_STRIDE: u32;   // elements from one row of y to the next
override X_STEP: u32;     // elements from the x of an entry to that of the next of one row
override WG_SIZE: u32;    // TX · TY
override TX: u32;         // threads along the rows of W
override TY: u32;         // threads along the entries
override EXPERTS: u32;    // of all shards
override ENTRIES_AT: u32; // word of the plan where the entries start
override PAIRED: bool;    // rows r and ROWS + r of an expert are gate and up of y[r]
override GATE: u32;       // with PAIRED or UP the activation, see gated.wgsl
override UP: bool;        // y holds the gate of what is computed here
override BIAS: bool;      // [EXPERTS, ROWS]; with PAIRED those of the gates, then those of the ups
override BIAS_OF_ENTRIES: u32; // not 0: the bias is [BIAS_OF_ENTRIES, ROWS], by entries, not by experts

override TILE_ROWS: u32 = 4u * TX;
override TILE_ENTRIES: u32 = 4u * TY;
override W_TILE: u32 = 8u * TILE_ROWS;
override X_TILE: u32 = 8u * TILE_ENTRIES;
override BLOCKS: u32 = (COLS + 31u) / 32u;
override OUTPUTS: u32 = select(TILE_ROWS, TILE_ROWS / 2u, PAIRED); // rows of y of a workgroup
override MATRIX_ROWS: u32 = select(ROWS, 2u * ROWS, PAIRED);
override BIASES: u32 = select(EXPERTS, BIAS_OF_ENTRIES, BIAS_OF_ENTRIES > 0u);

struct Params {
    first_expert: u32, // of the shard
    experts: u32,      // of the shard
}

#import gated

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> plan: array<u32>;        // see expert_tiles.wgsl
@group(0) @binding(2) var<storage, read> x: array<x_elem>;        // [entries / SHARE, X_STRIDE]
@group(0) @binding(3) var<storage, read> w_vec: array<vec4<u32>>; // [experts of the shard, MATRIX_ROWS, BLOCKS], scales
@group(0) @binding(4) var<storage, read> w_word: array<u32>;      // the same buffer
@group(0) @binding(5) var<storage, read> bias: array<f32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;     // [entries, Y_STRIDE]

#import columns
#import weights

var<workgroup> w_tile: array<vec4<f32>, W_TILE>; // [8 quads of a block, TILE_ROWS]
var<workgroup> x_tile: array<vec4<f32>, X_TILE>; // [8 quads of a block, TILE_ENTRIES]
var<workgroup> entries: array<u32, TILE_ENTRIES>;

struct Tile {
    expert: u32,
    first: u32, // place of its first entry
    count: u32, // of entries
}

// Row i of a workgroup's tile among those of its expert: with PAIRED gates come first, then ups. Rows past the end
// repeat the last: their sums are never written.
fn row_of(first_row: u32, i: u32) -> u32 {
    if PAIRED {
        // mutant: u32(i >= OUTPUTS) * ROWS => u32(i >= OUTPUTS)
        return min(first_row + i % OUTPUTS, ROWS - 1u) + u32(i >= OUTPUTS) * ROWS;
    }
    return min(first_row + i, ROWS - 1u);
}

fn stage(tile: Tile, b: u32, first_row: u32, lane: u32) {
    // mutant: (tile.expert - params.first_expert) * MATRIX_ROWS => tile.expert * MATRIX_ROWS
    let of_expert = (tile.expert - params.first_expert) * MATRIX_ROWS;
    for (var i = lane; i < 4u * TILE_ROWS; i += WG_SIZE) {
        let at = (of_expert + row_of(first_row, i / 4u)) * BLOCKS + b;
        let k = i & 3u; // quads k and k + 4 share a word of nibbles
        w_tile[k * TILE_ROWS + i / 4u] = load_quad(at, k);
        w_tile[(k + 4u) * TILE_ROWS + i / 4u] = load_quad(at, k + 4u);
    }
    for (var i = lane; i < X_TILE; i += WG_SIZE) {
        // mutant: entries[i / 8u] / SHARE => entries[i / 8u]
        let row = entries[i / 8u] / SHARE;
        // mutant: entries[i / 8u] % SHARE * X_STEP => 0u
        let start = row * X_STRIDE + entries[i / 8u] % SHARE * X_STEP;
        x_tile[(i & 7u) * TILE_ENTRIES + i / 8u] = load_x(start, b * 32u + 4u * (i & 7u));
    }
}

fn products(w: array<vec4<f32>, 4>, x: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(dot(w[0], x), dot(w[1], x), dot(w[2], x), dot(w[3], x));
}

// Row r of y for place i of the tile, from the sums of W's rows.
fn write(tile: Tile, i: u32, r: u32, sum: f32, up: f32) {
    // mutant: i >= tile.count || r >= ROWS => i >= tile.count || r > ROWS
    if i >= tile.count || r >= ROWS {
        return;
    }
    let at = entries[i] * Y_STRIDE + r;
    var value = sum;
    // mutant: select(tile.expert, entries[i], BIAS_OF_ENTRIES > 0u) => tile.expert
    let owner = select(tile.expert, entries[i], BIAS_OF_ENTRIES > 0u);
    if BIAS {
        // mutant: value += bias[owner * ROWS + r] => value += bias[r]
        value += bias[owner * ROWS + r];
    }
    if PAIRED {
        // mutant: (BIASES + owner) * ROWS + r => owner * ROWS + r
        let of_up = bias[select(0u, (BIASES + owner) * ROWS + r, BIAS)];
        value = gated(value, up + select(0.0, of_up, BIAS));
    } else if UP {
        // mutant: gated(y[at], value) => gated(value, y[at])
        value = gated(y[at], value);
    }
    y[at] = value;
}

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    if group.y >= plan[0] {
        return;
    }
    let of_tile = 4u * (group.y + 1u);
    let tile = Tile(plan[of_tile], plan[of_tile + 1u], plan[of_tile + 2u]);
    if tile.expert < params.first_expert || tile.expert - params.first_expert >= params.experts {
        return;
    }
    for (var i = lane; i < TILE_ENTRIES; i += WG_SIZE) {
        // Places past the last entry repeat it: their sums are never written.
        // mutant: tile.first + min(i, tile.count - 1u) => tile.first
        entries[i] = plan[ENTRIES_AT + tile.first + min(i, tile.count - 1u)];
    }
    workgroupBarrier();
    let first_row = group.x * OUTPUTS;
    // A thread's rows are TX apart and its entries TY, so that neighbouring threads access neighbouring memory.
    let tx = lane % TX;
    let ty = lane / TX;
    var sums = array<vec4<f32>, 4>(); // [entry], of 4 rows
    for (var b = 0u; b < BLOCKS; b += 1u) {
        stage(tile, b, first_row, lane);
        workgroupBarrier();
        for (var k = 0u; k < 8u; k += 1u) {
            let w = k * TILE_ROWS + tx;
            let rows = array<vec4<f32>, 4>(w_tile[w], w_tile[w + TX], w_tile[w + 2u * TX], w_tile[w + 3u * TX]);
            let at = k * TILE_ENTRIES + ty;
            sums[0] += products(rows, x_tile[at]);
            sums[1] += products(rows, x_tile[at + TY]);
            sums[2] += products(rows, x_tile[at + 2u * TY]);
            sums[3] += products(rows, x_tile[at + 3u * TY]);
        }
        workgroupBarrier();
    }
    for (var j = 0u; j < 4u; j += 1u) {
        let i = ty + j * TY;
        if PAIRED {
            // mutant: sums[j].x, sums[j].z => sums[j].x, sums[j].y
            write(tile, i, first_row + tx, sums[j].x, sums[j].z);
            write(tile, i, first_row + tx + TX, sums[j].y, sums[j].w);
        } else {
            for (var row = 0u; row < 4u; row += 1u) {
                write(tile, i, first_row + tx + row * TX, sums[j][row], 0.0);
            }
        }
    }
}
