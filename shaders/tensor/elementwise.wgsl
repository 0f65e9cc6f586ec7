// y = f(in0, …, in5) element by element, each input broadcast to the shape of y; f is a chain of up to 16 steps, each
// an operation on inputs, results of earlier steps and numbers.
// One thread computes 4 neighbours of y, a workgroup 4 · WG_SIZE.

#import elementwise

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> in0: array<vec4<u32>>; // words or halves, of a shape that broadcasts to y's
@group(0) @binding(2) var<storage, read> in1: array<vec4<u32>>; // likewise, as are the others
@group(0) @binding(3) var<storage, read> in2: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> in3: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> in4: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read> in5: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> y: array<Quad>;   // [len] words or halves, four to a quad

#import sink

fn words(input: u32, at: u32) -> vec4<u32> {
    switch input {
        case 0u: { return in0[at]; }
        case 1u: { return in1[at]; }
        case 2u: { return in2[at]; }
        case 3u: { return in3[at]; }
        // mutant: case 4u: { return in4[at]; } => case 4u: { return in3[at]; }
        case 4u: { return in4[at]; }
        // mutant: default: { return in5[at]; } => default: { return in4[at]; }
        default: { return in5[at]; }
    }
}

#import elements
#import math
#import elementwise_inputs
#import elementwise_steps
#import chain

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let i = 4u * ((group.y * groups.x + group.x) * WG_SIZE + lane);
    if i < params.len {
        finish(i, load_inputs(i, 0u));
    }
}
