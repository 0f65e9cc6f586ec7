// Loads and stores the matrices of attention. As in `subgroup_matrix`, only this file uses the names of Chromium's
// experiment.
alias RowMatrix = subgroup_matrix_left<f16, M, M>;
alias KeyMatrix = subgroup_matrix_right<f16, M, M>;
alias SumMatrix = subgroup_matrix_result<f32, M, M>;

fn load_query(at: u32) -> RowMatrix {
    return subgroupMatrixLoad<RowMatrix, row_major>(&tile, at, PITCH);
}

// 16 values of 16 keys: rows of the tile are columns of the matrix.
fn load_key(at: u32) -> KeyMatrix {
    // mutant (attention_subgroup_matrix): KeyMatrix, col_major => KeyMatrix, row_major
    return subgroupMatrixLoad<KeyMatrix, col_major>(&tile, at, PITCH);
}

fn load_values(at: u32) -> KeyMatrix {
    return subgroupMatrixLoad<KeyMatrix, row_major>(&tile, at, PITCH);
}

fn load_weights(at: u32) -> RowMatrix {
    return subgroupMatrixLoad<RowMatrix, row_major>(&weights, at, WEIGHT_PITCH);
}

fn multiply_add(row: RowMatrix, keys: KeyMatrix, sum: SumMatrix) -> SumMatrix {
    return subgroupMatrixMultiplyAccumulate(row, keys, sum);
}

fn load_sums(at: u32) -> SumMatrix {
    return subgroupMatrixLoad<SumMatrix, row_major>(&scores, at, SCORE_PITCH);
}

fn store_sums(at: u32, sum: SumMatrix) {
    subgroupMatrixStore<row_major>(&scores, at, sum, SCORE_PITCH);
}

// Eight numbers as f16; those beyond its range become its largest.
fn halves_of(eight: Eight) -> vec4<u32> {
    let low = clamp(eight.low, vec4<f32>(-65504.0), vec4<f32>(65504.0));
    let high = clamp(eight.high, vec4<f32>(-65504.0), vec4<f32>(65504.0));
    return vec4<u32>(bitcast<vec2<u32>>(vec4<f16>(low)), bitcast<vec2<u32>>(vec4<f16>(high)));
}
