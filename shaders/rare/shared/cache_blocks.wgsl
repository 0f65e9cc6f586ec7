// Blocks of 32 values in a row of a cache.
// mutant (attention, attention_decode, rope_kv): (HEAD_DIM + 31) / 32 => HEAD_DIM / 32
override BLOCKS: u32 = (HEAD_DIM + 31) / 32;
