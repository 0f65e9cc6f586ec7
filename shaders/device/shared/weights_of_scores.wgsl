// What two threads do to a row of 32 scores: mask it, find the highest, and turn it into weights.

const LOG2_E = 1.442695;
const MOST_ABOVE = 8.0; // of a score over `high`: weights reach 2^8, and f16 65,504
const QUARTERS = 4u;    // of a thread's scores, four each

// A thread's place: its subgroup, and which row and half of a row of scores is its own.
struct Place {
    subgroup: u32,
    row: u32,         // of the workgroup's
    half: u32,
    scores_at: u32,   // the subgroup's in `scores`
    own_at: u32,      // the thread's
    weights_at: u32,  // in `weights`
    seen: vec2<u32>,  // first key that its row sees, and one past the last
    by_all: vec2<u32>, // that all rows of its subgroup see
}

fn place_of(block: Block, thread: u32) -> Place {
    let subgroup = thread / 32u;
    let row = thread / 2u;
    let half = thread % 2u;
    // Neither end shrinks from one row to the next.
    // mutant (attention_subgroup_matrix): seen_by(block, M * subgroup + M - 1u).x => seen_by(block, M * subgroup).x
    // mutant (attention_subgroup_matrix): seen_by(block, M * subgroup).y => block.end
    let by_all = vec2<u32>(seen_by(block, M * subgroup + M - 1u).x, seen_by(block, M * subgroup).y);
    let own_at = row * SCORE_PITCH + half * QUARTERS;
    let weights_at = row * WEIGHT_PITCH + 2u * half;
    return Place(subgroup, row, half, subgroup * M * SCORE_PITCH, own_at, weights_at, seen_by(block, row), by_all);
}

// Scores, or weights, of a thread. Spelt out, so that they stay in registers.
struct HalfRow {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

fn capped(four: vec4<f32>) -> vec4<f32> {
    var result = four;
    for (var i = 0u; i < 4u; i++) {
        // mutant (attention_subgroup_matrix): SOFT_CAP) * LOG2_E => SOFT_CAP)
        result[i] = soft_cap(four[i], SOFT_CAP) * LOG2_E;
    }
    return result;
}

// The scores of a thread in units of ln 2.
fn read_scores(at: u32) -> HalfRow {
    // mutant (attention_subgroup_matrix): scores[at + 3u] => scores[at + 2u]
    let row = HalfRow(scores[at], scores[at + 1u], scores[at + 2u], scores[at + 3u]);
    if SOFT_CAP != 0.0 {
        return HalfRow(capped(row.a), capped(row.b), capped(row.c), capped(row.d));
    }
    return row;
}

fn mask_four(four: vec4<f32>, seen: vec2<u32>, key: u32) -> vec4<f32> {
    let keys = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(LOWEST), four, (keys >= vec4<u32>(seen.x)) & (keys < vec4<u32>(seen.y)));
}

// The scores with LOWEST for keys that the row does not see. `key` is the first of the tile.
fn masked(row: HalfRow, place: Place, key: u32) -> HalfRow {
    // Most tiles have no key that a row does not see.
    // mutant (attention_subgroup_matrix): key + KEYS <= place.by_all.y => key < place.by_all.y
    if key >= place.by_all.x && key + KEYS <= place.by_all.y {
        return row;
    }
    let own = key + 16u * place.half;
    return HalfRow(
        mask_four(row.a, place.seen, own),
        mask_four(row.b, place.seen, own + 4u),
        mask_four(row.c, place.seen, own + 8u),
        mask_four(row.d, place.seen, own + 12u),
    );
}

fn highest_in(row: HalfRow) -> f32 {
    let four = max(max(row.a, row.b), max(row.c, row.d));
    return max(max(four.x, four.y), max(four.z, four.w));
}

fn weights_of(row: HalfRow, high: f32) -> HalfRow {
    return HalfRow(exp2(row.a - high), exp2(row.b - high), exp2(row.c - high), exp2(row.d - high));
}

fn total_in(row: HalfRow) -> f32 {
    let four = (row.a + row.b) + (row.c + row.d);
    return (four.x + four.y) + (four.z + four.w);
}

fn put_weights(at: u32, row: HalfRow) {
    weights[at] = halves_of(Eight(row.a, row.b));
    // mutant (attention_subgroup_matrix): Eight(row.c, row.d) => Eight(row.a, row.b)
    weights[at + 1u] = halves_of(Eight(row.c, row.d));
}
