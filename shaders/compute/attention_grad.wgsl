// Gradients of attention from what `attention_weights` leaves of some rows of some heads:
//
//     dq = ds · k      dk = dsᵀ · q      dv = pᵀ · dy
//
// One workgroup computes a tile of 64 rows (of q, k or v) and 64 columns. The sums over keys are cut into as many parts
// as it takes to be about as long as those over rows, so that all workgroups have as much to do; they are added up
// later. dk and dv begin with what the rows before gave.

#import attention_tiles

@group(0) @binding(0) var<uniform> params: Params;
// [2, head_count, tiles of rows, tiles of keys, TILE, TILE]: p, and behind it ds
@group(0) @binding(1) var<storage, read> weights: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> q: array<vec4<f32>>;         // [batch, heads, queries, HEAD_DIM]
@group(0) @binding(3) var<storage, read> k: array<vec4<f32>>;         // [batch, kv heads, keys, HEAD_DIM]
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;        // like q
@group(0) @binding(5) var<storage, read> before: array<vec4<f32>>;    // like d, of the rows before
@group(0) @binding(6) var<storage, read_write> dq: array<vec4<f32>>;  // [splits, head_count, row_count, HEAD_DIM]
@group(0) @binding(7) var<storage, read_write> d: array<vec4<f32>>;   // dk, dv: [2, head_count, keys, HEAD_DIM]

var<workgroup> a_tile: array<vec4<real>, DEPTH * STRIDE>; // [step, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, DEPTH * STRIDE>; // [step, QUADS of columns]

const OF_Q = 0u;
const OF_K = 1u;
const OF_V = 2u;

// What a workgroup computes.
struct Work {
    role: u32,
    split: u32,
    head: u32, // from first_head on
    tile: u32, // of its rows
    quad: u32, // of HEAD_DIM
}

fn work_of(id: u32) -> Work {
    let across = (HEAD_DIM + TILE - 1u) / TILE;
    let rows = tiles_in(params.row_count);
    let of_q = params.splits * params.head_count * rows * across;
    let quad = id % across * QUADS;
    if id < of_q {
        let at = id / across;
        let tile = rows - 1u - at % rows; // those that see the most begin first
        return Work(OF_Q, at / rows / params.head_count, at / rows % params.head_count, tile, quad);
    }
    let keys = tiles_in(params.keys);
    let at = (id - of_q) / across;
    return Work(OF_K + at / keys / params.head_count, 0u, at / keys % params.head_count, at % keys, quad);
}

// Where a thread reads.
struct Reads {
    weights: vec2<u32>, // two vectors for DEPTH steps: for dq four steps of two rows, else four keys of two steps
    tile: u32,          // vectors from a tile to the next
    four: u32,          // and from four steps to the next
    values: u32,        // the first vector of k, q or dy
    first: u32,         // row of these for the first step
    count: u32,         // of their rows
}

fn reads_of(work: Work, lane: u32) -> Reads {
    let is_q = work.role == OF_Q;
    let rows = tiles_in(params.row_count);
    let keys = tiles_in(params.keys);
    // mutant: select(1u, 0u, work.role == OF_V) => 1u
    let matrix = (select(1u, 0u, work.role == OF_V) * params.head_count + work.head) * rows * keys;
    let own = (matrix + work.tile * select(1u, keys, is_q)) * TILE * QUADS;
    let two = select(vec2<u32>(0u, THREADS) + lane, vec2<u32>(0u, 32u * QUADS) + lane / 2u * QUADS + lane % 2u, is_q);
    let count = select(rows_of_head(), params.keys, is_q);
    // mutant: (params.first_head + work.head) * count => work.head * count
    let values = (params.first_head + work.head) * count * VECS + min(work.quad + lane % QUADS, VECS - 1u);
    let first = select(params.first_row, 0u, is_q) + lane / QUADS;
    return Reads(own + two, select(keys, 1u, is_q) * TILE * QUADS, select(4u * QUADS, 1u, is_q), values, first, count);
}

