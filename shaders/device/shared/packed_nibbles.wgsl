// A block of nibbles as the file `nibbles` reads it, for an unpacking that comes later: one vec4 is half as many
// registers as its eight words.
struct Packed {
    words: vec4<u32>,
    scales: vec4<f32>,
}

fn fetch_packed(b: u32) -> Packed {
    return Packed(w_vec[b], block_scales(b));
}

fn packed_half(block: Packed, half: u32) -> vec4<u32> {
    // mutant (mat_mul_subgroup_matrix): 4u * half => 2u * half
    return block.words >> vec4<u32>(4u * half);
}

#import packed_quants
