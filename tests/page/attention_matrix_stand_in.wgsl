// Stands in for shaders/device/shared/subgroup_matrix_16.wgsl where a browser has no subgroup matrices. Each thread has
// a copy of the rows, since the tile changes, and of sums its own 8; of keys or values it knows where they begin.
alias RowMatrix = array<vec4<u32>, 32>; // [16, 2] eights
alias SumMatrix = array<f32, 8>;

struct KeyMatrix {
    at: u32,
    are_values: bool,
}

var<private> lane: u32; // the test's copy of main sets it

fn half_in(eight: vec4<u32>, i: u32) -> f32 {
    let pair = unpack2x16float(eight[i / 2u]);
    return select(pair.x, pair.y, (i & 1u) == 1u);
}

fn load_query(at: u32) -> RowMatrix {
    var rows: RowMatrix;
    for (var i = 0u; i < 32u; i++) {
        rows[i] = tile[at + i / 2u * PITCH + i % 2u];
    }
    return rows;
}

fn load_weights(at: u32) -> RowMatrix {
    var rows: RowMatrix;
    for (var i = 0u; i < 32u; i++) {
        rows[i] = weights[at + i / 2u * WEIGHT_PITCH + i % 2u];
    }
    return rows;
}

fn load_key(at: u32) -> KeyMatrix {
    return KeyMatrix(at, false);
}

fn load_values(at: u32) -> KeyMatrix {
    return KeyMatrix(at, true);
}

fn multiply_add(row: RowMatrix, keys: KeyMatrix, sum: SumMatrix) -> SumMatrix {
    var rows = row;
    var sums = sum;
    for (var i = 0u; i < 8u; i++) {
        let e = lane + 32u * i;
        let c = e % M;
        for (var k = 0u; k < M; k++) {
            let of_key = half_in(tile[keys.at + c * PITCH + k / 8u], k % 8u);
            let of_value = half_in(tile[keys.at + k * PITCH + c / 8u], c % 8u);
            sums[i] += half_in(rows[e / M * 2u + k / 8u], k % 8u) * select(of_key, of_value, keys.are_values);
        }
    }
    return sums;
}

fn load_sums(at: u32) -> SumMatrix {
    var sums: SumMatrix;
    for (var i = 0u; i < 8u; i++) {
        let e = lane + 32u * i;
        sums[i] = scores[at + e / M * SCORE_PITCH + e % M / 4u][e % 4u];
    }
    return sums;
}

fn store_sums(at: u32, sum: SumMatrix) {
    var sums = sum;
    for (var i = 0u; i < 8u; i++) {
        let e = lane + 32u * i;
        scores[at + e / M * SCORE_PITCH + e % M / 4u][e % 4u] = sums[i];
    }
}

fn halves_of(eight: Eight) -> vec4<u32> {
    return vec4<u32>(
        pack2x16float(eight.low.xy),
        pack2x16float(eight.low.zw),
        pack2x16float(eight.high.xy),
        pack2x16float(eight.high.zw),
    );
}