// What it reads for DEPTH steps: two vectors of weights, two of k, q or dy, whose last row repeats behind the end.
fn fetch(role: u32, reads: Reads, other: u32, c: u32) -> mat4x4<f32> {
    let a = reads.weights + other * reads.tile + c / 4u * reads.four;
    let row = reads.first + other * TILE + c;
    let b = reads.values + min(vec2<u32>(row, row + 4u), vec2<u32>(reads.count - 1u)) * VECS;
    if role == OF_Q {
        return mat4x4<f32>(weights[a.x], weights[a.y], k[b.x], k[b.y]);
    }
    if role == OF_K {
        return mat4x4<f32>(weights[a.x], weights[a.y], q[b.x], q[b.y]);
    }
    return mat4x4<f32>(weights[a.x], weights[a.y], dy[b.x], dy[b.y]);
}

// Puts that into workgroup memory.
fn stage(role: u32, fetched: mat4x4<f32>, lane: u32) {
    let at = lane / QUADS * STRIDE + lane % QUADS;
    b_tile[at] = fetched[2];
    b_tile[at + 4u * STRIDE] = fetched[3];
    if role != OF_Q {
        a_tile[at] = fetched[0];
        a_tile[at + 4u * STRIDE] = fetched[1];
        return;
    }
    let row = lane / 2u;
    for (var i = 0u; i < 4u; i++) {
        let quad = (lane % 2u * 4u + i) * STRIDE + row / 4u;
        a_tile[quad][row % 4u] = fetched[0][i];
        a_tile[quad + SIDE][row % 4u] = fetched[1][i];
    }
}

// The first tile of the others, from `other` on, that a row or key of the workgroup's tile has to do with.
fn seen_from(work: Work, other: u32, end: u32) -> u32 {
    for (var i = other; i < end; i++) {
        let row = select(i, work.tile, work.role == OF_Q);
        let key = select(work.tile, i, work.role == OF_Q);
        if is_tile_seen(params.first_row + row * TILE, key * TILE) {
            return i;
        }
    }
    return end;
}

// z counts the matrices of dq, then those of d.
fn write(z: u32, row: u32, column: u32, sums: vec4<f32>) {
    if column >= HEAD_DIM {
        return;
    }
    let of_q = params.splits * params.head_count;
    if z < of_q {
        if row < params.row_count {
            dq[(z * params.row_count + row) * VECS + column / 4u] = sums;
        }
    } else if row < params.keys {
        let e = ((z - of_q) * params.keys + row) * VECS + column / 4u;
        var sum = sums;
        if params.adds != 0u {
            sum += before[e];
        }
        d[e] = sum;
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: group.y * groups.x + group.x => group.x
    let work = work_of(group.y * groups.x + group.x);
    if work.role > OF_V {
        return;
    }
    let is_q = work.role == OF_Q;
    let others = select(tiles_in(params.row_count), tiles_in(params.keys), is_q);
    // mutant: others + params.splits - 1u => others
    let each = select(others, (others + params.splits - 1u) / params.splits, is_q);
    let end = min((work.split + 1u) * each, others);
    let count = select(params.row_count, params.keys, is_q);
    let reads = reads_of(work, lane);
    var sums = Sums();
    var other = seen_from(work, work.split * each, end);
    var c = 0u;
    var fetched = fetch(work.role, reads, other, c);
    while other < end {
        workgroupBarrier();
        stage(work.role, fetched, lane);
        workgroupBarrier();
        c += DEPTH;
        // mutant: count - other * TILE => count - other * TILE - DEPTH
        if c >= min(TILE, count - other * TILE) {
            c = 0u;
            other = seen_from(work, other + 1u, end);
        }
        fetched = fetch(work.role, reads, other, c); // what is fetched behind the last step is not used
        for (var step = 0u; step < DEPTH; step++) {
            multiply(&sums, step, lane % SIDE, lane / SIDE);
        }
    }
    let z = select((params.splits + work.role - OF_K), work.split, is_q) * params.head_count + work.head;
    var totals = Totals();
    flush(&sums, &totals);
    write_all(&totals, z, work.tile * TILE + lane / SIDE * 4u, work.quad * 4u + lane % SIDE * 4u);
}
