// The residual stream after a block whose output is normalised before it is added: in the place of x
//   new_x = factor · (x + weight ⊙ update / sqrt(mean update² + UPDATE_EPS))
// Every workgroup computes all of it from x and update, bit for bit the same; the first one writes it, to another
// buffer than x, since the others still read that. One column, in whole blocks, without bias.

override UPDATE_EPS: f32;
override SCALED: bool; // the factor is that after the weights, else 1
// Where the weights of the update and the factor are among the vectors, behind the weights of NORM.
override UPDATE_WEIGHT: u32 = select(0u, COLS / 4u, NORM);

@group(0) @binding(6) var<storage, read> update: array<vec4<f32>>;      // [COLS]
@group(0) @binding(8) var<storage, read_write> new_x: array<vec4<f32>>; // [COLS]

#import reduce

var<private> update_scale: f32;
var<private> factor: f32;
var<private> is_first: bool;

fn bias_of(row: u32) -> f32 {
    return 0.0;
}

// What all of x depends on; `first`: this workgroup writes the sum.
fn prepare(first: bool, thread: u32) {
    is_first = first;
    // mutant (mat_vec, mat_vec_split): UPDATE_WEIGHT + COLS / 4u => UPDATE_WEIGHT
    factor = select(1.0, norm_weight[UPDATE_WEIGHT + COLS / 4u].x, SCALED);
    var squares = 0.0;
    for (var i = thread; i < COLS / 4u; i += WG_SIZE) {
        squares += dot(update[i], update[i]);
    }
    // mutant (mat_vec, mat_vec_split): f32(COLS) + UPDATE_EPS => f32(COLS)
    update_scale = inverseSqrt(workgroup_sum(squares, thread) / f32(COLS) + UPDATE_EPS);
}

fn prepared_x(start: u32, col: u32) -> vec4<f32> {
    let i = col / 4u;
    // mutant (mat_vec, mat_vec_split): norm_weight[UPDATE_WEIGHT + i] => norm_weight[i]
    let normed = update[i] * update_scale * norm_weight[UPDATE_WEIGHT + i];
    // mutant (mat_vec, mat_vec_split): factor * => 1.0 *
    let value = factor * (load_x(start, col) + normed);
    if is_first {
        new_x[i] = value;
    }
    return value;
}
