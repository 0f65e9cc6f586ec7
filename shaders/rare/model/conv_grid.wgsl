// y of each cell of a square grid from the cells of x that it sees, KIND: 0 these side by side, value by value; 1 their
// mean; 2 a depthwise convolution (Howard et al. 2017, arXiv 1704.04861); 3 a convolution, 4 with a bias. There is
// nothing outside of the grid. One thread computes one value.

override WG_SIZE: u32 = 64;
override KIND: u32;

struct Params {
    side: u32,    // cells along a side of x
    out: u32,     // the same of y
    kernel: u32,  // cells along a side of what a cell sees
    stride: u32,  // cells from what one cell sees to what the next one does
    before: u32,  // cells before the grid that the first cell sees
    up: u32,      // each cell of x stands for this many along both sides
    width: u32,   // values of a cell of x
    outputs: u32, // values of a cell of y
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;       // [side · side, width]
@group(0) @binding(2) var<storage, read> taps: array<f32>;    // [outputs, (1 or width) · kernel · kernel]
@group(0) @binding(3) var<storage, read> bias: array<f32>;    // [outputs]
@group(0) @binding(4) var<storage, read_write> y: array<f32>; // [out · out, outputs]

// Where a cell begins in x that is the tap'th one that a cell sees; negative outside of the grid.
fn seen(cell: u32, tap: u32) -> i32 {
    let own = vec2<u32>(cell % params.out, cell / params.out);
    let far = own * params.stride + vec2<u32>(tap % params.kernel, tap / params.kernel);
    let at = (far - params.before) / params.up; // before the grid this wraps around, far beyond it
    // mutant: any(at >= vec2<u32>(params.side)) => false
    if any(at >= vec2<u32>(params.side)) {
        return -1;
    }
    return i32((at.y * params.side + at.x) * params.width);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = (group.y * groups.x + group.x) * WG_SIZE + lane;
    // mutant: index >= params.out * params.out * params.outputs => false
    if index >= params.out * params.out * params.outputs {
        return;
    }
    let cell = index / params.outputs;
    let value = index % params.outputs;
    let count = params.kernel * params.kernel;
    var sum = 0.0;
    if KIND == 0u {
        let at = seen(cell, value % count);
        if at >= 0 {
            sum = x[u32(at) + value / count];
        }
        y[index] = sum;
        return;
    }
    for (var tap = 0u; tap < count; tap++) {
        let at = seen(cell, tap);
        if at < 0 {
            continue;
        }
        if KIND == 1u {
            // mutant: / f32(count) => / 1.0
            sum += x[u32(at) + value] / f32(count);
        } else if KIND == 2u {
            sum += taps[value * count + tap] * x[u32(at) + value];
        } else {
            for (var c = 0u; c < params.width; c++) {
                sum += taps[(value * params.width + c) * count + tap] * x[u32(at) + c];
            }
        }
    }
    // mutant: KIND == 4u => false
    if KIND == 4u {
        sum += bias[value];
    }
    y[index] = sum;
}
