// y[r, p] = the largest or the mean of x[r, p · stride − pad + i] over the places i of a window          pooling
//
// Places outside x are left out of the largest, and are zeros of the mean or left out of it, too. One thread computes
// one element of y.

const WG_SIZE = 256u;

#import pooling

@group(0) @binding(1) var<storage, read> x: array<u32>;       // [r, in_0, in_1, in_2]
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [r, out_0, out_1, out_2]

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
    let size = vec3<i32>(vec3<u32>(params.in_0, params.in_1, params.in_2));
    let line = i / params.out_2;
    let place = vec3<u32>(line / params.out_1 % params.out_0, line % params.out_1, i % params.out_2);
    let stride = vec3<u32>(params.stride_0, params.stride_1, params.stride_2);
    // mutant: params.pad_1 => params.pad_0
    let start = vec3<i32>(place * stride) - vec3<i32>(vec3<u32>(params.pad_0, params.pad_1, params.pad_2));
    let end = min(start + vec3<i32>(vec3<u32>(params.kernel_0, params.kernel_1, params.kernel_2)), size);
    let first = max(start, vec3<i32>());
    let row = line / params.out_1 / params.out_0 * params.in_0;
    let count = vec3<u32>(end - first);
    var total = 0.0;
    var largest = value(((row + u32(first.x)) * params.in_1 + u32(first.y)) * params.in_2 + u32(first.z));
    for (var a = first.x; a < end.x; a += 1) {
        for (var b = first.y; b < end.y; b += 1) {
            let start_of_line = ((row + u32(a)) * params.in_1 + u32(b)) * params.in_2;
            // mutant: c < end.z => c + 1 < end.z
            for (var c = first.z; c < end.z; c += 1) {
                let element = value(start_of_line + u32(c));
                total += element;
                largest = max(largest, element);
            }
        }
    }
    let window = params.kernel_0 * params.kernel_1 * params.kernel_2;
    // mutant: select(count.x * count.y * count.z, window, COUNT_PAD) => window
    let places = select(count.x * count.y * count.z, window, COUNT_PAD);
    y[i] = select(largest, total / f32(places), MEAN);
}
