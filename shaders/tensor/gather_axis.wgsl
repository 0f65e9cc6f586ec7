// y[o, j, i] = x[o, index[j], i], or `missing` for an index that is not in the axis: elements of one axis by number.
// One thread writes one word of y, a workgroup WG_SIZE.

override WG_SIZE: u32 = 256;
override FORM: u32; // 0: words; 1: halves, two to a word; 2: f16 to f32; 3: bf16 to f32

struct Params {
    len: u32,     // elements of y
    size: u32,    // elements of the axis in x
    inner: u32,   // elements of the axes after it
    count: u32,   // indices
    missing: u32, // bits of an element for an index that is not in the axis
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // [outer, size, inner] words, or halves in pairs
@group(0) @binding(2) var<storage, read> indices: array<u32>; // [count]
@group(0) @binding(3) var<storage, read_write> y: array<u32>; // [outer, count, inner] words, or halves in pairs

// Element `at` of x as y stores it.
fn load(at: u32) -> u32 {
    if FORM == 0u {
        return x[at];
    }
    // mutant: 16u * (at & 1u) => 16u * (1u - (at & 1u))
    let half = (x[at / 2u] >> (16u * (at & 1u))) & 0xffffu;
    switch FORM {
        case 2u: { return bitcast<u32>(unpack2x16float(half).x); }
        case 3u: { return half << 16u; }
        default: { return half; }
    }
}

// Bits of element `at` of y.
fn element(at: u32) -> u32 {
    let row = at / params.inner;
    // mutant: indices[row % params.count] => indices[row]
    let index = indices[row % params.count];
    // mutant: index >= params.size => index > params.size
    if index >= params.size {
        return params.missing;
    }
    return load((row / params.count * params.size + index) * params.inner + at % params.inner);
}

@compute @workgroup_size(WG_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // mutant: (group.y * groups.x + group.x) => group.x
    let word = (group.y * groups.x + group.x) * WG_SIZE + lane;
    let first = select(word, 2u * word, FORM == 1u);
    if first >= params.len {
        return;
    }
    var bits = element(first);
    if FORM == 1u && first + 1u < params.len {
        bits |= element(first + 1u) << 16u;
    }
    y[word] = bits;
}
