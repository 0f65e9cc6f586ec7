// y = the doubly stochastic matrix that alternate normalisation of rows and columns leads to, for N <= 32: every
// iteration divides each row by its sum, then each column (Sinkhorn & Knopp 1967, Pacific J. Math. 21).
// LANES threads compute one matrix in workgroup memory: a thread takes one row, then one column. Sums of 0 stay 0. With
// a tolerance a matrix is left as it is once all its rows sum to 1 within it.

override WG_SIZE: u32 = 64;
override LANES: u32; // at least N, 8 or 32

struct Params {
    matrices: u32,
    n: u32,
    iterations: u32,
    tolerance: f32, // below 0: none
}

#import sinkhorn_share

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [matrices, N, N]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [matrices, N, N]

// Rows are an odd number of words apart, so that threads which read a column use different banks.
const CAPACITY: u32 = 2112u; // 2 · 32 · 33 words, more than 8 · 8 · 9

var<workgroup> matrix: array<f32, CAPACITY>;
// The last iteration in which a row of the matrix was off, counted from 1.
var<workgroup> off: array<atomic<u32>, WG_SIZE>;

// Divides N numbers from start on, step apart, by their sum; the sum.
fn normalise(start: u32, step: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < params.n; i++) {
        sum += matrix[start + i * step];
    }
    for (var i = 0u; i < params.n; i++) {
        matrix[start + i * step] = share(matrix[start + i * step], sum);
    }
    return sum;
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let slot = thread / LANES;
    let lane = thread % LANES;
    // mutant: (group.y * groups.x + group.x) => group.x
    let m = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + slot;
    let n = params.n;
    let pitch = n | 1u;
    let start = slot * LANES * (LANES + 1u);
    // mutant: m < params.matrices && lane < n => lane < n
    let inside = m < params.matrices && lane < n;
    if inside {
        for (var row = 0u; row < n; row++) {
            matrix[start + row * pitch + lane] = x[(m * n + row) * n + lane];
        }
    }
    atomicStore(&off[thread], 0u);
    workgroupBarrier();
    var settled = false;
    // mutant: iteration <= params.iterations => iteration < params.iterations
    for (var iteration = 1u; iteration <= params.iterations; iteration++) {
        if inside && !settled {
            let sum = normalise(start + lane * pitch, 1u);
            if is_off(sum, params.tolerance) {
                // mutant: atomicStore(&off[slot], iteration); => atomicStore(&off[0], iteration);
                atomicStore(&off[slot], iteration);
            }
        }
        workgroupBarrier();
        // mutant: && iteration > 1u => && iteration > 0u
        settled = atomicLoad(&off[slot]) != iteration && iteration > 1u && params.tolerance >= 0.0;
        if inside && !settled {
            // mutant: normalise(start + lane, pitch); => normalise(start + lane, n);
            normalise(start + lane, pitch);
        }
        workgroupBarrier();
    }
    if inside {
        for (var row = 0u; row < n; row++) {
            y[(m * n + row) * n + lane] = matrix[start + row * pitch + lane];
        }
    }
}
