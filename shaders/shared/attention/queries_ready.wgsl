// Queries that rope_kv has rotated; keys and values are all in the cache.
@group(0) @binding(3) var<storage, read> k_cache: array<CacheElement>; // [sequences, KV_HEADS, CAPACITY, ROW]
@group(0) @binding(4) var<storage, read> v_cache: array<CacheElement>; // the same

// Queries from head `head` of row `r` on into q_tile.
fn stage_queries(r: u32, head: u32, owner: bool, lane: u32) {
    // mutant (attention_decode): r * KV_HEADS * GROUP + head => head
    let first = r * KV_HEADS * GROUP + head;
    for (var i = lane; i < QUERIES * VECS; i += WG_SIZE) {
        q_tile[i] = load_q((first + i / VECS) * HEAD_DIM, i % VECS);
    }
}
