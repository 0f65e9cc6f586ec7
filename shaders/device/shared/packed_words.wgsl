// A block of quants, for an unpacking that comes later: words of quants, as `block_words` of the type has them.
struct Packed {
    low: vec4<u32>,
    high: vec4<u32>,
    scales: vec4<f32>,
}

fn fetch_packed(b: u32) -> Packed {
    let words = block_words(b);
    let low = vec4<u32>(words[0], words[1], words[2], words[3]);
    // mutant (mat_mul_subgroup_matrix): words[4], words[5] => words[5], words[4]
    return Packed(low, vec4<u32>(words[4], words[5], words[6], words[7]), block_scales(b));
}

fn packed_half(block: Packed, half: u32) -> vec4<u32> {
    // mutant (mat_mul_subgroup_matrix): half == 1u => half == 2u
    return select(block.low, block.high, half == 1u);
}

#import packed_quants
