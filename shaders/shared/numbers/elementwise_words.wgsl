alias Quad = vec4<u32>; // four elements, a word each

// Four elements from element i on, a multiple of 4.
fn held(i: u32) -> vec4<u32> {
    return y[i / 4u];
}

fn put(i: u32, bits: vec4<u32>) {
    // mutant (elementwise, elementwise_in_place): y[i / 4u] = bits; => y[i / 4u] = bits.xyww;
    y[i / 4u] = bits;
}
