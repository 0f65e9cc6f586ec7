// y[n, o, p] = activation(Σ_k w[k, o] · x[n, channel(k), place(p, tap(k))] + bias[o])          convolution as a product
//
// The matrix of x's elements at the places of the kernel is never stored. One workgroup of 8 × 8 threads computes
// a tile of 64 rows (channels of y) and 64 columns (samples and places), DEPTH steps of k at a time. A thread fetches
// one quad of either operand for a step while the products of the step before are added up, puts them into workgroup
// memory, and adds to 8 × 8 sums in registers. Its four columns are the same throughout, and where their elements are
// changes only from tap to tap.

const THREADS = 64u;
const TILE = 64u;
const QUADS = 16u;
const DEPTH = 4u; // as many quads of either operand as there are threads
const STRIDE = 17u; // one more than QUADS, so that threads that go down a column use different banks

#import real_f32
#import convolution
#import dense_8x8

// [taps, channels, groups, quads]: rows of a group are padded to whole quads
@group(0) @binding(2) var<storage, read> w: array<vec4<f32>>;

var<workgroup> a_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of columns]

// What a thread fetches.
struct Fetch {
    tap: u32,            // of its next step of k
    channel: u32,
    w_quad: u32,         // its quad of rows, of the first step of k
    first: u32,          // of its four columns
    starts: vec4<u32>,   // of the columns' samples and the group in x
    elements: vec4<u32>, // of a channel of x, for `tap`
}

// Quads of a group's rows.
fn quads() -> u32 {
    return (params.rows + 3u) / 4u;
}

// The elements of x that a tap takes for four columns.
fn elements_of(tap: u32, first: u32) -> vec4<u32> {
    var elements: vec4<u32>;
    for (var j = 0u; j < 4u; j += 1u) {
        let place = place_of(min(first + j, params.columns - 1u) % places_of_y());
        elements[j] = element_at(place_in_x(place, tap));
    }
    return elements;
}

fn starts_of(first: u32, group: u32) -> vec4<u32> {
    var starts: vec4<u32>;
    let of_channel = params.in_0 * params.in_1 * params.in_2;
    for (var j = 0u; j < 4u; j += 1u) {
        let sample = min(first + j, params.columns - 1u) / places_of_y();
        // mutant: sample * params.groups + group => sample * params.groups
        starts[j] = (sample * params.groups + group) * params.channels * of_channel;
    }
    return starts;
}

// Goes on by some steps of k.
fn advance(fetch: ptr<function, Fetch>, steps: u32) {
    var channel = (*fetch).channel + steps;
    var tap = (*fetch).tap;
    while channel >= params.channels {
        channel -= params.channels;
        tap += 1u;
    }
    // mutant: tap != (*fetch).tap && tap < params.taps => tap > params.taps
    if tap != (*fetch).tap && tap < params.taps {
        (*fetch).elements = elements_of(tap, (*fetch).first);
    }
    (*fetch).channel = channel;
    (*fetch).tap = tap;
}

// Rows past the end repeat the last ones: they are never written.
fn fetch_w(fetch: ptr<function, Fetch>) -> vec4<f32> {
    if (*fetch).tap >= params.taps { return vec4<f32>(); }
    let k = (*fetch).tap * params.channels + (*fetch).channel;
    // mutant: k * params.groups * quads() => k * quads()
    return w[k * params.groups * quads() + (*fetch).w_quad];
}

fn fetch_x(fetch: ptr<function, Fetch>) -> vec4<f32> {
    let elements = (*fetch).elements;
    let at = (*fetch).starts + elements + (*fetch).channel * params.in_0 * params.in_1 * params.in_2;
    let values = vec4<f32>(load_x(at.x), load_x(at.y), load_x(at.z), load_x(at.w));
    // mutant: elements != vec4<u32>(OUTSIDE) => elements == elements
    let is_in = (elements != vec4<u32>(OUTSIDE)) & vec4<bool>((*fetch).tap < params.taps);
    return select(vec4<f32>(), values, is_in);
}

fn write(group: u32, row: u32, column: u32, sums: vec4<f32>) {
    for (var i = 0u; i < 4u; i += 1u) {
        // mutant: column + i < params.columns => column + i + 1 < params.columns
        if row < params.rows && column + i < params.columns {
            write_one(group * params.rows + row, column + i, sums[i]);
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(workgroup_id) group_id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let across = (params.columns + TILE - 1u) / TILE;
    let tiles = across * ((params.rows + TILE - 1u) / TILE);
    // mutant: group_id.y * groups.x + group_id.x => group_id.x
    let index = group_id.y * groups.x + group_id.x;
    let group = index / tiles;
    if group >= params.groups {
        return;
    }
    let row = index % tiles / across * TILE;
    let column = index % tiles % across * TILE;
    let own = lane / QUADS * STRIDE + lane % QUADS;
    let first = column + lane % QUADS * 4u;
    // mutant: group * quads() + min => min
    let w_quad = group * quads() + min(row / 4u + lane % QUADS, quads() - 1u);
    var fetch = Fetch(0u, 0u, w_quad, first, starts_of(first, group), elements_of(0u, first));
    advance(&fetch, lane / QUADS);
    var next_w = fetch_w(&fetch);
    var next_x = fetch_x(&fetch);
    var sums = Sums();
    var totals = Totals();
    let steps = params.taps * params.channels;
    for (var k = 0u; k < steps; k += DEPTH) {
        a_tile[own] = next_w;
        b_tile[own] = next_x;
        workgroupBarrier();
        // What is fetched behind the last step is not used.
        advance(&fetch, DEPTH);
        next_w = fetch_w(&fetch);
        next_x = fetch_x(&fetch);
        for (var d = 0u; d < DEPTH; d += 1u) {
            multiply(&sums, d, lane % 8u, lane / 8u);
        }
        workgroupBarrier();
    }
    flush(&sums, &totals);
    write_all(&totals, group, row + lane / 8u * 4u, column + lane % 8u * 4u);
}
