// Which keys the rows of a tile of a chunk see: those up to themselves, with a window the last WINDOW.

// Row r of a thread's scores, at `position`: LOWEST for keys that it does not see. `key` is the first of the thread's.
fn mask_row(s: ptr<function, Sums>, r: u32, position: u32, key: u32) {
    let low = vec4<u32>(key) + vec4<u32>(0u, 1u, 2u, 3u);
    let far = low + HALF;
    let last = vec4<u32>(position);
    // mutant (attention_tiled): low <= last => low < last
    var is_low = low <= last;
    // mutant (attention_tiled): far <= last => low <= last
    var is_far = far <= last;
    if WINDOW != 0u {
        // mutant (attention_tiled): low + WINDOW > last => low + WINDOW >= last
        is_low &= low + WINDOW > last;
        is_far &= far + WINDOW > last;
    }
    (*s)[2u * r] = select(vec4<f32>(LOWEST), (*s)[2u * r], is_low);
    (*s)[2u * r + 1u] = select(vec4<f32>(LOWEST), (*s)[2u * r + 1u], is_far);
}

fn cap_row(s: ptr<function, Sums>, r: u32) {
    for (var i = 0u; i < 4u; i++) {
        // mutant (attention_tiled): SOFT_CAP) * LOG2_E => SOFT_CAP)
        (*s)[2u * r][i] = soft_cap((*s)[2u * r][i], SOFT_CAP) * LOG2_E;
        (*s)[2u * r + 1u][i] = soft_cap((*s)[2u * r + 1u][i], SOFT_CAP) * LOG2_E;
    }
}

// Products become scores in units of ln 2. `own` is the first of the thread's rows, `key` the first of its keys.
fn all_scores(s: ptr<function, Sums>, block: Block, own: u32, key: u32) {
    let before = block.before;
    let position = before + own;
    if SOFT_CAP != 0.0 {
        cap_row(s, 0u);
        cap_row(s, 1u);
        cap_row(s, 2u);
        cap_row(s, 3u);
        cap_row(s, 4u);
        cap_row(s, 5u);
        cap_row(s, 6u);
        cap_row(s, 7u);
    }
    // Most tiles have no key that a row does not see.
    // mutant (attention_tiled): key + HALF + 3u <= before => key <= before
    // mutant (attention_tiled): before + TILE - 1u) => before)
    if key + HALF + 3u <= before && (WINDOW == 0u || key + WINDOW > before + TILE - 1u) {
        return;
    }
    mask_rows(s, position, key);
}
