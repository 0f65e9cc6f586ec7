// y[i…] = x[i − before…], and outside x a number, or x mirrored at its ends, or its nearest element
//
// One thread computes one element of y.

const WG_SIZE = 256u;

override KIND: u32; // how x is stored: see stored.wgsl
override MODE: u32; // outside x: 0 a number, 1 mirrored without repeating the end, 2 the nearest element

struct Params {
    len: u32,                  // elements of y
    rank: u32,                 // axes in use
    value: f32,                // the number
    unused: u32,
    axes: array<vec4<u32>, 5>, // the innermost first: length in y, length in x, elements before x, unused
}

#import stored

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

// The place along an axis of length `size` that place `at` stands for; `at` is less than `size` outside.
fn inside(at: i32, size: i32) -> i32 {
    // mutant: return clamp(at, 0, size - 1); => return 0;
    if MODE == 2u { return clamp(at, 0, size - 1); }
    let left = abs(at);
    // mutant: 2 * size - 2 - left => 2 * size - 1 - left
    return select(left, 2 * size - 2 - left, left >= size);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = (group.y * groups.x + group.x) * WG_SIZE + lane;
    if i >= params.len {
        return;
    }
    var rest = i;
    var source = 0u;
    var stride = 1u;
    var is_in = true;
    for (var axis = 0u; axis < params.rank; axis += 1u) {
        let of_axis = params.axes[axis];
        let at = i32(rest % of_axis.x) - i32(of_axis.z);
        is_in = is_in && at >= 0 && at < i32(of_axis.y);
        source += u32(clamp(inside(at, i32(of_axis.y)), 0, i32(of_axis.y) - 1)) * stride;
        stride *= of_axis.y;
        rest /= of_axis.x;
    }
    let value = stored_value(x[stored_word(source, KIND)], source, KIND);
    // mutant: is_in || MODE != 0u => true
    y[i] = select(params.value, value, is_in || MODE != 0u);
}
