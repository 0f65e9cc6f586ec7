// Loads a subgroup's matrices from the tiles in workgroup memory and stores them. They are an experiment of Chromium
// (flag `allow_unsafe_apis`) whose names may change: only this file uses these names.
alias XMatrix = subgroup_matrix_left<f16, K, M>;    // M tokens, K columns
alias WMatrix = subgroup_matrix_right<f16, N, K>;   // K columns, N rows of W
alias SumMatrix = subgroup_matrix_result<f32, N, M>; // M tokens, N rows of W

// `at` counts vec4 of the tiles. The bound, which is never reached, proves to the compiler that no load needs a check:
// without it the product took 1.2 to 1.5 times as long.
fn load_x_matrix(at: u32) -> XMatrix {
    let last = (TILE_TOKENS - M) * QUADS + 8u * STEP - K / 4u;
    return subgroupMatrixLoad<XMatrix, row_major>(&x_tile, min(at, last), QUADS);
}

fn load_w_matrix(at: u32) -> WMatrix {
    // mutant (mat_mul_subgroup_matrix): (TILE_ROWS - N) * QUADS => (TILE_ROWS - 2u * N) * QUADS
    let last = (TILE_ROWS - N) * QUADS + 8u * STEP - K / 4u;
    // mutant (mat_mul_subgroup_matrix): WMatrix, col_major => WMatrix, row_major
    return subgroupMatrixLoad<WMatrix, col_major>(&w_tile, min(at, last), QUADS);
}

fn multiply_add(x: XMatrix, w: WMatrix, sum: SumMatrix) -> SumMatrix {
    return subgroupMatrixMultiplyAccumulate(x, w, sum);
}

// `at` counts numbers of y_tile.
fn store_sums(at: u32, sum: SumMatrix) {
    subgroupMatrixStore<row_major>(&y_tile, at, sum, N);
}

// Four f16 of two words.
fn halves_of(words: vec2<u32>) -> vec4<f16> {
    return bitcast<vec4<f16>>(words);
}
