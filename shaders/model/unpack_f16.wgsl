// y[2i], y[2i + 1] = the f16 of word i of x, as bits of f32      asked of a device when it is opened: see unpack_f16.rs
// One thread takes one word.

override INTEGERS: bool; // not by the device's own conversion

const WG_SIZE = 64u;

struct Params {
    words: u32, // of x
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;              // [words]
@group(0) @binding(2) var<storage, read_write> y: array<vec2<u32>>; // [words]

#import f16_to_f32

@compute @workgroup_size(WG_SIZE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let i = group.x * WG_SIZE + lane;
    if i >= params.words {
        return;
    }
    var pair = f16_to_f32(x[i]);
    if !INTEGERS {
        pair = unpack2x16float(x[i]);
    }
    // mutant: bitcast<vec2<u32>>(pair) => bitcast<vec2<u32>>(pair.yx)
    y[i] = bitcast<vec2<u32>>(pair);
}
