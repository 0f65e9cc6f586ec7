// y[z, i, j] = activation(Σ_c a[z, i, c] · b[z, c, j] + bias[j]) + residual[z, i, j]          matrices of tensors
//
// z runs over up to three batch dimensions. One workgroup of 8 × 8 threads computes a tile of 8·MICRO rows and as many
// columns: DEPTH steps of c at a time it puts both operands into workgroup memory as f32 (or f16), rows and columns
// innermost, and every thread adds to MICRO × MICRO sums in registers. Strides say how a and b lie; what is transposed
// only changes which elements neighbouring threads fetch.

override A_KIND: u32;     // how a is stored: see stored.wgsl
override B_KIND: u32;     // how b is stored
override BIAS: bool;
override ACTIVATION: u32; // see activation.wgsl
override RESIDUAL: bool;

const THREADS = 64u;
const DEPTH = 16u;

struct Params {
    m: u32,       // rows of a and y
    n: u32,       // columns of b and y
    k: u32,       // columns of a, rows of b
    batches: u32, // products
    batch_1: u32, // size of the second batch dimension
    batch_2: u32, // size of the third
    a_m: u32,     // elements of a from one row to the next
    a_k: u32,     // from one column to the next
    a_0: u32,     // along the batch dimensions: 0 where a is broadcast
    a_1: u32,
    a_2: u32,
    b_k: u32,     // elements of b from one row to the next
    b_n: u32,     // from one column to the next
    b_0: u32,     // along the batch dimensions: 0 where b is broadcast
    b_1: u32,
    b_2: u32,
}

#import real
#import stored
#import activation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<u32>;          // [.., m, k] or transposed, words of elements
@group(0) @binding(2) var<storage, read> b: array<u32>;          // [.., k, n] or transposed, words of elements
@group(0) @binding(3) var<storage, read> bias: array<f32>;       // [n]
@group(0) @binding(4) var<storage, read> residual: array<f32>;   // [.., m, n]
@group(0) @binding(5) var<storage, read_write> y: array<f32>;    // [.., m, n]

#import micro

const TILE = 8u * MICRO;
const QUADS = TILE / 4u;
const STRIDE = QUADS + 1u; // one more than a row has, so that threads that go down a column use different banks

var<workgroup> a_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of columns]

fn load_a(i: u32) -> f32 {
    return stored_value(a[stored_word(i, A_KIND)], i, A_KIND);
}

fn load_b(i: u32) -> f32 {
    return stored_value(b[stored_word(i, B_KIND)], i, B_KIND);
}

// Which step and which quad of a tile a thread fetches: neighbours follow the dimension that lies contiguous.
fn place(i: u32, along_k: bool) -> vec2<u32> {
    return select(vec2<u32>(i / QUADS, i % QUADS), vec2<u32>(i % DEPTH, i / DEPTH), along_k);
}

// Steps past k count as 0 in both operands. Rows and columns past the end repeat the last: they are never written.
fn stage(start_a: u32, start_b: u32, first: vec3<u32>, lane: u32) {
    for (var i = lane; i < DEPTH * QUADS; i += THREADS) {
        let at = place(i, params.a_k == 1u);
        let c = first.z + at.x;
        let row = min(vec4<u32>(first.x + 4u * at.y) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.m - 1u));
        let e = start_a + row * params.a_m + min(c, params.k - 1u) * params.a_k;
        let value = vec4<f32>(load_a(e.x), load_a(e.y), load_a(e.z), load_a(e.w));
        a_tile[at.x * STRIDE + at.y] = vec4<real>(select(vec4<f32>(), value, c < params.k));
    }
    for (var i = lane; i < DEPTH * QUADS; i += THREADS) {
        let at = place(i, params.b_k == 1u);
        let c = first.z + at.x;
        let col = min(vec4<u32>(first.y + 4u * at.y) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.n - 1u));
        let e = start_b + col * params.b_n + min(c, params.k - 1u) * params.b_k;
        let value = vec4<f32>(load_b(e.x), load_b(e.y), load_b(e.z), load_b(e.w));
        b_tile[at.x * STRIDE + at.y] = vec4<real>(select(vec4<f32>(), value, c < params.k));
    }
}

fn write(z: u32, row: u32, col: u32, sums: vec4<f32>) {
    for (var i = 0u; i < 4u; i += 1u) {
        if row >= params.m || col + i >= params.n {
            return;
        }
        let at = (z * params.m + row) * params.n + col + i;
        var value = sums[i];
        if BIAS {
            value += bias[col + i];
        }
        value = activate(value);
        if RESIDUAL {
            value += residual[at];
        }
        y[at] = value;
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let columns = (params.n + TILE - 1u) / TILE;
    let tiles = columns * ((params.m + TILE - 1u) / TILE);
    let index = group.y * groups.x + group.x;
    let z = index / tiles;
    if z >= params.batches {
        return;
    }
    let row = index % tiles / columns * TILE;
    let col = index % columns * TILE;
    let outer = z / params.batch_2;
    let at = vec3<u32>(outer / params.batch_1, outer % params.batch_1, z % params.batch_2);
    let start_a = at.x * params.a_0 + at.y * params.a_1 + at.z * params.a_2;
    let start_b = at.x * params.b_0 + at.y * params.b_1 + at.z * params.b_2;
    let tx = lane % 8u;
    let ty = lane / 8u;
    var sums = Sums();
    var totals = Totals();
    for (var c = 0u; c < params.k; c += DEPTH) {
        stage(start_a, start_b, vec3<u32>(row, col, c), lane);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d += 1u) {
            multiply(&sums, d, tx, ty);
        }
        workgroupBarrier();
        if FLUSH {
            flush(&sums, &totals);
        }
    }
    flush(&sums, &totals);
    write_all(&totals, z, row + 4u * ty, col + 4u * tx);
}
