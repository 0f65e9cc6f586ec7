// y[r, i] = exp(s[i] - max s) / Σ_j exp(s[j] - max s),  s[i] = cap(scale · x[r, i]) + mask[r, i]
// The sum over blocks of any length in one pass: Milakov & Gimelshein 2018, arXiv 1805.02867. LANES threads compute
// one row. Scores of -inf, or any not above LOWEST, have weight 0; a row of nothing else gives zeros.

override WG_SIZE: u32 = 256;
override LANES: u32;

struct Params {
    rows: u32,
    width: u32,
    queries: u32,  // causal: x is [.., queries, keys] and the last query attends to all keys; 0: not causal
    scale: f32,
    soft_cap: f32, // 0: none
    masked: u32,   // 1: there is a mask
    dim_1: u32,    // x has axes [.., dim_1, dim_2, dim_3, width]
    dim_2: u32,
    dim_3: u32,
    mask_0: u32,   // rows of the mask per step along the leading axes; 0 where one serves all
    mask_1: u32,
    mask_2: u32,
    mask_3: u32,
}

#import lanes
#import soft_cap

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [rows, width]
@group(0) @binding(2) var<storage, read> mask: array<f32>;    // [mask rows, width], added
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [rows, width]

#import lowest

// The row of the mask that serves row r.
fn mask_row(r: u32) -> u32 {
    let outer = r / params.dim_3;
    let outermost = outer / params.dim_2;
    return r % params.dim_3 * params.mask_3 + outer % params.dim_2 * params.mask_2
        // mutant: outermost % params.dim_1 * params.mask_1 => outermost * params.mask_1
        + outermost % params.dim_1 * params.mask_1 + outermost / params.dim_1 * params.mask_0;
}

// s[i], finite, from where row r and its mask start.
fn score(start: u32, mask_start: u32, i: u32) -> f32 {
    var s = params.scale * x[start + i];
    if params.soft_cap > 0.0 {
        s = soft_cap(s, params.soft_cap);
    }
    if params.masked == 1u {
        s += mask[mask_start + i];
    }
    // mutant: clamp(s, LOWEST, -LOWEST) => s
    return clamp(s, LOWEST, -LOWEST);
}

// Keys that row r attends to.
fn seen_keys(r: u32) -> u32 {
    if params.queries == 0u {
        return params.width;
    }
    // mutant: + i32(params.width) - i32(params.queries) =>
    let last = i32(r % params.queries) + i32(params.width) - i32(params.queries);
    return u32(max(last + 1, 0));
}

// exp of a number ≤ 0; the bound keeps the argument finite, since WGSL promises nothing about infinities.
fn weight(depth: f32) -> f32 {
    // mutant: max(depth, -100.0) => max(depth, -10.0)
    return exp(max(depth, -100.0));
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let r = (group.y * groups.x + group.x) * (WG_SIZE / LANES) + thread / LANES;
    let inside = r < params.rows;
    let start = r * params.width;
    let mask_start = mask_row(r) * params.width;
    let seen = select(0u, seen_keys(r), inside);
    var largest = LOWEST;
    var sum = 0.0; // of exp(s - largest) over this thread's scores
    for (var i = thread % LANES; i < seen; i += LANES) {
        let s = score(start, mask_start, i);
        if s > largest {
            sum = sum * weight(largest - s) + 1.0;
            largest = s;
        } else {
            sum += weight(s - largest); // of LOWEST alone, too: what follows outweighs it, or it is left out below
        }
    }
    let top = lanes_max(largest, thread);
    let total = lanes_sum(sum * weight(largest - top), thread);
    for (var i = thread % LANES; i < select(0u, params.width, inside); i += LANES) {
        var value = 0.0;
        if i < seen {
            let s = score(start, mask_start, i);
            // mutant: weight(s - top) / total, s > LOWEST => weight(s - top) / total, s >= LOWEST
            value = select(0.0, weight(s - top) / total, s > LOWEST);
        }
        y[start + i] = value;
    }
}
