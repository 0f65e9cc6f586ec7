// Which ids a sequence's next token may have: for each sequence a word that is 0 where it may have any, then a bit for
// each id, 32 to a word. The kernel declares LENGTH and binds `mask`.
override MASK_WORDS: u32 = (LENGTH + 31u) / 32u;

fn is_masked(sequence: u32) -> bool {
    return mask[sequence * (MASK_WORDS + 1u)] != 0u;
}

fn is_allowed(sequence: u32, id: u32) -> bool {
    // mutant (argmax, sample_candidates): + 1u + id / 32u => + id / 32u
    // mutant (argmax, sample): id % 32u => 0u
    let bit = (mask[sequence * (MASK_WORDS + 1u) + 1u + id / 32u] >> (id % 32u)) & 1u;
    return !is_masked(sequence) || bit == 1u;
}
