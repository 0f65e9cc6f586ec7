// Products of tiles of 64 rows and 64 columns, 8 × 8 of them in the registers of a thread, in slices of 8 steps. The
// kernel declares PARTS, COLUMN_PARTS and BUFFERS, and imports `eight`.

const SIDE = 8u;        // threads along a tile
const THREADS = 64u;    // of a tile
const TILE = 64u;
const HALF = 32u;       // the second four of a thread's rows, and of its columns, begin so far behind the first
const QUADS = 16u;      // of a tile's rows, or columns
const DEPTH = 8u;       // steps of a slice

override GROUPS: u32 = PARTS / COLUMN_PARTS;

alias Slice = array<array<vec4<f32>, QUADS>, DEPTH>; // [step, four rows or columns]

// Queries of each group and keys of each part, then weights of each group and values of each part.
override A_TILES: u32 = BUFFERS * GROUPS; // with names of their own, since naga 30 fails on lengths that are computed
override B_TILES: u32 = BUFFERS * PARTS;
var<workgroup> a_tile: array<Slice, A_TILES>;
var<workgroup> b_tile: array<Slice, B_TILES>;

// sums[2r + h] is of a thread's row r and the half h of its columns. Thread t along a side of a tile has the rows, or
// columns, 4t to 4t + 3 and those 32 further on; of values its columns are 8t to 8t + 7.
alias Sums = array<vec4<f32>, 16>;

// Four values of a query, from the value `step` of a slice on.
fn stage_query(slot: u32, row: u32, step: u32, four: vec4<f32>) {
    for (var i = 0u; i < 4u; i++) {
        a_tile[slot][step + i][row / 4u][row % 4u] = four[i];
    }
}

// Eight values of a key.
fn stage_key(slot: u32, key: u32, eight: Eight) {
    for (var i = 0u; i < 4u; i++) {
        b_tile[slot][i][key / 4u][key % 4u] = eight.low[i];
        // mutant (attention_tiled): eight.high[i] => eight.low[i]
        b_tile[slot][i + 4u][key / 4u][key % 4u] = eight.high[i];
    }
}

// Eight values of the key `step` of a slice.
fn stage_values(slot: u32, step: u32, column: u32, eight: Eight) {
    b_tile[slot][step][column] = eight.low;
    b_tile[slot][step][column + SIDE] = eight.high;
}

// A thread's weights of one key, the number `slice` of its eight, for its rows.
fn stage_weights(slot: u32, s: ptr<function, Sums>, slice: u32, lane: u32) {
    var low: vec4<f32>;
    var far: vec4<f32>;
    switch slice {
        case 0u: {
            low = vec4<f32>((*s)[0].x, (*s)[2].x, (*s)[4].x, (*s)[6].x);
            far = vec4<f32>((*s)[8].x, (*s)[10].x, (*s)[12].x, (*s)[14].x);
        }
        case 1u: {
            low = vec4<f32>((*s)[0].y, (*s)[2].y, (*s)[4].y, (*s)[6].y);
            far = vec4<f32>((*s)[8].y, (*s)[10].y, (*s)[12].y, (*s)[14].y);
        }
        case 2u: {
            low = vec4<f32>((*s)[0].z, (*s)[2].z, (*s)[4].z, (*s)[6].z);
            far = vec4<f32>((*s)[8].z, (*s)[10].z, (*s)[12].z, (*s)[14].z);
        }
        case 3u: {
            low = vec4<f32>((*s)[0].w, (*s)[2].w, (*s)[4].w, (*s)[6].w);
            far = vec4<f32>((*s)[8].w, (*s)[10].w, (*s)[12].w, (*s)[14].w);
        }
        case 4u: {
            low = vec4<f32>((*s)[1].x, (*s)[3].x, (*s)[5].x, (*s)[7].x);
            far = vec4<f32>((*s)[9].x, (*s)[11].x, (*s)[13].x, (*s)[15].x);
        }
        case 5u: {
            low = vec4<f32>((*s)[1].y, (*s)[3].y, (*s)[5].y, (*s)[7].y);
            far = vec4<f32>((*s)[9].y, (*s)[11].y, (*s)[13].y, (*s)[15].y);
        }
        case 6u: {
            // mutant (attention_tiled): (*s)[7].z => (*s)[7].y
            low = vec4<f32>((*s)[1].z, (*s)[3].z, (*s)[5].z, (*s)[7].z);
            far = vec4<f32>((*s)[9].z, (*s)[11].z, (*s)[13].z, (*s)[15].z);
        }
        default: {
            low = vec4<f32>((*s)[1].w, (*s)[3].w, (*s)[5].w, (*s)[7].w);
            far = vec4<f32>((*s)[9].w, (*s)[11].w, (*s)[13].w, (*s)[15].w);
        }
    }
    let quad = lane % THREADS / SIDE;
    a_tile[slot][lane % SIDE][quad] = low;
    a_tile[slot][lane % SIDE][quad + SIDE] = far;
}

// Adds the products of a slice. Spelt out, so that the sums stay in registers.
fn multiply(sums: ptr<function, Sums>, a: u32, b: u32, lane: u32) {
    let tx = lane % SIDE;
    let ty = lane % THREADS / SIDE;
    for (var d = 0u; d < DEPTH; d++) {
        let a_0 = a_tile[a][d][ty];
        let a_1 = a_tile[a][d][ty + SIDE];
        let b_0 = b_tile[b][d][tx];
        let b_1 = b_tile[b][d][tx + SIDE];
        (*sums)[0] += a_0.x * b_0;
        (*sums)[1] += a_0.x * b_1;
        (*sums)[2] += a_0.y * b_0;
        (*sums)[3] += a_0.y * b_1;
        (*sums)[4] += a_0.z * b_0;
        (*sums)[5] += a_0.z * b_1;
        (*sums)[6] += a_0.w * b_0;
        (*sums)[7] += a_0.w * b_1;
        (*sums)[8] += a_1.x * b_0;
        (*sums)[9] += a_1.x * b_1;
        (*sums)[10] += a_1.y * b_0;
        (*sums)[11] += a_1.y * b_1;
        (*sums)[12] += a_1.z * b_0;
        (*sums)[13] += a_1.z * b_1;
        (*sums)[14] += a_1.w * b_0;
        // mutant (attention_tiled): a_1.w * b_1 => a_1.w * b_0
        (*sums)[15] += a_1.w * b_1;
    }
}
