// As prefetched, for heads of up to 576 values of which 512 of v count.
const MAX_PREFETCHED: u32 = 36u;
