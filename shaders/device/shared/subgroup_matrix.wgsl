// Loads a subgroup's matrices from the tile in workgroup memory and stores them. They are an experiment of Chromium
// (flag `allow_unsafe_apis`) whose names may change: only this file uses these names.
alias XMatrix = subgroup_matrix_left<f16, K, M>;    // M tokens, K columns
alias WMatrix = subgroup_matrix_right<f16, N, K>;   // K columns, N rows of W
alias SumMatrix = subgroup_matrix_result<f32, N, M>; // M tokens, N rows of W

// `at` counts eights of the tile. The bound, which is never reached, proves to the compiler that no load needs a check:
// without it the product took 1.2 to 1.5 times as long.
const LAST = (TILE_TOKENS + TILE_ROWS - max(M, N)) * PITCH + X_EIGHTS - K / 8u;

fn load_x_matrix(at: u32) -> XMatrix {
    return subgroupMatrixLoad<XMatrix, row_major>(&tile, min(at, LAST), PITCH);
}

fn load_w_matrix(at: u32) -> WMatrix {
    // mutant (mat_mul_subgroup_matrix): min(at, LAST) => min(at, LAST - N * PITCH)
    // mutant (mat_mul_subgroup_matrix): WMatrix, col_major => WMatrix, row_major
    return subgroupMatrixLoad<WMatrix, col_major>(&tile, min(at, LAST), PITCH);
}

fn multiply_add(x: XMatrix, w: WMatrix, sum: SumMatrix) -> SumMatrix {
    return subgroupMatrixMultiplyAccumulate(x, w, sum);
}

// Four sums, f32, take the place of an eight.
fn store_sums(at: u32, sum: SumMatrix) {
    subgroupMatrixStore<row_major>(&tile, at, sum, N / 4u);
}

// Four numbers as f16, in two words.
fn halves_of(numbers: vec4<f32>) -> vec2<u32> {
    return bitcast<vec2<u32>>(vec4<f16>(numbers));
}
