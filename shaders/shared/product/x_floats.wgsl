// x in workgroup memory as floats, for any type of W.
override X_STAGE: u32 = 8u * PITCH;

var<workgroup> x_stage: array<vec4<f32>, X_STAGE>; // [8 quads of a block, PITCH]

// Copies `count` blocks of x from block `start` on; the squares of this thread's share.
fn stage(start: u32, count: u32, thread: u32) -> f32 {
    var squares = 0.0;
    let x_row = x_start();
    for (var i = thread; i < 8u * count; i += WG_SIZE) {
        // mutant (mat_vec): start * 32u + 4u * i => start * 16u + 4u * i
        let col = start * 32u + 4u * i;
        var quad = prepared_x(x_row, col);
        if NORM {
            squares += dot(quad, quad);
            quad *= load_norm(col);
        }
        x_stage[(i & 7u) * PITCH + i / 8u] = quad;
    }
    return squares;
}

// Adds the thread group's rows from `first` on times block `start + b` of x.
fn add_block(sums: ptr<function, array<f32, MAX_SUMS>>, first: u32, start: u32, b: u32) {
    var block: array<vec4<f32>, 8>;
    var halves = array<vec4<f32>, 2>();
    for (var k = 0u; k < 8u; k += 1u) {
        block[k] = x_stage[k * PITCH + b];
        // mutant (mat_vec): halves[k / 4u] => halves[k / 5u]
        halves[k / 4u] += block[k];
    }
    let x_sums = vec2<f32>(dot(halves[0], vec4<f32>(1.0)), dot(halves[1], vec4<f32>(1.0)));
    for (var group_row = 0u; group_row < ROWS_PER_GROUP; group_row += 1u) {
        (*sums)[group_row] += block_dot(weight_row(first, group_row) * BLOCKS + start + b, &block, x_sums);
    }
}
