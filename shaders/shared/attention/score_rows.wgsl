// What a thread does to its 8 × 8 scores and sums, row by row. Spelt out, so that they stay in registers.

// Numbers of a thread's eight rows: of the first four, and of those half a tile behind them.
struct Rows {
    low: vec4<f32>,
    far: vec4<f32>,
}

// Masks all rows by the kernel's mask_row: `row` and `key` are the first of the thread's.
fn mask_rows(s: ptr<function, Sums>, row: u32, key: u32) {
    mask_row(s, 0u, row, key);
    mask_row(s, 1u, row + 1u, key);
    mask_row(s, 2u, row + 2u, key);
    mask_row(s, 3u, row + 3u, key);
    mask_row(s, 4u, row + HALF, key);
    mask_row(s, 5u, row + HALF + 1u, key);
    mask_row(s, 6u, row + HALF + 2u, key);
    mask_row(s, 7u, row + HALF + 3u, key);
}

fn weigh_row(s: ptr<function, Sums>, r: u32, highest: f32) {
    (*s)[2u * r] = exp2((*s)[2u * r] - highest);
    (*s)[2u * r + 1u] = exp2((*s)[2u * r + 1u] - highest);
}

// Scores become weights.
fn all_weights(s: ptr<function, Sums>, highest: Rows) {
    weigh_row(s, 0u, highest.low.x);
    weigh_row(s, 1u, highest.low.y);
    weigh_row(s, 2u, highest.low.z);
    weigh_row(s, 3u, highest.low.w);
    weigh_row(s, 4u, highest.far.x);
    weigh_row(s, 5u, highest.far.y);
    weigh_row(s, 6u, highest.far.z);
    weigh_row(s, 7u, highest.far.w);
}

fn scale_row(s: ptr<function, Sums>, r: u32, factor: f32) {
    (*s)[2u * r] *= factor;
    (*s)[2u * r + 1u] *= factor;
}

fn scale_rows(s: ptr<function, Sums>, factor: Rows) {
    scale_row(s, 0u, factor.low.x);
    scale_row(s, 1u, factor.low.y);
    scale_row(s, 2u, factor.low.z);
    scale_row(s, 3u, factor.low.w);
    scale_row(s, 4u, factor.far.x);
    scale_row(s, 5u, factor.far.y);
    scale_row(s, 6u, factor.far.z);
    scale_row(s, 7u, factor.far.w);
}

fn highest_in(s: ptr<function, Sums>, r: u32) -> f32 {
    let both = max((*s)[2u * r], (*s)[2u * r + 1u]);
    return max(max(both.x, both.y), max(both.z, both.w));
}

fn total_in(s: ptr<function, Sums>, r: u32) -> f32 {
    let both = (*s)[2u * r] + (*s)[2u * r + 1u];
    return both.x + both.y + both.z + both.w;
}

// Leaves numbers of each thread's rows in workgroup memory, for those that share them.
fn share(rows: Rows, lane: u32) {
    let tx = lane % SIDE;
    let quad = lane % THREADS / SIDE;
    workgroupBarrier();
    b_tile[lane / THREADS][tx][quad] = rows.low;
    b_tile[lane / THREADS][tx][quad + SIDE] = rows.far;
    workgroupBarrier();
}

// The highest scores of the rows, so far and now.
fn highest_of(s: ptr<function, Sums>, before: Rows, lane: u32) -> Rows {
    let low = vec4<f32>(highest_in(s, 0u), highest_in(s, 1u), highest_in(s, 2u), highest_in(s, 3u));
    let far = vec4<f32>(highest_in(s, 4u), highest_in(s, 5u), highest_in(s, 6u), highest_in(s, 7u));
    share(Rows(low, far), lane);
    let quad = lane % THREADS / SIDE;
    var highest = before;
    for (var i = 0u; i < SIDE * PARTS; i++) {
        highest.low = max(highest.low, b_tile[i / SIDE][i % SIDE][quad]);
        highest.far = max(highest.far, b_tile[i / SIDE][i % SIDE][quad + SIDE]);
    }
    return highest;
}

// The sums of a thread's weights, so far and now.
fn total_of(s: ptr<function, Sums>, before: Rows, factor: Rows) -> Rows {
    let low = vec4<f32>(total_in(s, 0u), total_in(s, 1u), total_in(s, 2u), total_in(s, 3u));
    let far = vec4<f32>(total_in(s, 4u), total_in(s, 5u), total_in(s, 6u), total_in(s, 7u));
    return Rows(before.low * factor.low + low, before.far * factor.far + far);
}

// The sums of all threads that share rows.
fn shared_total(own: Rows, lane: u32) -> Rows {
    share(own, lane);
    let quad = lane % THREADS / SIDE;
    var total = Rows();
    // mutant (attention_tiled): SIDE * PARTS => SIDE
    for (var i = 0u; i < SIDE * PARTS; i++) {
        total.low += b_tile[i / SIDE][i % SIDE][quad];
        total.far += b_tile[i / SIDE][i % SIDE][quad + SIDE];
    }
    return total;
}

// The place of sum `at` among the sums that threads hand over.
fn hand_over(at: u32, sum: vec4<f32>) {
    b_tile[at / (QUADS * DEPTH)][at / QUADS % DEPTH][at % QUADS] = sum;
}

fn handed(at: u32) -> vec4<f32> {
    return b_tile[at / (QUADS * DEPTH)][at / QUADS % DEPTH][at % QUADS];
}

// Adds four sums of the threads of a group, from the number n on, to those of the first group.
fn join_four(s: ptr<function, Sums>, n: u32, group: u32, lane: u32) {
    let threads = THREADS * COLUMN_PARTS;
    let at = lane % threads;
    workgroupBarrier();
    if lane / threads == group {
        hand_over(at, (*s)[n]);
        hand_over(at + threads, (*s)[n + 1u]);
        hand_over(at + 2u * threads, (*s)[n + 2u]);
        hand_over(at + 3u * threads, (*s)[n + 3u]);
    }
    workgroupBarrier();
    if lane < threads {
        (*s)[n] += handed(at);
        (*s)[n + 1u] += handed(at + threads);
        (*s)[n + 2u] += handed(at + 2u * threads);
        (*s)[n + 3u] += handed(at + 3u * threads);
    }
}

fn join_groups(s: ptr<function, Sums>, lane: u32) {
    for (var group = 1u; group < GROUPS; group++) {
        join_four(s, 0u, group, lane);
        join_four(s, 4u, group, lane);
        join_four(s, 8u, group, lane);
        // mutant (attention_tiled): 12u => 8u
        join_four(s, 12u, group, lane);
    }
}

// Writes a thread's sums: `row` is its first row, `element` its eight columns.
fn write_all(s: ptr<function, Sums>, block: Block, row: u32, element: u32) {
    write(block, row, element, (*s)[0], (*s)[1]);
    write(block, row + 1u, element, (*s)[2], (*s)[3]);
    write(block, row + 2u, element, (*s)[4], (*s)[5]);
    write(block, row + 3u, element, (*s)[6], (*s)[7]);
    write(block, row + HALF, element, (*s)[8], (*s)[9]);
    write(block, row + HALF + 1u, element, (*s)[10], (*s)[11]);
    write(block, row + HALF + 2u, element, (*s)[12], (*s)[13]);
    write(block, row + HALF + 3u, element, (*s)[14], (*s)[15]);
}
