// y[z, i, j] = activation(Σ_c a[z, i, c] · b[z, c, j] + bias[j]) + residual[z, i, j]          matrices of tensors
//
// z runs over up to three batch dimensions. One workgroup of SIDE × SIDE threads computes a tile of SIDE·MICRO rows and
// as many columns: DEPTH steps of c at a time it puts both operands into workgroup memory as f32 (or f16), rows and
// columns innermost, and every thread adds to MICRO × MICRO sums in registers. a and b are addressed by strides; a
// transposed operand only changes which elements neighbouring threads fetch. b may be in blocks of 32 columns
// (dense_blocks): a thread then unpacks four weights straight into the tile.

#import side

const THREADS = SIDE * SIDE;
const DEPTH = 16u;

#import real
#import dense
#import micro

const TILE = SIDE * MICRO;
const QUADS = TILE / 4u;
const STRIDE = QUADS + 1u; // one more than a row has, so that threads that go down a column use different banks

var<workgroup> a_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of columns]

// Which step and which quad of a tile a thread fetches: neighbouring threads follow the contiguous dimension.
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
        b_tile[at.x * STRIDE + at.y] = vec4<real>(select(vec4<f32>(), load_b_quad(e), c < params.k));
    }
}

fn write(z: u32, row: u32, col: u32, sums: vec4<f32>) {
    for (var i = 0u; i < 4u; i += 1u) {
        write_one(z, row, col + i, sums[i]);
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
    // mutant: let index = group.y * groups.x + group.x; => let index = group.x;
    let index = group.y * groups.x + group.x;
    let z = index / tiles;
    if z >= params.batches {
        return;
    }
    // mutant: index % tiles / columns * TILE => index / columns * TILE
    let row = index % tiles / columns * TILE;
    let col = index % columns * TILE;
    let start = starts(z);
    let tx = lane % SIDE;
    let ty = lane / SIDE;
    var sums = Sums();
    var totals = Totals();
    // mutant: c < params.k; c += DEPTH => c + DEPTH <= params.k; c += DEPTH
    for (var c = 0u; c < params.k; c += DEPTH) {
        stage(start.x, start.y, vec3<u32>(row, col, c), lane);
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
