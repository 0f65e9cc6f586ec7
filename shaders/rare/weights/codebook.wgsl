// The table of IQ4_NL and IQ4_XS: -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113. Readers get
// entries plus 142 as 8-bit quants (BITS = 8), and the minimum 142 · scale takes the 142 off again.
//
// Nothing is looked up: a table in memory would cost a load for every weight. Of an entry plus 142 the upper four bits
// are those of the quant's number, or one more from 1 to 7, and the lower four are functions of the number's four bits.
// These are computed for as many weights at once as there are bits at the same place of four words, one for each bit of
// the numbers, the lowest first.
const OFFSET = 142.0;

// The low four bits of the entries plus 142.
fn low_bits(n: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(
        (n.w | ~(n.y & n.z)) ^ (n.x & ~(n.z | (n.y ^ n.w))),
        // mutant (gather, mat_vec): (n.z & n.w) => n.z
        (~n.z | n.w) ^ (n.x & (n.z ^ (n.y | (n.z & n.w)))),
        // mutant (gather, mat_mul): ~(n.x ^ n.w) => (n.x ^ n.w)
        (n.x | n.w) ^ (~n.y & (n.z | ~(n.x ^ n.w))),
        // mutant (mat_vec, mat_mul_int8): n.w & (n.x | n.y | n.z) => n.w & (n.x | n.y)
        (~n.x | (n.y ^ n.z)) ^ (n.w & (n.x | n.y | n.z)),
    );
}

// 1 from number 1 to number 7.
fn carries(n: vec4<u32>) -> u32 {
    // mutant (mat_vec, mat_mul_int8): n.x | n.y | n.z => n.x | n.y
    return ~n.w & (n.x | n.y | n.z);
}

// Exchanges the bits `mask` of b with those of a that are `shift` places above.
fn swap_bits(a: ptr<function, vec2<u32>>, b: ptr<function, vec2<u32>>, shift: u32, mask: u32) {
    let differ = ((*a >> vec2<u32>(shift)) ^ *b) & vec2<u32>(mask);
    *b ^= differ;
    *a ^= differ << vec2<u32>(shift);
}

// Bit i of word j for bit j of word i, in each nibble.
fn transpose_nibbles(words: vec4<u32>) -> vec4<u32> {
    var even = words.xz;
    var odd = words.yw;
    swap_bits(&even, &odd, 1u, 0x55555555u);
    var first = vec2<u32>(even.x, odd.x);
    var second = vec2<u32>(even.y, odd.y);
    // mutant (mat_vec, mat_mul_int8): 0x33333333u => 0x33333330u
    swap_bits(&first, &second, 2u, 0x33333333u);
    return vec4<u32>(first, second);
}

// The entries that the nibbles of block b name.
fn codebook_words(b: u32) -> array<u32, 8> {
    let numbers = w_vec[b];
    let bits = transpose_nibbles(numbers);
    let low = transpose_nibbles(low_bits(bits));
    let carry = (vec4<u32>(carries(bits)) >> vec4<u32>(0u, 1u, 2u, 3u)) & vec4<u32>(0x11111111u);
    let high = numbers + carry;
    // mutant (mat_vec, mat_mul_int8): (low >> vec4<u32>(4u)) ^ high => low ^ high
    let differ = ((low >> vec4<u32>(4u)) ^ high) & vec4<u32>(NIBBLE);
    let first = low ^ (differ << vec4<u32>(4u));
    let second = high ^ differ;
    return array<u32, 8>(first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w);
}

// The entries that the low nibbles of a word's four bytes name.
fn codebook_word(nibbles: u32) -> u32 {
    let bits = vec4<u32>(nibbles) >> vec4<u32>(0u, 1u, 2u, 3u);
    let low = (low_bits(bits) & vec4<u32>(0x01010101u)) << vec4<u32>(0u, 1u, 2u, 3u);
    // mutant (gather, mat_mul): carries(bits) & 0x01010101u => 0u
    let high = (nibbles + (carries(bits) & 0x01010101u)) & NIBBLE;
    return low.x | low.y | low.z | low.w | (high << 4u);
}
