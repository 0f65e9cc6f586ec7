override WG_SIZE: u32 = 256;
override SIXTEEN_BIT: bool; // elements are 16 bits, two to a word

struct Params {
    len: u32,                  // elements of y
    start: u32,                // element of x that y[0] is
    rank: u32,                 // axes in use
    pad: u32,
    axes: array<vec4<u32>, 5>, // the innermost of y first: its size, and the stride in x
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<u32>;       // words or pairs of halves
@group(0) @binding(2) var<storage, read_write> y: array<u32>; // likewise: [len] elements

// The element of x that element i of y is.
fn source(i: u32) -> u32 {
    // mutant (narrow): var at = params.start; => var at = 0u;
    var at = params.start;
    var rest = i;
    // mutant (narrow, expand, transpose): axis < params.rank => axis + 1u < params.rank
    for (var axis = 0u; axis < params.rank; axis += 1u) {
        let of_axis = params.axes[axis];
        at += (rest % of_axis.x) * of_axis.y;
        // mutant (narrow, expand, transpose): rest /= of_axis.x; => rest /= of_axis.x + 1u;
        rest /= of_axis.x;
    }
    return at;
}

fn half_of(at: u32) -> u32 {
    return (x[at / 2u] >> (16u * (at & 1u))) & 0xffffu;
}

// Word `word` of y.
fn copy_word(word: u32) {
    if !SIXTEEN_BIT {
        if word < params.len {
            y[word] = x[source(word)];
        }
        return;
    }
    let i = 2u * word;
    if i >= params.len {
        return;
    }
    var bits = half_of(source(i));
    // mutant (narrow, expand, transpose): i + 1u < params.len => i < params.len
    if i + 1u < params.len {
        // mutant (narrow, expand, transpose): half_of(source(i + 1u)) => half_of(source(i) + 1u)
        bits |= half_of(source(i + 1u)) << 16u;
    }
    y[word] = bits;
}
