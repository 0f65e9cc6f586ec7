// What a thread does to its 8 × 8 scores, row by row. Spelt out, so that they stay in registers.

// Numbers of a thread's eight rows: of the first four, and of those half a tile behind them.
struct Rows {
    low: vec4<f32>,
    far: vec4<f32>,
}

// Products become scores; `row` and `key` are the first of the thread.
fn all_scores(s: ptr<function, Sums>, head: u32, row: u32, key: u32) {
    (*s)[0] = scores_of((*s)[0], head, row, key);
    (*s)[1] = scores_of((*s)[1], head, row, key + HALF);
    (*s)[2] = scores_of((*s)[2], head, row + 1u, key);
    (*s)[3] = scores_of((*s)[3], head, row + 1u, key + HALF);
    (*s)[4] = scores_of((*s)[4], head, row + 2u, key);
    (*s)[5] = scores_of((*s)[5], head, row + 2u, key + HALF);
    (*s)[6] = scores_of((*s)[6], head, row + 3u, key);
    (*s)[7] = scores_of((*s)[7], head, row + 3u, key + HALF);
    (*s)[8] = scores_of((*s)[8], head, row + HALF, key);
    (*s)[9] = scores_of((*s)[9], head, row + HALF, key + HALF);
    (*s)[10] = scores_of((*s)[10], head, row + HALF + 1u, key);
    (*s)[11] = scores_of((*s)[11], head, row + HALF + 1u, key + HALF);
    (*s)[12] = scores_of((*s)[12], head, row + HALF + 2u, key);
    (*s)[13] = scores_of((*s)[13], head, row + HALF + 2u, key + HALF);
    (*s)[14] = scores_of((*s)[14], head, row + HALF + 3u, key);
    (*s)[15] = scores_of((*s)[15], head, row + HALF + 3u, key + HALF);
}

fn weights_of(scores: vec4<f32>, highest: f32) -> vec4<f32> {
    // mutant (compute/attention_forward): scores > vec4<f32>(-2.0e38) => scores < vec4<f32>(2.0e38)
    return select(vec4<f32>(), exp(scores - highest), scores > vec4<f32>(-2.0e38));
}

// Scores become weights.
fn all_weights(s: ptr<function, Sums>, highest: Rows) {
    (*s)[0] = weights_of((*s)[0], highest.low.x);
    (*s)[1] = weights_of((*s)[1], highest.low.x);
    (*s)[2] = weights_of((*s)[2], highest.low.y);
    (*s)[3] = weights_of((*s)[3], highest.low.y);
    (*s)[4] = weights_of((*s)[4], highest.low.z);
    (*s)[5] = weights_of((*s)[5], highest.low.z);
    (*s)[6] = weights_of((*s)[6], highest.low.w);
    (*s)[7] = weights_of((*s)[7], highest.low.w);
    (*s)[8] = weights_of((*s)[8], highest.far.x);
    (*s)[9] = weights_of((*s)[9], highest.far.x);
    (*s)[10] = weights_of((*s)[10], highest.far.y);
    (*s)[11] = weights_of((*s)[11], highest.far.y);
    (*s)[12] = weights_of((*s)[12], highest.far.z);
    (*s)[13] = weights_of((*s)[13], highest.far.z);
    (*s)[14] = weights_of((*s)[14], highest.far.w);
    (*s)[15] = weights_of((*s)[15], highest.far.w);
}

fn scale_rows(s: ptr<function, Sums>, factor: Rows) {
    (*s)[0] *= factor.low.x;
    (*s)[1] *= factor.low.x;
    (*s)[2] *= factor.low.y;
    (*s)[3] *= factor.low.y;
    (*s)[4] *= factor.low.z;
    (*s)[5] *= factor.low.z;
    (*s)[6] *= factor.low.w;
    (*s)[7] *= factor.low.w;
    (*s)[8] *= factor.far.x;
    (*s)[9] *= factor.far.x;
    (*s)[10] *= factor.far.y;
    (*s)[11] *= factor.far.y;
    (*s)[12] *= factor.far.z;
    (*s)[13] *= factor.far.z;
    (*s)[14] *= factor.far.w;
    (*s)[15] *= factor.far.w;
}

fn inverse(total: vec4<f32>) -> vec4<f32> {
    return select(vec4<f32>(), 1.0 / total, total > vec4<f32>());
}

