// What the convolutions share: constants, parameters, bindings, places and the epilogue. A step k of their sums is a
// tap of the kernel and a channel: k = tap · channels + channel. A column is a sample and a place of y. Missing spatial
// axes have length 1. Binding 2 is w.

override X_KIND: u32;      // how x is stored: see stored.wgsl
override TRANSPOSED: bool; // x is what the convolution of y would be: strides are those of y
override BIAS: bool;
override ACTIVATION: u32;  // see activation.wgsl

struct Params {
    rows: u32,     // channels of y in a group
    columns: u32,  // samples · places of y
    channels: u32, // channels of x in a group
    groups: u32,
    taps: u32,     // places of the kernel
    in_0: u32,     // lengths of x's spatial axes
    in_1: u32,
    in_2: u32,
    out_0: u32,    // of y's
    out_1: u32,
    out_2: u32,
    kernel_0: u32, // of the kernel's
    kernel_1: u32,
    kernel_2: u32,
    stride_0: u32,
    stride_1: u32,
    stride_2: u32,
    pad_0: u32,
    pad_1: u32,
    pad_2: u32,
    dilation_0: u32,
    dilation_1: u32,
    dilation_2: u32,
}

#import stored
#import activation

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [samples, groups · channels, in_0, in_1, in_2]
@group(0) @binding(3) var<storage, read> bias: array<f32>;    // [groups · rows]
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // [samples, groups · rows, out_0, out_1, out_2]

fn load_x(i: u32) -> f32 {
    return stored_value(x[stored_word(i, X_KIND)], i, X_KIND);
}

fn places_of_y() -> u32 {
    return params.out_0 * params.out_1 * params.out_2;
}

// The place of y that number `i` has.
fn place_of(i: u32) -> vec3<i32> {
    let line = i / params.out_2;
    return vec3<i32>(vec3<u32>(line / params.out_1, line % params.out_1, i % params.out_2));
}

// The place of x that a tap takes for a place of y; negative along an axis where there is none.
fn place_in_x(place: vec3<i32>, tap: u32) -> vec3<i32> {
    let line = tap / params.kernel_2;
    let of_kernel = vec3<u32>(line / params.kernel_1, line % params.kernel_1, tap % params.kernel_2);
    let from_first = vec3<i32>(of_kernel * vec3<u32>(params.dilation_0, params.dilation_1, params.dilation_2));
    let stride = vec3<i32>(vec3<u32>(params.stride_0, params.stride_1, params.stride_2));
    let pad = vec3<i32>(vec3<u32>(params.pad_0, params.pad_1, params.pad_2));
    // mutant (compute/conv, compute/conv_direct): pad + from_first => pad - from_first
    if !TRANSPOSED { return place * stride - pad + from_first; }
    // mutant (compute/conv, compute/conv_direct): place + pad - from_first => place - pad - from_first
    let there = place + pad - from_first;
    // mutant (compute/conv, compute/conv_direct): there % stride == vec3<i32>() => there == there
    return select(vec3<i32>(-1), there / stride, there % stride == vec3<i32>());
}

// The element of a channel of x at a place, or `OUTSIDE`.
const OUTSIDE = 0xffffffffu;

fn element_at(place: vec3<i32>) -> u32 {
    let at = vec3<u32>(place);
    let is_in = all(place >= vec3<i32>()) && all(at < vec3<u32>(params.in_0, params.in_1, params.in_2));
    // mutant (compute/conv, compute/conv_direct): at.x * params.in_1 + at.y => at.x * params.in_0 + at.y
    return select(OUTSIDE, (at.x * params.in_1 + at.y) * params.in_2 + at.z, is_in);
}

// Writes a sum of row `row` of y, counted over all groups, and a column.
fn write_one(row: u32, column: u32, sum: f32) {
    let places = places_of_y();
    var value = sum;
    if BIAS {
        // mutant (compute/conv, compute/conv_direct): bias[row] => bias[0]
        value += bias[row];
    }
    // mutant (compute/conv, compute/conv_direct): column / places * params.groups * params.rows => column / places
    y[(column / places * params.groups * params.rows + row) * places + column % places] = activate(value);
}
