// dx[r, i] = Σ dy[r, p] · share of x[r, i] in y[r, p], over the windows p that i lies in        gradient of pooling
//
// A mean's share is one part of its places; of a largest element's dy each element that is equal to it gets the same
// part. Axes as in `pool`. One thread computes one element of dx.

const WG_SIZE = 256u;

#import pooling

@group(0) @binding(1) var<storage, read> dy: array<f32>;       // [r, out_0, out_1, out_2]
@group(0) @binding(2) var<storage, read> y: array<f32>;        // the same; not read for means
@group(0) @binding(3) var<storage, read> x: array<u32>;        // [r, in_0, in_1, in_2]; not read for means
@group(0) @binding(4) var<storage, read_write> dx: array<f32>; // as x

// How many of the elements from `first` to before `end` are `largest`.
fn equal_ones(row: u32, first: vec3<u32>, end: vec3<u32>, largest: f32) -> f32 {
    var found = 0.0;
    for (var a = first.x; a < end.x; a++) {
        for (var b = first.y; b < end.y; b++) {
            for (var c = first.z; c < end.z; c++) {
                let at = ((row * params.in_0 + a) * params.in_1 + b) * params.in_2 + c;
                // mutant: f32(value(at) == largest) => 1.0
                found += f32(value(at) == largest);
            }
        }
    }
    return found;
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
    let size = vec3<u32>(params.in_0, params.in_1, params.in_2);
    let out = vec3<u32>(params.out_0, params.out_1, params.out_2);
    let kernel = vec3<u32>(params.kernel_0, params.kernel_1, params.kernel_2);
    let stride = vec3<u32>(params.stride_0, params.stride_1, params.stride_2);
    let pad = vec3<u32>(params.pad_0, params.pad_1, params.pad_2);
    let line = i / size.z;
    let row = line / size.y / size.x;
    let place = vec3<u32>(line / size.y % size.x, line % size.y, i % size.z) + pad;
    // Windows from the first that ends behind the place to the last that begins at or before it.
    // mutant: max(place + 1u, kernel) - kernel + stride - 1u => max(place, kernel) - kernel + stride - 1u
    let low = (max(place + 1u, kernel) - kernel + stride - 1u) / stride;
    let high = min(place / stride + 1u, out);
    var total = 0.0;
    for (var a = low.x; a < high.x; a++) {
        for (var b = low.y; b < high.y; b++) {
            for (var c = low.z; c < high.z; c++) {
                let p = ((row * out.x + a) * out.y + b) * out.z + c;
                let start = vec3<u32>(a, b, c) * stride;
                let first = max(start, pad) - pad;
                let end = min(max(start + kernel, pad) - pad, size);
                let inside = (end.x - first.x) * (end.y - first.y) * (end.z - first.z);
                if MEAN {
                    // mutant: select(inside, kernel.x * kernel.y * kernel.z, COUNT_PAD) => inside
                    total += dy[p] / f32(select(inside, kernel.x * kernel.y * kernel.z, COUNT_PAD));
                } else if value(i) == y[p] {
                    total += dy[p] / equal_ones(row, first, end, y[p]);
                }
            }
        }
    }
    dx[i] = total;
}
