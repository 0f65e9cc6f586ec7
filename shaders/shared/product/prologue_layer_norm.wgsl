// A layer norm of x (Ba, Kiros & Hinton 2016, arXiv 1607.06450): in the place of x
//   weight ⊙ (x − mean x) / sqrt(mean (x − mean x)² + LAYER_EPS) + norm_bias
// One column, in whole blocks.
#import bias

override LAYER_EPS: f32;
override NORM_BIASED: bool; // the summand is norm_bias, else 0

@group(0) @binding(8) var<storage, read> norm_bias: array<vec4<f32>>; // [COLS]

#import reduce

var<private> mean: f32;
var<private> row_scale: f32;

fn prepare(first: bool, thread: u32) {
    var total = vec4<f32>();
    for (var i = thread; i < COLS / 4u; i += WG_SIZE) {
        total += load_x(x_start(), 4u * i);
    }
    // mutant (mat_vec, mat_vec_split): / f32(COLS) => / f32(WG_SIZE)
    mean = workgroup_sum(dot(total, vec4<f32>(1.0)), thread) / f32(COLS);
    var squares = 0.0;
    for (var i = thread; i < COLS / 4u; i += WG_SIZE) {
        // mutant (mat_vec, mat_vec_split): - mean => - 0.0
        let off = load_x(x_start(), 4u * i) - mean;
        squares += dot(off, off);
    }
    // mutant (mat_vec, mat_vec_split): f32(COLS) + LAYER_EPS => f32(COLS)
    row_scale = inverseSqrt(workgroup_sum(squares, thread) / f32(COLS) + LAYER_EPS);
}

fn prepared_x(start: u32, col: u32) -> vec4<f32> {
    var value = (load_x(start, col) - mean) * row_scale * load_norm(col);
    if NORM_BIASED {
        // mutant (mat_vec, mat_vec_split): norm_bias[col / 4u] => norm_bias[col / 8u]
        value += norm_bias[col / 4u];
    }
    return value;
}
