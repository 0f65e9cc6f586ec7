// Attention in tiles of 64 queries and 64 keys with 8 × 8 scores in the registers of a thread: the walk over the keys,
// PARTS tiles at a time, with a running maximum (flash attention, Dao et al. 2022, arXiv 2205.14135).
//
// One workgroup computes 64 rows of one head. The 64 threads of a part compute the scores of a tile, then sums for 64
// columns of y over the keys of their group: the COLUMN_PARTS parts that have these columns' weights between them.
// There are GROUPS, each with keys of its own; their sums are joined at the end.
//
// The kernel declares HEAD_DIM, HEADS, PARTS, COLUMN_PARTS, BUFFERS, WG_SIZE, SCALE and SOFT_CAP, has `this_pass`, `q`,
// `y` and `params.elements`, and says with k_row_of, v_row_of, load_k, load_v and q_row_of where rows lie, and with
// all_scores what a row sees.

override ELEMENTS: u32 = HEAD_DIM / 8;
const LOG2_E = 1.442695;

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

// Queries · keysᵀ, of a tile for each part; the first begins at `key`. A thread fetches eight values of a key, and of
// two parts four of a query, while the products of those before are added up.
fn products(block: Block, key: u32, lane: u32) -> Sums {
    let part = lane / THREADS;
    let own = lane % THREADS;
    let k_row = k_row_of(block, key + lane);
    // mutant (attention_tiled): min(block.first + own, this_pass.rows - 1u) => block.first
    let q_row = q_row_of(block, min(block.first + own, this_pass.rows - 1u)) + part % 2u;
    let factor = select(SCALE * LOG2_E, SCALE, SOFT_CAP != 0.0);
    var eight = load_k(k_row, 0u);
    var four = q[q_row] * factor;
    var sums = Sums();
    workgroupBarrier();
    for (var i = 0u; i < params.elements; i++) {
        if BUFFERS == 1u {
            workgroupBarrier();
        }
        let buffer = i % BUFFERS;
        if part < 2u {
            stage_query(buffer * GROUPS, own, 4u * part, four);
        }
        stage_key(buffer * PARTS + part, own, unpack_eight(eight));
        workgroupBarrier();
        let next = min(i + 1u, params.elements - 1u);
        eight = load_k(k_row, next);
        four = q[q_row + 2u * next] * factor;
        multiply(&sums, buffer * GROUPS, buffer * PARTS + part, lane);
    }
    return sums;
}

// sums += weights · v, of the keys from `key` on. A slice are 8 keys of one part in each group, every fourth of half a
// tile: those of which a thread has the same of its eight weights.
fn accumulate(sums: ptr<function, Sums>, weights: ptr<function, Sums>, block: Block, key: u32, lane: u32) {
    let part = lane / THREADS;
    let group = part / COLUMN_PARTS;
    let step = lane % (THREADS * COLUMN_PARTS) / (SIDE * COLUMN_PARTS);
    let column = lane % (SIDE * COLUMN_PARTS); // an element of a value row
    let element = min(column, ELEMENTS - 1u);
    let first = key + group * COLUMN_PARTS * TILE + 4u * step;
    // The first group's keys: it has the most that any row sees.
    let seen = min((block.end - key + HALF - 1u) / HALF, 2u * COLUMN_PARTS) * 4u;
    var eight = load_v(v_row_of(block, first), element);
    workgroupBarrier();
    for (var i = 0u; i < seen; i++) {
        if BUFFERS == 1u {
            workgroupBarrier();
        }
        let buffer = i % BUFFERS;
        if part % COLUMN_PARTS == i / SIDE {
            stage_weights(buffer * GROUPS + group, weights, i % SIDE, lane);
        }
        stage_values(buffer * PARTS + group * COLUMN_PARTS + column / SIDE, step, column % SIDE, unpack_eight(eight));
        workgroupBarrier();
        // mutant (attention_tiled): (i + 1u) % 4u => i % 4u
        eight = load_v(v_row_of(block, first + (i + 1u) / 4u * HALF + (i + 1u) % 4u), element);
        multiply(sums, buffer * GROUPS + group, buffer * PARTS + part, lane);
    }
}

fn write(block: Block, row: u32, element: u32, low: vec4<f32>, high: vec4<f32>) {
    let to = block.first + row;
    // mutant (attention_tiled, attention_batch_tiled): to < this_pass.rows && => to <= this_pass.rows &&
    if to < this_pass.rows && element < ELEMENTS {
        let at = (to * HEADS + block.head) * 2u * ELEMENTS + 2u * element;
        y[at] = low;
        y[at + 1u] = high;
    }
}

// Computes the rows of a block. A thread's softmax begins with the maximum `high_0` and the sum `total_0`.
fn attend(block: Block, high_0: f32, total_0: f32, lane: u32) {
    let part = lane / THREADS;
    let own = 4u * (lane % THREADS / SIDE);         // first row of the thread's
    let own_key = part * TILE + 4u * (lane % SIDE); // and key
    var sums = Sums();
    var high = Rows(vec4<f32>(high_0), vec4<f32>(high_0));
    var total = Rows(vec4<f32>(total_0), vec4<f32>(total_0));
    for (var key = block.begin; key < block.end; key += TILE * PARTS) {
        var weights = products(block, key, lane);
        all_scores(&weights, block, own, key + own_key);
        let highest = highest_of(&weights, high, lane);
        all_weights(&weights, highest);
        let factor = Rows(exp2(high.low - highest.low), exp2(high.far - highest.far));
        // mutant (attention_tiled): factor); => Rows(vec4<f32>(1.0), vec4<f32>(1.0)));
        total = total_of(&weights, total, factor);
        high = highest;
        scale_rows(&sums, factor);
        accumulate(&sums, &weights, block, key, lane);
    }
    total = shared_total(total, lane);
    join_groups(&sums, lane);
    if part < COLUMN_PARTS {
        scale_rows(&sums, Rows(1.0 / total.low, 1.0 / total.far));
        write_all(&sums, block, own, part * SIDE + lane % SIDE);
    }
}
