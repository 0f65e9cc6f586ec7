// Which keys the rows of a tile of a batch see: those that `seen` of the module rows_seen says.

var<private> seen_by_all: vec2<u32>; // first row that all rows of the tile see, and one past the last

// Row r of a thread's scores, of row `row` of the pass: LOWEST for keys that it does not see. `key` is the first of the
// thread's.
fn mask_row(s: ptr<function, Sums>, r: u32, row: u32, key: u32) {
    let bound = seen(min(row, this_pass.rows - 1u));
    let low = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u);
    let far = low + HALF;
    // mutant (attention_batch_tiled): low >= vec4<u32>(bound.x) => low > vec4<u32>(bound.x)
    let is_low = (low >= vec4<u32>(bound.x)) & (low < vec4<u32>(bound.y));
    // mutant (attention_batch_tiled): far < vec4<u32>(bound.y) => far <= vec4<u32>(bound.y)
    let is_far = (far >= vec4<u32>(bound.x)) & (far < vec4<u32>(bound.y));
    (*s)[2u * r] = select(vec4<f32>(LOWEST), (*s)[2u * r], is_low);
    (*s)[2u * r + 1u] = select(vec4<f32>(LOWEST), (*s)[2u * r + 1u], is_far);
}

// Products, in units of ln 2, become scores. `own` is the first of the thread's rows, `key` the first of its keys.
fn all_scores(s: ptr<function, Sums>, block: Block, own: u32, key: u32) {
    // Most tiles have no key that a row does not see.
    // mutant (attention_batch_tiled): key >= seen_by_all.x => true
    // mutant (attention_batch_tiled): key + HALF + 3u < seen_by_all.y => key < seen_by_all.y
    if key >= seen_by_all.x && key + HALF + 3u < seen_by_all.y {
        return;
    }
    mask_rows(s, block.first + own, key);
}
