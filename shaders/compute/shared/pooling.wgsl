// What pooling and its gradient share: constants, parameters and the reading of x. Up to three spatial axes, the
// outermost first; missing ones have length 1.

override KIND: u32;       // how x is stored: see stored.wgsl
override MEAN: bool;      // else the largest
override COUNT_PAD: bool; // the mean counts places outside x

struct Params {
    len: u32,      // elements of the result
    in_0: u32,     // lengths of x's spatial axes
    in_1: u32,
    in_2: u32,
    out_0: u32,    // of y's
    out_1: u32,
    out_2: u32,
    kernel_0: u32, // of the window's
    kernel_1: u32,
    kernel_2: u32,
    stride_0: u32,
    stride_1: u32,
    stride_2: u32,
    pad_0: u32,    // places before x, and behind it
    pad_1: u32,
    pad_2: u32,
}

#import stored

@group(0) @binding(0) var<uniform> params: Params;

fn value(i: u32) -> f32 {
    // mutant (compute/pool): stored_value(x[stored_word(i, KIND)], i, KIND) => stored_value(x[i], i, KIND)
    return stored_value(x[stored_word(i, KIND)], i, KIND);
}
