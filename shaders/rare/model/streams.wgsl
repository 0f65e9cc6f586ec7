// y[r, i] = base[r, i + SKIP] + Σ_j weight[r, i, j] · x[r, j] over streams of WIDTH values (AltUp, arXiv 2301.13310)
// weight[r, i, j] = PLUS + Σ_k w[i · INPUTS + j, k] · tanh(router[r, k] / WIDTH)
//
// One thread computes one value of y.

override WG_SIZE: u32 = 64;
override WIDTH: u32;       // of a stream
override STREAMS: u32;     // of y
override BASE: u32;        // streams of base; 0: base is 0
override SKIP: u32;        // streams of base before the first that counts
override IN_PLACE: bool;   // base is y: what is bound as base is not read
override OF_X: u32;        // streams of x
override INPUTS: u32;      // streams of x that count, from the first on
override FIRST: u32;       // streams of y before this one are those of base
override ROUTES: u32;      // values of the router; 0: all weights are PLUS
override PLUS: f32;

const MAX_ROUTES: u32 = 8u;

struct Params {
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> base: array<f32>;    // [rows, BASE, WIDTH]
@group(0) @binding(2) var<storage, read> x: array<f32>;       // [rows, OF_X, WIDTH]
@group(0) @binding(3) var<storage, read> router: array<f32>;  // [rows, ROUTES]
@group(0) @binding(4) var<storage, read> w: array<f32>;       // [STREAMS, INPUTS, ROUTES]
@group(0) @binding(5) var<storage, read_write> y: array<f32>; // [rows, STREAMS, WIDTH]

#import soft_cap

var<workgroup> routes: array<f32, MAX_ROUTES>;

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    if lane < ROUTES {
        // mutant: / f32(WIDTH) => / f32(ROUTES)
        routes[lane] = soft_cap(router[group.y * ROUTES + lane], f32(WIDTH)) / f32(WIDTH);
    }
    workgroupBarrier();
    let n = group.x * WG_SIZE + lane;
    // mutant: n >= STREAMS * WIDTH => n > STREAMS * WIDTH
    if n >= STREAMS * WIDTH {
        return;
    }
    let to = group.y * STREAMS * WIDTH + n;
    var sum = 0.0;
    if IN_PLACE {
        sum = y[to];
    } else if BASE > 0u {
        // mutant: BASE + SKIP) * WIDTH => BASE) * WIDTH
        sum = base[(group.y * BASE + SKIP) * WIDTH + n];
    }
    let stream = n / WIDTH;
    // mutant: stream >= FIRST => stream > FIRST
    for (var j = 0u; j < INPUTS && stream >= FIRST; j++) {
        var weight = PLUS;
        for (var k = 0u; k < ROUTES; k++) {
            // mutant: stream * INPUTS + j) * ROUTES => j * STREAMS + stream) * ROUTES
            weight += w[(stream * INPUTS + j) * ROUTES + k] * routes[k];
        }
        // mutant: group.y * OF_X + j => group.y * INPUTS + j
        sum += weight * x[(group.y * OF_X + j) * WIDTH + n % WIDTH];
    }
    y[to] = sum;
}
