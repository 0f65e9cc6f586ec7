// y[n, o, p] = activation(Σ_k w[k, o] · x[n, channel(k), place(p, tap(k))] + bias[o])          convolution as a product
//
// The matrix of x's elements at the places of the kernel is never stored. One workgroup of 8 × 8 threads computes a
// tile of 64 rows (channels of y) and 64 columns (samples and places): DEPTH steps of k at a time it puts both operands
// into workgroup memory, and every thread adds to 8 × 8 sums in registers. A thread fetches the same four columns
// throughout, and where their elements are changes only from tap to tap.

const THREADS = 64u;
const DEPTH = 16u;

#import real_f32
#import convolution
#import dense_8x8

const TILE = 64u;
const QUADS = 16u;
const STRIDE = 17u; // one more than QUADS, so that threads that go down a column use different banks

var<workgroup> a_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of rows]
var<workgroup> b_tile: array<vec4<real>, DEPTH * STRIDE>; // [DEPTH, QUADS of columns]

// Four columns, as a thread fetches them.
struct Columns {
    tap: u32,               // that `elements` are for
    elements: vec4<u32>,    // of a channel of x
    starts: vec4<u32>,      // of the columns' samples and the group in x
}

fn columns_from(first: u32, group: u32) -> Columns {
    var columns = Columns(OUTSIDE, vec4<u32>(), vec4<u32>());
    let of_channel = params.in_0 * params.in_1 * params.in_2;
    for (var j = 0u; j < 4u; j += 1u) {
        let sample = min(first + j, params.columns - 1u) / places_of_y();
        // mutant: sample * params.groups + group => sample * params.groups
        columns.starts[j] = (sample * params.groups + group) * params.channels * of_channel;
    }
    return columns;
}

// The elements of x that a tap takes for the columns.
fn turn_to(tap: u32, first: u32) -> vec4<u32> {
    var elements: vec4<u32>;
    for (var j = 0u; j < 4u; j += 1u) {
        let place = place_of(min(first + j, params.columns - 1u) % places_of_y());
        elements[j] = element_at(place_in_x(place, tap));
    }
    return elements;
}

fn fetch(i: u32, is_in: bool) -> f32 {
    // mutant: select(0.0, load_x(select(0u, i, is_in)), is_in) => load_x(select(0u, i, is_in))
    return select(0.0, load_x(select(0u, i, is_in)), is_in);
}

// Steps past the last count as 0. Rows past the end repeat the last: they are never written.
fn stage_w(first_k: u32, row: u32, group: u32, lane: u32) {
    for (var i = lane; i < DEPTH * QUADS; i += THREADS) {
        let k = first_k + i / QUADS;
        let at = min(vec4<u32>(row + i % QUADS * 4u) + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.rows - 1u));
        let steps = params.taps * params.channels;
        // mutant: vec4<u32>(group * params.rows) => vec4<u32>()
        let e = at + vec4<u32>(group * params.rows) + vec4<u32>(min(k, steps - 1u) * params.groups * params.rows);
        let value = vec4<f32>(load_w(e.x), load_w(e.y), load_w(e.z), load_w(e.w));
        a_tile[i / QUADS * STRIDE + i % QUADS] = select(vec4<f32>(), value, k < steps);
    }
}

fn stage_x(columns: ptr<function, Columns>, first_k: u32, first: u32, lane: u32) {
    let of_channel = params.in_0 * params.in_1 * params.in_2;
    for (var d = lane / QUADS; d < DEPTH; d += THREADS / QUADS) {
        let k = first_k + d;
        let tap = k / params.channels;
        // mutant: tap != (*columns).tap => (*columns).tap == OUTSIDE
        if tap != (*columns).tap {
            (*columns).tap = tap;
            (*columns).elements = turn_to(tap, first);
        }
        let elements = (*columns).elements;
        let at = (*columns).starts + elements + vec4<u32>(k % params.channels * of_channel);
        let is_in = (elements != vec4<u32>(OUTSIDE)) & vec4<bool>(tap < params.taps);
        b_tile[d * STRIDE + lane % QUADS] =
            vec4<f32>(fetch(at.x, is_in.x), fetch(at.y, is_in.y), fetch(at.z, is_in.z), fetch(at.w, is_in.w));
    }
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
    let own = column + lane % QUADS * 4u;
    var columns = columns_from(own, group);
    var sums = Sums();
    var totals = Totals();
    for (var k = 0u; k < params.taps * params.channels; k += DEPTH) {
        stage_w(k, row, group, lane);
        stage_x(&columns, k, own, lane);
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d += 1u) {
            multiply(&sums, d, lane % 8u, lane / 8u);
        }
        workgroupBarrier();
    }
    flush(&sums, &totals);
    write_all(&totals, group, row + lane / 8u * 4u, column + lane % 8u * 4u);
}
