// The parts of the attention that finds the slot of the adapter that is at work (Granite Switch): the query and the
// signal of a token, of which attention makes a mean of slots, and that mean, rounded, as the route to one expert; and,
// where `ids_of_slots` reads it, whose embedding a token has.
//
// One workgroup writes a row of y, or a row of the pass.

override PART: u32;  // 0: the query, 1: the signal, 2: the route, 3: the row of the pass
override WIDTH: u32; // values of a row that are written: at least 2
override COUNT: u32; // adapters
override GAIN: f32;  // the score of tokens that switch; the others have its negative
override X_STRIDE: u32;
override X_AT: u32;
override Y_STRIDE: u32;
override Y_AT: u32;

const WG_SIZE = 64u;
const ONE = 0x3f800000u;
const MARGIN = 0x1p-10; // what means of numbers that end with a half may lack

struct Params {
    tokens: array<vec4<u32>, 128>, // two adapters each: the token that switches, and the one whose embedding it has
}

#import pass

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> this_pass: Pass;
@group(0) @binding(2) var<storage, read> x: array<f32>;       // [rows, X_STRIDE]: means of keys and slots
@group(0) @binding(3) var<storage, read_write> y: array<u32>; // [rows, Y_STRIDE]: bits of f32, but the route's id

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let t = group.y;
    let row = this_pass.row[t];
    if PART == 3u {
        storageBarrier(); // all have read the row before one of them changes it
    }
    // mutant: (row.flags & ROW_DONE) != 0u => false
    if (row.flags & ROW_DONE) != 0u {
        return;
    }
    var first = ONE;
    var second = 0u;
    if PART == 1u || PART == 3u {
        var slot = 0u;
        var embedded = row.token;
        // mutant: i < COUNT => i + 1u < COUNT
        for (var i = 0u; i < COUNT; i += 1u) {
            let pair = params.tokens[i / 2u];
            let adapter = select(pair.xy, pair.zw, (i & 1u) == 1u);
            if adapter.x == row.token {
                slot = i + 1u;
                embedded = adapter.y;
            }
        }
        first = bitcast<u32>(select(-GAIN, GAIN, slot > 0u));
        second = bitcast<u32>(f32(slot));
        if PART == 3u && lane == 0u {
            this_pass.row[t].flags = (embedded + 1u) << 1u;
        }
    }
    if PART == 2u {
        // mutant: 0.5 + MARGIN => 0.5 - MARGIN
        first = min(u32(max(floor(x[t * X_STRIDE + X_AT + 1u] + 0.5 + MARGIN), 0.0)), COUNT);
        second = ONE;
    }
    for (var i = lane; i < WIDTH; i += WG_SIZE) {
        y[t * Y_STRIDE + Y_AT + i] = select(select(0u, second, i == 1u), first, i == 0u);
    }
}
