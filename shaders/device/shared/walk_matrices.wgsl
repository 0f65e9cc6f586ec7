// Attention on subgroup matrices: the walk over the keys, 32 at a time (flash attention, Dao et al. 2022,
// arXiv 2205.14135).
//
// A workgroup is four subgroups of 32 threads, each with 16 rows of one head; all read the same keys and values. The
// elements of a matrix belong to no thread that a shader can name, so scores pass through workgroup memory, where two
// threads turn a row of 32 into weights.
//
// The sums stay in matrices. A weight is 2^(score - high); `high` of a row follows its highest score only when this
// exceeds it by more than 8, so that weights reach 2^8 at most, and only then the sums pass through memory, too.
//
// The kernel declares HEAD_DIM, HEADS, SCALE and SOFT_CAP, has `this_pass`, `q` and `y`, and says with q_row_of,
// k_row_of, v_row_of, load_k and load_v where rows lie, with halves_in what eight values are in f16, and with seen_by
// what a row sees.

override ELEMENTS: u32 = HEAD_DIM / 8;

// What a workgroup computes.
struct Block {
    head: u32,
    first: u32,  // row of the pass
    k_at: u32,   // element of k where the keys of its sequence and head begin
    v_at: u32,
    before: u32, // keys before the first row's own
    begin: u32,  // first key that any of its rows sees
    end: u32,    // one past the last one
}

// Whether a row has met a score far above its `high`.
var<workgroup> has_grown: atomic<u32>;

#import staged_tiles

// Writes the weighted sums of 32 columns of the thread's row, half of each, from the column 32 * `pair` on.
fn write_pair(pair: u32, low: SumMatrix, high: SumMatrix, block: Block, place: Place, inverse: f32) {
    workgroupBarrier();
    store_pair(place.scores_at, low, high);
    workgroupBarrier();
    let row = block.first + place.row;
    for (var i = 0u; i < QUARTERS; i++) {
        let quad = 8u * pair + QUARTERS * place.half + i;
        // mutant (attention_subgroup_matrix): row < this_pass.rows && => row <= this_pass.rows &&
        if row < this_pass.rows && quad < 2u * ELEMENTS {
            y[(row * HEADS + block.head) * 2u * ELEMENTS + quad] = inverse * scores[place.own_at + i];
        }
    }
}

fn write_sums(sums: ptr<function, Sums>, block: Block, place: Place, inverse: f32) {
    write_pair(0u, (*sums)[0], (*sums)[1], block, place, inverse);
    if HEAD_DIM > 32u {
        write_pair(1u, (*sums)[2], (*sums)[3], block, place, inverse);
    }
    if HEAD_DIM > 64u {
        write_pair(2u, (*sums)[4], (*sums)[5], block, place, inverse);
    }
    if HEAD_DIM > 96u {
        write_pair(3u, (*sums)[6], (*sums)[7], block, place, inverse);
    }
}

// Brings the queries into matrices, the first keys into workgroup memory, and starts to fetch what follows.
fn start(keys: ptr<function, Share>, values: ptr<function, Share>, block: Block, place: Place, thread: u32) -> Queries {
    stage_queries(block, thread);
    if thread == 0u {
        atomicStore(&has_grown, 0u);
    }
    fetch_keys(keys, block, block.begin, thread);
    workgroupBarrier();
    let queries = load_queries(place.subgroup);
    workgroupBarrier();
    put(keys, KEYS_AT, thread);
    fetch_keys(keys, block, block.begin + KEYS, thread);
    fetch_values(values, block, block.begin, thread);
    workgroupBarrier();
    return queries;
}

// Computes the rows of a block. The softmax of a thread's row begins with `high_0`, and its share of it with `total_0`.
fn attend(block: Block, high_0: f32, total_0: f32, thread: u32) {
    let place = place_of(block, thread);
    var keys: Share;
    var values: Share;
    let queries = start(&keys, &values, block, place, thread);
    var sums: Sums;
    var high = high_0;
    var total = total_0;
    for (var key = block.begin; key < block.end; key += KEYS) {
        multiply_keys(queries, place.scores_at);
        workgroupBarrier();
        // All have read these keys, and the values before.
        put(&keys, KEYS_AT, thread);
        put(&values, VALUES_AT, thread);
        fetch_keys(&keys, block, key + 2u * KEYS, thread);
        fetch_values(&values, block, key + KEYS, thread);
        let row_scores = masked(read_scores(place.own_at), place, key);
        let own = highest_in(row_scores);
        let highest = max(own, subgroupShuffleXor(own, 1u));
        if highest > high + MOST_ABOVE {
            atomicStore(&has_grown, 1u);
        }
        var row_weights = weights_of(row_scores, high);
        put_weights(place.weights_at, row_weights);
        if workgroupUniformLoad(&has_grown) != 0u {
            if thread == 0u {
                atomicStore(&has_grown, 0u);
            }
            let next = max(highest, high);
            let factor = exp2(high - next);
            high = next;
            // mutant (attention_subgroup_matrix): total *= factor; => total *= 1.0;
            total *= factor;
            row_weights = weights_of(row_scores, high);
            put_weights(place.weights_at, row_weights);
            if key != block.begin {
                scale_sums(&sums, place, factor);
            }
            workgroupBarrier();
        }
        total += total_in(row_weights);
        multiply_values(&sums, place.subgroup);
    }
    total += subgroupShuffleXor(total, 1u);
    write_sums(&sums, block, place, 1.0 / total);
}
