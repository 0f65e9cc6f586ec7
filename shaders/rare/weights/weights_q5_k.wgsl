// Q5_K: weight = (scale · 6-bit scale) · quant - (minimum · 6-bit minimum); five-bit quants.
#import fifth_bit
#import six_bit_scales

// mutant (gather, mat_vec): const BITS = 5; => const BITS = 4;
const BITS = 5;
const HALVES = false;

#import quants
