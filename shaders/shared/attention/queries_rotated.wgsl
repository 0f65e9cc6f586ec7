// Queries as the product gave them: each workgroup normalises and rotates those that it takes, as rope_kv does (Su et
// al. 2021, arXiv 2104.09864). The workgroup whose split has the row's own position, the owner, makes the new key and
// value too, writes them into the cache and reads them there: no other split needs them. One row of a pass, one
// workgroup for each kv head and split where the layer has keys of its own.

override ROPE_DIMS: u32;      // even, at most HEAD_DIM: the rest passes through
override SPLIT_HALF: bool;    // pairs (i, i + ROPE_DIMS/2) rather than (2i, 2i + 1)
override MAGNITUDE: f32;      // what cosines and sines are multiplied by
override TEMPERATURE: f32;    // queries are multiplied by 1 + TEMPERATURE * ln(position / SPAN + 1)
override SPAN: u32;
override QK_NORM: bool;
override V_NORM: bool;        // v: an RMS norm over the head without weight
override EPS: f32;
override OWN_KEYS: bool;      // else an earlier layer fills the cache
override ROW_STRIDE: u32;     // values of a row of q
override K_AT: u32;           // value of a row where k starts
override V_AT: u32;           // k's, where v is k before its norm

@group(0) @binding(3) var<storage, read_write> k_cache: array<CacheElement>; // [sequences, KV_HEADS, CAPACITY, ROW]
@group(0) @binding(4) var<storage, read_write> v_cache: array<CacheElement>; // the same
@group(0) @binding(7) var<storage, read> frequencies: array<vec2<u32>>;// [ROPE_DIMS/2]: turns, high and low 32 bits
@group(0) @binding(8) var<storage, read> head_norms: array<f32>;       // [q and k, HEAD_DIM], unused without QK_NORM

#import cache_write
#import rotation

const MEMBERS: u32 = 4u; // threads that add up the squares of a head

var<private> written_row: u32; // eight of `columns` where the row that is written to the cache starts

#import staged_heads

// For cache_write.
fn head_value(i: u32) -> f32 {
    return staged(written_row, i);
}

// Stages eight i of head h, times its norm's weights; the squares of each eight are in `weights`.
fn stage(h: u32, i: u32, start: u32) {
    var values = load_q(start, i);
    // mutant (attention_decode): dot_eight(values, values) => 1.0
    weights[h * VECS + i] = dot_eight(values, values);
    if QK_NORM && h <= QUERIES {
        for (var j = 0u; j < 4u; j++) {
            // mutant (attention_decode): h == QUERIES) => h > QUERIES)
            let at = select(0u, HEAD_DIM, h == QUERIES) + min(8u * i + j, HEAD_DIM - 1u);
            values.low[j] *= head_norms[at];
            values.high[j] *= head_norms[min(at + 4u, 2u * HEAD_DIM - 1u)];
        }
    }
    columns[h * VECS + i] = values;
}

// What the norm of head h multiplies by, given the sums of squares of its members.
fn norm_factor(h: u32) -> f32 {
    if !select(QK_NORM, V_NORM, h > QUERIES) {
        return 1.0;
    }
    var squares = 0.0;
    for (var i = 0u; i < MEMBERS; i++) {
        squares += thread_group[h * MEMBERS + i];
    }
    // mutant (attention_decode): f32(HEAD_DIM) + EPS => f32(HEAD_DIM)
    return inverseSqrt(squares / f32(HEAD_DIM) + EPS);
}

// Queries from head `head` of row `r` on into q_tile; of the owner, the new key and value into the cache.
fn stage_queries(r: u32, head: u32, owner: bool, lane: u32) {
    let row = this_pass.row[r];
    let writes = OWN_KEYS && owner;
    let heads = select(QUERIES, QUERIES + 2u, writes);
    let kv_head = head / GROUP;
    for (var i = lane; i < ROPE_DIMS / 2u; i += WG_SIZE) {
        // mutant (attention_decode): * MAGNITUDE =>
        let turn = rotation(row.position, frequencies[i]) * MAGNITUDE;
        scores[2u * i] = turn.x;
        scores[2u * i + 1u] = turn.y;
    }
    for (var i = lane; i < heads * VECS; i += WG_SIZE) {
        let h = i / VECS;
        var at = (head + h) * HEAD_DIM;
        if h >= QUERIES {
            // mutant (attention_decode): K_AT, V_AT, h > QUERIES => K_AT, K_AT, h > QUERIES
            at = select(K_AT, V_AT, h > QUERIES) + kv_head * HEAD_DIM;
        }
        stage(h, i % VECS, r * ROW_STRIDE + at);
    }
    workgroupBarrier();
    if QK_NORM || V_NORM {
        var squares = 0.0;
        // mutant (attention_decode): i += MEMBERS => i += 2u * MEMBERS
        for (var i = lane % MEMBERS; i < VECS && lane / MEMBERS < heads; i += MEMBERS) {
            squares += weights[lane / MEMBERS * VECS + i];
        }
        thread_group[lane] = squares;
        workgroupBarrier();
    }
    // mutant (attention_decode): row.position / SPAN + 1u => row.position / SPAN
    let temperature = 1.0 + TEMPERATURE * log(f32(row.position / SPAN + 1u));
    for (var i = lane; i < QUERIES * VECS; i += WG_SIZE) {
        let h = i / VECS;
        q_tile[i] = rotated_eight(h * VECS, i % VECS, norm_factor(h) * temperature);
    }
    workgroupBarrier();
    if writes {
        write_key_and_value(row, kv_head, lane);
    }
}

// The queries' place in `columns` is free for the key after its rotation; the value stays where it is.
fn write_key_and_value(row: Row, kv_head: u32, lane: u32) {
    let k = QUERIES * VECS;
    let v = k + VECS;
    for (var i = lane; i < VECS; i += WG_SIZE) {
        columns[i] = rotated_eight(k, i, norm_factor(QUERIES));
        let factor = norm_factor(QUERIES + 1u);
        columns[v + i] = Eight(columns[v + i].low * factor, columns[v + i].high * factor);
    }
    workgroupBarrier();
    // mutant (attention_decode): row.sequence * KV_HEADS + kv_head => kv_head
    let to = ((row.sequence * KV_HEADS + kv_head) * CAPACITY + slot_of(row.position)) * ROW;
    for (var i = lane; i < ROW && (row.flags & ROW_DONE) == 0u; i += WG_SIZE) {
        written_row = 0u;
        k_cache[to + i] = packed_element(i);
        // mutant (attention_decode): written_row = v; => written_row = k;
        written_row = v;
        v_cache[to + i] = packed_element(i);
    }
    storageBarrier();
    workgroupBarrier();
}