fn largest(a: vec4<f32>, b: vec4<f32>) -> f32 {
    let both = max(a, b);
    return max(max(both.x, both.y), max(both.z, both.w));
}

fn sum_of(a: vec4<f32>, b: vec4<f32>) -> f32 {
    let both = a + b;
    return both.x + both.y + both.z + both.w;
}

// Leaves numbers of each thread's rows in workgroup memory, for those that share them.
fn share(rows: Rows, lane: u32) {
    let at = (lane / THREADS * SIDE + lane % SIDE) * QUADS + lane % THREADS / SIDE;
    workgroupBarrier();
    b_tile[at] = rows.low;
    b_tile[at + SIDE] = rows.far;
    workgroupBarrier();
}

// The highest scores of the rows, so far and now.
fn highest_of(s: ptr<function, Sums>, before: Rows, lane: u32) -> Rows {
    let low = vec4<f32>(
        largest((*s)[0], (*s)[1]),
        largest((*s)[2], (*s)[3]),
        largest((*s)[4], (*s)[5]),
        largest((*s)[6], (*s)[7]),
    );
    let far = vec4<f32>(
        largest((*s)[8], (*s)[9]),
        largest((*s)[10], (*s)[11]),
        largest((*s)[12], (*s)[13]),
        largest((*s)[14], (*s)[15]),
    );
    share(Rows(low, far), lane);
    var highest = before;
    for (var i = lane % THREADS / SIDE; i < PARTS * SIDE * QUADS; i += QUADS) {
        highest.low = max(highest.low, b_tile[i]);
        highest.far = max(highest.far, b_tile[i + SIDE]);
    }
    return highest;
}

// The sums of a thread's weights, so far and now.
fn total_of(s: ptr<function, Sums>, before: Rows, factor: Rows) -> Rows {
    let low = vec4<f32>(
        sum_of((*s)[0], (*s)[1]),
        sum_of((*s)[2], (*s)[3]),
        sum_of((*s)[4], (*s)[5]),
        sum_of((*s)[6], (*s)[7]),
    );
    let far = vec4<f32>(
        sum_of((*s)[8], (*s)[9]),
        sum_of((*s)[10], (*s)[11]),
        sum_of((*s)[12], (*s)[13]),
        sum_of((*s)[14], (*s)[15]),
    );
    // mutant (compute/attention_forward): before.far * factor.far => before.far
    return Rows(before.low * factor.low + low, before.far * factor.far + far);
}

// The sums of all threads that share rows.
fn shared_total(own: Rows, lane: u32) -> Rows {
    share(own, lane);
    var total = Rows();
    for (var i = lane % THREADS / SIDE; i < PARTS * SIDE * QUADS; i += QUADS) {
        total.low += b_tile[i];
        total.far += b_tile[i + SIDE];
    }
    return total;
}

// Two of a thread's weights of a row: slice / 2 is the half, slice % 2 the pair in it.
fn two(low: vec4<f32>, far: vec4<f32>, slice: u32) -> vec2<f32> {
    let half = select(low, far, slice >= 2u);
    return select(half.xy, half.zw, slice % 2u == 1u);
}

// Puts a slice of a thread's weights into workgroup memory, rows innermost: two keys, steps tx and tx + SIDE.
fn put(s: ptr<function, Sums>, slice: u32, tx: u32, ty: u32) {
    let x = two((*s)[0], (*s)[1], slice);
    let y = two((*s)[2], (*s)[3], slice);
    let z = two((*s)[4], (*s)[5], slice);
    let w = two((*s)[6], (*s)[7], slice);
    a_tile[tx * STRIDE + ty] = vec4<f32>(x.x, y.x, z.x, w.x);
    a_tile[(tx + SIDE) * STRIDE + ty] = vec4<f32>(x.y, y.y, z.y, w.y);
    let far_x = two((*s)[8], (*s)[9], slice);
    let far_y = two((*s)[10], (*s)[11], slice);
    let far_z = two((*s)[12], (*s)[13], slice);
    let far_w = two((*s)[14], (*s)[15], slice);
    a_tile[tx * STRIDE + ty + SIDE] = vec4<f32>(far_x.x, far_y.x, far_z.x, far_w.x);
    a_tile[(tx + SIDE) * STRIDE + ty + SIDE] = vec4<f32>(far_x.y, far_y.y, far_z.y, far_w.y);
}
