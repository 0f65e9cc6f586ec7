// Vecs of the next tile that a thread of attention_decode holds of k, and of v: heads of up to 256 values.
// mutant (attention_decode): 16u => 8u
const MAX_PREFETCHED: u32 = 16u;
