// y[q, p] = −Σ_c (x[first + q, c] − x[p, c])², and NaN for the point itself          squared distances, for `knn`
//
// The distances of some points to all, negative so that the largest are the nearest. They are sums of squared
// differences rather than |a|² + |b|² − 2ab: that takes one instruction more for each element, and near points far from
// the origin keep their digits. One workgroup of 8 × 8 threads computes a tile of 64 rows and 64 columns: DEPTH steps
// of c at a time it puts both operands into workgroup memory, and every thread adds to 8 × 8 sums in registers.

const THREADS = 64u;
const DEPTH = 16u;

struct Params {
    first: u32, // the point of the first row
    rows: u32,
    points: u32,
    width: u32, // numbers of a point
}

#import real_f32

const TILE = 64u;
const QUADS = 16u;
const STRIDE = 17u; // one more than QUADS, so that threads that go down a column use different banks

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [points, width]
@group(0) @binding(2) var<storage, read_write> y: array<u32>; // [rows, points], bits of f32

var<workgroup> a_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of columns]

#import dense_8x8

const NOTHING = 0x7fc00000u; // NaN, which is behind all others

// Step c of four points from `first` on. Those past the end repeat the last: they are never written.
fn four(first: u32, c: u32) -> vec4<f32> {
    let points = min(vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.points - 1u));
    let e = points * params.width + min(c, params.width - 1u);
    // mutant: c < params.width => true
    return select(vec4<f32>(), vec4<f32>(x[e.x], x[e.y], x[e.z], x[e.w]), c < params.width);
}

// Neighbouring threads take neighbouring numbers of a point.
fn stage(row: u32, column: u32, c: u32, lane: u32) {
    for (var i = lane; i < DEPTH * QUADS; i += THREADS) {
        let at = i % DEPTH * STRIDE + i / DEPTH;
        // mutant: params.first + row => row
        a_tile[at] = four(params.first + row + i / DEPTH * 4u, c + i % DEPTH);
        b_tile[at] = four(column + i / DEPTH * 4u, c + i % DEPTH);
    }
}

fn square(a: f32, b: vec4<f32>) -> vec4<f32> {
    let difference = a - b;
    return difference * difference;
}

// Adds the squares of step d of both tiles: as `multiply`, with differences.
fn add_squares(sums: ptr<function, Sums>, d: u32, tx: u32, ty: u32) {
    let a0 = a_tile[d * STRIDE + ty];
    let a1 = a_tile[d * STRIDE + ty + 8u];
    let b0 = b_tile[d * STRIDE + tx];
    let b1 = b_tile[d * STRIDE + tx + 8u];
    (*sums)[0] += square(a0.x, b0);
    (*sums)[1] += square(a0.x, b1);
    (*sums)[2] += square(a0.y, b0);
    (*sums)[3] += square(a0.y, b1);
    (*sums)[4] += square(a0.z, b0);
    (*sums)[5] += square(a0.z, b1);
    (*sums)[6] += square(a0.w, b0);
    (*sums)[7] += square(a0.w, b1);
    (*sums)[8] += square(a1.x, b0);
    (*sums)[9] += square(a1.x, b1);
    (*sums)[10] += square(a1.y, b0);
    (*sums)[11] += square(a1.y, b1);
    (*sums)[12] += square(a1.z, b0);
    // mutant: square(a1.z, b1) => square(a1.z, b0)
    (*sums)[13] += square(a1.z, b1);
    (*sums)[14] += square(a1.w, b0);
    (*sums)[15] += square(a1.w, b1);
}

fn write(z: u32, row: u32, column: u32, sums: vec4<f32>) {
    for (var i = 0u; i < 4u; i += 1u) {
        let point = column + i;
        if row < params.rows && point < params.points {
            // mutant: point == params.first + row => point == row
            y[row * params.points + point] = select(bitcast<u32>(-sums[i]), NOTHING, point == params.first + row);
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let across = (params.points + TILE - 1u) / TILE;
    // mutant: group.y * groups.x + group.x => group.x
    let index = group.y * groups.x + group.x;
    let row = index / across * TILE;
    let column = index % across * TILE;
    if row >= params.rows {
        return;
    }
    var sums = Sums();
    var totals = Totals();
    for (var c = 0u; c < params.width; c += DEPTH) {
        stage(row, column, c, lane);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d += 1u) {
            add_squares(&sums, d, lane % 8u, lane / 8u);
        }
        workgroupBarrier();
    }
    flush(&sums, &totals);
    write_all(&totals, 0u, row + lane / 8u * 4u, column + lane % 8u * 4u);
}
