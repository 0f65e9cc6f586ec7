// As prefetched, for heads of up to 512 values.
// mutant (attention_decode): 32u => 16u
const MAX_PREFETCHED: u32 = 32u;
