// The products of attention on subgroup matrices of 16 × 16, up to eight along a head. They are written out one by one:
// matrices that a loop indexes do not stay in registers. The kernel declares HEAD_DIM.

const M = 16u;       // rows of a subgroup, and both sides of a matrix
const KEYS = 32u;    // of a step
const ROWS = 64u;    // of a workgroup
const THREADS = 128u;

override EIGHTS: u32 = (HEAD_DIM + 15) / 16 * 2; // of a head in whole matrices
override PITCH: u32 = EIGHTS + 1; // of a row of the tile, in eights: one more, so that rows are in other banks
override TILE: u32 = ROWS * PITCH;
const KEYS_AT = 0u;
override VALUES_AT: u32 = KEYS * PITCH;
const SCORE_PITCH = KEYS / 4u + 1u;     // of a row of scores, in fours
const WEIGHT_PITCH = KEYS / 8u + 1u;    // of a row of weights, in eights

var<workgroup> tile: array<vec4<u32>, TILE>; // queries [ROWS, PITCH], then keys and values [KEYS, PITCH] each, as f16
var<workgroup> scores: array<vec4<f32>, ROWS * SCORE_PITCH>;   // [ROWS, KEYS]
var<workgroup> weights: array<vec4<u32>, ROWS * WEIGHT_PITCH>; // [ROWS, KEYS], f16

#import subgroup_matrix_16

alias Queries = array<RowMatrix, 8>; // [HEAD_DIM / 16], rounded up
alias Sums = array<SumMatrix, 8>;

fn load_queries(subgroup: u32) -> Queries {
    var queries: Queries;
    let at = subgroup * M * PITCH;
    queries[0] = load_query(at);
    if HEAD_DIM > 16u {
        queries[1] = load_query(at + 2u);
    }
    if HEAD_DIM > 32u {
        queries[2] = load_query(at + 4u);
    }
    if HEAD_DIM > 48u {
        queries[3] = load_query(at + 6u);
    }
    if HEAD_DIM > 64u {
        queries[4] = load_query(at + 8u);
    }
    if HEAD_DIM > 80u {
        queries[5] = load_query(at + 10u);
    }
    if HEAD_DIM > 96u {
        queries[6] = load_query(at + 12u);
    }
    if HEAD_DIM > 112u {
        queries[7] = load_query(at + 14u);
    }
    return queries;
}

// Scores of 16 keys, whose rows begin at `at`.
fn scores_of(queries: Queries, at: u32) -> SumMatrix {
    var sum: SumMatrix;
    sum = multiply_add(queries[0], load_key(at), sum);
    if HEAD_DIM > 16u {
        sum = multiply_add(queries[1], load_key(at + 2u), sum);
    }
    if HEAD_DIM > 32u {
        sum = multiply_add(queries[2], load_key(at + 4u), sum);
    }
    if HEAD_DIM > 48u {
        // mutant (attention_subgroup_matrix): load_key(at + 6u) => load_key(at + 4u)
        sum = multiply_add(queries[3], load_key(at + 6u), sum);
    }
    if HEAD_DIM > 64u {
        sum = multiply_add(queries[4], load_key(at + 8u), sum);
    }
    if HEAD_DIM > 80u {
        sum = multiply_add(queries[5], load_key(at + 10u), sum);
    }
    if HEAD_DIM > 96u {
        sum = multiply_add(queries[6], load_key(at + 12u), sum);
    }
    if HEAD_DIM > 112u {
        sum = multiply_add(queries[7], load_key(at + 14u), sum);
    }
    return sum;
}

fn store_pair(at: u32, low: SumMatrix, high: SumMatrix) {
    store_sums(at, low);
    store_sums(at + 4u, high);
}

// Writes the scores of a subgroup's rows and the tile's keys.
fn multiply_keys(queries: Queries, at: u32) {
    store_pair(at, scores_of(queries, KEYS_AT), scores_of(queries, KEYS_AT + M * PITCH));
}

// sums += weights · values, of the 16 keys `first` to `first` + 15.
fn add_values(sums: ptr<function, Sums>, subgroup: u32, first: u32) {
    let weight = load_weights((subgroup * M) * WEIGHT_PITCH + first / 8u);
    let at = VALUES_AT + first * PITCH;
    (*sums)[0] = multiply_add(weight, load_values(at), (*sums)[0]);
    if HEAD_DIM > 16u {
        (*sums)[1] = multiply_add(weight, load_values(at + 2u), (*sums)[1]);
    }
    if HEAD_DIM > 32u {
        (*sums)[2] = multiply_add(weight, load_values(at + 4u), (*sums)[2]);
    }
    if HEAD_DIM > 48u {
        (*sums)[3] = multiply_add(weight, load_values(at + 6u), (*sums)[3]);
    }
    if HEAD_DIM > 64u {
        (*sums)[4] = multiply_add(weight, load_values(at + 8u), (*sums)[4]);
    }
    if HEAD_DIM > 80u {
        // mutant (attention_subgroup_matrix): load_values(at + 10u) => load_values(at + 8u)
        (*sums)[5] = multiply_add(weight, load_values(at + 10u), (*sums)[5]);
    }
    if HEAD_DIM > 96u {
        (*sums)[6] = multiply_add(weight, load_values(at + 12u), (*sums)[6]);
    }
    if HEAD_DIM > 112u {
        (*sums)[7] = multiply_add(weight, load_values(at + 14u), (*sums)[7]);
    }
}

fn multiply_values(sums: ptr<function, Sums>, subgroup: u32) {
    add_values(sums, subgroup, 0u);
    add_values(sums, subgroup, M);
}

// Scales what a thread has of 32 columns, which pass through `scores`.
fn scale_pair(place: Place, low: SumMatrix, high: SumMatrix, factor: f32) -> array<SumMatrix, 2> {
    workgroupBarrier();
    store_pair(place.scores_at, low, high);
    workgroupBarrier();
    for (var i = 0u; i < QUARTERS; i++) {
        scores[place.own_at + i] *= factor;
    }
    workgroupBarrier();
    return array<SumMatrix, 2>(load_sums(place.scores_at), load_sums(place.scores_at + 4u));
}

fn scale_sums(sums: ptr<function, Sums>, place: Place, factor: f32) {
    let pair_0 = scale_pair(place, (*sums)[0], (*sums)[1], factor);
    (*sums)[0] = pair_0[0];
    (*sums)[1] = pair_0[1];
    if HEAD_DIM > 32u {
        let pair_1 = scale_pair(place, (*sums)[2], (*sums)[3], factor);
        (*sums)[2] = pair_1[0];
        (*sums)[3] = pair_1[1];
    }
    if HEAD_DIM > 64u {
        let pair_2 = scale_pair(place, (*sums)[4], (*sums)[5], factor);
        (*sums)[4] = pair_2[0];
        (*sums)[5] = pair_2[1];
    }
    if HEAD_DIM > 96u {
        let pair_3 = scale_pair(place, (*sums)[6], (*sums)[7], factor);
        (*sums)[6] = pair_3[0];
        (*sums)[7] = pair_3[1];
    }
}
