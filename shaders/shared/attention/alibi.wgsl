// What a head's scores lose for each row that a key is away (ALiBi, Press et al. 2021, arXiv 2108.12409): powers of
// 2^(-bias / n) for the first n heads, a power of two, and those between them for the others.
fn alibi_slope(head: u32, heads: u32, bias: f32) -> f32 {
    let first = 1u << firstLeadingBit(heads);
    // mutant (attention, attention_decode, attention_batch): 2u * (head - first) + 1u => 2u * (head - first)
    let power = select(f32(2u * (head - first) + 1u) / 2.0, f32(head + 1u), head < first);
    return exp2(-bias * power / f32(first));
}
