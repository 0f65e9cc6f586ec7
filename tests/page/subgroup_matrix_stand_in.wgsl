// Stands in for shaders/device/shared/subgroup_matrix.wgsl where a browser has no subgroup matrices. A matrix is where
// it begins in the tile, which stays as it is until the next barrier. Of sums each of 32 threads has its own.
alias XMatrix = u32;
alias WMatrix = u32;
alias SumMatrix = array<f32, SHARE_OF_SUMS>;
const SHARE_OF_SUMS = M * N / 32u;

var<private> lane: u32; // the test's copy of main sets it

fn half_at_place(eight: u32, i: u32) -> f32 {
    let pair = unpack2x16float(tile[eight + i / 8u][i / 2u % 4u]);
    return select(pair.x, pair.y, (i & 1u) == 1u);
}

fn load_x_matrix(at: u32) -> XMatrix {
    return at;
}

fn load_w_matrix(at: u32) -> WMatrix {
    return at;
}

fn multiply_add(x: XMatrix, w: WMatrix, sum: SumMatrix) -> SumMatrix {
    var sums = sum;
    for (var i = 0u; i < SHARE_OF_SUMS; i += 1u) {
        let e = lane + 32u * i;
        for (var k = 0u; k < K; k += 1u) {
            sums[i] += half_at_place(x + e / N * PITCH, k) * half_at_place(w + e % N * PITCH, k);
        }
    }
    return sums;
}

fn store_sums(at: u32, sum: SumMatrix) {
    var sums = sum;
    for (var i = 0u; i < SHARE_OF_SUMS; i += 1u) {
        let e = lane + 32u * i;
        tile[at + e / 4u][e % 4u] = bitcast<u32>(sums[i]);
    }
}

fn halves_of(numbers: vec4<f32>) -> vec2<u32> {
    return vec2<u32>(pack2x16float(numbers.xy), pack2x16float(numbers.zw));
}
