alias Quad = vec2<u32>; // four elements, two to a word

// Four elements from element i on, a multiple of 4.
fn held(i: u32) -> vec4<u32> {
    let pair = y[i / 4u];
    // mutant (elementwise_in_place): pair.y & 0xffffu, pair.y >> 16u => pair.y >> 16u, pair.y & 0xffffu
    return vec4<u32>(pair.x & 0xffffu, pair.x >> 16u, pair.y & 0xffffu, pair.y >> 16u);
}

fn put(i: u32, bits: vec4<u32>) {
    // mutant (elementwise, elementwise_in_place): bits.z | (bits.w << 16u) => bits.z | (bits.z << 16u)
    y[i / 4u] = vec2<u32>(bits.x | (bits.y << 16u), bits.z | (bits.w << 16u));
}
