// Writes a row of a cache of f16; see cache_f16. The kernel's `head_value(i)` gives the row's values.

// Element i of a row: its values 8i … 8i+7, zeros past the last.
fn packed_element(i: u32) -> CacheElement {
    var element: CacheElement;
    for (var j = 0u; j < 4u; j++) {
        let at = 8u * i + 2u * j;
        // mutant (rope_kv): if at < HEAD_DIM { => if at + 2u < HEAD_DIM {
        if at < HEAD_DIM {
            element[j] = pack2x16float(vec2<f32>(head_value(at), head_value(at + 1u)));
        }
    }
    return element;
}
